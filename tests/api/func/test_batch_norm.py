"""Batch norms without running statistics."""

from __future__ import annotations

import tt
from tt import nn


def test_vmap_takes_a_model_without_running_statistics():
    model = nn.Sequential(nn.Conv1d(2, 3, 1), nn.Sequential(nn.BatchNorm1d(3)))
    assert tt.func.replace_all_batch_norm_modules_(model) is model
    assert list(model.buffers()) == []
    x = tt.randn(4, 5, 2, 3)
    got = tt.func.vmap(model)(x)
    tt.testing.assert_close(got, tt.stack([model(part) for part in x]))
    assert model.eval()(x[0]).shape == (5, 3, 3)
