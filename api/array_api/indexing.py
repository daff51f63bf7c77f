"""Indexing, searching, sorting and sets."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import tt
from tt.array_api._promotion import as_tensors, cast

Array: TypeAlias = tt.Tensor
Operand: TypeAlias = tt.Tensor | bool | int | float | complex

__all__ = [
    "argsort", "nonzero", "searchsorted", "sort", "take", "take_along_axis", "unique_all", "unique_counts",
    "unique_inverse", "unique_values", "where",
]  # fmt: skip


def take(x: Array, indices: Array, /, *, axis: int | None = None) -> Array:
    """Return the elements at indices of an axis; indices below zero count from its end.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.take(xp.asarray([5, 6, 7]), xp.asarray([-1, 0]))
    tensor([7, 5])
    """
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take() of an array of {x.ndim} dimensions needs an axis")
        axis = 0
    if not -x.ndim <= axis < x.ndim:
        raise IndexError(f"axis {axis} is out of range for an array of {x.ndim} dimensions")
    # An index of uint8 would be taken for a mask.
    return x[(slice(None),) * (axis % x.ndim) + (cast(indices, tt.int64),)]


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """Return the elements at indices of an axis that are given for each element of the result.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.take_along_axis(xp.asarray([[5, 6], [7, 8]]), xp.asarray([[1], [-2]]))
    tensor([[6],
            [7]])
    """
    if x.ndim != indices.ndim:
        raise ValueError(
            f"x and indices must have as many dimensions as each other, not {x.ndim} and {indices.ndim}"
        )
    if not -x.ndim <= axis < x.ndim:
        raise IndexError(f"axis {axis} is out of range for an array of {x.ndim} dimensions")
    dim, index = axis % x.ndim, cast(indices, tt.int64)
    # All axes but this one are broadcast, which `gather` does not do.
    shape = tt.broadcast_shapes(*[(*array.shape[:dim], 1, *array.shape[dim + 1 :]) for array in (x, index)])
    x = tt.broadcast_to(x, (*shape[:dim], x.shape[dim], *shape[dim + 1 :]))
    index = tt.broadcast_to(index, (*shape[:dim], index.shape[dim], *shape[dim + 1 :]))
    # `gather` takes no indices below zero.
    return tt.gather(x, dim, tt.where(index < 0, index + x.shape[dim], index))


def nonzero(x: Array, /) -> tuple[Array, ...]:
    """Return the indices of the elements that are not zero, an array for each dimension.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.nonzero(xp.asarray([0, 3, 4]))
    (tensor([1, 2]),)
    """
    if x.ndim == 0:
        raise ValueError("nonzero() of a zero-dimensional array has no indices")
    return tuple(tt.nonzero(x, as_tuple=True))


def where(condition: Array, x1: Operand, x2: Operand, /) -> Array:
    """Return elements of `x1` where the condition is true, of `x2` elsewhere.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.where(xp.asarray([True, False]), xp.asarray([1, 2]), 0)
    tensor([1, 0])
    """
    if isinstance(x1, tt.Tensor) or isinstance(x2, tt.Tensor):
        x1, x2 = as_tensors(x1, x2)
    return tt.where(condition, x1, x2)


def searchsorted(x1: Array, x2: Array, /, *, side: str = "left", sorter: Array | None = None) -> Array:
    """Return where elements of `x2` belong in the sorted `x1`.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.searchsorted(xp.asarray([1, 3, 5]), xp.asarray([3, 4]), side="right")
    tensor([2, 2])
    """
    dtype = tt.promote_types(x1.dtype, x2.dtype)
    order = None if sorter is None else cast(sorter, tt.int64)
    return tt.searchsorted(
        cast(x1, dtype).contiguous(), cast(x2, dtype).contiguous(), side=side, sorter=order
    )


# --- sorting -----------------------------------------------------------------------------------------------------


def sort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Return the elements in order along an axis.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.sort(xp.asarray([3, 1, 2]), descending=True)
    tensor([3, 2, 1])
    """
    return tt.sort(x, axis, descending, stable=stable).values


def argsort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Return the indices that sort an array along an axis.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.argsort(xp.asarray([3, 1, 2]))
    tensor([1, 2, 0])
    """
    return tt.argsort(x, axis, descending, stable=stable)


# --- sets --------------------------------------------------------------------------------------------------------


class UniqueAllResult(NamedTuple):
    """The values of an array, where each occurs first, which one each element is, and how often each occurs."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCountsResult(NamedTuple):
    """The values of an array, and how often each occurs."""

    values: Array
    counts: Array


class UniqueInverseResult(NamedTuple):
    """The values of an array, and which of them each element is."""

    values: Array
    inverse_indices: Array


def _unique(x: Array) -> UniqueAllResult:
    """Return everything about the values of an array; each NaN is a value of its own."""
    flat = x.reshape(-1)
    if x.dtype.is_complex:
        # Complex numbers have no order; by the imaginary part first, then stably by the real one.
        order = tt.argsort(flat.imag, stable=True)
        order = order[tt.argsort(flat.real[order], stable=True)]
    else:
        order = tt.argsort(flat, stable=True)
    arranged = flat[order]
    first = tt.ones(flat.shape, dtype=tt.bool, device=x.device)
    if flat.shape[0] > 1:
        # A NaN differs from itself, so each is a value of its own, as the standard says.
        first[1:] = arranged[1:] != arranged[:-1]
    starts = tt.nonzero(first).reshape(-1)
    # Counts are the distances between the places where values begin.
    ends = tt.cat([starts[1:], tt.full((1,), flat.shape[0], dtype=tt.int64, device=x.device)])
    inverse = tt.zeros_like(order)
    # The number of a value is how many have begun before it.
    inverse[order] = tt.cumsum(first, 0) - 1
    return UniqueAllResult(
        arranged[starts],
        order[starts],
        inverse.reshape(x.shape),
        (ends - starts) if flat.shape[0] else starts,
    )


def unique_all(x: Array, /) -> UniqueAllResult:
    """Return the values in ascending order, the index of the first of each, the value of each element, and counts.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.unique_all(xp.asarray([2, 1, 2])).indices
    tensor([1, 0])
    """
    return _unique(x)


def unique_counts(x: Array, /) -> UniqueCountsResult:
    """Return the values in ascending order, and how often each occurs.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> values, counts = xp.unique_counts(xp.asarray([2, 1, 2]))
    >>> counts
    tensor([1, 2])
    """
    unique = _unique(x)
    return UniqueCountsResult(unique.values, unique.counts)


def unique_inverse(x: Array, /) -> UniqueInverseResult:
    """Return the values in ascending order, and for each element the index of its value.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.unique_inverse(xp.asarray([2, 1, 2])).inverse_indices
    tensor([1, 0, 1])
    """
    unique = _unique(x)
    return UniqueInverseResult(unique.values, unique.inverse_indices)


def unique_values(x: Array, /) -> Array:
    """Return the values in ascending order, each once.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.unique_values(xp.asarray([2, 1, 2]))
    tensor([1, 2])
    """
    return _unique(x).values
