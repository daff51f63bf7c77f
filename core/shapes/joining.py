"""Shape rules of operators that join tensors."""

from __future__ import annotations

from collections.abc import Sequence

from tt.core.errors import DimensionCountError, ShapeError, ValueRangeError
from tt.core.shapes.geometry import Described, wrap_dim
from tt.core.shapes.registry import Result, RuleTable

rule = RuleTable()

Shape = tuple[int, ...]


@rule("cat")
def cat(tensors: Sequence[Described], dim: int = 0, *, op: str) -> Result:
    """Tensors one after the other along a dimension; empty one-dimensional ones are skipped."""
    if not tensors:
        raise ValueRangeError(f"{op}(): the list holds no tensor")
    for index, tensor in enumerate(tensors):
        if not tensor.ndim:
            raise ShapeError(
                f"{op}(): tensor {index} has no dimension along which it could be joined\n  try: stack()"
            )
    kept = [(i, t) for i, t in enumerate(tensors) if tuple(t.shape) != (0,)]
    if not kept:
        return Result((0,))  # whatever the dimension, which tensors of other shapes may have
    place, first = kept[0]
    at = wrap_dim(op, dim, first.ndim)
    for index, tensor in kept[1:]:
        if tensor.ndim != first.ndim:
            raise DimensionCountError(
                f"{op}(): tensor {place} has {first.ndim} dimensions and tensor {index} has {tensor.ndim}; only equal "
                f"numbers can be joined"
            )
        for other in range(first.ndim):
            if other != at and tensor.shape[other] != first.shape[other]:
                raise ShapeError(
                    f"{op}(): tensors that are joined along dimension {at} must agree in the others, and in dimension "
                    f"{other} tensor {place} has size {first.shape[other]}, tensor {index} has {tensor.shape[other]}"
                )
    shape = list(first.shape)
    shape[at] = sum(tensor.shape[at] for _, tensor in kept)
    return Result(tuple(shape))


@rule("block_diag")
def block_diag(tensors: Sequence[Described], *, op: str) -> Shape:
    """Matrices along the diagonal of one."""
    rows = columns = 0
    for tensor in tensors:
        if tensor.ndim > 2:
            raise DimensionCountError(
                f"{op}(): Input tensors must have 2 or fewer dimensions. Got {tensor.ndim}"
            )
        height, width = ((1, 1), (1, *tensor.shape), tuple(tensor.shape))[tensor.ndim]
        rows, columns = rows + height, columns + width
    return (rows, columns) if tensors else (1, 0)
