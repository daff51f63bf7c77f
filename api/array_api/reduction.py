"""Reductions: statistics, `all` and `any`, cumulative sums and products, differences."""

from __future__ import annotations

from typing import TypeAlias

import tt
from tt.array_api._promotion import SIGNED, UNSIGNED, as_tuple, cast, promote_all

Array: TypeAlias = tt.Tensor
Axis: TypeAlias = int | tuple[int, ...] | None

__all__ = [
    "all", "any", "argmax", "argmin", "count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "max", "mean",
    "min", "prod", "std", "sum", "var",
]  # fmt: skip


def _axes(x: Array, axis: Axis) -> tuple[int, ...]:
    """Return the dimensions that an argument names, none of them negative; all for None."""
    if not isinstance(x, tt.Tensor):
        raise TypeError(f"x must be an array, not {type(x).__name__}")
    if axis is None:
        return tuple(range(x.ndim))
    axes = as_tuple(axis)
    for dim in axes:
        if not -x.ndim <= dim < x.ndim:
            raise IndexError(f"axis {dim} is out of range for an array of {x.ndim} dimensions")
    result = tuple(dim % x.ndim for dim in axes)
    if len(set(result)) < len(result):
        raise ValueError(f"an axis appears twice in {axis}")
    return result


def _sum_dtype(x: Array, dtype: tt.dtype | None) -> tt.dtype:
    """Return the dtype of a sum or product: integers widen to 64 bits, and unsigned ones stay unsigned."""
    if dtype is not None:
        return dtype
    if x.dtype in UNSIGNED:
        return tt.uint64
    return tt.int64 if x.dtype in SIGNED or x.dtype is tt.bool else x.dtype


def sum(x: Array, /, *, axis: Axis = None, dtype: tt.dtype | None = None, keepdims: bool = False) -> Array:
    """Return the sum; integers are summed in 64 bits.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.sum(xp.asarray([[1, 2], [3, 4]]), axis=0)
    tensor([4, 6])
    """
    axes, kind = _axes(x, axis), _sum_dtype(x, dtype)
    if not axes:
        return x.to(kind, copy=True)
    return tt.sum(x, axes, keepdim=keepdims, dtype=kind)


def prod(x: Array, /, *, axis: Axis = None, dtype: tt.dtype | None = None, keepdims: bool = False) -> Array:
    """Return the product; integers are multiplied in 64 bits.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.prod(xp.asarray([[1, 2], [3, 4]]))
    tensor(24)
    """
    axes, kind = _axes(x, axis), _sum_dtype(x, dtype)
    result = x.to(kind, copy=not axes)
    # From the last axis, so that the numbers of the others stay right.
    for dim in sorted(axes, reverse=True):
        result = tt.prod(result, dim, keepdim=keepdims, dtype=kind)
    return result


def _extreme(x: Array, axis: Axis, keepdims: bool, largest: bool) -> Array:
    axes = _axes(x, axis)
    if not axes:
        return tt.clone(x)
    return tt.amax(x, axes, keepdims) if largest else tt.amin(x, axes, keepdims)


