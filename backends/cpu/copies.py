"""Kernels that copy, fill and make tensors like others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tt.backends.array_api.copies import expect_one_element
from tt.backends.array_api.namespace import ORDERS
from tt.backends.cpu.backend import (
    Array,
    cast,
    duplicate,
    is_ambiguous,
    new_array,
    new_like,
    python_number,
)
from tt.core.library import KernelTable, Scalar, errors, fitted_number, from_numpy_dtype

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu", by="NumPy")

# --- copies ----------------------------------------------------------------------------------------------------


def laid_out(
    shape: Sequence[int], dtype: np.dtype[Any], memory_format: str | None, like: Any = None
) -> Array:
    """Return a new array in a memory format; by default its dimensions have the order of another array's."""
    # The usual case first, without a look at names.
    if memory_format is None and type(like) is np.ndarray and like.flags.c_contiguous:
        return (
            new_like(like, np.dtype(dtype))
            if is_ambiguous(like)
            else new_array(tuple(shape), np.dtype(dtype))
        )
    name = str(memory_format).rpartition(".")[2]
    order = ORDERS.get(name)
    if order is not None:
        if len(shape) != len(order):
            raise errors.ShapeError(
                f"required rank {len(order)} tensor to use {name} format, got {len(shape)}"
            )
        inverse = [order.index(d) for d in range(len(order))]
        # Allocated in the format's order, and turned to the order of the dimensions.
        return new_array([shape[d] for d in order], np.dtype(dtype)).transpose(inverse)
    packed = not isinstance(like, np.ndarray) or like.flags.c_contiguous or 0 in like.strides
    if name == "contiguous_format" or packed:
        return new_array(tuple(shape), np.dtype(dtype))
    return np.empty_like(like, dtype=dtype)


@cpu.kernel("clone", half="native")
def clone(self: Array) -> Array:
    return duplicate(self)


@cpu.kernel("clone", half="native")
def clone_in_format(self: Array, memory_format: str | None) -> Array:
    new = laid_out(self.shape, self.dtype, memory_format, self)
    new[...] = self
    return new


@cpu.kernel("_to_copy")
def to_copy(self: Array, dtype: np.dtype[Any]) -> Array:
    return duplicate(self) if dtype == self.dtype else cast(self, dtype)


@cpu.kernel("_to_copy")
def to_copy_in_format(self: Array, dtype: np.dtype[Any], memory_format: str | None) -> Array:
    return clone_in_format(to_copy(self, dtype), memory_format)


@cpu.kernel("copy", form="inplace")
def copy(self: Array, src: Array) -> None:
    self[...] = src if src.dtype == self.dtype else cast(src, self.dtype)


@cpu.kernel("item")
def item(self: Array) -> Any:
    if self.size != 1:
        expect_one_element(self)
    return python_number(self)


@cpu.kernel("fill", form="inplace")
def fill(self: Array, value: Array | Scalar) -> None:
    if isinstance(value, np.ndarray):
        if value.ndim:
            raise errors.ShapeError(
                f"fill_(): the value is a number or a tensor without dimensions, not one with {value.ndim}"
            )
        value = value if value.dtype == self.dtype else cast(value, self.dtype)
    else:
        value = fitted_number(value, from_numpy_dtype(self.dtype))
    self[...] = value


@cpu.kernel("zero", form="inplace")
def zero(self: Array) -> None:
    fill(self, 0)
