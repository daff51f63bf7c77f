"""Kernels that make tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from tt.backends.array_api.creation import arange_size
from tt.backends.cpu.backend import (
    Array,
    is_ambiguous,
    new_array,
    new_like,
    new_ones,
)
from tt.backends.cpu.copies import fill, laid_out
from tt.backends.cpu.shaping import as_strided
from tt.core.library import (
    KernelTable,
    Scalar,
    encode_complex32,
    encode_float8,
    errors,
    fitted_number,
    from_numpy_dtype,
    to_dtype,
)

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu", by="NumPy")

# --- of one value ----------------------------------------------------------------------------------------------


@cpu.kernel("empty")
def empty(size: Sequence[int], dtype: np.dtype[Any]) -> Array:
    return np.empty(tuple(size), dtype)


@cpu.kernel("empty", check=True)
def empty_in_format(size: Sequence[int], dtype: np.dtype[Any], memory_format: str | None) -> Array:
    return laid_out(size, dtype, memory_format)


def _filled(op: str, size: Sequence[int], value: Scalar, dtype: np.dtype[Any]) -> Array:
    try:
        number = fitted_number(value, from_numpy_dtype(dtype))
    except errors.NumberRangeError as error:
        raise errors.NumberRangeError(f"{op}(): {error}") from None
    return np.full(tuple(size), np.asarray(number).astype(dtype), dtype)


@cpu.kernel("full", half="native")
def full(size: Sequence[int], fill_value: Scalar, dtype: np.dtype[Any]) -> Array:
    return _filled("full", size, fill_value, dtype)


@cpu.kernel("scalar_tensor")
def scalar_tensor(s: Scalar, dtype: np.dtype[Any]) -> Array:
    if from_numpy_dtype(dtype).is_floating_point and not isinstance(s, complex):
        return np.asarray(s, dtype)  # numbers beyond the range of half precision become infinite
    return _filled("scalar_tensor", (), s, dtype)


# --- what native kernels call for the rest of `ones`, `eye` and `arange` -------------------------------------------


def ones(size: Sequence[int], dtype: np.dtype[Any]) -> Array:
    return np.ones(tuple(size), dtype)


def eye(n: int, m: int | None, dtype: np.dtype[Any]) -> Array:
    if n < 0 or (m is not None and m < 0):
        raise ValueError("a negative size, which the shape rule refuses")
    return np.eye(n, m, dtype=np.uint8).astype(dtype, copy=False)


def numbers(start: float, end: float, step: float, dtype: np.dtype[Any]) -> Array:
    """Return the numbers from start to before end; an integer dtype truncates start and step."""
    integral = dtype.kind in "iu"
    count = arange_size(start, end, step, wide=integral and dtype.itemsize == 8 and dtype.kind == "i")
    # Exact beyond 2**53, where doubles skip integers.
    if type(start) is int and type(end) is int and type(step) is int:
        result: Array = np.arange(start, end, step, dtype=np.int64)
    elif integral:
        result = np.arange(count, dtype=np.int64)
        result *= int(step)
        result += int(start)
    else:
        # Multiplied in double precision, not added up: no error grows with the length.
        result = np.arange(count, dtype=np.float64)
        result *= step
        result += start
    return result.astype(dtype, copy=False)


# --- of increasing numbers -------------------------------------------------------------------------------------


@cpu.kernel("linspace", dtypes="number", half="native")
def linspace(start: Any, end: Any, steps: int, dtype: np.dtype[Any]) -> Array:
    if steps < 0:
        raise ValueError("a number of steps is not negative")
    if steps >= 2**60:  # NumPy counts to none where the number passes 63 bits
        raise errors.SizeLimitError("linspace", (steps,), str(dtype))
    if isinstance(start, complex) or isinstance(end, complex):
        if dtype.kind != "c":
            raise errors.DtypeError(
                f"linspace(): complex bounds give complex numbers, which {dtype} cannot hold"
            )
        # Part by part: a product of complex numbers would carry a NaN or infinity of one part into the other.
        both = np.empty(steps, np.complex128)
        both.real = _spaced(start.real, end.real, steps)
        both.imag = _spaced(start.imag, end.imag, steps)
        return both.astype(dtype, copy=False)
    if dtype.kind in "iu":
        if dtype == np.uint64 and min(start, end) < 0:
            raise errors.NumberRangeError(
                "linspace(): doubles cannot hold negative numbers wrapped into uint64"
            )
        start, end = (fitted_number(int(bound), from_numpy_dtype(dtype)) for bound in (start, end))
    elif dtype.itemsize < 8:
        # The bounds are rounded to the dtype first, as in PyTorch.
        start, end = (float(dtype.type(bound)) for bound in (start, end))
    return _spaced(start, end, steps).astype(dtype, copy=False)


def _spaced(start: float, end: float, steps: int) -> Array:
    """Return numbers in equal distances in double precision, from both ends, so that the last one is exact."""
    step = (end - start) / (steps - 1) if steps > 1 else 0.0
    result = np.arange(steps, dtype=np.float64)
    # The upper half counts down from the end; a single number belongs to the start.
    first = max(steps // 2, min(steps, 1))
    result[first:] -= steps - 1
    result *= step
    result[:first] += start
    result[first:] += end
    return result


# --- matrices --------------------------------------------------------------------------------------------------


def _expect_triangle(op: str, row: int, col: int, dtype: np.dtype[Any]) -> None:
    if row < 0 or col < 0:
        raise ValueError("a negative size, which the shape rule refuses")
    if dtype not in (np.int32, np.int64):
        raise errors.DispatchError(op, f"indices are of int32 or int64, not of {from_numpy_dtype(dtype)}")


# For all dtypes: without a dtype, the default dtype does not apply to these indices.
@cpu.kernel("tril_indices")
def tril_indices(row: int, col: int, offset: int, dtype: np.dtype[Any]) -> Array:
    _expect_triangle("tril_indices", row, col, dtype)
    counts = np.clip(np.arange(row) + (1 + offset), 0, col)
    return _places(counts, np.zeros(row, np.int64), dtype)


@cpu.kernel("triu_indices")
def triu_indices(row: int, col: int, offset: int, dtype: np.dtype[Any]) -> Array:
    _expect_triangle("triu_indices", row, col, dtype)
    firsts = np.clip(np.arange(row) + offset, 0, col)
    return _places(col - firsts, firsts, dtype)


def _places(counts: Array, firsts: Array, dtype: np.dtype[Any]) -> Array:
    """Return rows and columns of places: in each row so many, from a first column on."""
    # The exclusive sum: how many places lie in the rows above.
    before = np.cumsum(counts) - counts
    out = np.empty((2, int(counts.sum())), dtype)
    out[0] = np.repeat(np.arange(len(counts)), counts)
    out[1] = np.arange(out.shape[1]) + np.repeat(firsts - before, counts)
    return out


@cpu.kernel("empty_like")
def empty_like(self: Any, dtype: np.dtype[Any], memory_format: str | None) -> Array:
    return laid_out(self.shape, dtype, memory_format, self)


@cpu.kernel("zeros_like")
def zeros_like(self: Any, dtype: np.dtype[Any]) -> Array:
    # np.zeros gets zeroed pages from the system and does not write them.
    if not isinstance(self, np.ndarray) or self.flags.c_contiguous or 0 in self.strides:
        if type(self) is not np.ndarray or not is_ambiguous(self):
            return np.zeros(self.shape, dtype)
        new = new_like(self, np.dtype(dtype))
        new[...] = 0
        return new
    return np.zeros_like(self, dtype=dtype)


@cpu.kernel("ones_like")
def ones_like(self: Any, dtype: np.dtype[Any], memory_format: str | None) -> Array:
    # Every backward pass begins with a one.
    plain = memory_format is None and type(self) is np.ndarray and dtype.kind in "fiu"
    if plain and (not self.ndim or (self.flags.c_contiguous and not is_ambiguous(self))):
        return new_ones(self.shape, dtype)
    new = laid_out(self.shape, dtype, memory_format, self)
    fill(new, 1)
    return new


@cpu.kernel("full_like")
def full_like(self: Any, fill_value: Scalar, dtype: np.dtype[Any], memory_format: str | None) -> Array:
    new = laid_out(self.shape, dtype, memory_format, self)
    fill(new, fill_value)
    return new


@cpu.kernel("empty_strided")
def empty_strided(size: Sequence[int], stride: Sequence[int], dtype: np.dtype[Any]) -> Array:
    if len(size) != len(stride) or any(n < 0 for n in (*size, *stride)):
        raise ValueError("empty_strided() of other sizes and strides")
    # Memory reaches just to the last element, like PyTorch's.
    extent = 0 if 0 in size else 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    return as_strided(new_array((extent,), np.dtype(dtype)), size, stride, 0)


# --- of eight bits -------------------------------------------------------------------------------------------


@cpu.kernel("full", dtypes="float8")
def full_float8(size: Sequence[int], fill_value: Scalar, dtype: np.dtype[Any]) -> Array:
    if isinstance(fill_value, complex):
        fill_value = fitted_number(fill_value, from_numpy_dtype(dtype))
    return np.full(tuple(size), encode_float8(np.asarray(fill_value), dtype))


@cpu.kernel("ones", dtypes="float8")
def ones_float8(size: Sequence[int], dtype: np.dtype[Any]) -> Array:
    return full_float8(size, 1.0, dtype)


@cpu.kernel("eye", dtypes="float8")
def eye_float8(n: int, m: int | None, dtype: np.dtype[Any]) -> Array:
    if n < 0 or (m is not None and m < 0):
        raise ValueError("a negative size, which the shape rule refuses")
    return encode_float8(np.eye(n, m, dtype=np.float32), dtype)


# --- complex numbers of four bytes: kernels that move elements serve them, others through complex64 ----------

_COMPLEX32: Final = to_dtype("complex32").numpy
_COMPLEX64: Final = np.dtype(np.complex64)


def rounded(function: Callable[..., Array]) -> Callable[..., Array]:
    """Return a kernel of complex32 that makes complex64, and rounds it."""

    def kernel(*args: Any) -> Array:
        # The dtype comes last; the inner function computes in complex64.
        return encode_complex32(function(*args[:-1], _COMPLEX64))

    return kernel


_FACTORIES: Final[tuple[tuple[str, Callable[..., Array], Sequence[str]], ...]] = (
    ("full", full, ("size", "fill_value")),
    ("scalar_tensor", scalar_tensor, ("s",)),
    ("ones", np.ones, ("size",)),
    ("eye", lambda n, m, dtype: np.eye(n, m, dtype=dtype), ("n", "m")),
)
"""Operators without tensors to convert: the kernels of complex64, and their arguments before the dtype."""

for _op, _function, _takes in _FACTORIES:
    cpu.kernel(_op, rounded(_function), dtypes="complex32", takes=(*_takes, "dtype"))
