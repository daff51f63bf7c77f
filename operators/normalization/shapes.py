"""Shape rules of normalization, and what its dtypes must be."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tt.core.errors import (
    DimensionCountError,
    DtypeError,
    ShapeError,
    ValueRangeError,
)
from tt.core.shapes.geometry import Described, broadcast, like_strides, wrap_dim
from tt.core.shapes.registry import Result, RuleTable
from tt.core.types.dtype import float32

rule = RuleTable()

Shape = tuple[int, ...]


def check_parameters(op: str, input: Any, *parameters: Any) -> None:
    """Raise unless parameters have the dtype of the input or, for half types, float32."""
    for parameter in parameters:
        if parameter is not None and parameter.dtype not in (
            input.dtype,
            float32 if input.dtype.itemsize == 2 else input.dtype,
        ):
            raise DtypeError(
                f"{op}(): the parameters of an input of {input.dtype} must be of the same dtype or, with half "
                f"precision, of float32; found {parameter.dtype}"
            )


def check_gradient(op: str, grad: Described, input: Described) -> None:
    """Raise unless a gradient has the shape of the input."""
    if tuple(grad.shape) != tuple(input.shape):
        raise ShapeError(
            f"{op}(): grad {list(grad.shape)} has not the shape of the input, {list(input.shape)}"
        )


# --- over the last dimensions ----------------------------------------------------------------------------------


@rule("layer_norm")
def layer_norm(
    input: Described,
    normalized_shape: Sequence[int],
    weight: Described | None = None,
    bias: Described | None = None,
    *,
    op: str,
) -> Shape:
    """Normalised over the last dimensions."""
    shape = list(normalized_shape)
    if not shape:
        raise ShapeError(f"{op}(): normalized_shape is empty: give the size of at least one dimension")
    if not input.ndim:
        raise ValueRangeError(f"{op}(): the input must have at least 1 dimension, but has 0")
    # An empty shape would compare with everything here, so it was refused above.
    if list(input.shape)[-len(shape) :] != shape:
        raise ShapeError(
            f"{op}(): the shape of the input, {list(input.shape)}, does not end in normalized_shape, {shape}"
        )
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and list(value.shape) != shape:
            raise ShapeError(
                f"{op}(): {name} has the shape {list(value.shape)}, and normalized_shape is {shape}"
            )
    if op != "rms_norm" and input.dtype.is_floating_point:  # whose weight may have any
        check_parameters(op, input, weight, bias)
    return tuple(input.shape)


@rule("layer_norm_backward")
def layer_norm_backward(
    grad: Described,
    input: Described,
    normalized_shape: Sequence[int],
    weight: Described | None = None,
    *,
    op: str,
) -> tuple[Shape, Shape, Shape]:
    """The gradients of input, weight and bias."""
    check_gradient(op, grad, input)
    shape = layer_norm(input, normalized_shape, weight, op=op)
    return shape, tuple(normalized_shape), tuple(normalized_shape)


@rule("rms_norm_backward")
def rms_norm_backward(
    grad: Described,
    input: Described,
    normalized_shape: Sequence[int],
    weight: Described | None = None,
    *,
    op: str,
) -> tuple[Shape, Shape]:
    """The gradients of input and weight."""
    return layer_norm_backward(grad, input, normalized_shape, weight, op=op)[:2]


# --- by channel ------------------------------------------------------------------------------------------------


@rule("channel_norm")
def channel_norm(
    input: Described,
    weight: Described | None = None,
    bias: Described | None = None,
    running_mean: Described | None = None,
    running_var: Described | None = None,
    *,
    op: str,
) -> Result:
    """Normalised by channel (dimension 1); the parameters have one number a channel."""
    if input.ndim < 2:
        raise DimensionCountError(f"{op}(): expected an input of at least 2 dimensions, got {input.ndim}")
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
        if tensor is not None and tensor.dtype.is_complex and not input.dtype.is_complex:
            raise DtypeError(f"{op}(): {name} is complex, and the input has {input.dtype}")
    return Result(tuple(input.shape), like_strides(input))


@rule("group_norm")
def group_norm(
    input: Described,
    num_groups: int,
    weight: Described | None = None,
    bias: Described | None = None,
    *,
    op: str,
) -> Shape:
    """Normalised by groups of channels."""
    if input.ndim < 2:
        raise DimensionCountError(f"{op}(): expected an input of at least 2 dimensions, got {input.ndim}")
    if num_groups <= 0 or input.shape[1] % num_groups:
        raise ShapeError(
            f"{op}(): the channels of an input of shape {list(input.shape)} do not divide into {num_groups} groups"
        )
    channel_norm(input, weight, bias, op=op)
    check_parameters(op, input, weight, bias)
    # As PyTorch, which counts over the batch: several items pass, though each group has one number.
    if prod(input.shape) == num_groups:
        raise ValueRangeError(
            f"{op}(): a group of one number has no variance; the input has the shape {list(input.shape)}"
        )
    return tuple(input.shape)


@rule("group_norm_backward")
def group_norm_backward(
    grad: Described, input: Described, num_groups: int, weight: Described | None = None, *, op: str
) -> tuple[Shape, Shape, Shape]:
    """The gradients of input, weight and bias."""
    check_gradient(op, grad, input)
    channels = (input.shape[1],) if input.ndim > 1 else ()
    return group_norm(input, num_groups, weight, op=op), channels, channels


@rule("batch_norm_statistics")
def batch_norm_statistics(
    input: Described,
    weight: Described | None,
    bias: Described | None,
    running_mean: Described | None,
    running_var: Described | None,
    training: bool,
    *,
    op: str,
) -> tuple[Result, Result, Result]:
    """Normalised by channel, and the mean and the variance by which."""
    result = channel_norm(input, weight, bias, running_mean, running_var, op=op)
    if not training and (running_mean is None or running_var is None):
        raise ValueRangeError(f"{op}(): without training, running_mean and running_var are needed")
    channels = (input.shape[1],)
    return result, Result(channels), Result(channels)


@rule("batch_norm_backward")
def batch_norm_backward(
    grad: Described, input: Described, weight: Described | None, mean: Described, var: Described, *, op: str
) -> tuple[Result, Result, Result]:
    """The gradients of input, weight and bias."""
    check_gradient(op, grad, input)
    result = channel_norm(input, weight, None, mean, var, op=op)
    channels = (input.shape[1],)
    return result, Result(channels), Result(channels)


@rule("local_response_norm")
def local_response_norm(input: Described, size: int, *, op: str) -> Shape:
    """The shape of the input; its second dimension has the channels."""
    if input.ndim < 3:
        raise ValueRangeError(
            f"local_response_norm(): expected an input of at least 3 dimensions, got {input.ndim}"
        )
    if size < 1:
        raise ShapeError(f"local_response_norm(): size must be positive, got {size}")
    return tuple(input.shape)


@rule("local_response_norm_backward")
def local_response_norm_backward(grad: Described, input: Described, size: int, *, op: str) -> Shape:
    """The gradient of the input."""
    check_gradient(op, grad, input)
    return local_response_norm(input, size, op=op)


@rule("cosine_similarity")
def cosine_similarity(x1: Described, x2: Described, dim: int = 1, *, op: str) -> Shape:
    """The cosine between vectors along a dimension."""
    shape = broadcast(op, x1.shape, x2.shape)
    at = wrap_dim(op, dim, len(shape))
    return tuple(size for i, size in enumerate(shape) if i != at)
