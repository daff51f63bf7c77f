"""Pooling of regions: `roi_align`, `roi_pool`, `ps_roi_align`, `ps_roi_pool`, and their gradients.

A region is a row (image, x1, y1, x2, y2).  Gradients are those of the images; as in torchvision the regions themselves
have none, and there are no second derivatives.
"""

from __future__ import annotations

from typing import Any

import tt
from tt import Tensor
from tt.library import custom_op
from tt_torchvision.checks import as_float32, check_regions, require

__all__: list[str] = []

_IMAGES = "Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width"
_SIZES = "int batch_size, int channels, int height, int width"
_BINS = "float spatial_scale, int pooled_height, int pooled_width"
_TWO = ("same", "int32")


def _compiled(name: str, values: Tensor, *arguments: Any) -> Any:
    """Call a compiled operator in float32 or float64, and return its results, the first in the dtype of `values`."""
    tensors = [
        as_float32(one) if isinstance(one, Tensor) and one.is_floating_point() else one for one in arguments
    ]
    results = getattr(tt.ops.tt_torchvision, name)(as_float32(values), *tensors)
    if isinstance(results, tuple):
        return results[0].to(values.dtype), results[1]
    return results.to(values.dtype)


def _check_sizes(operator: str, pooled_height: int, pooled_width: int) -> None:
    require(
        pooled_height > 0 and pooled_width > 0,
        operator,
        f"pooled_height and pooled_width must be positive, got {pooled_height} and {pooled_width}",
    )


def _check_gradient(
    operator: str, grad: Tensor, rois: Tensor, shape: tuple[int, ...], **others: Tensor
) -> None:
    """Raise unless the gradient, and what was saved for it, has the shape of the results: C++ reads that much."""
    check_regions(operator, "grad", grad, rois)
    for name, tensor in {"grad": grad, **others}.items():
        require(
            tuple(tensor.shape) == shape,
            operator,
            f"{name} must have shape {list(shape)}, got {list(tensor.shape)}",
        )
    for name, tensor in others.items():
        require(tensor.dtype == tt.int32, operator, f"{name} must be int32, got {tensor.dtype}")


def _bins_of_channels(operator: str, channels: int, pooled_height: int, pooled_width: int) -> int:
    """Return the number of output channels of a position-sensitive operator."""
    _check_sizes(operator, pooled_height, pooled_width)
    require(
        channels % (pooled_height * pooled_width) == 0,
        operator,
        f"input channels must be a multiple of pooling height * pooling width, got {channels}",
    )
    return channels // (pooled_height * pooled_width)


# --- the average of samples ----------------------------------------------------------------------------------------


@custom_op(
    "torchvision::roi_align", schema=f"({_IMAGES}, int sampling_ratio, bool aligned) -> Tensor", grad="input"
)
def roi_align(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int,
    sampling_ratio: int, aligned: bool,
) -> Tensor:  # fmt: skip
    """Return the average of bilinear samples in each bin of each region."""
    _check_sizes("roi_align", pooled_height, pooled_width)
    check_regions("roi_align", "input", input, rois)
    arguments = (rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned)
    result: Tensor = _compiled("roi_align", input, *arguments)
    return result


@roi_align.fake
def _roi_align_fake(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int,
    sampling_ratio: int, aligned: bool,
) -> Tensor:  # fmt: skip
    check_regions("roi_align", "input", input, rois)
    return input.new_empty((rois.shape[0], input.shape[1], pooled_height, pooled_width))


@custom_op(
    "torchvision::_roi_align_backward",
    schema=f"(Tensor grad, Tensor rois, {_BINS}, {_SIZES}, int sampling_ratio, bool aligned) -> Tensor",
    tags="no_derivative",
)
def roi_align_backward(
    grad: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, batch_size: int,
    channels: int, height: int, width: int, sampling_ratio: int, aligned: bool,
) -> Tensor:  # fmt: skip
    """Return the gradient of the images."""
    shape = (rois.shape[0], channels, pooled_height, pooled_width)
    _check_gradient("_roi_align_backward", grad, rois, shape)
    result: Tensor = _compiled(
        "roi_align_backward", grad, rois, spatial_scale, pooled_height, pooled_width, batch_size, channels,
        height, width, sampling_ratio, aligned,
    )  # fmt: skip
    return result


@roi_align_backward.fake
def _roi_align_backward_fake(
    grad: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, batch_size: int,
    channels: int, height: int, width: int, sampling_ratio: int, aligned: bool,
) -> Tensor:  # fmt: skip
    return grad.new_empty((batch_size, channels, height, width))


