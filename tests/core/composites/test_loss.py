"""Losses of bools, and the reduction of the divergence that is seldom meant."""

from __future__ import annotations

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
