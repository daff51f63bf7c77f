"""Deformable convolution: the product of the weights with samples at shifted positions.

Compiled code gathers the samples, as columns of a matrix; the products are tt's, with its threads and its BLAS.
"""

from __future__ import annotations

from collections.abc import Iterator

import tt
from tt import Tensor
from tt.library import custom_op
from tt_torchvision.checks import as_float32, require, same_dtype

__all__: list[str] = []

_GEOMETRY = (
    "int stride_h, int stride_w, int pad_h, int pad_w, int dilation_h, int dilation_w, int groups, "
    "int offset_groups, bool use_mask"
)
_TENSORS = "Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias"
_NAMES = (
    "stride_h", "stride_w", "pad_h", "pad_w", "dilation_h", "dilation_w", "groups", "offset_groups", "use_mask",
)  # fmt: skip

_ELEMENTS = 1 << 24
"""About how many elements of columns are made at once: those of a whole batch may need more memory than there is."""


def _check(
    operator: str, input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor,
    stride: tuple[int, int], pad: tuple[int, int], dilation: tuple[int, int], groups: int, offset_groups: int,
    use_mask: bool,
) -> tuple[int, int]:  # fmt: skip
    """Return the height and width of the result; raise unless all sizes fit each other: C++ reads that much."""
    require(input.ndim == 4, operator, f"input should be a 4d tensor, got {input.ndim}D")
    require(weight.ndim == 4, operator, f"weight should be a 4d tensor, got {weight.ndim}D")
    require(offset.ndim == 4, operator, f"offset should be a 4d tensor, got {offset.ndim}D")
    require(not use_mask or mask.ndim == 4, operator, f"mask should be a 4d tensor, got {mask.ndim}D")
    same_dtype(operator, input=input, weight=weight, offset=offset, mask=mask, bias=bias)
    batch, channels, *image = input.shape
    outputs, per_group, *kernel = weight.shape
    for name, values in {"stride": stride, "dilation": dilation}.items():
        require(min(values) > 0, operator, f"{name} must be positive, got {values}")
    require(min(pad) >= 0, operator, f"padding must not be negative, got {pad}")
    require(groups > 0 and offset_groups > 0, operator, "groups and offset groups must be positive")
    require(
        channels == per_group * groups,
        operator,
        f"input has {channels} channels, and the weight of {groups} groups takes {per_group * groups}",
    )
    require(outputs % groups == 0, operator, f"{groups} groups do not divide {outputs} output channels")
    require(
        channels % offset_groups == 0,
        operator,
        f"{offset_groups} offset groups do not divide {channels} channels",
    )
    size = tuple(
        (image[axis] + 2 * pad[axis] - (dilation[axis] * (kernel[axis] - 1) + 1)) // stride[axis] + 1
        for axis in range(2)
    )
    require(min(size) > 0, operator, f"the size of the result would be {size}")
    taps = kernel[0] * kernel[1]
    for name, tensor, width in (("offset", offset, 2), ("mask", mask, 1))[: 1 + use_mask]:
        expected = (batch, width * offset_groups * taps, *size)
        require(
            tuple(tensor.shape) == expected,
            operator,
            f"{name} must have shape {list(expected)}, got {list(tensor.shape)}",
        )
    require(
        tuple(bias.shape) == (outputs,), operator, f"bias must have shape [{outputs}], got {list(bias.shape)}"
    )
    return size[0], size[1]