@roi_align.backward(saves=(
    "rois", "spatial_scale", "pooled_height", "pooled_width", "sampling_ratio", "aligned", "input_shape",
))  # fmt: skip
def _roi_align_gradient(
    g: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int,
    aligned: bool, shape: tuple[int, ...],
) -> dict[str, Tensor]:  # fmt: skip
    arguments = (spatial_scale, pooled_height, pooled_width, *shape, sampling_ratio, aligned)
    return {"input": roi_align_backward(g, rois, *arguments)}


@custom_op(
    "torchvision::ps_roi_align",
    schema=f"({_IMAGES}, int sampling_ratio) -> (Tensor output, Tensor channel_mapping)",
    result=_TWO,
    grad="input",
)
def ps_roi_align(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int,
    sampling_ratio: int,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return the average of bilinear samples in each bin, each bin from channels of its own, and these channels."""
    check_regions("ps_roi_align", "input", input, rois)
    _bins_of_channels("ps_roi_align", input.shape[1], pooled_height, pooled_width)
    result: tuple[Tensor, Tensor] = _compiled(
        "ps_roi_align", input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio
    )
    return result


@ps_roi_align.fake
def _ps_roi_align_fake(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int,
    sampling_ratio: int,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    check_regions("ps_roi_align", "input", input, rois)
    outputs = _bins_of_channels("ps_roi_align", input.shape[1], pooled_height, pooled_width)
    shape = (rois.shape[0], outputs, pooled_height, pooled_width)
    return input.new_empty(shape), input.new_empty(shape, dtype=tt.int32)


@custom_op(
    "torchvision::_ps_roi_align_backward",
    schema=f"(Tensor grad, Tensor rois, Tensor channel_mapping, {_BINS}, int sampling_ratio, {_SIZES}) -> Tensor",
    tags="no_derivative",
)
def ps_roi_align_backward(
    grad: Tensor, rois: Tensor, channel_mapping: Tensor, spatial_scale: float, pooled_height: int,
    pooled_width: int, sampling_ratio: int, batch_size: int, channels: int, height: int, width: int,
) -> Tensor:  # fmt: skip
    """Return the gradient of the images."""
    outputs = _bins_of_channels("_ps_roi_align_backward", channels, pooled_height, pooled_width)
    shape = (rois.shape[0], outputs, pooled_height, pooled_width)
    _check_gradient("_ps_roi_align_backward", grad, rois, shape, channel_mapping=channel_mapping)
    result: Tensor = _compiled(
        "ps_roi_align_backward", grad, rois, channel_mapping.contiguous(), spatial_scale, pooled_height,
        pooled_width, sampling_ratio, batch_size, channels, height, width,
    )  # fmt: skip
    return result


@ps_roi_align_backward.fake
def _ps_roi_align_backward_fake(
    grad: Tensor, rois: Tensor, channel_mapping: Tensor, spatial_scale: float, pooled_height: int,
    pooled_width: int, sampling_ratio: int, batch_size: int, channels: int, height: int, width: int,
) -> Tensor:  # fmt: skip
    return grad.new_empty((batch_size, channels, height, width))


@ps_roi_align.backward(saves=(
    "rois", "channel_mapping", "spatial_scale", "pooled_height", "pooled_width", "sampling_ratio", "input_shape",
))  # fmt: skip
def _ps_roi_align_gradient(
    gs: list[Tensor], rois: Tensor, mapping: Tensor, spatial_scale: float, pooled_height: int,
    pooled_width: int, sampling_ratio: int, shape: tuple[int, ...],
) -> dict[str, Tensor]:  # fmt: skip
    arguments = (spatial_scale, pooled_height, pooled_width, sampling_ratio, *shape)
    return {"input": ps_roi_align_backward(gs[0], rois, mapping, *arguments)}


# --- whole elements ------------------------------------------------------------------------------------------------


@custom_op(
    "torchvision::roi_pool",
    schema=f"({_IMAGES}) -> (Tensor output, Tensor argmax)",
    result=_TWO,
    grad="input",
)
def roi_pool(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[Tensor, Tensor]:
    """Return the greatest element in each bin of each region, and its index in the plane (-1: none)."""
    _check_sizes("roi_pool", pooled_height, pooled_width)
    check_regions("roi_pool", "input", input, rois)
    result: tuple[Tensor, Tensor] = _compiled(
        "roi_pool", input, rois, spatial_scale, pooled_height, pooled_width
    )
    return result


@roi_pool.fake
def _roi_pool_fake(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[Tensor, Tensor]:
    check_regions("roi_pool", "input", input, rois)
    shape = (rois.shape[0], input.shape[1], pooled_height, pooled_width)
    return input.new_empty(shape), input.new_empty(shape, dtype=tt.int32)


@custom_op(
    "torchvision::_roi_pool_backward",
    schema=f"(Tensor grad, Tensor rois, Tensor argmax, {_BINS}, {_SIZES}) -> Tensor",
    tags="no_derivative",
)
def roi_pool_backward(
    grad: Tensor, rois: Tensor, argmax: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int,
    batch_size: int, channels: int, height: int, width: int,
) -> Tensor:  # fmt: skip
    """Return the gradient of the images."""
    shape = (rois.shape[0], channels, pooled_height, pooled_width)
    _check_gradient("_roi_pool_backward", grad, rois, shape, argmax=argmax)
    result: Tensor = _compiled(
        "roi_pool_backward", grad, rois, argmax.contiguous(), batch_size, channels, height, width
    )
    return result


@roi_pool_backward.fake
def _roi_pool_backward_fake(
    grad: Tensor, rois: Tensor, argmax: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int,
    batch_size: int, channels: int, height: int, width: int,
) -> Tensor:  # fmt: skip
    return grad.new_empty((batch_size, channels, height, width))


@roi_pool.backward(saves=("rois", "argmax", "spatial_scale", "pooled_height", "pooled_width", "input_shape"))
def _roi_pool_gradient(
    gs: list[Tensor], rois: Tensor, argmax: Tensor, spatial_scale: float, pooled_height: int,
    pooled_width: int, shape: tuple[int, ...],
) -> dict[str, Tensor]:  # fmt: skip
    return {
        "input": roi_pool_backward(gs[0], rois, argmax, spatial_scale, pooled_height, pooled_width, *shape)
    }


@custom_op(
    "torchvision::ps_roi_pool",
    schema=f"({_IMAGES}) -> (Tensor output, Tensor channel_mapping)",
    result=_TWO,
    grad="input",
)
def ps_roi_pool(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[Tensor, Tensor]:
    """Return the average of the elements in each bin, each bin from channels of its own, and these channels."""
    check_regions("ps_roi_pool", "input", input, rois)
    _bins_of_channels("ps_roi_pool", input.shape[1], pooled_height, pooled_width)
    result: tuple[Tensor, Tensor] = _compiled(
        "ps_roi_pool", input, rois, spatial_scale, pooled_height, pooled_width
    )
    return result


@ps_roi_pool.fake
def _ps_roi_pool_fake(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[Tensor, Tensor]:
    check_regions("ps_roi_pool", "input", input, rois)
    outputs = _bins_of_channels("ps_roi_pool", input.shape[1], pooled_height, pooled_width)
    shape = (rois.shape[0], outputs, pooled_height, pooled_width)
    return input.new_empty(shape), input.new_empty(shape, dtype=tt.int32)


@custom_op(
    "torchvision::_ps_roi_pool_backward",
    schema=f"(Tensor grad, Tensor rois, Tensor channel_mapping, {_BINS}, {_SIZES}) -> Tensor",
    tags="no_derivative",
)
def ps_roi_pool_backward(
    grad: Tensor, rois: Tensor, channel_mapping: Tensor, spatial_scale: float, pooled_height: int,
    pooled_width: int, batch_size: int, channels: int, height: int, width: int,
) -> Tensor:  # fmt: skip
    """Return the gradient of the images."""
    outputs = _bins_of_channels("_ps_roi_pool_backward", channels, pooled_height, pooled_width)
    shape = (rois.shape[0], outputs, pooled_height, pooled_width)
    _check_gradient("_ps_roi_pool_backward", grad, rois, shape, channel_mapping=channel_mapping)
    result: Tensor = _compiled(
        "ps_roi_pool_backward", grad, rois, channel_mapping.contiguous(), spatial_scale, pooled_height,
        pooled_width, batch_size, channels, height, width,
    )  # fmt: skip
    return result


@ps_roi_pool_backward.fake
def _ps_roi_pool_backward_fake(
    grad: Tensor, rois: Tensor, channel_mapping: Tensor, spatial_scale: float, pooled_height: int,
    pooled_width: int, batch_size: int, channels: int, height: int, width: int,
) -> Tensor:  # fmt: skip
    return grad.new_empty((batch_size, channels, height, width))


@ps_roi_pool.backward(
    saves=("rois", "channel_mapping", "spatial_scale", "pooled_height", "pooled_width", "input_shape")
)
def _ps_roi_pool_gradient(
    gs: list[Tensor], rois: Tensor, mapping: Tensor, spatial_scale: float, pooled_height: int,
    pooled_width: int, shape: tuple[int, ...],
) -> dict[str, Tensor]:  # fmt: skip
    arguments = (spatial_scale, pooled_height, pooled_width, *shape)
    return {"input": ps_roi_pool_backward(gs[0], rois, mapping, *arguments)}
