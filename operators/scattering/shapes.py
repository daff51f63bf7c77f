"""Shape rules of operators that write to places which tensors name."""

from __future__ import annotations

from math import prod
from typing import Any

from tt.core.errors import (
    DimensionCountError,
    DtypeError,
    IndexValueError,
    ShapeError,
    UnsupportedError,
    ValueRangeError,
)
from tt.core.shapes.geometry import (
    Described,
    broadcast,
    like_strides,
    reduced_shape,
    wrap_dim,
)
from tt.core.shapes.registry import Result, RuleTable
from tt.core.types.dtype import int64
from tt.operators.indexing.shapes import expect_index_dtype, expect_mask, expect_places, expect_vector

rule = RuleTable()

Shape = tuple[int, ...]

REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")

# --- along a dimension -----------------------------------------------------------------------------------------


@rule("scatter")
def scatter(self: Described, dim: int, index: Described, src: Any = None, *, op: str) -> Result:
    """Write elements along a dimension; the result is like the first argument."""
    expect_places(op, self, dim, index)
    # An index without elements writes nothing, so src may have any shape.
    if hasattr(src, "shape") and 0 not in index.shape:
        if (src.ndim or 1) != (index.ndim or 1):
            raise DimensionCountError(
                f"{op}(): the index and src must have equally many dimensions, but have {index.ndim} and {src.ndim}"
            )
        for i, (size, limit) in enumerate(zip(index.shape, src.shape, strict=False)):
            if size > limit:
                raise ShapeError(
                    f"{op}(): the index {list(index.shape)} is larger than src {list(src.shape)} in dimension {i}"
                )
    return Result(self.shape)


@rule("scatter_reduce")
def scatter_reduce(
    self: Described, dim: int, index: Described, src: Described, reduce: str, *, op: str
) -> Result:
    """Combine elements along a dimension; the result is like the first argument."""
    if reduce not in REDUCTIONS:
        raise ValueRangeError(f"{op}(): reduce must be sum, prod, mean, amax or amin, got {reduce!r}")
    if self.dtype.is_complex and reduce in ("amax", "amin"):
        raise UnsupportedError(f"{op}(): complex numbers have no {reduce}")
    if self.dtype.kind == "bool" and reduce == "mean":
        raise UnsupportedError(f"{op}(): bools have no mean")
    return scatter(self, dim, index, src, op=op)


# --- slices ----------------------------------------------------------------------------------------------------


@rule("index_add")
def index_add(self: Described, dim: int, index: Described, source: Any = None, *, op: str) -> Result:
    """Change slices of a dimension, chosen by a vector; one source slice for each index."""
    at = wrap_dim(op, dim, self.ndim)
    expect_vector(op, index)
    expect_index_dtype(op, index)
    if hasattr(source, "shape"):
        count = index.shape[0] if index.ndim else 1
        have = source.shape[at] if source.ndim > at else 1
        # The next check has the clearer message for a source of fewer dimensions.
        if count != have and (source.ndim > at or not source.ndim):
            raise IndexValueError(
                f"{op}(): there are {count} indices, but source has {have} slices along dimension {at}"
            )
        if self.ndim != source.ndim or reduced_shape(self.shape, (at,), False) != reduced_shape(
            source.shape, (at,), False
        ):
            raise ShapeError(
                f"{op}(): source and self must have one shape apart from dimension {at}, but have "
                f"{list(source.shape)} and {list(self.shape)}"
            )
    return Result(self.shape)


@rule("index_copy")
def index_copy(self: Described, dim: int, index: Described, source: Described, *, op: str) -> Result:
    """Write slices of a dimension, chosen by a vector; one source slice for each index."""
    at = wrap_dim(op, dim, self.ndim)
    expect_vector(op, index)
    if index.dtype is not int64:
        raise DtypeError(f"{op}(): the index must have dtype int64, but has {index.dtype}")
    if self.ndim and source.ndim and self.ndim != source.ndim:
        raise IndexValueError(
            f"{op}(): source and self must have equally many dimensions unless one has none, but have "
            f"{source.ndim} and {self.ndim}"
        )
    count, have = prod(index.shape), source.shape[at] if source.ndim else 1
    if not source.ndim and count != 1:
        raise IndexValueError(
            f"{op}(): a source of 0 dimensions needs an index of 1 element, but this one has {count}"
        )
    if count != have:
        raise IndexValueError(
            f"{op}(): there are {count} indices, but source has {have} slices along dimension {at}"
        )
    expected = reduced_shape(self.shape, (at,), False) if self.ndim else ()
    slices = reduced_shape(source.shape, (at,), False) if source.ndim else ()
    # A source of no dimensions fits slices of one element, however many dimensions these have.
    if expected != slices and (prod(expected) != 1 or source.ndim):
        raise ShapeError(
            f"{op}(): the slices along dimension {at} must have one shape, but have {list(slices)} in source and "
            f"{list(expected)} in self"
        )
    return Result(self.shape)


