"""Shape rules of convolutions, and of windows as columns."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tt.core.errors import DimensionCountError, ShapeError
from tt.core.shapes.geometry import Described
from tt.core.shapes.registry import RuleTable

rule = RuleTable()

Shape = tuple[int, ...]


def each(op: str, value: Sequence[int], count: int, name: str) -> tuple[Any, ...]:
    """Return a number for each spatial dimension from one number or as many."""
    values = tuple(value) if isinstance(value, (list, tuple)) else (value,) * count
    if len(values) == 1:
        values *= count
    if len(values) != count:
        raise ShapeError(f"{op}(): {name} must be one int or {count} ints, got {list(values)}")
    return values


def dims_of(op: str) -> int:
    """Return the number of spatial dimensions, from the name of the operator."""
    # One rule serves conv1d to conv3d, as well as the pools, and only their names tell them apart.
    return int(next(c for c in op if c.isdigit()))


# --- convolution -----------------------------------------------------------------------------------------------


@rule("conv")
def conv(
    input: Described,
    weight: Described,
    bias: Described | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    *,
    op: str,
) -> Shape:
    """Convolution over the last dimensions: (N, C, ...) or (C, ...) with weight (out, C / groups, ...)."""
    count = dims_of(op)
    batch, channels, sizes = split_channels(op, input, count)
    expect_weight(op, weight, count, groups)
    if channels != weight.shape[1] * groups:
        raise ShapeError(
            f"{op}(): the weight {list(weight.shape)} in groups={groups} takes {weight.shape[1] * groups} channels, "
            f"but the input {list(input.shape)} has {channels}"
        )
    expect_bias(op, bias, weight.shape[0], weight)
    kernel = weight.shape[2:]
    steps, gaps = positive(op, stride, count, "stride"), positive(op, dilation, count, "dilation")
    pads = not_negative(op, padding, count, "padding")
    spatial = []
    for size, width, step, gap, pad in zip(sizes, kernel, steps, gaps, pads, strict=True):
        reach, whole = gap * (width - 1) + 1, size + 2 * pad
        if whole < reach:
            raise ShapeError(
                f"{op}(): the kernel spans {reach} elements with its dilation, more than the {whole} of the padded "
                f"input"
            )
        spatial.append((whole - reach) // step + 1)
    return (*batch, weight.shape[0], *spatial)


def split_channels(op: str, input: Described, count: int) -> tuple[Shape, int, Shape]:
    """Return batch, channels and spatial sizes of an input with or without a batch."""
    if input.ndim not in (count + 1, count + 2):
        raise ShapeError(
            f"{op}(): the input has {count + 1} dimensions, or {count + 2} with a batch, but this one has shape "
            f"{list(input.shape)}"
        )
    lead = input.ndim - count - 1
    return tuple(input.shape[:lead]), input.shape[lead], tuple(input.shape[lead + 1 :])


def positive(op: str, value: Any, count: int, name: str) -> tuple[int, ...]:
    """Return a number for each spatial dimension, all above zero."""
    values = each(op, value, count, name)
    if min(values) <= 0:
        raise ShapeError(f"{op}(): {name} must be greater than zero, got {list(values)}")
    return values


def not_negative(op: str, value: Any, count: int, name: str) -> tuple[int, ...]:
    """Return a number for each spatial dimension, none below zero."""
    values = each(op, value, count, name)
    if min(values) < 0:
        raise ShapeError(f"{op}(): {name} must be zero or more, got {list(values)}")
    return values


def expect_weight(op: str, weight: Described, count: int, groups: int) -> None:
    """Raise unless the filters have the right number of dimensions and divide into the groups."""
    if weight.ndim != count + 2:
        raise ShapeError(f"{op}(): expected a {count + 2}D weight, but got one of size {list(weight.shape)}")
    if groups <= 0:
        raise ShapeError(f"{op}(): groups must be greater than zero, got {groups}")
    # No filters at all would divide into any number of groups.
    if weight.shape[0] < groups or weight.shape[0] % groups:
        raise ShapeError(
            f"{op}(): dimension 0 of the weight divides into groups={groups} of at least one filter, which the "
            f"weight {list(weight.shape)} does not"
        )
    if 0 in weight.shape[2:]:
        raise ShapeError(f"{op}(): the filters have no elements: weight is of size {list(weight.shape)}")


def expect_bias(op: str, bias: Described | None, channels: int, weight: Described) -> None:
    """Raise unless a bias has one number for each channel of the result."""
    if bias is not None and tuple(bias.shape) != (channels,):
        raise ShapeError(
            f"{op}(): the weight {list(weight.shape)} needs a bias of shape [{channels}], but this one has shape "
            f"{list(bias.shape)}"
        )


@rule("conv_transpose")
def conv_transpose(
    input: Described,
    weight: Described,
    bias: Described | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    *,
    op: str,
) -> Shape:
    """The transpose of a convolution: weight (C, out / groups, ...)."""
    count = dims_of(op)
    batch, channels, sizes = split_channels(op, input, count)
    expect_weight(op, weight, count, groups)
    if channels != weight.shape[0]:
        raise ShapeError(
            f"{op}(): the weight {list(weight.shape)} takes {weight.shape[0]} channels, but the input "
            f"{list(input.shape)} has {channels}"
        )
    expect_bias(op, bias, weight.shape[1] * groups, weight)
    steps, gaps = positive(op, stride, count, "stride"), positive(op, dilation, count, "dilation")
    pads = not_negative(op, padding, count, "padding")
    more = not_negative(op, output_padding, count, "output_padding")
    spatial = []
    for size, width, step, gap, pad, extra in zip(
        sizes, weight.shape[2:], steps, gaps, pads, more, strict=True
    ):
        # It chooses among the sizes that a convolution maps to this input, of which there are not more.
        if extra >= max(step, gap):
            raise ShapeError(
                f"{op}(): output_padding {list(more)} must be below the larger of stride {list(steps)} and dilation "
                f"{list(gaps)}"
            )
        spatial.append((size - 1) * step - 2 * pad + gap * (width - 1) + extra + 1)
    if min(spatial) <= 0:
        raise ShapeError(
            f"{op}(): an input of spatial size {list(sizes)} would give an output of {spatial}, whose sizes must be "
            f"at least 1"
        )
    return (*batch, weight.shape[1] * groups, *spatial)


@rule("conv_weight")
def conv_weight(
    input: Described,
    grad: Described,
    weight_size: Shape,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    *,
    op: str,
) -> Shape:
    """The size of the filters, passed by the caller."""
    if input.ndim != grad.ndim:
        raise DimensionCountError(f"{op}(): input has {input.ndim} dimensions, its gradient {grad.ndim}")
    count = len(weight_size) - 2
    if count < 1 or groups < 1:
        raise ShapeError(f"{op}(): no convolution has filters of size {list(weight_size)} in groups={groups}")
    batch, channels, sizes = split_channels(op, input, count)
    others, outputs, windows = split_channels(op, grad, count)
    # Filters list the channels of one group only.
    expected = weight_size[1] * groups, weight_size[0]
    if batch != others or (channels, outputs) != expected or outputs % groups or min(weight_size[2:]) < 1:
        raise ShapeError(
            f"{op}(): filters of size {list(weight_size)} in groups={groups} do not lead from an input of shape "
            f"{list(input.shape)} to a gradient of shape {list(grad.shape)}"
        )
    steps, gaps = positive(op, stride, count, "stride"), positive(op, dilation, count, "dilation")
    pads = not_negative(op, padding, count, "padding")
    for dim, (size, width, step, gap, pad) in enumerate(
        zip(sizes, weight_size[2:], steps, gaps, pads, strict=True)
    ):
        # The gradient of a transposed convolution may have fewer windows than fit.
        if windows[dim] and step * (windows[dim] - 1) + gap * (width - 1) >= size + 2 * pad:
            raise ShapeError(
                f"{op}(): the gradient {list(grad.shape)} has more windows than fit into the padded input "
                f"{list(input.shape)}"
            )
    return tuple(weight_size)


# --- windows as columns ----------------------------------------------------------------------------------------


@rule("im2col")
def im2col(
    input: Described, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1, *, op: str
) -> Shape:
    """Every window of an image as a column."""
    # Messages name the function that was called.
    op = op.removeprefix("functional_")
    if input.ndim not in (3, 4) or 0 in input.shape[-3:]:
        raise DimensionCountError(
            f"{op}(): the input has 3 dimensions, or 4 with a batch, and only the batch may be empty, but this one has "
            f"shape {list(input.shape)}"
        )
    sizes = tuple(input.shape[-2:])
    widths, blocks = blocks_of(op, sizes, kernel_size, dilation, padding, stride)
    if min(blocks) < 1:
        raise ShapeError(
            f"{op}(): a window of kernel_size={list(widths)} does not fit into an image of {list(sizes)}: it would "
            f"have {list(blocks)} places"
        )
    return (*input.shape[:-3], input.shape[-3] * prod(widths), prod(blocks))


@rule("col2im")
def col2im(
    input: Described,
    output_size: Sequence[int],
    kernel_size: Sequence[int],
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
    *,
    op: str,
) -> Shape:
    """An image from columns."""
    op = op.removeprefix("functional_")
    if input.ndim not in (2, 3) or 0 in input.shape[-2:]:
        raise DimensionCountError(
            f"{op}(): the input has 2 dimensions, or 3 with a batch, and only the batch may be empty, but this one has "
            f"shape {list(input.shape)}"
        )
    sizes = positive(op, output_size, 2, "output_size")
    widths, blocks = blocks_of(op, sizes, kernel_size, dilation, padding, stride)
    if input.shape[-2] % prod(widths):
        raise ShapeError(
            f"{op}(): dimension {input.ndim - 2} of the input has size {input.shape[-2]}, which is not a multiple of "
            f"the {prod(widths)} elements of a window of kernel_size={list(widths)}"
        )
    if min(blocks) < 1 or prod(blocks) != input.shape[-1]:
        raise ShapeError(
            f"{op}(): a window of kernel_size={list(widths)} has {list(blocks)} places in output_size={list(sizes)}, "
            f"but dimension {input.ndim - 1} of the input holds {input.shape[-1]}"
        )
    return (*input.shape[:-2], input.shape[-2] // prod(widths), *sizes)


def blocks_of(
    op: str,
    sizes: Shape,
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> tuple[Shape, Shape]:
    """Return the sizes of a window in an image, and how many there are of them along each dimension."""
    widths, gaps = positive(op, kernel_size, 2, "kernel_size"), positive(op, dilation, 2, "dilation")
    steps, pads = positive(op, stride, 2, "stride"), not_negative(op, padding, 2, "padding")
    blocks = (
        (size + 2 * pad - gap * (width - 1) - 1) // step + 1
        for size, pad, gap, width, step in zip(sizes, pads, gaps, widths, steps, strict=True)
    )
    return widths, tuple(blocks)
