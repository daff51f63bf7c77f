"""Kernels of the dtypes of eight bits, which tensors only store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from tt.backends.cpu.backend import Array
from tt.core.library import (
    STORED,
    Kernel,
    KernelTable,
    decode_float8,
    encode_float8,
    fitted_number,
    from_numpy_dtype,
    ops,
)

__all__ = ["cpu", "with_stored"]

cpu: Final = KernelTable(device="cpu", by="NumPy")

MOVING: Final = frozenset({
    "_embedding", "_to_copy", "alias", "as_strided", "cat", "clone", "constant_pad_nd", "copy", "detach", "empty",
    "empty_like", "expand", "fill",
    "flip", "full_like", "gather", "index", "index_put", "index_select", "item",
    "masked_select", "ones_like", "permute", "repeat", "resize", "roll", "select", "slice", "squeeze", "squeeze.dim",
    "unsqueeze", "view", "view.dtype", "where", "zero", "zeros", "zeros_like",
})  # fmt: skip
"""Operators whose kernels view, move or fill elements of any dtype."""


def with_stored(kernel: Kernel) -> Kernel:
    """Return a kernel that serves float8 and complex32, too, if it only moves elements."""
    return replace(kernel, dtypes="any") if kernel.op in MOVING and kernel.dtypes == "all" else kernel


# --- making ----------------------------------------------------------------------------------------------------


@cpu.kernel("full", dtypes="float8")
def full(size: Sequence[int], fill_value: Any, dtype: Any) -> Array:
    if isinstance(fill_value, complex):
        fill_value = fitted_number(fill_value, from_numpy_dtype(dtype))
    return np.full(tuple(size), encode_float8(np.asarray(fill_value), dtype))


@cpu.kernel("ones", dtypes="float8")
def ones(size: Sequence[int], dtype: Any) -> Array:
    return full(size, 1.0, dtype)


@cpu.kernel("eye", dtypes="float8")
def eye(n: int, m: int | None, dtype: Any) -> Array:
    if n < 0 or (m is not None and m < 0):
        raise ValueError("a negative size, which the shape rule refuses")
    return encode_float8(np.eye(n, m, dtype=np.float32), dtype)


# --- comparing -------------------------------------------------------------------------------------------------


def _number(value: Any) -> Any:
    """Return an operand in float32."""
    return decode_float8(value) if isinstance(value, np.ndarray) else np.float32(value)


@cpu.kernel("eq", dtypes="float8")
def eq(self: Any, other: Any) -> Array:
    return np.asarray(_number(self) == _number(other))


@cpu.kernel("ne", dtypes="float8")
def ne(self: Any, other: Any) -> Array:
    return np.asarray(_number(self) != _number(other))


for _op, _function in (("isnan", np.isnan), ("isinf", np.isinf), ("isfinite", np.isfinite)):

    def _classify(self: Array, function: Any = _function) -> Array:
        return np.asarray(function(decode_float8(self)))

    cpu.kernel(_op, _classify, dtypes="float8", takes=("self",))


@cpu.kernel("abs", dtypes=[d.name for d in STORED if d.is_signed])
def abs_(self: Array) -> Array:
    return encode_float8(np.abs(decode_float8(self)), self.dtype)


@cpu.kernel("any.dim", dtypes="float8", tensors=True)
def any_dim(self: Any, dim: Any, keepdim: bool) -> Any:
    return ops.any.dim(ops.ne(self, 0), dim, keepdim)


@cpu.kernel("all.dim", dtypes="float8", tensors=True)
def all_dim(self: Any, dim: Any, keepdim: bool) -> Any:
    return ops.all.dim(ops.ne(self, 0), dim, keepdim)
