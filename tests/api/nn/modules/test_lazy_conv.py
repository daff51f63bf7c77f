"""Lazy convolutions: the first input decides the channels."""

from __future__ import annotations

import pytest

import tt
from tt import nn


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("kind", ["Conv", "ConvTranspose"])
def test_the_first_input_decides_the_channels(kind, dims):
    layer = getattr(nn, f"Lazy{kind}{dims}d")(4, 2)
    assert isinstance(layer.weight, nn.UninitializedParameter)
    layer(tt.ones(1, 6, *(3,) * dims))
    plain = getattr(nn, f"{kind}{dims}d")
    assert type(layer) is plain and layer.in_channels == 6
    assert layer.weight.shape == plain(6, 4, 2).weight.shape and layer.bias.shape == (4,)


def test_channels_that_groups_do_not_divide_are_refused():
    with pytest.raises(ValueError, match="divisible"):
        nn.LazyConv1d(4, 2, groups=2)(tt.ones(1, 3, 5))


def test_a_state_dict_decides_the_channels_too():
    layer = nn.LazyConv2d(4, 3, bias=False)
    layer.load_state_dict(nn.Conv2d(5, 4, 3, bias=False).state_dict())
    assert layer.weight.shape == (4, 5, 3, 3)
