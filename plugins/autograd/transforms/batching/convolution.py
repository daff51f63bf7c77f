"""Batching rules of convolutions: examples become part of the batch, or groups."""

from __future__ import annotations

from typing import Any

from tt.core.library import Operator, ops
from tt.plugins.autograd.transforms.batching.base import (
    BatchingTable,
    NoRuleError,
    all_first,
    joined_shape,
    merged,
)
from tt.plugins.autograd.transforms.levels import Level, batched, hidden_dim_first

__all__ = ["table"]

table = BatchingTable()


table.rules["functional_unfold"] = merged(3)
table.rules["functional_fold"] = merged(2)


# --- convolution -----------------------------------------------------------------------------------------------


@table.rule("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def convolution(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Take examples for more of the batch, or, where filters differ by example, for more groups."""
    x, weight, bias, *options = args
    position = operator.positions["groups"] - 3
    groups = options[position]
    count = int(operator.name[-2])
    if weight.ndim != count + 2 or x.ndim not in (count + 1, count + 2) or groups < 1:
        raise NoRuleError
    several = x.ndim == count + 2
    x = x if several else ops.unsqueeze(x, 0)
    filters, differ = hidden_dim_first(weight, level)
    convolve = operator.overload().dispatch
    if not differ:
        inside, hidden = hidden_dim_first(x, level)
        if hidden:
            # The bias is added at the end, since it may differ by example.
            result = convolve((ops.reshape(inside, joined_shape(inside)), filters, None, *options))
            result = ops.reshape(result, (level.size, x.shape[0], *result.shape[1:]))
            y = batched(result, 0, level)
        else:
            y = convolve((inside, filters, None, *options))  # only the bias differs
    else:
        # (examples, batch, channels, ...) -> (batch, examples * channels, ...)
        (inside,) = all_first(level, [x])
        inside = ops.transpose(inside, 0, 1)
        inside = ops.reshape(inside, _channels(inside))
        options[position] = groups * level.size
        result = convolve((inside, ops.reshape(filters, joined_shape(filters)), None, *options))
        each = result.shape[1] // level.size if level.size else 0
        result = ops.reshape(result, (result.shape[0], level.size, each, *result.shape[2:]))
        y = batched(result, 1, level)
    if bias is not None:
        y = ops.add(y, ops.reshape(bias, (-1, *(1,) * count)))
    return y if several else ops.squeeze.dim(y, 0)


def _channels(inside: Any) -> tuple[int, ...]:
    """Return the shape with the second and third dim as one."""
    return (inside.shape[0], inside.shape[1] * inside.shape[2], *inside.shape[3:])


@table.rule("_conv_weight")
def gradient_of_filters(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Take examples for groups: what filters get from one example depends on this one only."""
    x, gradient, size, stride, padding, dilation, groups = args
    if x.ndim != len(size) or gradient.ndim != len(size) or not level.size:
        raise NoRuleError
    parts = []
    for inside in all_first(level, [x, gradient]):
        # (examples, batch, channels, ...) -> (batch, examples * channels, ...)
        turned = ops.transpose(inside, 0, 1)
        parts.append(ops.reshape(turned, _channels(turned)))
    whole = (size[0] * level.size, *size[1:])
    result = operator.overload().dispatch((*parts, whole, stride, padding, dilation, groups * level.size))
    return batched(ops.reshape(result, (level.size, *size)), 0, level)
