"""Derivatives of elementary functions of one argument, at special points."""

from __future__ import annotations

import math

import numpy as np

import tt
from tests.plugins.autograd.formulas.derivatives import derivatives


def test_derivatives_of_sinc_are_those_of_its_integral_at_zero_and_next_to_it():
    # sinc(x) is the mean of cos(pi x t) for t from 0 to 1.
    x = np.array([0.0, 1e-160, 1e-8, -1e-5, 1e-3, 0.3, 0.5, -0.7, 2.3])
    nodes, weights = np.polynomial.legendre.leggauss(40)
    t, weights = (nodes + 1) / 2, weights / 2
    for order, result in enumerate(derivatives(tt.sinc, x, 5), 1):
        waves = np.cos(math.pi * x[:, None] * t + order * math.pi / 2) * (math.pi * t) ** order
        np.testing.assert_allclose(result, waves @ weights, rtol=1e-11, atol=1e-15 * 10**order)


def test_derivative_of_a_complex_sinc_next_to_zero():
    z = tt.tensor([1e-9 + 2e-9j, 0j], requires_grad=True, dtype=tt.complex128)
    (slope,) = tt.autograd.grad(tt.sinc(z).sum().real, z)
    np.testing.assert_allclose(slope.conj().numpy(), -(math.pi**2) / 3 * z.detach().numpy(), rtol=1e-12)
