"""Shape rules of activation functions."""

from __future__ import annotations

from math import prod

from tt.core.errors import DimensionCountError, ShapeError
from tt.core.shapes.geometry import Described, broadcast, like_strides, wrap_dim
from tt.core.shapes.registry import Result, RuleTable

rule = RuleTable()

Shape = tuple[int, ...]


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
