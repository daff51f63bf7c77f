"""Pooling: windows of small inputs, by hand."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tt import nn

X = tt.tensor([[1.0, 5.0, 2.0, 4.0, 3.0]])


def test_the_largest_of_each_window():
    assert nn.MaxPool1d(2)(X).tolist() == [[5, 4]]
    assert nn.MaxPool1d(2, ceil_mode=True)(X).tolist() == [[5, 4, 3]]
    assert nn.MaxPool1d(3, stride=1, padding=1)(X).tolist() == [[5, 5, 5, 4, 4]]
    assert nn.MaxPool1d(2, stride=1, dilation=2)(X).tolist() == [[2, 5, 3]]


def test_the_mean_of_each_window():
    assert nn.AvgPool1d(2)(X).tolist() == [[3, 3]]
    assert nn.AvgPool1d(2, padding=1)(X).tolist() == [[0.5, 3.5, 3.5]]
    assert nn.AvgPool1d(2, padding=1, count_include_pad=False)(X).tolist() == [[1, 3.5, 3.5]]
    image = tt.arange(16.0).reshape(1, 4, 4)
    assert nn.AvgPool2d(2, divisor_override=1)(image).tolist() == [[[10, 18], [42, 50]]]


def test_the_norm_of_each_window():
    assert nn.LPPool1d(2, 2, stride=1)(tt.tensor([[3.0, 4.0, 0.0]])).tolist() == [[5, 4]]
    assert nn.LPPool2d(1, 2)(tt.ones(1, 1, 2, 2)).tolist() == [[[[4]]]]


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_unpooling_puts_the_largest_back(dims):
    x = tt.tensor(np.random.default_rng(0).permutation(4**dims).astype("f4").reshape((1, 1) + (4,) * dims))
    pool = getattr(nn, f"MaxPool{dims}d")(2, return_indices=True)
    values, places = pool(x)
    back = getattr(nn, f"MaxUnpool{dims}d")(2)(values, places)
    assert back.shape == x.shape and float(back.sum()) == float(values.sum())
    assert tt.equal(back[back != 0], x[back != 0])


def test_unpooling_to_a_size():
    values, places = nn.MaxPool1d(2, return_indices=True)(X)
    assert nn.MaxUnpool1d(2)(values, places, output_size=(5,)).tolist() == [[0, 5, 0, 4, 0]]
    with pytest.raises(ValueError, match="output_size"):
        nn.MaxUnpool1d(2)(values, places, output_size=(9,))


def test_reprs_name_the_windows():
    assert repr(nn.MaxPool2d(2)) == (
        "MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)"
    )
    assert repr(nn.AvgPool2d(3, 2)) == "AvgPool2d(kernel_size=3, stride=2, padding=0)"
    assert repr(nn.MaxUnpool2d(2)) == "MaxUnpool2d(kernel_size=(2, 2), stride=(2, 2), padding=(0, 0))"
