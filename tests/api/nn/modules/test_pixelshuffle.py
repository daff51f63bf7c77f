"""Pixel shuffle: channels that become places."""

from __future__ import annotations

import pytest

import tt
from tt import nn


def test_channels_become_places():
    x = tt.arange(4.0).reshape(1, 4, 1, 1)
    assert nn.PixelShuffle(2)(x).tolist() == [[[[0, 1], [2, 3]]]]


def test_unshuffling_reverses_it():
    x = tt.randn(2, 8, 3, 5)
    assert tt.equal(nn.PixelUnshuffle(2)(nn.PixelShuffle(2)(x)), x)
    assert repr(nn.PixelUnshuffle(3)) == "PixelUnshuffle(downscale_factor=3)"


def test_channels_are_a_multiple_of_the_square():
    with pytest.raises(RuntimeError):
        nn.PixelShuffle(2)(tt.zeros(1, 6, 2, 2))
