"""Kernels that combine elements along dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tt.backends.array_api.namespace import Namespace
from tt.backends.array_api.table import NamespaceTable
from tt.core.library import degrees_of_freedom

__all__ = ["table"]

table = NamespaceTable()


# --- sums, products, truth -------------------------------------------------------------------------------------


@table.kernel("sum.dim")
def total(xp: Namespace, self: Any, dim: Any, keepdim: bool) -> Any:
    return xp.sum(xp.as_number(self), axis=xp.axes(dim, self.ndim), keepdims=keepdim, dtype=self.dtype)


def count(xp: Namespace, self: Any, dim: Any) -> int:
    """Return how many elements are combined into one."""
    return xp.product(self.shape[axis] for axis in xp.axes(dim, self.ndim)) if self.ndim else 1


@table.kernel("mean.dim", dtypes="floating_complex")
def mean(xp: Namespace, self: Any, dim: Any, keepdim: bool) -> Any:
    # A mean of nothing is 0 / 0 in the arithmetic of the dtype, not of Python.
    return total(xp, self, dim, keepdim) / xp.number(count(xp, self, dim), self.dtype)


table.kernel("sum", lambda xp, self: total(xp, self, None, False))
table.kernel("mean", lambda xp, self: mean(xp, self, None, False), dtypes="floating_complex")


@table.kernel("prod.dim", dtypes="number")
def product(xp: Namespace, self: Any, dim: Any, keepdim: bool) -> Any:
    result = xp.prod(self, axis=xp.axes(dim, self.ndim), keepdims=keepdim, dtype=self.dtype)
    return xp.reduced(result, self)


@table.kernel("prod.dim", dtypes="bool")
def conjunction(xp: Namespace, self: Any, dim: Any, keepdim: bool) -> Any:
    return xp.reduced(xp.all(self, axis=xp.axes(dim, self.ndim), keepdims=keepdim), self)


table.kernel("prod", lambda xp, self: xp.prod(self, dtype=self.dtype), dtypes="number")
table.kernel("prod", lambda xp, self: xp.all(self), dtypes="bool")


def truth(xp: Namespace, function: Callable[..., Any], self: Any, **options: Any) -> Any:
    """Return all or any so that it stays in uint8, as PyTorch's do."""
    result = xp.reduced(function(self, **options), self)
    if self.dtype == xp.uint8:
        return xp.astype(result, xp.uint8)
    # Where nothing is combined, some libraries return the argument.
    return xp.asarray(result, copy=True) if result.shape == self.shape else result


def truth_along(xp: Namespace, function: Callable[..., Any], self: Any, dim: Any, keepdim: bool) -> Any:
    """Return all or any along dimensions; over an empty list these two, unlike sums, combine nothing."""
    axes = xp.axes(dim, self.ndim) if dim is None or isinstance(dim, int) or len(dim) else ()
    return truth(xp, function, self, axis=axes, keepdims=keepdim)


table.kernel("all", lambda xp, self: truth(xp, xp.all, self), half="native")
table.kernel("any", lambda xp, self: truth(xp, xp.any, self), half="native")
table.kernel(
    "all.dim", lambda xp, self, dim, keepdim: truth_along(xp, xp.all, self, dim, keepdim), half="native"
)
table.kernel(
    "any.dim", lambda xp, self, dim, keepdim: truth_along(xp, xp.any, self, dim, keepdim), half="native"
)


# --- extremes --------------------------------------------------------------------------------------------------


def expect_elements(self: Any, axes: tuple[int, ...]) -> None:
    """Raise, because an empty line has no largest element; the shape rule explains it."""
    if self.ndim and any(self.shape[axis] == 0 for axis in axes):
        raise ValueError("a dimension to reduce is empty")


def extreme(
    xp: Namespace, function: Callable[..., Any], self: Any, dim: Any = None, keepdim: bool = False
) -> Any:
    """Return the largest or smallest elements."""
    axes = xp.axes(dim, self.ndim)
    expect_elements(self, axes)
    result = function(xp.as_number(self), axis=axes, keepdims=keepdim)
    return xp.astype(xp.reduced(result, self), self.dtype, copy=False)


def position(xp: Namespace, function: Callable[..., Any], self: Any, dim: Any, keepdim: bool) -> Any:
    """Return the positions of the largest or smallest elements."""
    axes = xp.axes(dim, self.ndim)
    expect_elements(self, axes)
    if not self.ndim:
        return xp.zeros((), dtype=xp.int64)
    values, axis = xp.as_number(self), None if dim is None else axes[0]
    if xp.is_kind(values, "real floating"):
        # Where there are NaN, the first of them is the result.
        nan = xp.isnan(values)
        plain = function(xp.where(nan, xp.zeros_like(values), values), axis=axis, keepdims=keepdim)
        first = xp.argmax(xp.astype(nan, xp.uint8), axis=axis, keepdims=keepdim)
        return xp.to_int64(xp.where(xp.any(nan, axis=axis, keepdims=keepdim), first, plain))
    return xp.to_int64(function(values, axis=axis, keepdims=keepdim))


