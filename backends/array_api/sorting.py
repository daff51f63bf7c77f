"""Kernels that sort."""

from __future__ import annotations

from typing import Any

from tt.backends.array_api.kernel_builder import Kit

__all__ = ["add_kernels"]


def add_kernels(kit: Kit) -> None:
    """Add the kernels of this family."""
    if not kit.has("argsort take"):
        return
    xp = kit.xp

    def order(self: Any, axis: int, descending: bool) -> Any:
        """Return the stable order along an axis; NaN counts as the largest."""
        if descending:
            # Of the elements in reverse: equal ones stay in their order.
            reverse = xp.flip(order(xp.flip(self, axis=axis), axis, False), axis=axis)
            return self.shape[axis] - 1 - reverse
        if not kit.is_kind(self, "real floating"):
            return kit.int64(xp.argsort(kit.as_number(self), axis=axis, stable=True))
        # The standard does not say where NaN go, so they are sorted by a second, stable pass.
        nan = xp.isnan(self)
        first = xp.argsort(xp.where(nan, xp.zeros_like(self), self), axis=axis, stable=True)
        moved = kit.take_along(xp.astype(nan, xp.uint8), first, axis)
        return kit.int64(kit.take_along(first, xp.argsort(moved, axis=axis, stable=True), axis))

    @kit.kernel("sort", dtypes="real")
    def sort(self: Any, dim: int, descending: bool, stable: bool) -> tuple[Any, Any]:
        axis = kit.axis(dim, self.ndim)
        if not self.ndim:
            return kit.copy(self), xp.zeros((), dtype=xp.int64)
        indices = order(self, axis, descending)
        return kit.take_along(self, indices, axis), indices

    kit.kernel(
        "argsort", lambda self, dim, descending, stable: sort(self, dim, descending, stable)[1], dtypes="real"
    )

    def empty() -> Any:
        return xp.zeros((0,), dtype=xp.int64)

    def groups(columns: list[Any], count: int) -> tuple[Any, Any]:
        """Return the order of rows, given by columns, and where in this order a new row begins."""
        found = kit.arange(count)
        for column in reversed(columns):
            found = xp.take(found, order(xp.take(column, found, axis=0), 0, False), axis=0)
        begins = kit.arange(count) == 0
        for column in columns:
            ordered = xp.take(column, found, axis=0)
            differs = ordered[1:] != ordered[:-1]
            begins = begins | xp.concat([xp.ones((1,), dtype=xp.bool), differs], axis=0)
        return found, begins

    def unique_rows(columns: list[Any], count: int) -> tuple[Any, Any, Any]:
        """Return the first place of each different row, for each row which it is, and how many there are of it."""
        if not count:
            return empty(), empty(), empty()
        found, begins = groups(columns, count)
        (starts,) = kit.nonzero(begins)
        ends = xp.concat([starts[1:], xp.asarray([count], dtype=xp.int64)], axis=0)
        # The number of starts up to a place in the order is the number of its group.
        group = kit.int64(xp.searchsorted(starts, kit.arange(count), side="right")) - 1
        inverse = xp.take(group, xp.argsort(found, stable=True), axis=0)
        return xp.take(found, starts, axis=0), inverse, ends - starts

    if not kit.has("searchsorted take"):
        return

    @kit.kernel("_unique2", dtypes="real")
    def unique(self: Any, sorted: bool, return_inverse: bool, return_counts: bool) -> tuple[Any, Any, Any]:
        flat = xp.reshape(self, (-1,))
        first, inverse, counts = unique_rows([flat], kit.product(self.shape))
        return (
            xp.take(flat, first, axis=0),
            xp.reshape(inverse, tuple(self.shape)) if return_inverse else empty(),
            counts if return_counts else empty(),
        )

    @kit.kernel("unique_dim", dtypes="real")
    def unique_dim(
        self: Any, dim: int, sorted: bool, return_inverse: bool, return_counts: bool
    ) -> tuple[Any, Any, Any]:
        self = self if self.ndim else xp.reshape(self, (1,))
        axis = kit.axis(dim, self.ndim)
        count, rest = self.shape[axis], kit.product(n for d, n in enumerate(self.shape) if d != axis)
        rows = xp.reshape(xp.moveaxis(self, axis, 0), (count, rest))
        first, inverse, counts = unique_rows([rows[:, column] for column in range(rest)], count)
        return (
            xp.take(self, first, axis=axis),
            inverse if return_inverse else empty(),
            counts if return_counts else empty(),
        )
