"""Instance normalisation: each channel of each input by itself."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tt import nn


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_each_channel_of_each_input_has_mean_0_and_variance_1(dims):
    x = tt.randn(2, 3, *(4,) * dims, dtype=tt.float64) * 5 + 2
    norm = getattr(nn, f"InstanceNorm{dims}d")(3, eps=1e-14)
    axes = tuple(range(2, 2 + dims))
    got = norm(x).numpy()
    np.testing.assert_allclose(got.mean(axes), 0, atol=1e-12)
    np.testing.assert_allclose(got.var(axes), 1, rtol=1e-9)
    np.testing.assert_allclose(norm(x[0]).numpy(), got[0], rtol=1e-12)


def test_parameters_and_statistics_are_options():
    assert list(nn.InstanceNorm2d(3).state_dict()) == []
    assert list(nn.InstanceNorm2d(3, affine=True).state_dict()) == ["weight", "bias"]
    tracked = nn.InstanceNorm1d(1, momentum=1.0, track_running_stats=True)
    tracked(tt.tensor([[[1.0, 3.0]]]))
    assert tracked.running_mean.item() == 2 and tracked.running_var.item() == 2


def test_other_channels_and_ranks_are_refused():
    with pytest.raises(ValueError):
        nn.InstanceNorm2d(3, affine=True)(tt.zeros(2, 4, 5, 5))
    with pytest.raises(ValueError, match="input"):
        nn.InstanceNorm2d(3)(tt.zeros(2, 3))


def test_statistics_of_old_state_dicts_are_refused():
    state = {"running_mean": tt.zeros(3), "running_var": tt.ones(3)}
    with pytest.raises(RuntimeError, match="running_mean"):
        nn.InstanceNorm1d(3).load_state_dict(state)
