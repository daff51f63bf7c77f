"""Channel shuffle: groups that are interleaved."""

from __future__ import annotations

import pytest

import tt
from tt import nn


def test_groups_are_interleaved():
    x = tt.arange(6.0).reshape(1, 6, 1, 1)
    assert nn.ChannelShuffle(2)(x).flatten().tolist() == [0, 3, 1, 4, 2, 5]
    assert repr(nn.ChannelShuffle(2)) == "ChannelShuffle(groups=2)"


def test_groups_divide_the_channels():
    with pytest.raises(RuntimeError):
        nn.ChannelShuffle(4)(tt.zeros(1, 6, 1, 1))
