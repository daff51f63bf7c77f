"""Rectifiers with parameters, and drawn ones."""

from __future__ import annotations

import pytest

import tt
from tt import nn

X = tt.tensor([[-2.0, 3.0], [-4.0, -1.0]])


def test_a_slope_for_each_channel():
    layer = nn.PReLU(2, init=0.5)
    layer.weight.data = tt.tensor([0.5, 0.25])
    assert layer(X).tolist() == [[-1, 3], [-2, -0.25]]
    layer(X).sum().backward()
    assert layer.weight.grad.tolist() == [-6, -1]


def test_slopes_are_drawn_in_training_and_the_middle_in_evaluation():
    layer = nn.RReLU(0.2, 0.4)
    slopes = layer(X)[X < 0] / X[X < 0]
    assert bool(((slopes >= 0.2) & (slopes <= 0.4)).all())
    assert tt.equal(layer.eval()(X), tt.where(X < 0, X * ((0.2 + 0.4) / 2), X))


def test_a_threshold_replaces_what_is_not_above_it():
    assert nn.Threshold(-1.5, 9.0)(X).tolist() == [[9, 3], [9, -1]]
    assert repr(nn.Threshold(1, 2)) == "Threshold(threshold=1, value=2)"


def test_limits():
    assert nn.Hardtanh(-1.0, 2.0)(X).tolist() == [[-1, 2], [-1, -1]]
    with pytest.raises(AssertionError):
        nn.Hardtanh(2.0, 1.0)