@table.kernel("amax", dtypes="real")
def largest(xp: Namespace, self: Any, dim: Any, keepdim: bool) -> Any:
    return extreme(xp, xp.max, self, dim, keepdim)


@table.kernel("amin", dtypes="real")
def smallest(xp: Namespace, self: Any, dim: Any, keepdim: bool) -> Any:
    return extreme(xp, xp.min, self, dim, keepdim)


@table.kernel("argmax", dtypes="real_number")
def position_of_largest(xp: Namespace, self: Any, dim: Any, keepdim: bool) -> Any:
    return position(xp, xp.argmax, self, dim, keepdim)


@table.kernel("argmin", dtypes="real_number")
def position_of_smallest(xp: Namespace, self: Any, dim: Any, keepdim: bool) -> Any:
    return position(xp, xp.argmin, self, dim, keepdim)


@table.kernel("max.dim", dtypes="real")
def largest_and_position(xp: Namespace, self: Any, dim: Any, keepdim: bool) -> tuple[Any, Any]:
    return largest(xp, self, dim, keepdim), position_of_largest(xp, self, dim, keepdim)


@table.kernel("min.dim", dtypes="real")
def smallest_and_position(xp: Namespace, self: Any, dim: Any, keepdim: bool) -> tuple[Any, Any]:
    return smallest(xp, self, dim, keepdim), position_of_smallest(xp, self, dim, keepdim)


table.kernel("max", lambda xp, self: extreme(xp, xp.max, self), dtypes="real")
table.kernel("min", lambda xp, self: extreme(xp, xp.min, self), dtypes="real")


# --- moments ---------------------------------------------------------------------------------------------------


def moments(xp: Namespace, op: str, self: Any, dim: Any, correction: Any, keepdim: bool) -> tuple[Any, Any]:
    """Return variance and mean in passes of their own, which loses no digits where the mean is large."""
    axes = xp.axes(dim, self.ndim)
    count = xp.product(self.shape[axis] for axis in axes) if self.ndim else 1
    mean = xp.sum(self, axis=axes, keepdims=True, dtype=self.dtype) / xp.number(count, self.dtype)
    complex_ = xp.is_kind(self, "complex floating")
    total = sum(
        squares(xp, part, axes, count, keepdim)
        for part in ((xp.real(self), xp.imag(self)) if complex_ else (self,))
    )
    freedom = degrees_of_freedom(op, count, correction)
    return total / xp.number(freedom, total.dtype), xp.reshape(mean, tuple(total.shape))


def squares(xp: Namespace, part: Any, axes: Any, count: int, keepdim: bool) -> Any:
    """Return the sum of squared deviations from the mean."""
    number = xp.number(count, part.dtype)
    # Twice, for what rounding leaves of the mean: equal elements deviate by nothing.
    for _ in range(2):
        part = part - xp.sum(part, axis=axes, keepdims=True, dtype=part.dtype) / number
    return xp.sum(part * part, axis=axes, keepdims=keepdim, dtype=part.dtype)


@table.kernel("var_mean", dtypes="floating_complex")
def var_mean(xp: Namespace, self: Any, dim: Any, correction: Any, keepdim: bool) -> tuple[Any, Any]:
    return moments(xp, "var_mean", self, dim, correction, keepdim)


@table.kernel("var", dtypes="floating_complex")
def var(xp: Namespace, self: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    return moments(xp, "var", self, dim, correction, keepdim)[0]


@table.kernel("std_mean", dtypes="floating_complex")
def std_mean(xp: Namespace, self: Any, dim: Any, correction: Any, keepdim: bool) -> tuple[Any, Any]:
    variance, mean = moments(xp, "std_mean", self, dim, correction, keepdim)
    return xp.sqrt(variance), mean


@table.kernel("std", dtypes="floating_complex")
def std(xp: Namespace, self: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    return xp.sqrt(moments(xp, "std", self, dim, correction, keepdim)[0])


@table.kernel("logsumexp", dtypes="floating")
def logsumexp(xp: Namespace, self: Any, dim: Any, keepdim: bool) -> Any:
    axes = xp.axes(dim, self.ndim)
    # The maximum of nothing does not exist; the logarithm of its sum, 0, is -inf.
    if self.ndim and any(self.shape[axis] == 0 for axis in axes):
        return xp.log(xp.sum(xp.exp(self), axis=axes, keepdims=keepdim))
    shift = xp.max(self, axis=axes, keepdims=True)
    # Infinity less infinity would be NaN, so infinite maxima are not subtracted.
    shift = xp.where(xp.isfinite(shift), shift, xp.zeros_like(shift))
    result = xp.log(xp.sum(xp.exp(self - shift), axis=axes, keepdims=keepdim))
    return xp.reduced(result + xp.reshape(shift, tuple(result.shape)), self)
