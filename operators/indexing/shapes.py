"""Shape rules of operators that index with tensors."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tt.core.errors import (
    BroadcastError,
    DataDependentError,
    DimensionCountError,
    DtypeError,
    IndexValueError,
    ShapeError,
    UnsupportedError,
)
from tt.core.shapes.geometry import (
    Described,
    broadcast,
    broadcast_strides,
    contiguous_strides,
    dense_strides,
    like_strides,
    view_strides,
    wrap_dim,
)
from tt.core.shapes.registry import Result, RuleTable
from tt.core.types.dtype import bool_, int32, int64, uint8

rule = RuleTable()

Shape = tuple[int, ...]


# --- one index tensor along a dimension ------------------------------------------------------------------------


@rule("gather")
def gather(self: Described, dim: int, index: Described, *, op: str) -> Shape:
    """Take elements along a dimension; the index gives the shape."""
    expect_places(op, self, dim, index)
    return index.shape


def expect_index_dtype(op: str, index: Described) -> None:
    """Raise unless an index has an integer dtype that PyTorch takes."""
    if index.dtype not in (int32, int64):
        raise DtypeError(f"{op}(): the index must have dtype int32 or int64, but has {index.dtype}")


def expect_places(op: str, self: Described, dim: int, index: Described) -> None:
    """Raise unless an index names places along a dimension; an index without elements may have any dtype."""
    wrap_dim(op, dim, self.ndim)
    if 0 not in index.shape:
        expect_index_dtype(op, index)
        expect_index_fits(op, self, dim, index)


def expect_index_fits(op: str, self: Described, dim: int, index: Described, name: str = "self") -> None:
    """Raise if the index is larger than the tensor in a dimension other than `dim`."""
    at = wrap_dim(op, dim, self.ndim)
    # A number counts as a vector of one element.
    if (self.ndim or 1) != (index.ndim or 1):
        raise ShapeError(
            f"{op}(): the index and {name} must have equally many dimensions, but the index has shape "
            f"{list(index.shape)}, {name} {list(self.shape)}"
        )
    for i, (size, limit) in enumerate(zip(index.shape, self.shape, strict=False)):
        if i != at and size > limit:
            raise ShapeError(
                f"{op}(): the index {list(index.shape)} is larger than {name} {list(self.shape)} in dimension {i}, "
                f"which is allowed in dimension {at} only"
            )


@rule("take_along_dim")
def take_along_dim(self: Described, indices: Described, dim: int | None = None, *, op: str) -> Shape:
    """Take elements along a dimension; the other dimensions broadcast."""
    if dim is None:
        return (prod(indices.shape),)
    if not self.ndim:
        raise IndexValueError(f"{op}(): dimension {dim} does not exist: the tensor has 0 dimensions")
    if indices.dtype is not int64:
        raise DtypeError(f"{op}(): indices must have dtype int64, but have {indices.dtype}")
    if self.ndim != indices.ndim:
        raise DimensionCountError(
            f"{op}(): input and indices must have equally many dimensions, but have {self.ndim} and "
            f"{indices.ndim}"
        )
    at = wrap_dim(op, dim, self.ndim)
    rest = broadcast(
        op,
        tuple(1 if i == at else s for i, s in enumerate(self.shape)),
        tuple(1 if i == at else s for i, s in enumerate(indices.shape)),
    )
    return tuple(indices.shape[i] if i == at else size for i, size in enumerate(rest))


@rule("index_select")
def index_select(self: Described, dim: int, index: Described, *, op: str) -> Shape:
    """Slices of a dimension, chosen by a vector."""
    at = wrap_dim(op, dim, self.ndim)
    expect_vector(op, index)
    expect_index_dtype(op, index)
    shape = list(self.shape)
    count = index.shape[0] if index.ndim else 1
    if shape:
        if not shape[at] and count:
            raise IndexValueError(f"{op}(): dimension {at} has no places, and the index has {count}")
        shape[at] = count
    elif count != 1:
        raise ShapeError(
            f"{op}(): a tensor of 0 dimensions takes an index of 1 element, but this one has {count}"
        )
    return tuple(shape)


def expect_vector(op: str, index: Described) -> None:
    """Raise unless an index has at most one dimension."""
    if index.ndim > 1:
        raise IndexValueError(f"{op}(): the index must be a vector, but has {index.ndim} dimensions")


@rule("take")
def take(self: Described, index: Described, *, op: str) -> Result:
    """Elements by their place in the flattened tensor."""
    if index.dtype is not int64:
        raise DtypeError(f"{op}(): the index must have dtype int64, but has {index.dtype}")
    return Result(index.shape)


# --- several index tensors (advanced indexing) -----------------------------------------------------------------


@rule("index")
def index(self: Described, indices: Sequence[Any], *, op: str) -> Result:
    """Advanced indexing: the index tensors broadcast and replace the dimensions that they index."""
    expect_indices(op, self, indices)
    # Only the values of a mask say how many places it names.
    if any(i is not None and i.dtype in (bool_, uint8) for i in indices):
        raise DataDependentError(op, "meta")
    indexed = [dim for dim, i in enumerate(indices) if i is not None]
    tensors = [i for i in indices if i is not None]
    if not indexed:
        return Result(self.shape, self.strides, self.offset)
    try:
        common = broadcast(op, *(i.shape for i in tensors))
    except BroadcastError as error:
        shapes = ", ".join(str(list(i.shape)) for i in tensors)
        raise IndexValueError(
            f"{op}(): the index tensors do not broadcast: their shapes are {shapes}"
        ) from error
    rest = [dim for dim in range(self.ndim) if dim not in indexed]
    # Neighbouring indices stay where they are; separated ones go to the front.
    adjacent = indexed == list(range(indexed[0], indexed[0] + len(indexed)))
    before = [dim for dim in rest if adjacent and dim < indexed[0]]
    after = [dim for dim in rest if dim not in before]
    # Any place in an empty dimension is out of range, whatever the values of the index are.
    if 0 in (self.shape[dim] for dim in indexed) and 0 not in common:
        raise IndexValueError(
            f"{op}(): index is out of bounds for dimension with size 0: shape {list(self.shape)}"
        )
    shape = (*(self.shape[d] for d in before), *common, *(self.shape[d] for d in after))
    if 0 in shape:
        return Result(shape)
    # PyTorch orders the result by how an iteration reads source and indices: in the source, the dimensions of
    # the indices have step 0.
    source = _Read(
        shape, (*(self.strides[d] for d in before), *(0,) * len(common), *(self.strides[d] for d in after))
    )
    seen = (*(1,) * len(before), *common, *(1,) * len(after))
    readers = [_Read(seen, view_strides(common, broadcast_strides(i, common), seen)) for i in tensors]
    return Result(shape, dense_strides(shape, [source, *readers]))


class _Read:
    """A tensor as an iteration reads it."""

    __slots__ = ("dtype", "ndim", "offset", "shape", "strides")

    def __init__(self, shape: Shape, strides: Shape | None) -> None:
        self.shape, self.strides = shape, contiguous_strides(shape) if strides is None else strides
        self.ndim, self.offset, self.dtype = len(shape), 0, None


def expect_indices(op: str, self: Described, indices: Sequence[Any]) -> None:
    """Raise unless the index tensors fit the dimensions that they index."""
    dim = 0
    for i in indices:
        if i is None:
            dim += 1
            continue
        if i.dtype not in (int64, int32, uint8, bool_):
            raise IndexValueError(
                f"{op}(): an index tensor must have dtype int64, int32, uint8 or bool, but has {i.dtype}"
            )
        if i.dtype in (bool_, uint8):
            for own in range(i.ndim):
                if dim + own >= self.ndim or i.shape[own] != self.shape[dim + own]:
                    raise IndexValueError(
                        f"{op}(): a mask of shape {list(i.shape)} does not fit a tensor of shape {list(self.shape)}: "
                        f"its dimension {own} and dimension {dim + own} differ"
                    )
        # A mask takes the place of as many dimensions as it has.
        dim += i.ndim if i.dtype in (bool_, uint8) else 1
    if dim > self.ndim:
        raise IndexValueError(f"{op}(): too many indices: {dim} for a tensor of {self.ndim} dimensions")


@rule("index_put")
def index_put(self: Described, indices: Sequence[Any], values: Any = None, *, op: str) -> Result:
    """Write at the places that advanced indexing reads; the result is like the first argument."""
    expect_indices(op, self, indices)
    # The places of a mask are counted when its values are known.
    if not any(i is not None and i.dtype in (bool_, uint8) for i in indices) and hasattr(values, "shape"):
        region = index(self, indices, op=op).shape
        if not broadcasts_to(values.shape, region):
            raise ShapeError(
                f"{op}(): values of shape {list(values.shape)} do not broadcast to the indexed places, whose shape is "
                f"{list(region)}"
            )
    return Result(self.shape, like_strides(self))


def broadcasts_to(shape: Shape, target: Shape) -> bool:
    """Return whether a shape broadcasts to another without changing it."""
    if len(shape) > len(target):
        return False
    return all(
        size in (1, expected) for size, expected in zip(reversed(shape), reversed(target), strict=False)
    )


# --- masks -----------------------------------------------------------------------------------------------------


@rule("masked_fill")
def masked_fill(self: Described, mask: Described, value: Any = None, *, op: str) -> Result:
    """One value where a mask is true; tensor and mask broadcast."""
    expect_mask(op, mask)
    if getattr(value, "ndim", 0):
        raise DimensionCountError(
            f"{op}(): only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    return Result(broadcast(op, self.shape, mask.shape))


def expect_mask(op: str, mask: Described) -> None:
    """Raise unless a mask is boolean."""
    if mask.dtype is not bool_:
        raise DtypeError(f"{op}(): only supports boolean masks, but got mask with dtype {mask.dtype}")


@rule("masked_select")
def masked_select(self: Described, mask: Described, *, op: str) -> Result:
    """The elements where a mask is true: how many depends on its values."""
    expect_mask(op, mask)
    broadcast(op, self.shape, mask.shape)
    raise DataDependentError(op, "meta")


# --- look-ups --------------------------------------------------------------------------------------------------


@rule("bucketize")
def bucketize(boundaries: Described, self: Any, *, op: str) -> Shape:
    """The bucket of each value."""
    if boundaries.ndim != 1:
        raise DimensionCountError(f"{op}(): the boundaries must have 1 dimension, but have {boundaries.ndim}")
    return tuple(self.shape) if hasattr(self, "shape") else ()


@rule("one_hot")
def one_hot(self: Described, num_classes: int = -1, *, op: str) -> Shape:
    """A one at the place that each element names, in a new last dimension."""
    if num_classes < 0:
        raise DataDependentError(op, "meta")
    return (*self.shape, num_classes)


@rule("repeat_interleave_counts")
def repeat_interleave_counts(repeats: Described, output_size: int | None = None, *, op: str) -> Shape:
    """Each index of a vector of counts, repeated by its count."""
    if repeats.dtype not in (int32, int64):
        raise UnsupportedError(f"{op}(): repeats must have the dtype int32 or int64, not {repeats.dtype}")
    if repeats.ndim != 1:
        raise ShapeError(f"{op}(): only accepts a 1D vector as repeats, got shape {list(repeats.shape)}")
    if output_size is None:
        raise DataDependentError(op, "meta")
    return (output_size,)
