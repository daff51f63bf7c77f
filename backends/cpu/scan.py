"""Kernels of what accumulates along a dimension."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tt.backends.cpu.backend import Array, in_rows
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu", by="NumPy")

# --- sums and products -----------------------------------------------------------------------------------------


@cpu.kernel("cumsum", dtypes="number")
def cumsum(self: Array, dim: int) -> Any:
    return along(np.add, self, dim)


@cpu.kernel("cumprod", dtypes="number")
def cumprod(self: Array, dim: int) -> Any:
    return along(np.multiply, self, dim)


@cpu.kernel("logcumsumexp", dtypes=("float32", "float64"))
def logcumsumexp(self: Array, dim: int) -> Any:
    return along(np.logaddexp, self, dim)


_WIDE: Final = {"f": np.float64, "c": np.complex128}


def along(function: np.ufunc, self: Array, dim: int) -> Any:
    """Accumulate along a dimension: integers in their dtype, others in double precision.

    One after the other, a million float32 numbers would lose half of their digits.
    """
    if not self.ndim and dim in (0, -1):
        return self.copy()
    wide = _WIDE.get(self.dtype.kind, self.dtype)
    return in_rows(function.accumulate(self, axis=dim, dtype=wide).astype(self.dtype, copy=False), self)


# --- differences -----------------------------------------------------------------------------------------------


@cpu.kernel("diff")
def diff(self: Array, n: int, dim: int) -> Any:
    n = int(np.int64(n))
    if not self.ndim or n < 1 or not -self.ndim <= dim < self.ndim:
        if n == 0 and self.ndim and -self.ndim <= dim < self.ndim:
            return self.copy()
        raise ValueError("differences that the shape rule refuses")
    # np.diff would make n passes even when nothing is left.
    return np.diff(self, n, dim) if n <= self.shape[dim] else np.delete(self, slice(None), dim)


# --- extremes --------------------------------------------------------------------------------------------------


def _extreme(function: np.ufunc, at_least: np.ufunc) -> Any:
    def kernel(self: Array, dim: int) -> tuple[Any, Any]:
        if not self.ndim and dim in (0, -1):
            return self.copy(), np.zeros((), np.int64)
        values = function.accumulate(self, axis=dim)
        # An element is a new extreme if it is (as large as) the extreme so far; of NaN, each is.
        reaches = at_least(self, values)
        if self.dtype.kind == "f":
            reaches |= np.isnan(self)
        shape = [1] * self.ndim
        shape[dim] = self.shape[dim]
        positions = np.arange(self.shape[dim]).reshape(shape)
        # Positions rise, so their running maximum is the place of the last extreme so far.
        positions = np.maximum.accumulate(np.where(reaches, positions, 0), axis=dim)
        return in_rows(values, self), in_rows(positions, self)

    return kernel


cpu.kernel("cummax", _extreme(np.maximum, np.greater_equal), dtypes="real", takes=("self", "dim"))
cpu.kernel("cummin", _extreme(np.minimum, np.less_equal), dtypes="real", takes=("self", "dim"))
