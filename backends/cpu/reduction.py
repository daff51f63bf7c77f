"""Kernels that combine elements along dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from tt.backends.cpu.backend import Array, in_rows
from tt.core.library import (
    KernelTable,
    Scalar,
    Tensor,
    degrees_of_freedom,
    ops,
)

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu", by="NumPy")

# --- sums ------------------------------------------------------------------------------------------------------

_LONG: Final = 512
"""From this length on, sums along other dimensions than the last are made in two steps."""


def axes(dim: int | Sequence[int] | None, ndim: int) -> Any:
    """Return the dimensions to reduce as NumPy takes them; None for all."""
    # PyTorch takes an empty list of dimensions for all of them, NumPy for none.
    if dim is None or (not isinstance(dim, int) and not len(dim)):
        return None
    if not ndim and all(d in (0, -1) for d in ([dim] if isinstance(dim, int) else dim)):
        return None  # a number has one dimension here
    return dim if isinstance(dim, int) else tuple(dim)


def total(self: Array, axis: Any, keepdim: Any) -> Any:
    """Return a sum in the dtype of self.

    NumPy adds pairwise along the last dimension only.  Along others it would add one by one, with an error that grows
    with the length; adding up blocks first keeps it near that of pairwise sums.
    """
    if self.ndim > 1 and self.dtype.kind in "fc" and axis is not None:
        for single in (axis,) if isinstance(axis, int) else axis:
            if (
                -self.ndim <= single < self.ndim
                and self.shape[single] >= _LONG
                and single % self.ndim < self.ndim - 1
            ):
                return in_rows(
                    np.add.reduce(_blocks(self, single % self.ndim), axis=axis, keepdims=keepdim), self
                )
    return in_rows(np.add.reduce(self, axis=axis, dtype=self.dtype, keepdims=keepdim), self)


def _blocks(self: Array, axis: int) -> Array:
    """Return sums of blocks along a dimension, about as many as a block is long."""
    length = self.shape[axis]
    # Blocks of the square root of the length make both steps equally long, which keeps the error least.
    size = int(length**0.5)
    starts = np.arange(0, length, size)
    return np.add.reduceat(self, starts, axis=axis, dtype=self.dtype)


@cpu.kernel("sum")
def sum_all(self: Array) -> Any:
    if self.flags.forc:
        # Dense memory of any order is one vector to NumPy, which it adds pairwise.
        return np.add.reduce(self, axis=None, dtype=self.dtype)
    return total(self, tuple(range(self.ndim)), False)


@cpu.kernel("sum.dim")
def sum_dim(self: Array, dim: int | Sequence[int] | None, keepdim: bool) -> Any:
    return total(self, axes(dim, self.ndim), keepdim)


@cpu.kernel("mean", dtypes="floating_complex")
def mean_all(self: Array) -> Any:
    # The count has the dtype of self, so that no promotion changes that of the result.
    return np.true_divide(sum_all(self), self.dtype.type(self.size))


@cpu.kernel("mean.dim", dtypes="floating_complex")
def mean_dim(self: Array, dim: int | Sequence[int] | None, keepdim: bool) -> Any:
    count = self.size if dim is None else _count(self, dim)
    return np.true_divide(sum_dim(self, dim, keepdim), self.dtype.type(count))


def _count(self: Array, dim: Any) -> int:
    """Return how many elements one result combines."""
    dims = (dim,) if isinstance(dim, int) else dim
    if not len(dims) or not self.ndim:
        return self.size
    count = 1
    for d in dims:
        count *= self.shape[d]
    return count


# --- products --------------------------------------------------------------------------------------------------

_WIDE: Final = {np.dtype(np.float32): np.dtype(np.float64), np.dtype(np.complex64): np.dtype(np.complex128)}
"""Where products of the first elements may leave the range of a dtype although that of all does not."""


def _product(self: Array, axis: Any, keepdim: Any) -> Any:
    if self.dtype.kind == "b":
        return np.logical_and.reduce(self, axis=axis, keepdims=keepdim)
    # NumPy would multiply small integers in int64; the result has the dtype that the dispatcher chose.
    product = np.multiply.reduce(self, axis=axis, keepdims=keepdim, dtype=_WIDE.get(self.dtype, self.dtype))
    return product.astype(self.dtype, copy=False)


@cpu.kernel("prod")
def prod_all(self: Array) -> Any:
    return _product(self, None, False)


@cpu.kernel("prod.dim")
def prod_dim(self: Array, dim: int, keepdim: bool) -> Any:
    return in_rows(_product(self, axes(dim, self.ndim), keepdim), self)


# --- moments ---------------------------------------------------------------------------------------------------


def _moments(
    op: str, self: Array, dim: int | Sequence[int] | None, correction: float | None, keepdim: bool
) -> tuple[Any, Any]:
    """Return variance and mean in passes of their own, which loses no digits where the mean is large."""
    axis = axes(dim, self.ndim)
    size = self.size if axis is None else _count(self, dim)
    freedom = degrees_of_freedom(op, size, correction)
    if self.dtype.kind != "c":
        return _real_moments(self, axis, size, freedom, keepdim)
    # The variance of complex numbers is the sum of the variances of their parts.
    (variance, real), (more, imaginary) = (
        _real_moments(part, axis, size, freedom, keepdim) for part in (self.real, self.imag)
    )
    mean = np.empty(np.shape(real), self.dtype)
    mean.real, mean.imag = real, imaginary
    return variance + more, mean


def _real_moments(self: Array, axis: Any, size: int, freedom: float, keepdim: bool) -> tuple[Any, Any]:
    count = self.dtype.type(size)
    mean = np.true_divide(total(self, axis, True), count)
    deviation = np.subtract(self, mean)
    # Less the mean of what rounding left of the mean: equal elements deviate by nothing.
    deviation -= np.true_divide(total(deviation, axis, True), count)
    variance = np.true_divide(total(np.square(deviation), axis, keepdim), self.dtype.type(freedom))
    return variance, mean.reshape(np.shape(variance))


def deviation(self: Array, dim: int | Sequence[int] | None, correction: float | None, keepdim: bool) -> Any:
    return np.sqrt(_moments("std", self, dim, correction, keepdim)[0])


def deviation_and_mean(
    self: Array, dim: int | Sequence[int] | None, correction: float | None, keepdim: bool
) -> tuple[Any, Any]:
    variance, mean = _moments("std_mean", self, dim, correction, keepdim)
    return np.sqrt(variance), mean


def variance(self: Array, dim: int | Sequence[int] | None, correction: float | None, keepdim: bool) -> Any:
    return _moments("var", self, dim, correction, keepdim)[0]


def variance_and_mean(
    self: Array, dim: int | Sequence[int] | None, correction: float | None, keepdim: bool
) -> tuple[Any, Any]:
    return _moments("var_mean", self, dim, correction, keepdim)


cpu.kernels_of(
    {"var": variance, "std": deviation, "var_mean": variance_and_mean, "std_mean": deviation_and_mean},
    dtypes="floating_complex",
)

# --- extremes --------------------------------------------------------------------------------------------------


def _extreme(reduce: Callable[..., Any], position: Callable[..., Any]) -> tuple[Any, ...]:
    """Return the kernels of max or min: over all, the place, and both."""

    def over_all(self: Array) -> Any:
        return reduce(self, axis=None)

    def place(self: Array, dim: int | None, keepdim: bool) -> Any:
        if not self.ndim and dim in (0, -1, None):
            return np.zeros((), np.int64)
        return position(self, axis=dim, keepdims=keepdim)

    def both(self: Array, dim: int, keepdim: bool) -> tuple[Any, Any]:
        # The value is read at the place that argmax found, so that both agree for NaN and equal elements.
        where = place(self, dim, True)
        values = np.take_along_axis(self, where, dim) if self.ndim else self.copy()
        return (values, where) if keepdim or not self.ndim else (values.squeeze(dim), where.squeeze(dim))

    return over_all, place, both


for _name, _reduce, _position in (
    ("max", np.maximum.reduce, np.argmax),
    ("min", np.minimum.reduce, np.argmin),
):
    _all, _place, _both = _extreme(_reduce, _position)
    cpu.kernel(_name, _all, dtypes="real")
    cpu.kernel("arg" + _name, _place, dtypes="real_number")
    cpu.kernel(_name + ".dim", _both, dtypes="real")

# --- counts ----------------------------------------------------------------------------------------------------


@cpu.kernel("trace", dtypes="number")
def trace(self: Array) -> Any:
    if self.ndim != 2:
        raise ValueError("a trace of a tensor that is not a matrix")
    return np.add.reduce(np.diagonal(self), dtype=self.dtype)


@cpu.kernel("_vector_norm", dtypes="floating_complex")
def vector_norm(self: Array, ord: Scalar, dim: int | Sequence[int] | None, keepdim: bool) -> Any:
    return in_rows(_vector_norm(self, ord, dim, keepdim), self)


def _vector_norm(self: Array, ord: Scalar, dim: int | Sequence[int] | None, keepdim: bool) -> Any:
    axis = axes(dim, self.ndim)
    if ord == 2:
        plain = np.sqrt(total(_squares(self), axis, keepdim))
        # One pass without divisions serves nearly always; only norms near the ends of the range are scaled.
        return plain if _is_exact(plain) else _scaled(np.abs(self), 2, axis, keepdim)
    if isinstance(ord, complex):
        raise TypeError("an order that is not a real number, which the shape rule refuses")
    if ord == 0:
        counts = np.asarray(
            np.count_nonzero(self, axis=axis, keepdims=keepdim)
        )  # without axes, NumPy 2.1 returns an int
        return counts.astype(self.real.dtype)
    size = np.abs(self)
    if ord == 1:
        return total(size, axis, keepdim)
    if math.isinf(ord):
        return _decisive(size, ord, axis, keepdim)
    return _scaled(size, ord, axis, keepdim)


def _squares(x: Array) -> Array:
    """Return the squares of the absolute values."""
    return np.square(x) if x.dtype.kind == "f" else np.square(x.real) + np.square(x.imag)


def _is_exact(norm: Array) -> bool:
    """Return whether norms are so far from the ends of their dtype that no square that matters left it."""
    limits = np.finfo(norm.dtype)
    smallest = math.sqrt(limits.tiny) / limits.eps
    return bool(np.all((norm > smallest) & (norm < np.inf)))


def _decisive(size: Array, order: float, axis: Any, keepdim: Any) -> Any:
    """Return the absolute value that decides the norm: the largest, for negative orders the smallest."""
    return (np.maximum if order > 0 else np.minimum).reduce(size, axis=axis, keepdims=keepdim)


def _scaled(size: Array, order: float, axis: Any, keepdim: bool) -> Any:
    """Return the norm of absolute values divided by the one that decides, which keeps powers within the dtype."""
    # There is no element that could decide; the sum of none is 0.
    if not size.size and order > 0:
        return total(size, axis, keepdim)
    scale = _decisive(size, order, axis, True)
    # Dividing by 0 or infinity would give NaN where the norm is 0 or infinite.
    scale = np.where((scale > 0) & np.isfinite(scale), scale, size.dtype.type(1))
    scaled = size / scale
    if order == 2:
        root = np.sqrt(total(np.square(scaled), axis, keepdim))
    else:
        root = total(scaled ** size.dtype.type(order), axis, keepdim) ** size.dtype.type(1 / order)
    return root * scale.reshape(root.shape)


# --- of eight bits -------------------------------------------------------------------------------------------


@cpu.kernel("any.dim", dtypes="float8", tensors=True)
def any_dim_float8(self: Tensor, dim: int | Sequence[int] | None, keepdim: bool) -> Any:
    return ops.any.dim(ops.ne(self, 0), dim, keepdim)


@cpu.kernel("all.dim", dtypes="float8", tensors=True)
def all_dim_float8(self: Tensor, dim: int | Sequence[int] | None, keepdim: bool) -> Any:
    return ops.all.dim(ops.ne(self, 0), dim, keepdim)
