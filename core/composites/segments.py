"""Composites that reduce segments, and those that sum to a size."""

from __future__ import annotations

from typing import Any, Final

from tt.core.composites.helpers import as_type, number, python_value, widened
from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import ArgumentError, ChoiceError, DtypeError, ShapeError, ValueRangeError
from tt.core.shapes.geometry import wrap_dim
from tt.core.types.dtype import int32, int64

composites: Final = CompositeTable()
composite = composites.composite

REDUCTIONS: Final = {
    "sum": ("sum", 0.0), "mean": ("sum", 0.0), "max": ("amax", float("-inf")), "min": ("amin", float("inf")),
    "prod": ("prod", 1.0),
}  # fmt: skip
"""The reduction of `scatter_reduce` for each, and what an empty segment has."""


def _lengths(op: str, lengths: Any, offsets: Any, indices: Any) -> Any:
    if indices is not None:
        raise ArgumentError(op, "indices is not supported: give lengths or offsets")
    if lengths is None and offsets is None:
        raise ChoiceError(op, "either lengths or offsets must be given")
    found = lengths if lengths is not None else offsets
    if found.dtype not in (int32, int64):
        raise DtypeError(f"{op}(): lengths and offsets are int32 or int64, got {found.dtype}")
    if not found.ndim:
        raise ShapeError(f"{op}(): lengths and offsets have at least one dimension")
    if lengths is None and not found.shape[-1]:
        raise ShapeError(
            f"{op}(): offsets have one element more than there are segments, got shape {list(found.shape)}"
        )
    return as_type(found, int64) if lengths is not None else ops.diff(as_type(found, int64), 1, -1)


@composite("segment_reduce")
def segment_reduce(
    data: Any, reduce: str, lengths: Any, indices: Any, offsets: Any, axis: int, unsafe: bool, initial: Any
) -> Any:
    op = "segment_reduce"
    if reduce not in REDUCTIONS:
        raise ValueRangeError(f"{op}(): reduce is one of {', '.join(REDUCTIONS)}, not {reduce!r}")
    if not data.dtype.is_floating_point:
        raise DtypeError(f"{op}(): expected floating point data, got {data.dtype}")
    axis = wrap_dim(op, axis, data.ndim)
    if not data.ndim:
        raise ShapeError(f"{op}(): data has at least one dimension")
    counts = _lengths(op, lengths, offsets, indices)
    if counts.ndim - 1 != axis or tuple(counts.shape[:-1]) != tuple(data.shape[:axis]):
        raise ShapeError(
            f"{op}(): lengths and offsets have the shape of data before axis {axis}, and one dimension more, but data "
            f"has {list(data.shape)} and these have {list(counts.shape)}"
        )
    size, segments = data.shape[axis], counts.shape[-1]
    ends = ops.cumsum(counts, -1) if lengths is not None else as_type(offsets, int64)
    if not unsafe and counts.numel():
        if python_value(ops.lt(ops.amin(counts), 0)):
            raise ValueRangeError(f"{op}(): a segment has a negative length")
        last = ops.select(ends, -1, ends.shape[-1] - 1)
        if lengths is None:
            first = ops.select(ends, -1, 0)
            if python_value(ops.any(ops.logical_or(ops.lt(first, 0), ops.gt(last, size)))):
                raise ValueRangeError(f"{op}(): offsets must lie from 0 to {size}, the size of axis {axis}")
        elif python_value(ops.any(ops.ne(last, size))):
            raise ValueRangeError(
                f"{op}(): the lengths of the segments must add up to {size}, the size of axis {axis}"
            )
    name, start = REDUCTIONS[reduce]
    x = widened(data)
    lead, rest = tuple(data.shape[:axis]), tuple(data.shape[axis + 1 :])
    place = ops.expand(ops.arange(size, device=data.device), (*lead, size))
    place = ops.searchsorted(ops.contiguous(ends), ops.contiguous(place), right=True) if segments else place
    if lengths is None and segments:  # what lies before the first offset belongs to no segment
        place = ops.where.default(ops.eq(place, 0), number(segments, place), ops.sub(place, number(1, place)))
    index = ops.expand(ops.reshape(place, (*lead, size, *(1,) * len(rest))), tuple(data.shape))
    # One more for the elements outside of all segments.
    empty = ops.full(
        (*lead, segments + 1, *rest), start if initial is None else initial, dtype=x.dtype, device=x.device
    )
    found = ops.scatter_reduce(empty, axis, index, x, name)
    found = ops.slice(found, axis, 0, segments, 1)
    if reduce == "mean":
        wide = ops.expand(ops.reshape(counts, (*lead, segments, *(1,) * len(rest))), tuple(found.shape))
        none = number(float("nan") if initial is None else initial, found)
        found = ops.where.default(
            ops.eq(wide, 0), none, ops.div.default(found, as_type(ops.clamp(wide, 1), found.dtype))
        )
    return as_type(found, data.dtype)


@composite("sum_to_size")
def sum_to_size(self: Any, size: Any) -> Any:
    shape, target = tuple(self.shape), tuple(size)
    more = len(shape) - len(target)
    if more < 0 or any(t not in (1, n) for t, n in zip(target, shape[more:], strict=True)):
        raise ShapeError(f"sum_to_size(): the size {list(target)} does not broadcast to {list(shape)}")
    if not target:
        return ops.sum(self)
    if shape == target:
        return self
    kept = [more + d for d, t in enumerate(target) if t == 1 and shape[more + d] != 1]
    found = ops.sum.dim(self, kept, True) if kept else self
    return ops.sum.dim(found, [*range(more)]) if more else found
