"""Kernels of order statistics: NumPy selects without sorting."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tt.backends.cpu.backend import Array
from tt.core.library import KernelTable, errors

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu", by="NumPy")


def _kth(self: Array, k: int, axis: int) -> tuple[Array, Array]:
    """Return the element of rank k along an axis, which stays, and the first place where it is; NaN are the largest."""
    value = np.take(np.partition(self, k, axis), [k], axis)
    same = self == value
    if self.dtype.kind == "f":
        same |= np.isnan(self) & np.isnan(value)
    return value, np.argmax(same, axis=axis, keepdims=True)


def _result(value: Array, place: Array, axis: int, keepdim: bool) -> tuple[Array, Array]:
    return (value, place) if keepdim else (value.squeeze(axis), place.squeeze(axis))


def _axis(self: Array, dim: int) -> int:
    """Return a dimension counted from the front; the shape rule explains invalid and empty ones."""
    if not -self.ndim <= dim < self.ndim or not self.shape[dim]:
        raise IndexError("an order statistic along a dimension that is empty or not there")
    return dim % self.ndim


@cpu.kernel("kthvalue", dtypes="real_number")
def kthvalue(self: Array, k: int, dim: int, keepdim: bool) -> tuple[Array, Array]:
    if not self.ndim and k == 1 and dim in (0, -1):
        return self.copy(), np.zeros((), np.int64)
    axis = _axis(self, dim)
    if not 1 <= k <= self.shape[axis]:
        raise IndexError("kthvalue() of more than there are")
    return _result(*_kth(self, k - 1, axis), axis, keepdim)


@cpu.kernel("median.dim", dtypes="real_number")
def median_dim(self: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    if not self.ndim and dim in (0, -1):
        return self.copy(), np.zeros((), np.int64)
    axis = _axis(self, dim)
    value, position = _kth(self, (self.shape[axis] - 1) // 2, axis)
    if self.dtype.kind == "f":
        nan = np.isnan(self)
        some = nan.any(axis=axis, keepdims=True)
        if some.any():
            value = np.where(some, self.dtype.type(np.nan), value)
            position = np.where(some, np.argmax(nan, axis=axis, keepdims=True), position)
    return _result(value, position, axis, keepdim)


@cpu.kernel("median", dtypes="real_number")
def median(self: Array) -> Any:
    if not self.size:
        # As in PyTorch: NaN, and for integers, which have none, the smallest.
        return np.asarray(np.nan if self.dtype.kind == "f" else np.iinfo(self.dtype).min, self.dtype)
    flat = self.reshape(-1)
    if self.dtype.kind == "f" and np.isnan(flat).any():
        return self.dtype.type(np.nan)
    middle = (flat.size - 1) // 2
    return np.partition(flat, middle)[middle]


@cpu.kernel("nanmedian", dtypes="real_number")
def nanmedian(self: Array) -> Any:
    if self.dtype.kind != "f":
        return median(self)
    flat = self.reshape(-1)
    return median(flat[~np.isnan(flat)])


@cpu.kernel("_bincount", dtypes="integral")
def bincount(self: Array, minlength: int) -> Array:
    numbers = self.astype(np.int64)  # a copy: NumPy reads them twice, and another thread may write to them
    if numbers.size and numbers.min() < 0:
        raise errors.ValueRangeError("bincount(): the integers must not be negative")
    if (
        numbers.size and numbers.max() == np.iinfo(np.int64).max
    ):  # NumPy adds one to it, and writes out of bounds
        raise errors.ValueRangeError(
            f"bincount(): the largest integer should be less than {np.iinfo(np.int64).max}"
        )
    return np.bincount(numbers, minlength=minlength)


@cpu.kernel("histc", dtypes=("float32", "float64"))
def histc(self: Array, bins: int, min: float, max: float) -> Array:
    if bins < 1 or not min <= max:
        raise ValueError("bins or bounds that the shape rule refuses")
    if not self.size:
        return np.zeros(bins, self.dtype)
    low, high = min, max
    # Equal bounds ask for the range of the data, as in PyTorch.
    if low == high:
        low, high = self.min().item(), self.max().item()
        if not (np.isfinite(low) and np.isfinite(high)):
            raise errors.ValueRangeError(f"histc(): the range of [{low}, {high}] is not finite")
        if low == high:
            low, high = low - 1, high + 1
    first, last = self.dtype.type(low), self.dtype.type(high)
    inside = self[(self >= first) & (self <= last)]
    bin_numbers = np.clip(
        ((inside - first) * self.dtype.type(bins) / (last - first)).astype(np.int64), 0, bins - 1
    )
    return np.bincount(bin_numbers, minlength=bins).astype(self.dtype)
