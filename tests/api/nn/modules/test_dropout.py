"""Dropout: which elements are zeroed, and the factor of the others."""

from __future__ import annotations

import pytest

import tt
from tt import nn


def test_some_elements_are_zero_and_the_others_grow():
    tt.manual_seed(0)
    got = nn.Dropout(0.25)(tt.ones(4000))
    assert got.unique().tolist() == pytest.approx([0, 4 / 3])
    assert 0.2 < float((got == 0).float().mean()) < 0.3


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_whole_channels_are_zero(dims):
    got = getattr(nn, f"Dropout{dims}d")(0.5)(tt.ones(50, 4, *(2,) * dims)).flatten(2)
    assert bool((got == got[..., :1]).all()) and 0 < float((got == 0).float().mean()) < 1


@pytest.mark.parametrize("name", ["AlphaDropout", "FeatureAlphaDropout"])
def test_mean_and_variance_stay(name):
    tt.manual_seed(0)
    got = getattr(nn, name)(0.3)(tt.randn(3000, 10))
    assert abs(float(got.mean())) < 0.1 and abs(float(got.var()) - 1) < 0.15


@pytest.mark.parametrize(
    "name", ["Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout"]
)
def test_evaluation_changes_nothing(name):
    x = tt.randn(2, 3, *(2,) * {"2": 2, "3": 3}.get(name[-2], 1))
    module = getattr(nn, name)(0.5)
    assert tt.equal(module.eval()(x), x)
    assert repr(module) == f"{name}(p=0.5, inplace=False)"


def test_in_place():
    x = tt.ones(100)
    assert nn.Dropout(0.5, inplace=True)(x) is x and float((x == 0).float().mean()) > 0


@pytest.mark.parametrize("p", [-0.1, 1.5])
def test_a_probability_is_between_0_and_1(p):
    with pytest.raises(ValueError, match="between 0 and 1"):
        nn.Dropout2d(p)
