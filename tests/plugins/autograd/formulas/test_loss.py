"""Second derivatives of loss functions at the points where they are computed in two halves."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tests.plugins.autograd.formulas.derivatives import derivatives

F = tt.nn.functional
ONE = tt.ones(1, dtype=tt.float64)
LOSSES = {
    "soft_margin_loss": lambda x: F.soft_margin_loss(x, ONE, reduction="none"),
    "multilabel_soft_margin_loss": lambda x: F.multilabel_soft_margin_loss(x, ONE, reduction="none"),
    "binary_cross_entropy_with_logits": lambda x: F.binary_cross_entropy_with_logits(
        x, ONE, reduction="none"
    ),
    "softplus": lambda x: F.softplus(-x, threshold=1e9),
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("x", [0.0, 0.5, 800.0, -800.0])
def test_derivatives_of_logistic_losses_have_no_kink(name, x):
    s = 1 / (1 + np.exp(min(x, 700.0)))  # the sigmoid of -x
    first, second, third = derivatives(LOSSES[name], [x], 3)
    expected = -s, s * (1 - s), -s * (1 - s) * (1 - 2 * s)
    for result, value in zip((first, second, third), expected, strict=True):
        np.testing.assert_allclose(result, [value], rtol=1e-12, atol=1e-300)


def test_second_derivative_by_target_and_input_of_a_weighted_cross_entropy_has_no_kink():
    # d2/dx dt of -(w t log s(x) + (1 - t) log s(-x)) is -1 - (w - 1) s(-x).
    x = tt.zeros(1, dtype=tt.float64, requires_grad=True)
    t = tt.full((1,), 0.3, dtype=tt.float64, requires_grad=True)
    loss = F.binary_cross_entropy_with_logits(x, t, pos_weight=3 * ONE)
    (slope,) = tt.autograd.grad(loss, t, create_graph=True)
    assert tt.autograd.grad(slope, x)[0].item() == -2.0
