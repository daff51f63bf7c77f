"""Fractional pooling: windows whose places are drawn."""

from __future__ import annotations

import pytest

import tt
from tt import nn


def test_samples_decide_the_windows():
    x = tt.arange(25.0).reshape(1, 1, 5, 5)
    samples = tt.tensor([[[0.5, 0.5]]])
    pool = nn.FractionalMaxPool2d(2, output_size=3, _random_samples=samples)
    assert tt.equal(pool(x), pool(x))
    assert pool(x)[0, 0, -1, -1] == 24  # the last window ends with the input


def test_samples_may_be_for_more_batches():
    samples = tt.rand(3, 2, 3)
    x = tt.rand(2, 2, 4, 4, 4)
    pool = nn.FractionalMaxPool3d(2, output_size=2, _random_samples=samples)
    assert tt.equal(pool(x)[0], pool(x[0])) and pool(x).shape == (2, 2, 2, 2, 2)
    with pytest.raises(RuntimeError, match="_random_samples"):
        pool(tt.rand(4, 2, 4, 4, 4))


def test_the_result_has_the_size_or_the_ratio():
    x = tt.rand(1, 8, 8)
    assert nn.FractionalMaxPool2d(2, output_ratio=0.5)(x).shape == (1, 4, 4)
    values, places = nn.FractionalMaxPool2d(2, output_size=(3, 4), return_indices=True)(x)
    assert values.shape == (1, 3, 4) and tt.equal(x.flatten()[places.flatten()], values.flatten())


@pytest.mark.parametrize(
    "options",
    [{}, {"output_size": 2, "output_ratio": 0.5}, {"output_ratio": 1.5}, {"output_ratio": (0.5, 0.0)}],
)
def test_wrong_arguments_are_refused(options):
    with pytest.raises(ValueError):
        nn.FractionalMaxPool2d(2, **options)
