"""Shape rules of operators that join tensors."""

from __future__ import annotations

from collections.abc import Sequence

from tt.core.errors import ShapeError, ValueRangeError
from tt.core.shapes.geometry import Described, is_channels_last, is_contiguous, wrap_dim
from tt.core.shapes.registry import Result, RuleTable
from tt.core.shapes.shaping import expand, view_rule

rule = RuleTable()

Shape = tuple[int, ...]


@rule("cat")
def cat(tensors: Sequence[Described], dim: int = 0, *, op: str) -> Result:
    """Tensors one after the other along a dimension; empty one-dimensional ones are skipped."""
    if not tensors:
        raise ValueRangeError(f"{op}(): expected a non-empty list of Tensors")
    for index, tensor in enumerate(tensors):
        if not tensor.ndim:
            raise ShapeError(f"{op}(): zero-dimensional tensor (at position {index}) cannot be concatenated")
    kept = [(i, t) for i, t in enumerate(tensors) if tuple(t.shape) != (0,)]
    if not kept:
        wrap_dim(op, dim, 1)
        return Result((0,))
    place, first = kept[0]
    at = wrap_dim(op, dim, first.ndim)
    for index, tensor in kept[1:]:
        if tensor.ndim != first.ndim:
            raise ShapeError(
                f"{op}(): Tensors must have same number of dimensions: got {first.ndim} (tensor {place}) and "
                f"{tensor.ndim} (tensor {index})"
            )
        for other in range(first.ndim):
            if other != at and tensor.shape[other] != first.shape[other]:
                raise ShapeError(
                    f"{op}(): Sizes of tensors must match except in dimension {at}. Expected size "
                    f"{first.shape[other]} but got size {tensor.shape[other]} in dimension {other} for tensor number "
                    f"{index} in the list."
                )
    shape = list(first.shape)
    shape[at] = sum(tensor.shape[at] for _, tensor in kept)
    if all(is_channels_last(t.shape, t.strides) and not is_contiguous(t.shape, t.strides) for t in tensors):
        _, channels, height, width = shape
        return Result(tuple(shape), (channels * height * width, 1, channels * width, channels))
    return Result(tuple(shape))


@rule("stack")
def stack(tensors: Sequence[Described], dim: int = 0, *, op: str) -> Shape:
    """Tensors of one shape along a new dimension."""
    if not tensors:
        raise ShapeError(f"{op}(): expects a non-empty TensorList")
    first = tensors[0].shape
    at = wrap_dim(op, dim, len(first) + 1)
    for index, tensor in enumerate(tensors):
        if tuple(tensor.shape) != tuple(first):
            raise ShapeError(
                f"{op}(): expects each tensor to be equal size, but got {list(first)} at entry 0 and "
                f"{list(tensor.shape)} at entry {index}"
            )
    return (*first[:at], len(tensors), *first[at:])


@rule("meshgrid")
def meshgrid(tensors: Sequence[Described], indexing: str | None = None, *, op: str) -> list[Result]:
    """Vectors broadcast against each other, each along a dimension of its own, as views."""
    if not tensors:
        raise ShapeError(f"{op}() expects a non-empty TensorList")
    if indexing not in (None, "ij", "xy"):
        raise ShapeError(f"{op}(): indexing must be one of 'xy' or 'ij', but received: {indexing}")
    for tensor in tensors:
        if tensor.ndim > 1:
            raise ShapeError(
                f"{op}(): Expected 0D or 1D tensor in the tensor list but got size {list(tensor.shape)}"
            )
    places = list(range(len(tensors)))
    if indexing == "xy" and len(tensors) > 1:
        places[0], places[1] = 1, 0
    sizes = [0] * len(tensors)
    for tensor, place in zip(tensors, places, strict=True):
        sizes[place] = tensor.shape[0] if tensor.ndim else 1
    results = []
    for tensor, place in zip(tensors, places, strict=True):
        alone = [1] * len(sizes)
        alone[place] = sizes[place]
        results.append(expand(view_rule(tensor, alone, op=op).described(tensor.dtype), sizes, op=op))
    return results


@rule("block_diag")
def block_diag(tensors: Sequence[Described], *, op: str) -> Shape:
    """Matrices along the diagonal of one."""
    rows = columns = 0
    for tensor in tensors:
        if tensor.ndim > 2:
            raise ShapeError(f"{op}(): Input tensors must have 2 or fewer dimensions. Got {tensor.ndim}")
        height, width = ((1, 1), (1, *tensor.shape), tuple(tensor.shape))[tensor.ndim]
        rows, columns = rows + height, columns + width
    return (rows, columns) if tensors else (1, 0)
