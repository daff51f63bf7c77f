"""The multivariate gamma function of many dimensions."""

from __future__ import annotations

import math

import pytest

import tt


@pytest.mark.parametrize("p", [1, 64, 65, 200])
def test_many_terms_are_those_that_are_added_one_after_the_other(p: int) -> None:
    x = tt.tensor([120.25, 300.0], dtype=tt.float64, requires_grad=True)
    expected = [
        sum(math.lgamma(a - j / 2) for j in range(p)) + p * (p - 1) / 4 * math.log(math.pi)
        for a in (120.25, 300.0)
    ]
    found = tt.mvlgamma(x, p)
    assert tt.allclose(found, tt.tensor(expected, dtype=tt.float64))
    (grad,) = tt.autograd.grad(found.sum(), x)
    assert tt.allclose(grad, sum(tt.digamma(x.detach() - j / 2) for j in range(p)))


def test_an_impossible_order_is_refused() -> None:
    with pytest.raises(tt.errors.TTError):
        tt.mvlgamma(tt.ones(2), 2**62)
