"""Kernels that make tensors of complex32, view its parts and compare.

Kernels that move elements serve it as they serve dtypes of eight bits, and the dispatcher converts the arguments and
results of every other kernel of complex64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from tt.backends.cpu import creation, random
from tt.backends.cpu.backend import Array
from tt.core.library import KernelTable, decode_complex32, encode_complex32, to_dtype

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu", by="NumPy")

_COMPLEX32: Final = to_dtype("complex32").numpy
_COMPLEX64: Final = np.dtype(np.complex64)

_FACTORIES: Final[tuple[tuple[str, Callable[..., Array], Sequence[str]], ...]] = (
    ("full", creation.full, ("size", "fill_value")),
    ("scalar_tensor", creation.scalar_tensor, ("s",)),
    ("ones", creation.ones, ("size",)),
    ("eye", creation.eye, ("n", "m")),
    ("rand", random.rand, ("size", "generator")),
    ("randn", random.randn, ("size", "generator")),
)
"""Operators without tensors to convert: the kernels of complex64, and their arguments before the dtype."""


def _rounded(function: Callable[..., Array]) -> Callable[..., Array]:
    """Return a kernel that makes complex64, and rounds it."""

    def kernel(*args: Any) -> Array:
        return encode_complex32(function(*args[:-1], _COMPLEX64))

    return kernel


for _op, _function, _takes in _FACTORIES:
    cpu.kernel(_op, _rounded(_function), dtypes="complex32", takes=(*_takes, "dtype"))


@cpu.kernel("complex", dtypes="float16", half="native")
def complex_(real: Array, imag: Array) -> Array:
    shape = np.broadcast_shapes(real.shape, imag.shape)
    parts = np.empty((*shape, 2), np.float16)
    parts[..., 0], parts[..., 1] = real, imag
    return parts.view(_COMPLEX32).reshape(shape)


# --- views of the parts ----------------------------------------------------------------------------------------


@cpu.kernel("real", dtypes="complex32")
def real(self: Array) -> Array:
    part: Array = self.getfield(np.float16, 0)
    return part


@cpu.kernel("imag", dtypes="complex32")
def imag(self: Array) -> Array:
    part: Array = self.getfield(np.float16, 2)
    return part


# --- comparing -------------------------------------------------------------------------------------------------
# In the common dtype of the arguments, in which two numbers may become one.


def _number(value: Any) -> Array:
    """Return an operand, rounded to complex32, in complex64."""
    return decode_complex32(encode_complex32(np.asarray(value)))


@cpu.kernel("eq", dtypes="complex32")
def eq(self: Any, other: Any) -> Array:
    return np.asarray(_number(self) == _number(other))


@cpu.kernel("ne", dtypes="complex32")
def ne(self: Any, other: Any) -> Array:
    return np.asarray(_number(self) != _number(other))
