"""nms and box_iou_rotated."""

from __future__ import annotations

import numpy as np
import pytest
import references

import tt
from tt.testing import opcheck

OPS = tt.ops.torchvision


def boxes(count, seed, dtype=np.float64):
    rng = np.random.default_rng(seed)
    corners = rng.uniform(0, 50, (count, 2))
    scores = rng.uniform(0, 1, count)
    scores[::5] = scores[0]  # equal scores keep their order
    return np.hstack([corners, corners + rng.uniform(1, 30, (count, 2))]).astype(dtype), scores.astype(dtype)


@pytest.mark.parametrize("threshold", [0.0, 0.1, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nms_keeps_what_no_better_box_overlaps(threshold, dtype):
    for seed in range(5):
        corners, scores = boxes(60, seed, dtype)
        kept = OPS.nms(tt.from_numpy(corners), tt.from_numpy(scores), threshold)
        assert kept.dtype == tt.int64
        np.testing.assert_array_equal(kept, references.nms(corners, scores, threshold))


def test_nms_of_nothing_of_half_precision_and_of_nan():
    assert OPS.nms(tt.empty(0, 4), tt.empty(0), 0.5).tolist() == []
    corners = tt.tensor([[0.0, 0, 4, 4], [0, 0, 4, 3], [9, 9, 10, 10]])
    scores = tt.tensor([0.5, 0.25, float("nan")])
    assert OPS.nms(corners, scores, 0.5).tolist() == [2, 0]
    assert OPS.nms(corners.half(), scores.half(), 0.5).tolist() == [2, 0]
    assert OPS.nms(tt.cat([corners, corners])[::2], tt.tensor([0.1, 0.2, 0.3]), 0.5).tolist() == [2, 1]


def test_boxes_that_require_a_gradient_are_served():
    corners, scores = map(tt.from_numpy, boxes(20, 0))
    kept = OPS.nms(corners.requires_grad_(), scores.requires_grad_(), 0.5)
    assert not kept.requires_grad


@pytest.mark.parametrize(
    ("corners", "scores", "message"),
    [
        (tt.ones(4), tt.ones(4), "boxes should be a 2d tensor, got 1D"),
        (tt.ones(3, 5), tt.ones(3), "boxes should have 4 elements in dimension 1, got 5"),
        (tt.ones(3, 4), tt.ones(3, 1), "scores should be a 1d tensor, got 2D"),
        (tt.ones(3, 4), tt.ones(4), "same number of elements in dimension 0, got 3 and 4"),
        (tt.ones(3, 4), tt.ones(3, dtype=tt.float64), "expected scores to have the same type as dets"),
    ],
)
def test_nms_refuses_what_does_not_fit(corners, scores, message):
    with pytest.raises(RuntimeError, match=message):
        OPS.nms(corners, scores, 0.5)


def test_rotated_boxes():
    square = tt.tensor([[0.0, 0, 2, 2, 0]])
    others = tt.tensor([
        [0.0, 0, 2, 2, 0],  # itself
        [0, 0, 2, 2, 90],  # turned onto itself
        [1, 0, 2, 2, 0],  # half of it
        [0, 0, 2, 2, 45],  # a regular octagon in common
        [5, 5, 2, 2, 30],  # apart
        [0, 0, 0, 2, 0],  # without an area
    ])  # fmt: skip
    octagon = 8 * (np.sqrt(2) - 1)
    expected = [[1, 1, 1 / 3, octagon / (8 - octagon), 0, 0]]
    np.testing.assert_allclose(OPS.box_iou_rotated(square, others), expected, atol=1e-6)
    far = tt.tensor([[1e4, 1e4, 0, 0, 0]])
    np.testing.assert_allclose(OPS.box_iou_rotated(square + far, others + far), expected, atol=1e-5)


def test_a_rotation_turns_counter_clockwise_on_an_image():
    # Long boxes from the centre to the upper right, where y is smaller.
    rising, falling = tt.tensor([[0.0, 0, 10, 1, 45]]), tt.tensor([[0.0, 0, 10, 1, -45]])
    upper_right = tt.tensor([[3.0, -3, 1, 1, 0]])
    assert OPS.box_iou_rotated(rising, upper_right).item() > 0
    assert OPS.box_iou_rotated(falling, upper_right).item() == 0


def test_opcheck():
    corners, scores = map(tt.from_numpy, boxes(20, 1))
    opcheck(OPS.nms, (corners, scores, 0.3))
    rotated = tt.from_numpy(np.random.default_rng(0).uniform(1, 5, (4, 5)))
    opcheck(OPS.box_iou_rotated, (rotated, rotated[:3]))


def test_operators_on_quantized_tensors_are_not_there():
    with pytest.raises(tt.errors.UnsupportedError, match=r"qnms.*dequantize"):
        OPS.qnms(tt.zeros(1, 4), tt.zeros(1), 0.5)
