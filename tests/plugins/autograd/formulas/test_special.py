"""Derivatives of special functions at special points."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

import tt
from tests.plugins.autograd.formulas.derivatives import derivatives


@pytest.mark.parametrize(("function", "order"), [(tt.special.i0, 0), (tt.special.i1, 1)])
def test_derivatives_of_bessel_functions_at_zero_and_next_to_it(function, order):
    x = np.array([0.0, 1e-30, -1e-8, 1e-4, 0.5, 0.999, -1.001, 3.0])
    for n, result in enumerate(derivatives(function, x, 5), 1):
        np.testing.assert_allclose(result, special.ivp(order, x, n), rtol=1e-9, atol=1e-12)


def test_derivatives_of_scaled_bessel_functions_next_to_zero():
    # Right of 0 they are those of exp(-x) I1(x).
    x = np.array([1e-12, 1e-6, 1e-2, 0.7])
    first, second, third = derivatives(tt.special.i1e, x, 3)
    i = [special.ivp(1, x, n) for n in range(4)]
    decay = np.exp(-x)
    np.testing.assert_allclose(first, decay * (i[1] - i[0]), rtol=1e-11)
    np.testing.assert_allclose(second, decay * (i[2] - 2 * i[1] + i[0]), rtol=1e-10)
    np.testing.assert_allclose(third, decay * (i[3] - 3 * i[2] + 3 * i[1] - i[0]), rtol=1e-9)


def test_second_derivative_of_log_ndtr_is_finite_on_both_sides():
    x = np.array([-40.0, -3.0, -1e-9, 0.0, 2.0, 30.0, 800.0])
    first, second = derivatives(tt.special.log_ndtr, x, 2)
    ratio = np.exp(-x * x / 2 - special.log_ndtr(x)) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(first, ratio, rtol=1e-12)
    np.testing.assert_allclose(second, -ratio * (x + ratio), rtol=1e-9, atol=1e-12)
