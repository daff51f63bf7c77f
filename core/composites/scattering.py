"""Composites that write to places which tensors name."""

from __future__ import annotations

from typing import Any, Final

from tt.core.composites.helpers import as_type, check_shapes, number, python_value, wrap
from tt.core.composites.indexing import along, filling
from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import ShapeError, ValueRangeError
from tt.core.shapes.geometry import broadcast
from tt.core.types.dtype import int64
from tt.core.types.scalars import fitted_number
from tt.core.types.user_warnings import warn_user

composites: Final = CompositeTable()
composite = composites.composite

# --- along one dimension ---------------------------------------------------------------------------------------

# What scatter calls a reduction, and scatter_reduce calls it.
_REDUCTIONS: Final = {"add": "sum", "multiply": "prod"}


def constant(self: Any, index: Any, value: Any) -> Any:
    """Return one value for each place of an index."""
    return ops.expand(number(fitted_number(value, self.dtype), self), tuple(index.shape))


def combined(self: Any, dim: int, index: Any, src: Any, reduce: str) -> Any:
    """Return the result of scatter with a reduction."""
    if reduce not in _REDUCTIONS:
        raise ValueRangeError(f"scatter(): reduce argument must be either add or multiply, got {reduce}")
    return ops.scatter_reduce(self, dim, index, src, _REDUCTIONS[reduce])


@composite("scatter.value")
def scatter_value(self: Any, dim: int, index: Any, value: Any) -> Any:
    return ops.scatter.default(self, dim, index, constant(self, index, value))


@composite("scatter.reduce")
def scatter_reduced(self: Any, dim: int, index: Any, src: Any, reduce: str) -> Any:
    found = combined(self, dim, index, src, reduce)
    warn_user(
        f"scatter(): reduce={reduce!r} with a tensor src is deprecated\n"
        f"  try: scatter_reduce(dim, index, src, {_REDUCTIONS[reduce]!r})"
    )
    return found


composite(
    "scatter.value_reduce",
    lambda self, dim, index, value, reduce: combined(self, dim, index, constant(self, index, value), reduce),
)


# --- slices ----------------------------------------------------------------------------------------------------


@composite("index_add")
def index_add(self: Any, dim: int, index: Any, source: Any, alpha: Any) -> Any:
    check_shapes("index_add", self, dim, index, source)
    scaled = source if alpha == 1 else as_type(ops.mul(source, fitted_number(alpha, self.dtype)), self.dtype)
    if not self.ndim:
        return ops.scatter_add(self, 0, ops.reshape(index, ()), ops.reshape(scaled, ()))
    axis = wrap("index_add", dim, self)
    return ops.scatter_add(
        self, axis, along(self, axis, index), ops.reshape(scaled, _slots(self, axis, index))
    )


@composite("index_copy")
def index_copy(self: Any, dim: int, index: Any, source: Any) -> Any:
    check_shapes("index_copy", self, dim, index, source)
    if not self.ndim:
        return ops.scatter.default(self, 0, ops.reshape(index, ()), ops.reshape(source, ()))
    axis = wrap("index_copy", dim, self)
    return ops.scatter.default(
        self, axis, along(self, axis, index), ops.reshape(source, _slots(self, axis, index))
    )


@composite("index_fill")
def index_fill(self: Any, dim: int, index: Any, value: Any) -> Any:
    check_shapes("index_fill", self, dim, index, value)
    flat = self if self.ndim else ops.reshape(self, (1,))
    axis = wrap("index_fill", dim, flat)
    # Advanced indexing counts negative indices from the end and refuses those out of range.
    where = [*([None] * axis), ops.reshape(index, (-1,))]
    return ops.reshape(ops.index_put(flat, where, filling(value, self)), tuple(self.shape))


@composite("index_reduce")
def index_reduce(self: Any, dim: int, index: Any, source: Any, reduce: str, include_self: bool) -> Any:
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise ValueRangeError(f"index_reduce(): reduce is one of prod, mean, amax and amin, not {reduce}")
    check_shapes("index_add", self, dim, index, source)
    if not self.ndim:
        flat, places, values = (ops.reshape(t, (-1,)) for t in (self, index, source))
        return ops.reshape(ops.scatter_reduce(flat, 0, places, values, reduce, include_self=include_self), ())
    axis = wrap("index_reduce", dim, self)
    if not source.numel():
        ops.index_select(self, axis, index)  # refuses places that `scatter_reduce` would not look at
    values = ops.reshape(source, _slots(self, axis, index))
    return ops.scatter_reduce(self, axis, along(self, axis, index), values, reduce, include_self=include_self)


def _slots(self: Any, axis: int, index: Any) -> tuple[int, ...]:
    """Return the shape of the slices that an index names."""
    shape = tuple(self.shape)
    return (*shape[:axis], index.numel(), *shape[axis + 1 :])


# --- flat places and masks -------------------------------------------------------------------------------------


@composite("put")
def put(self: Any, index: Any, source: Any, accumulate: bool) -> Any:
    check_shapes("put", self, index, source)
    flat, places, values = (ops.reshape(t, (-1,)) for t in (self, index, source))
    return ops.reshape(ops.index_put(flat, [places], values, accumulate), tuple(self.shape))


@composite("masked_scatter")
def masked_scatter(self: Any, mask: Any, source: Any) -> Any:
    check_shapes("masked_scatter", self, mask, source)

    shape = broadcast("masked_scatter", tuple(self.shape), tuple(mask.shape))
    mask = ops.expand(mask, shape)
    # The n-th true element takes the n-th value.
    order = ops.cumsum(ops.reshape(as_type(mask, int64), (-1,)), 0)
    count = python_value(ops.select(order, 0, -1)) if order.numel() else 0
    if count is not None and count > source.numel():
        raise ShapeError(
            f"masked_scatter(): the source has {source.numel()} elements, fewer than the {count} true elements of "
            f"the mask"
        )
    if not source.numel() or (not count and count is not None):
        return ops.clone(ops.expand(self, shape))
    places = ops.clamp(ops.sub(order, 1), 0, source.numel() - 1)
    values = ops.reshape(ops.index_select(ops.reshape(source, (-1,)), 0, places), shape)
    return ops.where.default(mask, values, ops.expand(self, shape))
