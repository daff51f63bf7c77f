"""Upsampling: places between elements."""

from __future__ import annotations

import pytest

import tt
from tt import nn

X = tt.tensor([[[0.0, 4.0]]])


def test_the_nearest_element():
    assert nn.Upsample(scale_factor=2)(X).tolist() == [[[0, 0, 4, 4]]]
    assert nn.Upsample(3, mode="nearest-exact")(X).tolist() == [[[0, 4, 4]]]
    assert nn.UpsamplingNearest2d(scale_factor=2)(X[None]).shape == (1, 1, 2, 4)


def test_a_line_between_elements():
    assert nn.Upsample(scale_factor=2, mode="linear")(X).tolist() == [[[0, 1, 3, 4]]]
    assert nn.Upsample(5, mode="linear", align_corners=True)(X).tolist() == [[[0, 1, 2, 3, 4]]]
    got = nn.UpsamplingBilinear2d((1, 3))(X[None])
    assert got.tolist() == [[[[0, 2, 4]]]]


def test_reprs():
    assert repr(nn.Upsample(scale_factor=2)) == "Upsample(scale_factor=2.0, mode='nearest')"
    assert repr(nn.Upsample(size=3, mode="linear")) == "Upsample(size=3, mode='linear')"


def test_a_size_or_a_factor_is_needed():
    with pytest.raises(ValueError, match="size"):
        nn.Upsample()(X)
