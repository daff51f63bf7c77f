"""Losses of bools and of broadcast tensors, and the reduction of the divergence that is seldom meant."""

from __future__ import annotations

import warnings

import pytest

import tt
import tt.nn.functional as F

X = tt.tensor([[1.0, 2.0], [3.0, 4.0]])
LOSSES = {
    "mse_loss": F.mse_loss,
    "smooth_l1_loss": F.smooth_l1_loss,
    "huber_loss": F.huber_loss,
    "huber_loss, delta": lambda x, y: F.huber_loss(x, y, delta=0.5),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_bools_count_as_numbers(loss):
    found = LOSSES[loss](X, X > 2)
    tt.testing.assert_close(found, LOSSES[loss](X, (X > 2).float()))
    tt.testing.assert_close(LOSSES[loss](X > 2, X.double()), LOSSES[loss]((X > 2).double(), X.double()))
    with pytest.raises(RuntimeError, match="expected floating point tensors"):
        LOSSES[loss](X > 2, X > 2)


def test_a_mean_divergence_warns():
    logarithms, probabilities = tt.log_softmax(X, 1), tt.softmax(X, 1)
    with pytest.warns(UserWarning, match="reduction='batchmean'"):
        F.kl_div(logarithms, probabilities)
    for reduction in ("batchmean", "sum", "none"):
        F.kl_div(logarithms, probabilities, reduction=reduction)


@pytest.mark.parametrize("name", ["smooth_l1_loss", "huber_loss", "mse_loss"])
def test_losses_of_broadcast_tensors_have_the_curvature_of_expanded_ones_at_equal_places(name):
    loss = getattr(tt.nn.functional, name)
    row = tt.tensor([0.5, -1.0, 3.0], dtype=tt.float64)
    x = tt.tensor([[0.5, -1.0, 2.9], [0.0, -1.0, 9.0]], dtype=tt.float64)
    curvature = {"mse_loss": 2.0}.get(name, 1.0)
    linear = name != "mse_loss"
    expected = [[curvature, curvature, curvature], [curvature, curvature, 0.0 if linear else curvature]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the shapes differ
        for order in (lambda f: tt.func.hessian(f), lambda f: tt.func.jacrev(tt.func.jacrev(f))):
            for f in (lambda v: loss(v, row, reduction="sum"), lambda v: loss(row, v, reduction="sum")):
                second = order(f)(x).reshape(6, 6)
                assert second.diagonal().reshape(2, 3).tolist() == expected
                assert not (second - second.diagonal().diag()).any()
