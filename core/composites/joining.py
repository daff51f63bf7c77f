"""Composites that join tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tt.core.composites.shaping import atleast_1d, atleast_2d, atleast_3d
from tt.core.dispatch.registry import ops
from tt.core.dispatch.tables import CompositeTable
from tt.core.errors import DimensionError, ShapeError

composites: Final = CompositeTable()
composite = composites.composite


@composite("stack")
def stack(tensors: Sequence[Any], dim: int) -> Any:
    if not len(tensors):
        raise ShapeError("stack expects a non-empty TensorList")
    first = tuple(tensors[0].shape)
    for index, tensor in enumerate(tensors):
        if tuple(tensor.shape) != first:
            raise ShapeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and "
                f"{list(tensor.shape)} at entry {index}"
            )
    ndim = len(first) + 1
    if not -ndim <= dim < ndim:
        raise DimensionError("stack", dim, ndim)
    return ops.cat([ops.unsqueeze(tensor, dim) for tensor in tensors], dim)


def _some(op: str, tensors: Sequence[Any]) -> Sequence[Any]:
    if not len(tensors):
        raise ShapeError(f"{op} expects a non-empty TensorList")
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
