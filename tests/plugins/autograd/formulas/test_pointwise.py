"""Gradients of absolute values of complex numbers, and of powers with complex exponents."""

from __future__ import annotations

import numpy as np
import pytest

import tt

BASE = np.array([-2.0, -0.5, 3.0])
EXPONENT = np.array([1 + 2j, 0.5 - 1j, 2j])


@pytest.mark.parametrize("power", [tt.pow, tt.float_power])
def test_gradients_of_a_negative_base_with_a_complex_exponent(power):
    base = tt.tensor(BASE, requires_grad=True)
    exponent = tt.tensor(EXPONENT, requires_grad=True)
    result = power(base, exponent)
    value = BASE.astype(complex) ** EXPONENT
    to_base, to_exponent = tt.autograd.grad(result.real.sum(), [base, exponent])
    np.testing.assert_allclose(to_base.numpy(), (EXPONENT * value / BASE).real, rtol=1e-12)
    np.testing.assert_allclose(to_exponent.conj().numpy(), value * np.log(BASE.astype(complex)), rtol=1e-12)


def test_zero_to_a_complex_power_has_no_gradient_by_the_exponent():
    exponent = tt.tensor([1 + 2j, 2 - 1j], requires_grad=True)
    result = tt.pow(tt.zeros(2), exponent)
    assert tt.autograd.grad(result.real.sum(), exponent)[0].tolist() == [0, 0]


def test_the_gradient_of_abs_of_complex_numbers_whose_reciprocal_overflows():
    numbers = tt.tensor([1e-310 + 0j, -1e-310j, 0j], requires_grad=True, dtype=tt.complex128)
    assert tt.autograd.grad(numbers.abs().sum(), numbers)[0].tolist() == [1, -1j, 0]


def test_second_gradients_of_abs_of_complex_numbers():
    numbers = tt.tensor([3 + 4j, -0.5j, 0j], requires_grad=True, dtype=tt.complex128)
    (first,) = tt.autograd.grad(numbers.abs().sum(), numbers, create_graph=True)
    (second,) = tt.autograd.grad(first.real.sum(), numbers)
    # The part of 1 across the direction of z, over |z|; 0 at 0.
    across = (1 - 0.6 * (0.6 + 0.8j)) / 5
    np.testing.assert_allclose(second.numpy(), [across, 2, 0], rtol=1e-14)