def _blocks(batch: int, elements: int) -> Iterator[slice]:
    """Yield slices of a batch whose columns, of so many elements for an image, fit in memory."""
    step = max(1, _ELEMENTS // max(1, elements))
    return (slice(start, start + step) for start in range(0, batch, step))


@custom_op("torchvision::deform_conv2d", schema=f"({_TENSORS}, {_GEOMETRY}) -> Tensor")
def deform_conv2d(
    input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor, stride_h: int, stride_w: int,
    pad_h: int, pad_w: int, dilation_h: int, dilation_w: int, groups: int, offset_groups: int, use_mask: bool,
) -> Tensor:  # fmt: skip
    """Return the convolution of samples at shifted positions, each times its share of the mask."""
    height, width = _check(
        "deform_conv2d", input, weight, offset, mask, bias, (stride_h, stride_w), (pad_h, pad_w),
        (dilation_h, dilation_w), groups, offset_groups, use_mask,
    )  # fmt: skip
    outputs, per_group, kernel_h, kernel_w = weight.shape
    images, kernel, shifts, shares = map(as_float32, (input, weight, offset, mask))
    matrices = kernel.reshape(groups, outputs // groups, per_group * kernel_h * kernel_w)
    results = []
    for block in _blocks(input.shape[0], input.shape[1] * kernel_h * kernel_w * height * width):
        columns = tt.ops.tt_torchvision.deform_columns(
            images[block], shifts[block], shares[block] if use_mask else shares, kernel_h, kernel_w,
            stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, offset_groups, use_mask,
        )  # fmt: skip
        grouped = columns.reshape(columns.shape[0], groups, -1, height * width)
        results.append((matrices @ grouped).reshape(columns.shape[0], outputs, height, width))
    if not results:
        return input.new_empty((0, outputs, height, width))
    result = results[0] if len(results) == 1 else tt.cat(results)
    return (result + as_float32(bias).reshape(1, outputs, 1, 1)).to(input.dtype)


@deform_conv2d.fake
def _deform_conv2d_fake(
    input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor, stride_h: int, stride_w: int,
    pad_h: int, pad_w: int, dilation_h: int, dilation_w: int, groups: int, offset_groups: int, use_mask: bool,
) -> Tensor:  # fmt: skip
    size = _check(
        "deform_conv2d", input, weight, offset, mask, bias, (stride_h, stride_w), (pad_h, pad_w),
        (dilation_h, dilation_w), groups, offset_groups, use_mask,
    )  # fmt: skip
    return input.new_empty((input.shape[0], weight.shape[0], *size))


@custom_op(
    "torchvision::_deform_conv2d_backward",
    schema=f"(Tensor grad, {_TENSORS}, {_GEOMETRY}) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    result=("same",) * 5,
    tags="no_derivative",
)
def deform_conv2d_backward(
    grad: Tensor, input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor, stride_h: int,
    stride_w: int, pad_h: int, pad_w: int, dilation_h: int, dilation_w: int, groups: int, offset_groups: int,
    use_mask: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Return the gradients of the input, the weight, the offset, the mask and the bias."""
    size = _check(
        "_deform_conv2d_backward", input, weight, offset, mask, bias, (stride_h, stride_w), (pad_h, pad_w),
        (dilation_h, dilation_w), groups, offset_groups, use_mask,
    )  # fmt: skip
    outputs, per_group, kernel_h, kernel_w = weight.shape
    batch, places = input.shape[0], size[0] * size[1]
    expected = (batch, outputs, *size)
    require(
        tuple(grad.shape) == expected,
        "_deform_conv2d_backward",
        f"grad must have shape {list(expected)}, got {list(grad.shape)}",
    )
    images, kernel, shifts, shares, gradient = map(as_float32, (input, weight, offset, mask, grad))
    matrices = kernel.reshape(groups, outputs // groups, per_group * kernel_h * kernel_w)
    to_weight = tt.zeros_like(matrices)
    parts: list[tuple[Tensor, Tensor, Tensor]] = []
    geometry = (
        kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, offset_groups, use_mask,
    )  # fmt: skip
    for block in _blocks(batch, input.shape[1] * kernel_h * kernel_w * places):
        seen = (images[block], shifts[block], shares[block] if use_mask else shares)
        grouped = gradient[block].reshape(-1, groups, outputs // groups, places)
        columns = tt.ops.tt_torchvision.deform_columns(*seen, *geometry)
        samples = columns.reshape(columns.shape[0], groups, -1, places)
        to_weight = to_weight + (grouped @ samples.transpose(-1, -2)).sum(0)
        to_columns = (matrices.transpose(-1, -2) @ grouped).reshape(columns.shape)
        parts.append(tt.ops.tt_torchvision.deform_columns_backward(to_columns.contiguous(), *seen, *geometry))
    # Without a mask its stand-in, of another shape, has no gradient.
    to_mask = tt.cat([part[2] for part in parts]) if use_mask and parts else tt.zeros_like(shares)
    to_input = tt.cat([part[0] for part in parts]) if parts else tt.zeros_like(images)
    to_offset = tt.cat([part[1] for part in parts]) if parts else tt.zeros_like(shifts)
    to_bias = gradient.sum((0, 2, 3))
    results = (to_input, to_weight.reshape(weight.shape), to_offset, to_mask, to_bias)
    first, second, third, fourth, fifth = (result.to(input.dtype) for result in results)
    return first, second, third, fourth, fifth


@deform_conv2d_backward.fake
def _deform_conv2d_backward_fake(
    grad: Tensor, input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor, stride_h: int,
    stride_w: int, pad_h: int, pad_w: int, dilation_h: int, dilation_w: int, groups: int, offset_groups: int,
    use_mask: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    return (
        input.new_empty(input.shape), weight.new_empty(weight.shape), offset.new_empty(offset.shape),
        mask.new_empty(mask.shape), bias.new_empty(bias.shape),
    )  # fmt: skip


@deform_conv2d.backward(saves=("input", "weight", "offset", "mask", "bias", *_NAMES))
def _deform_conv2d_gradient(
    g: Tensor, input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor, *geometry: int
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    result: tuple[Tensor, Tensor, Tensor, Tensor, Tensor] = deform_conv2d_backward(
        g, input, weight, offset, mask, bias, *geometry
    )
    return result
