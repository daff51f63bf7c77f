"""Derivatives of functions of two tensors at special points."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tt
from tests.plugins.autograd.formulas.derivatives import derivatives

INF = math.inf


@pytest.mark.parametrize(("function", "unit"), [(tt.logaddexp, 1.0), (tt.logaddexp2, math.log(2))])
def test_derivatives_of_a_sum_of_distant_powers_are_those_of_a_sigmoid(function, unit):
    x = np.array([0.0, 2000.0, -2000.0, INF, -INF, 1.0])
    other = tt.tensor([2000.0, 0.0, 1e300, 0.0, 5.0, 1.5], dtype=tt.float64)
    share = np.array([0.0, 1.0, 0.0, 1.0, 0.0, 1 / (1 + math.exp(unit / 2))])
    first, second, third = derivatives(lambda at: function(at, other), x, 3)
    np.testing.assert_allclose(first, share, rtol=1e-14)
    np.testing.assert_allclose(second, unit * share * (1 - share), rtol=1e-14)
    np.testing.assert_allclose(third, unit**2 * share * (1 - share) * (1 - 2 * share), rtol=1e-13)


@pytest.mark.parametrize("function", [tt.logaddexp, tt.logaddexp2])
def test_nothing_has_no_gradient_in_a_sum_of_nothing(function):
    nothing = tt.tensor([-INF], dtype=tt.float64)
    first, second = derivatives(lambda at: function(at, nothing) + function(nothing, at), [-INF], 2)
    assert first.tolist() == second.tolist() == [0.0]


@pytest.mark.parametrize(("function", "edge"), [(tt.xlogy, 0.0), (tt.special.xlog1py, -1.0)])
def test_a_gradient_of_zero_stays_zero_where_the_logarithm_is_infinite(function, edge):
    x = tt.tensor([0.0, 1.0, -2.0, 1.0], dtype=tt.float64, requires_grad=True)
    y = tt.tensor([edge, edge, edge, INF], dtype=tt.float64, requires_grad=True)
    for gradient in tt.autograd.grad(function(x, y), [x, y], tt.zeros(4, dtype=tt.float64)):
        assert not gradient.any()
    (alone,) = tt.autograd.grad(function(x, edge), x, tt.zeros(4, dtype=tt.float64))
    assert not alone.any()


@pytest.mark.parametrize(("function", "edge"), [(tt.xlogy, 0.0), (tt.special.xlog1py, -1.0)])
def test_zero_times_a_logarithm_does_not_depend_on_its_argument(function, edge):
    y = tt.tensor([edge, edge + 2], dtype=tt.float64, requires_grad=True)
    x = tt.tensor([0.0, 3.0], dtype=tt.float64)
    assert tt.autograd.grad(function(x, y).sum(), y)[0].tolist() == [0.0, 1.5]


def test_the_gradient_of_nextafter_goes_to_the_number_that_is_followed():
    x = tt.tensor([1.0, 2.0, INF], requires_grad=True)
    y = tt.tensor([2.0, 1.0, 0.0], requires_grad=True)
    to_x, to_y = tt.autograd.grad(tt.nextafter(x, y).sum(), [x, y])
    assert to_x.tolist() == [1.0] * 3
    assert to_y.tolist() == [0.0] * 3
