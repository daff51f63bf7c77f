"""Kernels that sort."""

from __future__ import annotations

from typing import Any

from tt.backends.array_api.namespace import Namespace
from tt.backends.array_api.table import NamespaceTable

__all__ = ["table"]

table = NamespaceTable(needs="argsort take")


def order(xp: Namespace, self: Any, axis: int, descending: bool) -> Any:
    """Return the stable order along an axis; NaN counts as the largest."""
    if descending:
        # Of the elements in reverse: equal ones stay in their order.
        reverse = xp.flip(order(xp, xp.flip(self, axis=axis), axis, False), axis=axis)
        return self.shape[axis] - 1 - reverse
    if not xp.is_kind(self, "real floating"):
        return xp.to_int64(xp.argsort(xp.as_number(self), axis=axis, stable=True))
    # The standard does not specify the order of NaN, so they are sorted by a second, stable pass.
    nan = xp.isnan(self)
    first = xp.argsort(xp.where(nan, xp.zeros_like(self), self), axis=axis, stable=True)
    moved = xp.take_along(xp.astype(nan, xp.uint8), first, axis)
    return xp.to_int64(xp.take_along(first, xp.argsort(moved, axis=axis, stable=True), axis))


@table.kernel("sort", dtypes="real")
def sort(xp: Namespace, self: Any, dim: int, descending: bool, stable: bool) -> tuple[Any, Any]:
    axis = xp.axis(dim, self.ndim)
    if not self.ndim:
        return xp.copy(self), xp.zeros((), dtype=xp.int64)
    indices = order(xp, self, axis, descending)
    return xp.take_along(self, indices, axis), indices


table.kernel(
    "argsort",
    lambda xp, self, dim, descending, stable: sort(xp, self, dim, descending, stable)[1],
    dtypes="real",
)


def empty(xp: Namespace) -> Any:
    return xp.zeros((0,), dtype=xp.int64)


def groups(xp: Namespace, columns: list[Any], count: int) -> tuple[Any, Any]:
    """Return the order of rows, given by columns, and where in this order a new row begins."""
    grouped = xp.positions(count)
    # From the last column to the first by stable sorts, as in a radix sort: the first column decides.
    for column in reversed(columns):
        grouped = xp.take(grouped, order(xp, xp.take(column, grouped, axis=0), 0, False), axis=0)
    begins = xp.positions(count) == 0
    for column in columns:
        ordered = xp.take(column, grouped, axis=0)
        differs = ordered[1:] != ordered[:-1]
        begins = begins | xp.concat([xp.ones((1,), dtype=xp.bool), differs], axis=0)
    return grouped, begins


def unique_rows(xp: Namespace, columns: list[Any], count: int) -> tuple[Any, Any, Any]:
    """Return the first place of each different row, for each row which it is, and how many there are of it."""
    if not count:
        return empty(xp), empty(xp), empty(xp)
    grouped, begins = groups(xp, columns, count)
    (starts,) = xp.nonzero_positions(begins)
    ends = xp.concat([starts[1:], xp.asarray([count], dtype=xp.int64)], axis=0)
    # The number of starts up to a place in the order is the number of its group.
    group = xp.to_int64(xp.searchsorted(starts, xp.positions(count), side="right")) - 1
    # The inverse of a permutation is the order of its elements.
    inverse = xp.take(group, xp.argsort(grouped, stable=True), axis=0)
    return xp.take(grouped, starts, axis=0), inverse, ends - starts


@table.kernel("_unique2", dtypes="real", needs="searchsorted")
def unique(
    xp: Namespace, self: Any, sorted: bool, return_inverse: bool, return_counts: bool
) -> tuple[Any, Any, Any]:
    flat = xp.reshape(self, (-1,))
    first, inverse, counts = unique_rows(xp, [flat], xp.product(self.shape))
    return (
        xp.take(flat, first, axis=0),
        xp.reshape(inverse, tuple(self.shape)) if return_inverse else empty(xp),
        counts if return_counts else empty(xp),
    )


@table.kernel("unique_dim", dtypes="real", needs="searchsorted")
def unique_dim(
    xp: Namespace, self: Any, dim: int, sorted: bool, return_inverse: bool, return_counts: bool
) -> tuple[Any, Any, Any]:
    self = self if self.ndim else xp.reshape(self, (1,))
    axis = xp.axis(dim, self.ndim)
    count, rest = self.shape[axis], xp.product(n for d, n in enumerate(self.shape) if d != axis)
    rows = xp.reshape(xp.moveaxis(self, axis, 0), (count, rest))
    first, inverse, counts = unique_rows(xp, [rows[:, column] for column in range(rest)], count)
    return (
        xp.take(self, first, axis=axis),
        inverse if return_inverse else empty(xp),
        counts if return_counts else empty(xp),
    )