@rule("index_fill")
def index_fill(self: Described, dim: int, index: Described, value: Any = None, *, op: str) -> Result:
    """Fill slices of a dimension, chosen by a vector, with one value."""
    wrap_dim(op, dim, self.ndim)
    expect_vector(op, index)
    if index.dtype is not int64:
        raise IndexValueError(f"{op}(): the index must have dtype int64, but has {index.dtype}")
    if getattr(value, "ndim", 0):
        raise DimensionCountError(
            f"{op}(): value must be a number or a tensor of 0 dimensions, but has {value.ndim}"
        )
    filling = value.dtype.is_complex if hasattr(value, "dtype") else isinstance(value, complex)
    if filling and not self.dtype.is_complex:
        raise DtypeError(f"{op}(): a complex number does not fill a tensor of {self.dtype.name}")
    return Result(self.shape, like_strides(self))


# --- flat places and masks -------------------------------------------------------------------------------------


@rule("put")
def put(self: Described, index: Described, source: Described, *, op: str) -> Result:
    """Write elements by their place in the flattened tensor."""
    if index.dtype is not int64:
        raise DtypeError(f"{op}(): the index must have dtype int64, but has {index.dtype}")
    if prod(index.shape) != prod(source.shape):
        raise IndexValueError(
            f"{op}(): source and index must have equally many elements, but have {prod(source.shape)} and "
            f"{prod(index.shape)}"
        )
    return Result(self.shape, like_strides(self))


@rule("masked_scatter")
def masked_scatter(self: Described, mask: Described, source: Described, *, op: str) -> Result:
    """The next values of a source where a mask is true; tensor and mask broadcast."""
    expect_mask(op, mask)
    if self.dtype is not source.dtype:
        raise DtypeError(
            f"{op}(): expected self and source to have same dtypes but got {self.dtype}, {source.dtype}"
        )
    return Result(broadcast(op, self.shape, mask.shape))


@rule("embedding")
def embedding(weight: Described, indices: Described, *, op: str) -> Shape:
    """A row of the weight for each index."""
    if weight.ndim != 2:
        raise DimensionCountError(f"{op}(): 'weight' must be 2-D, got {weight.ndim}-D")
    expect_index_dtype(op, indices)
    # No value of an index could be right.
    if not weight.shape[0] and 0 not in indices.shape:
        raise IndexValueError(f"{op}(): the weight has no rows, and the indices name some")
    return (*indices.shape, weight.shape[1])


@rule("embedding_dense_backward")
def embedding_dense_backward(
    grad_output: Described, indices: Described, num_weights: int, *, op: str
) -> Shape:
    """The rows of a matrix to which gradients are added."""
    if tuple(grad_output.shape[:-1]) != tuple(indices.shape) or grad_output.ndim != indices.ndim + 1:
        raise ShapeError(
            f"{op}(): the gradient has the shape {list(grad_output.shape)}, and each index of shape "
            f"{list(indices.shape)} needs a row"
        )
    if indices.dtype.name not in ("int32", "int64"):
        raise DtypeError(f"{op}(): indices have the dtype int32 or int64, not {indices.dtype}")
    if num_weights < 0:
        raise ValueRangeError(f"{op}(): a number of rows is not negative, and {num_weights} is")
    return (num_weights, grad_output.shape[-1])


@rule("embedding_bag")
def embedding_bag(
    weight: Described,
    indices: Described,
    offsets: Described,
    per_sample_weights: Described | None,
    mode: str,
    include_last_offset: bool,
    *,
    op: str,
) -> tuple[Shape, Shape]:
    """A row for each bag, and for the largest elements where they were."""
    if weight.ndim != 2 or indices.ndim != 1 or offsets.ndim != 1:
        raise DimensionCountError(
            f"{op}(): a matrix, a vector of indices and a vector of offsets have 2, 1 and 1 dimensions, not "
            f"{weight.ndim}, {indices.ndim} and {offsets.ndim}"
        )
    expect_index_dtype(op, indices)
    expect_index_dtype(op, offsets)
    if per_sample_weights is not None and per_sample_weights.shape != indices.shape:
        raise ShapeError(
            f"{op}(): per_sample_weights has the shape {list(per_sample_weights.shape)}, and the indices "
            f"{list(indices.shape)}"
        )
    if per_sample_weights is not None and per_sample_weights.dtype.is_complex:
        raise DtypeError(f"{op}(): per_sample_weights must be real, and has {per_sample_weights.dtype}")
    if mode not in ("sum", "mean", "max"):
        raise ValueRangeError(f"{op}(): mode has to be one of sum, mean or max, got {mode}")
    # With include_last_offset, the last offset ends the last bag and begins none.
    bags = max(offsets.shape[0] - include_last_offset, 0)
    return (bags, weight.shape[1]), (bags, weight.shape[1]) if mode == "max" else (0,)
