"""Activations against their formulas in NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tt
from tt import nn

X = np.array([-3.0, -1.5, -0.5, -0.1, 0.0, 0.1, 0.5, 1.5, 3.0])
SIGMOID = 1 / (1 + np.exp(-X))
SOFTPLUS = np.log1p(np.exp(X))
ERF = np.array([math.erf(v / math.sqrt(2)) for v in X])

FORMULAS = {
    "ELU": np.where(X > 0, X, np.expm1(X)),
    "CELU": np.where(X > 0, X, np.expm1(X)),
    "SELU": 1.0507009873554805 * np.where(X > 0, X, 1.6732632423543772 * np.expm1(X)),
    "GELU": X * (1 + ERF) / 2,
    "SiLU": X * SIGMOID,
    "Mish": X * np.tanh(SOFTPLUS),
    "Sigmoid": SIGMOID,
    "LogSigmoid": np.log(SIGMOID),
    "Softplus": SOFTPLUS,
    "Softsign": X / (1 + np.abs(X)),
    "Tanh": np.tanh(X),
    "Tanhshrink": X - np.tanh(X),
    "Hardswish": X * np.clip(X + 3, 0, 6) / 6,
    "Hardsigmoid": np.clip(X / 6 + 0.5, 0, 1),
    "Hardtanh": np.clip(X, -1, 1),
    "Hardshrink": np.where(np.abs(X) > 0.5, X, 0),
    "Softshrink": np.sign(X) * np.maximum(np.abs(X) - 0.5, 0),
    "ReLU": np.maximum(X, 0),
    "ReLU6": np.clip(X, 0, 6),
    "LeakyReLU": np.where(X > 0, X, 0.01 * X),
    "PReLU": np.where(X > 0, X, 0.25 * X),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_an_activation_is_its_formula(name):
    module = getattr(nn, name)().double()
    got = module(tt.tensor(X)).detach().numpy()
    np.testing.assert_allclose(got, FORMULAS[name], rtol=1e-10, atol=1e-12)


IN_PLACE = (
    "ReLU", "ReLU6", "ELU", "SELU", "CELU", "SiLU", "Mish", "Hardswish", "Hardsigmoid", "LeakyReLU", "Hardtanh",
)  # fmt: skip


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_changes_the_input(name):
    x = tt.tensor(X)
    assert getattr(nn, name)(inplace=True)(x) is x
    np.testing.assert_allclose(x.numpy(), FORMULAS[name], rtol=1e-10, atol=1e-12)
    assert "inplace=True" in repr(getattr(nn, name)(inplace=True))


def test_half_of_the_features_gate_the_other():
    got = nn.GLU(dim=0)(tt.tensor([1.0, 2.0, 0.0, 100.0]))
    assert got.tolist() == [0.5, 2]


def test_gelu_can_use_tanh():
    got = nn.GELU(approximate="tanh")(tt.tensor(X)).numpy()
    expected = X / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (X + 0.044715 * X**3)))
    np.testing.assert_allclose(got, expected, rtol=1e-10)


def test_softplus_is_linear_above_its_threshold():
    assert nn.Softplus(beta=2.0, threshold=4.0)(tt.tensor([3.0])).item() == 3
