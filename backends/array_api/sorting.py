"""Kernels that sort."""

from __future__ import annotations

from typing import Any

from tt.backends.array_api.kernel_builder import KernelBuilder

__all__ = ["add_kernels"]


def add_kernels(builder: KernelBuilder) -> None:
    """Add the kernels of this family."""
    if not builder.has("argsort take"):
        return
    xp = builder.xp

    def order(self: Any, axis: int, descending: bool) -> Any:
        """Return the stable order along an axis; NaN counts as the largest."""
        if descending:
            # Of the elements in reverse: equal ones stay in their order.
            reverse = xp.flip(order(xp.flip(self, axis=axis), axis, False), axis=axis)
            return self.shape[axis] - 1 - reverse
        if not builder.is_kind(self, "real floating"):
            return builder.int64(xp.argsort(builder.as_number(self), axis=axis, stable=True))
        # The standard does not specify the order of NaN, so they are sorted by a second, stable pass.
        nan = xp.isnan(self)
        first = xp.argsort(xp.where(nan, xp.zeros_like(self), self), axis=axis, stable=True)
        moved = builder.take_along(xp.astype(nan, xp.uint8), first, axis)
        return builder.int64(builder.take_along(first, xp.argsort(moved, axis=axis, stable=True), axis))

    @builder.kernel("sort", dtypes="real")
    def sort(self: Any, dim: int, descending: bool, stable: bool) -> tuple[Any, Any]:
        axis = builder.axis(dim, self.ndim)
        if not self.ndim:
            return builder.copy(self), xp.zeros((), dtype=xp.int64)
        indices = order(self, axis, descending)
        return builder.take_along(self, indices, axis), indices

    builder.kernel(
        "argsort", lambda self, dim, descending, stable: sort(self, dim, descending, stable)[1], dtypes="real"
    )

    def empty() -> Any:
        return xp.zeros((0,), dtype=xp.int64)

    def groups(columns: list[Any], count: int) -> tuple[Any, Any]:
        """Return the order of rows, given by columns, and where in this order a new row begins."""
        found = builder.arange(count)
        for column in reversed(columns):
            found = xp.take(found, order(xp.take(column, found, axis=0), 0, False), axis=0)
        begins = builder.arange(count) == 0
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
        (starts,) = builder.nonzero(begins)
        ends = xp.concat([starts[1:], xp.asarray([count], dtype=xp.int64)], axis=0)
        # The number of starts up to a place in the order is the number of its group.
        group = builder.int64(xp.searchsorted(starts, builder.arange(count), side="right")) - 1
        inverse = xp.take(group, xp.argsort(found, stable=True), axis=0)
        return xp.take(found, starts, axis=0), inverse, ends - starts

    if not builder.has("searchsorted take"):
        return

    @builder.kernel("_unique2", dtypes="real")
    def unique(self: Any, sorted: bool, return_inverse: bool, return_counts: bool) -> tuple[Any, Any, Any]:
        flat = xp.reshape(self, (-1,))
        first, inverse, counts = unique_rows([flat], builder.product(self.shape))
        return (
            xp.take(flat, first, axis=0),
            xp.reshape(inverse, tuple(self.shape)) if return_inverse else empty(),
            counts if return_counts else empty(),
        )

    @builder.kernel("unique_dim", dtypes="real")
    def unique_dim(
        self: Any, dim: int, sorted: bool, return_inverse: bool, return_counts: bool
    ) -> tuple[Any, Any, Any]:
        self = self if self.ndim else xp.reshape(self, (1,))
        axis = builder.axis(dim, self.ndim)
        count, rest = self.shape[axis], builder.product(n for d, n in enumerate(self.shape) if d != axis)
        rows = xp.reshape(xp.moveaxis(self, axis, 0), (count, rest))
        first, inverse, counts = unique_rows([rows[:, column] for column in range(rest)], count)
        return (
            xp.take(self, first, axis=axis),
            inverse if return_inverse else empty(),
            counts if return_counts else empty(),
        )
