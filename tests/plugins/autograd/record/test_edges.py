"""Places in the graph, and versions, as objects that a program can hold."""

from __future__ import annotations

import pytest

import tt
from tt.autograd.graph import get_gradient_edge, increment_version
from tt.errors import ArgumentError, GradientError


def test_a_place_stands_for_its_tensor():
    x = tt.ones(3, requires_grad=True)
    first, second = (x * 2).split([1, 2])
    place = get_gradient_edge(second)
    assert (place.node, place.output_nr) == (second.grad_fn, 1)
    (found,) = tt.autograd.grad(second.sum() + first.sum(), place)
    assert found.tolist() == [1, 1]


def test_what_requires_no_gradient_has_no_place():
    with pytest.raises(GradientError, match="has no place in the graph"):
        get_gradient_edge(tt.ones(2))


def test_a_change_that_is_noted_is_noticed_by_the_backward_pass():
    x = tt.ones(2, requires_grad=True)
    y = x.exp()
    z = y * y
    increment_version([y])
    with pytest.raises(RuntimeError, match="changed in place"):
        z.sum().backward()
    with pytest.raises(ArgumentError, match="takes tensors"):
        increment_version([1])
