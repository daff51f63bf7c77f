"""Gradients of convolutions, by the numbers that autograd finds."""

from __future__ import annotations

import pytest

import tt
from tt import nn

OPTIONS = {"stride": 2, "padding": 1, "dilation": 2, "groups": 2}


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_gradients_are_those_of_autograd(dims):
    x = tt.randn(2, 4, *(7,) * dims, requires_grad=True)
    weight = tt.randn(6, 2, *(3,) * dims, requires_grad=True)
    y = getattr(nn.functional, f"conv{dims}d")(x, weight, **OPTIONS)
    grad = tt.randn(*y.shape)
    expected = tt.autograd.grad(y, (x, weight), grad)
    tt.testing.assert_close(
        getattr(nn.grad, f"conv{dims}d_input")(x.shape, weight, grad, **OPTIONS), expected[0]
    )
    tt.testing.assert_close(
        getattr(nn.grad, f"conv{dims}d_weight")(x, weight.shape, grad, **OPTIONS), expected[1]
    )


def test_without_grad_mode():
    with tt.no_grad():
        got = nn.grad.conv1d_input((1, 1, 3), tt.ones(1, 1, 2), tt.ones(1, 1, 2))
    assert got.tolist() == [[[1, 2, 1]]] and not got.requires_grad
