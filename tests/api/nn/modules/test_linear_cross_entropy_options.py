"""The options of LinearCrossEntropyLoss, which change nothing."""

from __future__ import annotations

import tt
from tt import nn


def test_the_options_change_no_loss():
    options = nn.LinearCrossEntropyOptions(batch_chunk_size=2, acc_policy="compact")
    loss, other = nn.LinearCrossEntropyLoss(3, 4), nn.LinearCrossEntropyLoss(3, 4, options=options)
    other.load_state_dict(loss.state_dict())
    x, target = tt.randn(5, 3), tt.tensor([0, 1, 2, 3, 0])
    assert tt.equal(loss(x, target), other(x, target))
    assert repr(options).startswith("LinearCrossEntropyOptions(allow_retain_graph=False, batch_chunk_size=2")
