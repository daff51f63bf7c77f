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


BESSEL = {
    "bessel_j0": special.j0, "bessel_j1": special.j1, "bessel_y0": special.y0, "bessel_y1": special.y1,
    "modified_bessel_i0": special.i0, "modified_bessel_i1": special.i1, "modified_bessel_k0": special.k0,
    "modified_bessel_k1": special.k1, "scaled_modified_bessel_k0": special.k0e,
    "scaled_modified_bessel_k1": special.k1e, "spherical_bessel_j0": lambda x: special.spherical_jn(0, x),
}  # fmt: skip


@pytest.mark.parametrize("name", BESSEL)
def test_derivatives_of_bessel_functions_are_differences(name):
    x, step = np.array([0.3, 0.999, 1.001, 2.5, 7.0]), 1e-3
    first, second = derivatives(getattr(tt.special, name), x, 2)
    values = {k: BESSEL[name](x + k * step) for k in range(-3, 4)}
    slope = sum(w * (values[k] - values[-k]) for k, w in ((1, 0.75), (2, -0.15), (3, 1 / 60))) / step
    sums = sum(w * (values[k] + values[-k]) for k, w in ((1, 1.5), (2, -0.15), (3, 1 / 90)))
    curve = (sums - 49 / 18 * values[0]) / step**2
    np.testing.assert_allclose(first, slope, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(second, curve, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("name", "expected"), [
    ("bessel_j0", [0, -1 / 2, 0, 3 / 8]), ("bessel_j1", [1 / 2, 0, -3 / 8, 0]),
    ("modified_bessel_i0", [0, 1 / 2, 0, 3 / 8]), ("modified_bessel_i1", [1 / 2, 0, 3 / 8, 0]),
    ("spherical_bessel_j0", [0, -1 / 3, 0, 1 / 5]),
])  # fmt: skip
def test_derivatives_of_bessel_functions_at_zero_are_those_of_their_series(name, expected):
    results = derivatives(getattr(tt.special, name), [0.0], 4)
    np.testing.assert_allclose(np.concatenate(results), expected, rtol=1e-14, atol=1e-15)
