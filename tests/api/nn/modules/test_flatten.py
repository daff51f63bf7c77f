"""Flatten and Unflatten."""

from __future__ import annotations

import pytest

import tt
from tt import nn


def test_dimensions_become_one():
    x = tt.zeros(2, 3, 4, 5)
    assert nn.Flatten()(x).shape == (2, 60)
    assert nn.Flatten(0, 1)(x).shape == (6, 4, 5)
    assert repr(nn.Flatten(2)) == "Flatten(start_dim=2, end_dim=-1)"


def test_one_dimension_becomes_several():
    x = tt.arange(12.0).reshape(2, 6)
    assert tt.equal(nn.Unflatten(1, (2, 3))(x), x.reshape(2, 2, 3))
    assert nn.Unflatten(-1, (3, -1))(x).shape == (2, 3, 2)
    assert nn.Unflatten(1, tt.Size([6, 1]))(x).shape == (2, 6, 1)


def test_sizes_are_integers():
    with pytest.raises(TypeError):
        nn.Unflatten(1, (2.0, 3))
    with pytest.raises(TypeError):
        nn.Unflatten(1, 6)
    with pytest.raises(RuntimeError):
        nn.Unflatten(1, (4, 2))(tt.zeros(2, 6))
