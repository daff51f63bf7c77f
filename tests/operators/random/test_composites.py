"""Random slopes: their bounds."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

import tt
import tt.nn.functional as F


@pytest.mark.parametrize("bounds", [(1j, 0.4), (0.1, 2j), (float("inf"), 1.0), (0.4, 0.1)])
def test_bounds_of_random_slopes_are_real_finite_and_in_order(bounds: tuple[Any, Any]) -> None:
    with pytest.raises(tt.errors.ValueRangeError, match=r"rrelu\(\)"):
        tt.nn.functional.rrelu(tt.ones(2), *bounds)


@pytest.mark.parametrize(("rank", "leading"), [(1, 1), (2, 1), (3, 1), (4, 1), (5, 2), (6, 1)])
def test_dropout3d_drops_the_channels_of_any_rank(rank, leading):
    x = tt.ones((8, 3, *(2,) * (rank - 2)) if rank > 1 else 8)
    warned = pytest.warns(UserWarning, match=f"the input has {rank} dimensions")
    with nullcontext() if rank in (4, 5) else warned:
        channels = F.dropout3d(x, 0.5, training=True).flatten(0, leading - 1)
    one_by_one = channels.reshape(channels.shape[0], -1)
    assert bool((one_by_one == one_by_one[:, :1]).all()) and set(one_by_one.flatten().tolist()) <= {0.0, 2.0}


@pytest.mark.parametrize("rank", [2, 3, 5])
def test_dropout2d_warns_of_what_is_no_image(rank):
    with pytest.warns(UserWarning, match="dropout1d" if rank == 3 else "drops single elements"):
        F.dropout2d(tt.ones((2,) * rank), 0.5)


@pytest.mark.parametrize(
    "op", ["dropout", "alpha_dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]
)
@pytest.mark.parametrize("training", [True, False])
def test_a_wrong_probability_is_refused_with_the_name_of_the_operator(op, training):
    with pytest.raises(
        ValueError, match=rf"^{op}\(\): the dropout probability p is between 0 and 1, not 1.5"
    ):
        getattr(tt, op)(tt.ones(2, 3), 1.5, training)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_native_dropout_refuses_a_wrong_probability_alike_on_every_device(device):
    with pytest.raises(ValueError, match=r"^native_dropout\(\): the dropout probability"):
        tt.native_dropout(tt.ones(2, device=device), -0.5, True)
