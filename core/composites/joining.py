"""Composites that join tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tt.core.composites.shaping import atleast_1d, atleast_2d, atleast_3d
from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import ShapeError
from tt.core.shapes.geometry import wrap_dim

composites: Final = CompositeTable()
composite = composites.composite


@composite("stack")
def stack(tensors: Sequence[Any], dim: int) -> Any:
    if not len(tensors):
        raise ShapeError("stack(): no tensor is given")
    first = tuple(tensors[0].shape)
    wrap_dim("stack", dim, len(first) + 1)
    for index, tensor in enumerate(tensors):
        if tuple(tensor.shape) != first:
            raise ShapeError(
                f"stack(): the tensors must have one shape, and tensor 0 has {list(first)}, tensor {index} has "
                f"{list(tensor.shape)}"
            )
    return ops.cat([ops.unsqueeze(tensor, dim) for tensor in tensors], dim)


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
