"""Losses of numbers against their formulas in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tt import nn

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((3, 4)) * 2, RNG.standard_normal((3, 4))
P, Q = RNG.uniform(0.1, 0.9, (3, 4)), RNG.uniform(0.1, 0.9, (3, 4))
D = np.abs(X - Y)
SIGNS = np.where(Y > 0, 1.0, -1.0)


def entropy(p, q):
    return -(q * np.log(p) + (1 - q) * np.log(1 - p))


CASES = {
    "L1Loss": (nn.L1Loss(), X, Y, D.mean()),
    "MSELoss": (nn.MSELoss(), X, Y, (D**2).mean()),
    "SmoothL1Loss": (nn.SmoothL1Loss(beta=0.5), X, Y, np.where(D < 0.5, D**2, D - 0.25).mean()),
    "HuberLoss": (nn.HuberLoss(delta=0.5), X, Y, np.where(D < 0.5, D**2 / 2, 0.5 * (D - 0.25)).mean()),
    "SoftMarginLoss": (nn.SoftMarginLoss(), X, SIGNS, np.log1p(np.exp(-SIGNS * X)).mean()),
    "BCELoss": (nn.BCELoss(), P, Q, entropy(P, Q).mean()),
    "BCEWithLogitsLoss": (nn.BCEWithLogitsLoss(), X, Q, entropy(1 / (1 + np.exp(-X)), Q).mean()),
    "KLDivLoss": (nn.KLDivLoss(reduction="batchmean"), np.log(P), Q, (Q * (np.log(Q) - np.log(P))).sum() / 3),
    "KLDivLoss of logarithms": (
        nn.KLDivLoss(reduction="sum", log_target=True), np.log(P), np.log(Q), (Q * (np.log(Q) - np.log(P))).sum()
    ),
    "PoissonNLLLoss": (nn.PoissonNLLLoss(), X, Q, (np.exp(X) - Q * X).mean()),
    "PoissonNLLLoss of means": (
        nn.PoissonNLLLoss(log_input=False, eps=1e-8), P, Q, (P - Q * np.log(P + 1e-8)).mean()
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_loss_is_its_formula(name):
    loss, x, y, expected = CASES[name]
    np.testing.assert_allclose(float(loss(tt.tensor(x), tt.tensor(y))), expected, rtol=1e-10)


def test_positive_examples_can_weigh_more():
    weight = np.array([1.0, 2.0, 3.0, 4.0])
    p = 1 / (1 + np.exp(-X))
    expected = -(weight * Q * np.log(p) + (1 - Q) * np.log(1 - p)).mean()
    loss = nn.BCEWithLogitsLoss(pos_weight=tt.tensor(weight))
    np.testing.assert_allclose(float(loss(tt.tensor(X), tt.tensor(Q))), expected, rtol=1e-10)


def test_the_loss_of_a_normal_distribution():
    loss = nn.GaussianNLLLoss(full=True)(tt.tensor(X), tt.tensor(Y), tt.tensor(P))
    expected = (np.log(P) + D**2 / P).mean() / 2 + np.log(2 * np.pi) / 2
    np.testing.assert_allclose(float(loss), expected, rtol=1e-10)
    with pytest.raises(ValueError, match="negative"):
        nn.GaussianNLLLoss()(tt.tensor(X), tt.tensor(Y), tt.tensor(-P))


def test_wrong_arguments_are_refused():
    with pytest.raises(TypeError, match="delta must be a float or int, got: <class 'complex'>"):
        nn.HuberLoss(delta=1j)
    with pytest.raises(RuntimeError, match="delta"):
        nn.HuberLoss(delta=0)(tt.zeros(2), tt.zeros(2))
    with pytest.raises(RuntimeError, match="between 0 and 1"):
        nn.BCELoss()(tt.tensor([1.5]), tt.tensor([1.0]))
    with pytest.raises(ValueError):
        nn.BCELoss()(tt.tensor([0.5]), tt.tensor([[1.0, 0.0]]))
