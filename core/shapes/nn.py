"""Shape rules of neural-network operators, except those with windows (see `convolution`)."""

from __future__ import annotations

from math import prod
from typing import Any

from tt.core.errors import DataDependentError, DimensionCountError, IndexValueError, ShapeError
from tt.core.shapes.geometry import Described, broadcast, wrap_dim
from tt.core.shapes.indexing import expect_index_dtype
from tt.core.shapes.pointwise import like_strides
from tt.core.shapes.registry import Result, RuleTable
from tt.core.types.dtype import bool_

rule = RuleTable()

Shape = tuple[int, ...]


# --- layers ----------------------------------------------------------------------------------------------------


@rule("linear")
def linear(input: Described, weight: Described, bias: Any = None, *, op: str) -> Shape:
    """The last dimension multiplied by a matrix (out, in), plus a bias."""
    if weight.ndim not in (1, 2):
        raise DimensionCountError(f"{op}(): weight must be 1D or 2D, got {weight.ndim}D")
    if not input.ndim:
        raise ShapeError(f"{op}(): input must have at least one dimension")
    if input.shape[-1] != weight.shape[-1]:
        rows = prod(input.shape[:-1])
        raise ShapeError(
            f"{op}(): mat1 and mat2 shapes cannot be multiplied ({rows}x{input.shape[-1]} and "
            f"{weight.shape[-1]}x{weight.shape[0] if weight.ndim > 1 else 1})"
        )
    shape = (*input.shape[:-1], *weight.shape[:-1])
    if bias is not None and input.ndim == 2 and weight.ndim == 1:
        raise ShapeError(
            f"{op}(): with a matrix as input and a bias, weight must be a matrix, got {list(weight.shape)}"
        )
    if bias is not None and broadcast(op, shape, bias.shape) != shape:
        raise ShapeError(f"{op}(): bias {list(bias.shape)} does not fit the output {list(shape)}")
    return shape


@rule("bilinear")
def bilinear(input1: Described, input2: Described, weight: Described, *, op: str) -> Shape:
    """Two last dimensions combined by a matrix for each output."""
    if input1.shape[:-1] != input2.shape[:-1] or weight.shape[1:] != (input1.shape[-1], input2.shape[-1]):
        raise ShapeError(
            f"{op}(): inputs {list(input1.shape)}, {list(input2.shape)} and weight {list(weight.shape)} do not fit"
        )
    return (*input1.shape[:-1], weight.shape[0])


@rule("embedding")
def embedding(weight: Described, indices: Described, *, op: str) -> Shape:
    """A row of the weight for each index."""
    if weight.ndim != 2:
        raise DimensionCountError(f"{op}(): 'weight' must be 2-D, got {weight.ndim}-D")
    expect_index_dtype(op, indices)
    if not weight.shape[0] and 0 not in indices.shape:
        raise IndexValueError(f"{op}(): the weight has no rows, and the indices name some")
    return (*indices.shape, weight.shape[1])


@rule("one_hot")
def one_hot(self: Described, num_classes: int = -1, *, op: str) -> Shape:
    """A one at the place that each element names, in a new last dimension."""
    if num_classes < 0:
        raise DataDependentError(op, "meta")
    return (*self.shape, num_classes)


@rule("glu")
def glu(self: Described, dim: int = -1, *, op: str) -> Shape:
    """One half gated by the other."""
    if not self.ndim:
        raise ShapeError(f"{op}() does not support 0-dimensional tensors")
    at = wrap_dim(op, dim, self.ndim)
    if self.shape[at] % 2:
        raise ShapeError(
            f"{op}(): Halving dimension must be even, but dimension {at} is size {self.shape[at]}"
        )
    shape = list(self.shape)
    shape[at] //= 2
    return tuple(shape)


@rule("glu_backward")
def glu_backward(grad_output: Described, self: Described, dim: int = -1, *, op: str) -> Shape:
    """The shape of the input; the gradient broadcasts to that of the result."""
    result = glu(self, dim, op=op)
    if broadcast(op, result, grad_output.shape) != result:
        raise ShapeError(
            f"{op}(): grad_output {list(grad_output.shape)} does not fit the result of glu, {list(result)}"
        )
    return tuple(self.shape)


@rule("prelu")
def prelu(self: Described, weight: Described, *, op: str) -> Result:
    """The same shape; the weight has one number, or one for each channel."""
    count = prod(weight.shape)
    if weight.ndim > 1:
        raise DimensionCountError(f"{op}(): expected weight to have 0 or 1 dimensions, found {weight.ndim}")
    channels = self.shape[1] if self.ndim > 1 else 1
    if count != 1 and (count != channels or not self.ndim):
        raise ShapeError(
            f"{op}(): weight has {count} numbers, and an input of shape {list(self.shape)} has "
            f"{channels if self.ndim else 'no'} channels"
        )
    return Result(self.shape, like_strides(self))


