"""Composites that join tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from tt.core.composites.shaping import atleast_1d, atleast_2d, atleast_3d
from tt.core.dispatch.call.memory_formats import format_of
from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import DimensionCountError, ShapeError
from tt.core.shapes.geometry import wrap_dim
from tt.core.types.memory_format import ORDERS

composites: Final = CompositeTable()
composite = composites.composite


@composite("stack")
def stack(tensors: Sequence[Any], dim: int) -> Any:
    if not len(tensors):
        raise ShapeError("stack(): no tensor is given")
    first = tuple(tensors[0].shape)
    at = wrap_dim("stack", dim, len(first) + 1)
    for index, tensor in enumerate(tensors):
        if tuple(tensor.shape) != first:
            raise ShapeError(
                f"stack(): the tensors must have one shape, and tensor 0 has {list(first)}, tensor {index} has "
                f"{list(tensor.shape)}"
            )
    name = format_of(tensors) if at < len(first) else None
    if name is not None:
        return _stacked_in_order(tensors, at, ORDERS[name])
    return ops.cat([ops.unsqueeze(tensor, at) for tensor in tensors], at)


def _stacked_in_order(tensors: Sequence[Any], dim: int, order: Sequence[int]) -> Any:
    """Stack tensors whose dimensions lie in an order in memory; the new one lies around that whose place it takes."""
    place = order.index(dim)
    joined = ops.cat([ops.unsqueeze(ops.permute(tensor, order), place) for tensor in tensors], place)
    lies = [other + (other >= dim) for other in order]
    lies.insert(place, dim)
    return ops.permute(joined, [lies.index(other) for other in range(len(lies))])


def _some(op: str, tensors: Sequence[Any]) -> Sequence[Any]:
    if not len(tensors):
        raise ShapeError(f"{op}(): no tensor is given")
    return tensors


@composite("hstack")
def hstack(tensors: Sequence[Any]) -> Any:
    shaped = [atleast_1d(tensor) for tensor in _some("hstack", tensors)]
    return ops.cat(shaped, 0 if shaped[0].ndim == 1 else 1)


@composite("vstack")
def vstack(tensors: Sequence[Any]) -> Any:
    return ops.cat([atleast_2d(tensor) for tensor in _some("vstack", tensors)], 0)


@composite("dstack")
def dstack(tensors: Sequence[Any]) -> Any:
    return ops.cat([atleast_3d(tensor) for tensor in _some("dstack", tensors)], 2)


@composite("column_stack")
def column_stack(tensors: Sequence[Any]) -> Any:
    some = _some("column_stack", tensors)
    return ops.cat([t if t.ndim > 1 else ops.reshape(t, (t.numel(), 1)) for t in some], 1)


# --- combinations ----------------------------------------------------------------------------------------------


@composite("cartesian_prod")
def cartesian_prod(tensors: Sequence[Any]) -> Any:
    if not len(tensors):
        raise ShapeError("cartesian_prod(): no tensor is given")
    for place, tensor in enumerate(tensors):
        if tensor.ndim != 1:
            raise DimensionCountError(
                f"cartesian_prod(): takes vectors, and tensor {place} has {tensor.ndim} dimensions"
            )
    if len(tensors) == 1:
        return tensors[0]
    grid = ops.meshgrid([*tensors], indexing="ij")
    return ops.stack([ops.flatten(part) for part in grid], 1)


@composite("combinations")
def combinations(self: Any, r: int, with_replacement: bool) -> Any:
    if self.ndim != 1:
        raise DimensionCountError(
            f"combinations(): takes a vector, and this tensor has {self.ndim} dimensions"
        )
    if r < 0:
        raise ShapeError(f"combinations(): r must not be negative, got {r}")
    if not r:
        return ops.empty((0,), dtype=self.dtype, device=self.device)
    n, step = self.shape[0], 0 if with_replacement else 1
    if n < (1 if with_replacement else r):
        return ops.repeat(ops.unsqueeze(ops.narrow(self, 0, 0, 0), 1), (1, r))  # of self, as all others are
    if with_replacement and n > 1:
        # Raises at once where the result is too large.  With 64 and 64 to choose from there are more than 2**63.
        count = math.comb(n + r - 1, r) if min(n - 1, r) < 64 else 1 << 62
        ops.empty((count, r), dtype=self.dtype, device=self.device)
    if with_replacement and n == 1:
        return ops.repeat(ops.unsqueeze(self, 0), (1, r))
    last = ops.arange(n, device=self.device)
    chosen = [last]
    for taken in range(2, r + 1):
        # Each choice of fewer elements is followed by all places from its last one on.
        counts = ops.rsub(last, n - step)
        size = math.comb(n + taken - 1, taken) if with_replacement else math.comb(n, taken)
        row = ops.repeat_interleave.Tensor(counts, output_size=size)
        before = ops.sub(ops.cumsum(counts, 0), counts)
        place = ops.sub(ops.arange(size, device=self.device), ops.index_select(before, 0, row))
        last = ops.add(ops.add(ops.index_select(last, 0, row), place), step)
        chosen = [*(ops.index_select(c, 0, row) for c in chosen), last]
    return ops.stack([ops.index_select(self, 0, c) for c in chosen], 1)
