"""Boxes: `nms`, `box_iou_rotated`, and the operators on quantized tensors, which tt does not have."""

from __future__ import annotations

from typing import NoReturn

import tt
from tt import Tensor
from tt.library import custom_op
from tt_torchvision.checks import as_float32, require, same_dtype

__all__: list[str] = []


def _check_boxes(operator: str, dets: Tensor, scores: Tensor) -> None:
    require(dets.ndim == 2, operator, f"boxes should be a 2d tensor, got {dets.ndim}D")
    columns = dets.shape[1]
    require(columns == 4, operator, f"boxes should have 4 elements in dimension 1, got {columns}")
    require(scores.ndim == 1, operator, f"scores should be a 1d tensor, got {scores.ndim}D")
    require(
        len(dets) == len(scores),
        operator,
        "boxes and scores should have same number of elements in dimension 0, "
        f"got {len(dets)} and {len(scores)}",
    )


@custom_op(
    "torchvision::nms",
    schema="(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    tags=("data_dependent_shape", "nondifferentiable"),
    result="int64",
)
def nms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Return the indices of the boxes that no box of a higher score overlaps too much, by falling score."""
    _check_boxes("nms", dets, scores)
    same_dtype("nms", dets=dets, scores=scores)
    kept: Tensor = tt.ops.tt_torchvision.nms(as_float32(dets), as_float32(scores), iou_threshold)
    return kept


@custom_op(
    "torchvision::box_iou_rotated",
    schema="(Tensor boxes1, Tensor boxes2) -> Tensor",
    tags="nondifferentiable",
    result="float32",
)
def box_iou_rotated(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """Return the intersection over union of each of two boxes (centre x and y, width, height, angle in degrees)."""
    for name, boxes in {"boxes1": boxes1, "boxes2": boxes2}.items():
        shape = list(boxes.shape)
        require(
            len(shape) == 2 and shape[1] == 5,
            "box_iou_rotated",
            f"{name} must have shape as Tensor[N, 5], got {shape}",
        )
    same_dtype("box_iou_rotated", boxes1=boxes1, boxes2=boxes2)
    ious: Tensor = tt.ops.tt_torchvision.box_iou_rotated(as_float32(boxes1), as_float32(boxes2))
    return ious.float()  # whatever the boxes are, as in torchvision


@box_iou_rotated.fake
def _box_iou_rotated_fake(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    return boxes1.new_empty((boxes1.shape[0], boxes2.shape[0]), dtype=tt.float32)


# --- what torchvision looks up when it is imported ------------------------------------------------------------------


def _quantized(operator: str) -> NoReturn:
    raise tt.errors.UnsupportedError(
        f"torchvision::{operator}() takes the integers of quantized tensors, which tt-torchvision does not serve; "
        "dequantize() the boxes"
    )


@custom_op(
    "torchvision::qnms",
    schema="(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    tags=("data_dependent_shape", "nondifferentiable"),
    result="int64",
)
def qnms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Raise: tt-torchvision has no operators on quantized tensors."""
    _quantized("qnms")


@custom_op(
    "torchvision::qroi_align",
    schema="(Tensor input, Tensor rois, float input_scale, int input_zero_point, float rois_scale, "
    "int rois_zero_point, float spatial_scale, int pooled_height, int pooled_width, int sampling_ratio, "
    "bool aligned) -> Tensor",
    tags="nondifferentiable",
)
def qroi_align(
    input: Tensor, rois: Tensor, input_scale: float, input_zero_point: int, rois_scale: float,
    rois_zero_point: int, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int,
    aligned: bool,
) -> Tensor:  # fmt: skip
    """Raise: tt-torchvision has no operators on quantized tensors."""
    _quantized("qroi_align")


@custom_op("torchvision::_cuda_version", schema="() -> int")
def cuda_version() -> int:
    """Return the version of CUDA that the operators are compiled for: -1, as they serve no CUDA."""
    return -1