@rule("pixel_shuffle")
def pixel_shuffle(self: Described, upscale_factor: int, *, op: str) -> Shape:
    """Channels turned into pixels."""
    if self.ndim < 3 or self.shape[-3] % upscale_factor**2:
        raise ShapeError(
            f"{op}(): expects its input's 'channel' dimension to be divisible by the square of upscale_factor "
            f"({upscale_factor}), but the input is {list(self.shape)}"
        )
    *batch, channels, height, width = self.shape
    return (*batch, channels // upscale_factor**2, height * upscale_factor, width * upscale_factor)


@rule("pixel_unshuffle")
def pixel_unshuffle(self: Described, downscale_factor: int, *, op: str) -> Shape:
    """Pixels turned into channels."""
    if self.ndim < 3 or self.shape[-1] % downscale_factor or self.shape[-2] % downscale_factor:
        raise ShapeError(
            f"{op}(): expects height and width to be divisible by downscale_factor ({downscale_factor}), but the "
            f"input is {list(self.shape)}"
        )
    *batch, channels, height, width = self.shape
    return (*batch, channels * downscale_factor**2, height // downscale_factor, width // downscale_factor)


# --- softmax ---------------------------------------------------------------------------------------------------


@rule("softmax_backward")
def softmax_backward(grad: Described, output: Described, dim: int, *, op: str) -> Shape:
    """The shape of a result of softmax and its gradient."""
    if tuple(grad.shape) != tuple(output.shape):
        raise ShapeError(f"{op}(): grad {list(grad.shape)} has not the shape of output, {list(output.shape)}")
    return softmax(output, dim, op=op)


@rule("softmax")
def softmax(self: Described, /, dim: int | None = None, *, op: str) -> Shape:
    """The same shape, normalised along a dimension."""
    if dim is not None:
        wrap_dim(op, dim, self.ndim)
    return self.shape


# --- attention -------------------------------------------------------------------------------------------------


@rule("attention")
def attention(query: Described, key: Described, value: Described, attn_mask: Any = None, *, op: str) -> Shape:
    """Values weighted by how well their keys fit the queries."""
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if tensor.ndim < 2:
            raise DimensionCountError(f"{op}(): {name} has {tensor.ndim} dimensions and needs 2 or more")
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise ShapeError(
            f"{op}(): query {list(query.shape)}, key {list(key.shape)} and value {list(value.shape)} do not fit"
        )
    batch = broadcast(op, query.shape[:-2], key.shape[:-2], value.shape[:-2])
    scores = (*batch, query.shape[-2], key.shape[-2])
    if attn_mask is not None and broadcast(op, scores, attn_mask.shape) != scores:
        raise ShapeError(f"{op}(): attn_mask {list(attn_mask.shape)} does not fit the scores {list(scores)}")
    return (*batch, query.shape[-2], value.shape[-1])


@rule("plain_attention")
def plain_attention(
    query: Described, key: Described, value: Described, mask: Any = None, *, op: str
) -> tuple[Shape, Shape]:
    """As `attention`, for batches of one shape and a mask of the shape of the scores; and a number for each query."""
    batch = tuple(query.shape[:-2])
    for name, tensor in (("key", key), ("value", value), ("mask", mask)):
        if tensor is not None and tuple(tensor.shape[:-2]) != batch:
            raise ShapeError(
                f"{op}(): the batches of query {list(query.shape)} and {name} {list(tensor.shape)} differ"
            )
    shape = attention(query, key, value, mask, op=op)
    scores = (query.shape[-2], key.shape[-2])
    fits = mask is None or mask.dtype is bool_ or mask.dtype is query.dtype
    if mask is not None and (tuple(mask.shape[-2:]) != scores or not fits):
        raise ShapeError(
            f"{op}(): the mask holds bools, or numbers of the query's dtype, of shape {[*batch, *scores]}, and not "
            f"{mask.dtype} of {list(mask.shape)}"
        )
    return shape, shape[:-1]


@rule("plain_attention_backward")
def plain_attention_backward(
    grad: Described, query: Described, key: Described, value: Described, mask: Any, output: Described,
    logsumexp: Described, *, op: str,
) -> tuple[Shape, Shape, Shape]:  # fmt: skip
    """The gradients of query, key and value."""
    shape, rows = plain_attention(query, key, value, mask, op=op)
    for name, tensor, wanted in (
        ("grad", grad, shape),
        ("output", output, shape),
        ("logsumexp", logsumexp, rows),
    ):
        if tuple(tensor.shape) != wanted:
            raise ShapeError(
                f"{op}(): {name} has the shape {list(tensor.shape)}, and should have {list(wanted)}"
            )
    return tuple(query.shape), tuple(key.shape), tuple(value.shape)


# --- similarity -----------------------------------------------------------------------------------------------


@rule("cosine_similarity")
def cosine_similarity(x1: Described, x2: Described, dim: int = 1, *, op: str) -> Shape:
    """The cosine between vectors along a dimension."""
    shape = broadcast(op, x1.shape, x2.shape)
    at = wrap_dim(op, dim, len(shape))
    return tuple(size for i, size in enumerate(shape) if i != at)