def max(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the largest element; NaN if there is one.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.max(xp.asarray([[1, 2], [3, 4]]), axis=1)
    tensor([2, 4])
    """
    return _extreme(x, axis, keepdims, largest=True)


def min(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the smallest element; NaN if there is one.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.min(xp.asarray([[1, 2], [3, 4]]), axis=1)
    tensor([1, 3])
    """
    return _extreme(x, axis, keepdims, largest=False)


def mean(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the arithmetic mean.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.mean(xp.asarray([1.0, 2.0, 6.0]))
    tensor(3.)
    """
    axes = _axes(x, axis)
    return tt.mean(x, axes, keepdim=keepdims) if axes else tt.clone(x)


def var(x: Array, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    """Return the variance: the sum of squared deviations, divided by their number less `correction`.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.var(xp.asarray([1.0, 3.0]))
    tensor(1.)
    """
    axes = _axes(x, axis)
    if not axes:
        # One element with itself as its mean.
        return (x - x) / (1.0 - correction) if correction < 1 else tt.full_like(x, tt.nan)
    return tt.var(x, axes, correction=correction, keepdim=keepdims)


def std(x: Array, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    """Return the standard deviation, the root of the variance.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.std(xp.asarray([1.0, 5.0]))
    tensor(2.)
    """
    axes = _axes(x, axis)
    if not axes:
        return tt.sqrt(var(x, axis=axis, correction=correction))
    return tt.std(x, axes, correction=correction, keepdim=keepdims)


def all(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return whether all elements are true, or not zero.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.all(xp.asarray([1, 0]))
    tensor(False)
    """
    axes = _axes(x, axis)
    flags = x.to(tt.bool, copy=not axes)
    return tt.all(flags, axes, keepdim=keepdims) if axes else flags


def any(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return whether any element is true, or not zero.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.any(xp.asarray([1, 0]))
    tensor(True)
    """
    axes = _axes(x, axis)
    flags = x.to(tt.bool, copy=not axes)
    return tt.any(flags, axes, keepdim=keepdims) if axes else flags


def count_nonzero(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return how many elements are not zero.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.count_nonzero(xp.asarray([[1, 0], [2, 3]]), axis=0)
    tensor([2, 1])
    """
    return sum(x.to(tt.bool), axis=axis, dtype=tt.int64, keepdims=keepdims)


def argmax(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the index of the largest element, the first of several; in the flattened array without an axis.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.argmax(xp.asarray([1, 5, 5]))
    tensor(1)
    """
    # PyTorch's `argmax` takes no bools.
    return tt.argmax(x.to(tt.uint8) if x.dtype is tt.bool else x, axis, keepdims)


def argmin(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the index of the smallest element, the first of several; in the flattened array without an axis.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.argmin(xp.asarray([5, 1, 1]))
    tensor(1)
    """
    return tt.argmin(x.to(tt.uint8) if x.dtype is tt.bool else x, axis, keepdims)


def _one_axis(x: Array, axis: int | None, name: str) -> int:
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"{name}() of an array of {x.ndim} dimensions needs an axis")
        return 0
    return _axes(x, axis)[0]


def _with_initial(found: Array, axis: int, initial: int) -> Array:
    first = tt.full(
        (*found.shape[:axis], 1, *found.shape[axis + 1 :]), initial, dtype=found.dtype, device=found.device
    )
    return tt.cat([first, found], axis)


def cumulative_sum(
    x: Array, /, *, axis: int | None = None, dtype: tt.dtype | None = None, include_initial: bool = False
) -> Array:
    """Return the sums of the elements up to each; with `include_initial` a zero comes first.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.cumulative_sum(xp.asarray([1, 2, 3]), include_initial=True)
    tensor([0, 1, 3, 6])
    """
    dim = _one_axis(x, axis, "cumulative_sum")
    result = tt.cumsum(x, dim, dtype=_sum_dtype(x, dtype))
    return _with_initial(result, dim, 0) if include_initial else result


def cumulative_prod(
    x: Array, /, *, axis: int | None = None, dtype: tt.dtype | None = None, include_initial: bool = False
) -> Array:
    """Return the products of the elements up to each; with `include_initial` a one comes first.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.cumulative_prod(xp.asarray([1, 2, 3]))
    tensor([1, 2, 6])
    """
    dim = _one_axis(x, axis, "cumulative_prod")
    result = tt.cumprod(x, dim, dtype=_sum_dtype(x, dtype))
    return _with_initial(result, dim, 1) if include_initial else result


def diff(
    x: Array, /, *, axis: int = -1, n: int = 1, prepend: Array | None = None, append: Array | None = None
) -> Array:
    """Return the differences of neighbours along an axis, `n` times.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.diff(xp.asarray([1, 4, 9]))
    tensor([3, 5])
    """
    dtype = promote_all([part.dtype for part in (x, prepend, append) if part is not None])
    before, after = (None if part is None else cast(part, dtype) for part in (prepend, append))
    return tt.diff(cast(x, dtype), n, axis, before, after)
