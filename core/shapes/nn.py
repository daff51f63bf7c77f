"""Shape rules of neural-network operators, except those with windows (see `convolution`)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tt.core.errors import DataDependentError, ShapeError, ValueRangeError
from tt.core.shapes.geometry import Described, broadcast, wrap_dim
from tt.core.shapes.indexing import expect_index_dtype
from tt.core.shapes.pointwise import like_strides
from tt.core.shapes.registry import Result, RuleTable

rule = RuleTable()

Shape = tuple[int, ...]


# --- layers ----------------------------------------------------------------------------------------------------


@rule("linear")
def linear(input: Described, weight: Described, bias: Any = None, *, op: str) -> Shape:
    """The last dimension multiplied by a matrix (out, in), plus a bias."""
    if weight.ndim not in (1, 2):
        raise ShapeError(f"{op}(): weight must be 1D or 2D, got {weight.ndim}D")
    if not input.ndim:
        raise ShapeError(f"{op}(): input must have at least one dimension")
    if input.shape[-1] != weight.shape[-1]:
        rows = prod(input.shape[:-1])
        raise ShapeError(
            f"{op}(): mat1 and mat2 shapes cannot be multiplied ({rows}x{input.shape[-1]} and "
            f"{weight.shape[-1]}x{weight.shape[0] if weight.ndim > 1 else 1})"
        )
    shape = (*input.shape[:-1], *weight.shape[:-1])
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
        raise ShapeError(f"{op}(): 'weight' must be 2-D, got {weight.ndim}-D")
    expect_index_dtype(op, indices)
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


# --- softmax and normalisation ---------------------------------------------------------------------------------


@rule("softmax")
def softmax(self: Described, /, dim: int | None = None, *, op: str) -> Shape:
    """The same shape, normalised along a dimension."""
    if dim is not None:
        wrap_dim(op, dim, self.ndim)
    return self.shape


@rule("channel_norm")
def channel_norm(
    input: Described,
    weight: Any = None,
    bias: Any = None,
    running_mean: Any = None,
    running_var: Any = None,
    *,
    op: str,
) -> Result:
    """Normalised by channel (dimension 1); the parameters have one number a channel."""
    if input.ndim < 2:
        raise ShapeError(f"{op}(): expected an input of at least 2 dimensions, got {input.ndim}")
    channels = input.shape[1]
    for name, tensor in (
        ("weight", weight),
        ("bias", bias),
        ("running_mean", running_mean),
        ("running_var", running_var),
    ):
        if tensor is not None and tuple(tensor.shape) != (channels,):
            raise ShapeError(
                f"{op}(): {name} should contain {channels} elements not {prod(tensor.shape)} (shape "
                f"{list(tensor.shape)})"
            )
    return Result(input.shape, like_strides(input))


@rule("group_norm")
def group_norm(input: Described, num_groups: int, weight: Any = None, bias: Any = None, *, op: str) -> Shape:
    """Normalised by groups of channels."""
    channel_norm(input, weight, bias, op=op)
    if num_groups <= 0 or input.shape[1] % num_groups:
        raise ShapeError(
            f"{op}(): Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={num_groups}"
        )
    return input.shape


@rule("layer_norm")
def layer_norm(
    input: Described, normalized_shape: Sequence[int], weight: Any = None, bias: Any = None, *, op: str
) -> Shape:
    """Normalised over the last dimensions."""
    shape = tuple(normalized_shape)
    if not shape:
        raise ShapeError(f"{op}(): Expected normalized_shape to be at least 1-dimensional")
    for name, tensor in (("weight", weight), ("bias", bias)):
        if tensor is not None and tuple(tensor.shape) != shape:
            raise ShapeError(
                f"{op}(): Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{list(tensor.shape)} and normalized_shape = {list(shape)}"
            )
    if tuple(input.shape[-len(shape) :]) != shape or input.ndim < len(shape):
        raise ShapeError(
            f"{op}(): Given normalized_shape={list(shape)}, expected input with shape [*, "
            f"{', '.join(map(str, shape))}], but got input of size {list(input.shape)}"
        )
    return input.shape


# --- attention -------------------------------------------------------------------------------------------------


@rule("attention")
def attention(query: Described, key: Described, value: Described, attn_mask: Any = None, *, op: str) -> Shape:
    """Values weighted by how well their keys fit the queries."""
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if tensor.ndim < 2:
            raise ShapeError(f"{op}(): {name} must have at least 2 dimensions, got {tensor.ndim}")
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise ShapeError(
            f"{op}(): query {list(query.shape)}, key {list(key.shape)} and value {list(value.shape)} do not fit"
        )
    batch = broadcast(op, query.shape[:-2], key.shape[:-2], value.shape[:-2])
    scores = (*batch, query.shape[-2], key.shape[-2])
    if attn_mask is not None and broadcast(op, scores, attn_mask.shape) != scores:
        raise ShapeError(f"{op}(): attn_mask {list(attn_mask.shape)} does not fit the scores {list(scores)}")
    return (*batch, query.shape[-2], value.shape[-1])


# --- losses ----------------------------------------------------------------------------------------------------


@rule("pointwise_loss")
def pointwise_loss(
    self: Described, target: Described, weight: Any = None, reduction: str = "mean", *, op: str
) -> Shape:
    """A number for each element, their mean or their sum."""
    shape = broadcast(op, self.shape, target.shape, *(() if weight is None else (weight.shape,)))
    return reduced(op, shape, reduction)


@rule("same_shape_loss")
def same_shape_loss(
    self: Described, target: Described, weight: Any = None, reduction: str = "mean", *, op: str
) -> Shape:
    """As `pointwise_loss`, for losses that do not broadcast the target."""
    if tuple(self.shape) != tuple(target.shape):
        raise ShapeError(
            f"{op}(): target size ({list(target.shape)}) must be the same as input size ({list(self.shape)})"
        )
    return pointwise_loss(self, target, weight, reduction, op=op)


def reduced(op: str, shape: Shape, reduction: str) -> Shape:
    """Return the shape of a loss."""
    if reduction not in ("none", "mean", "sum"):
        raise ValueRangeError(f"{op}(): {reduction} is not a valid value for reduction (none, mean, sum)")
    return tuple(shape) if reduction == "none" else ()


@rule("nll_loss")
def nll_loss(
    self: Described, target: Described, weight: Any = None, reduction: str = "mean", *, op: str
) -> Shape:
    """The negative log likelihood of a class index: (C), (N, C) or (N, C, ...) against (), (N) or (N, ...)."""
    reduced(op, (), reduction)
    if not self.ndim:
        raise ValueRangeError(f"{op}(): Expected 1 or more dimensions (got 0)")
    if self.ndim > 1 and target.ndim and self.shape[0] != target.shape[0]:
        raise ValueRangeError(
            f"{op}(): Expected input batch_size ({self.shape[0]}) to match target batch_size ({target.shape[0]})."
        )
    classes = self.shape[0] if self.ndim == 1 else self.shape[1]
    expected = () if self.ndim == 1 else (self.shape[0], *self.shape[2:])
    if tuple(target.shape) != expected:
        raise ShapeError(
            f"{op}(): size mismatch (got input: {list(self.shape)}, target: {list(target.shape)}, expected target: "
            f"{list(expected)})"
        )
    if weight is not None and tuple(weight.shape) != (classes,):
        raise ShapeError(
            f"{op}(): weight tensor should be defined either for all {classes} classes or no classes but got weight "
            f"tensor of shape: {list(weight.shape)}"
        )
    return reduced(op, expected, reduction)


@rule("cross_entropy")
def cross_entropy(
    self: Described, target: Described, weight: Any = None, reduction: str = "mean", *, op: str
) -> Shape:
    """As `nll_loss`, for class indices or for probabilities in the shape of the input."""
    if tuple(self.shape) == tuple(target.shape) and self.ndim and target.dtype.is_floating_point:
        places = () if self.ndim == 1 else (self.shape[0], *self.shape[2:])
        return reduced(op, places, reduction)
    return nll_loss(self, target, weight, reduction, op=op)


@rule("cosine_similarity")
def cosine_similarity(x1: Described, x2: Described, dim: int = 1, *, op: str) -> Shape:
    """The cosine between vectors along a dimension."""
    shape = broadcast(op, x1.shape, x2.shape)
    at = wrap_dim(op, dim, len(shape))
    return tuple(size for i, size in enumerate(shape) if i != at)
