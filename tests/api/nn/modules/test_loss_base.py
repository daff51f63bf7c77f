"""What losses share: reductions and weights."""

from __future__ import annotations

import warnings

import pytest

import tt
from tt import nn

X, Y = tt.tensor([1.0, 2.0, 4.0]), tt.zeros(3)


def test_reductions():
    assert nn.L1Loss(reduction="none")(X, Y).tolist() == [1, 2, 4]
    assert nn.L1Loss(reduction="sum")(X, Y) == 7
    tt.testing.assert_close(nn.L1Loss()(X, Y), tt.tensor(7 / 3))
    with pytest.raises(ValueError, match="reduction"):
        nn.L1Loss(reduction="max")(X, Y)


@pytest.mark.parametrize(
    ("options", "reduction"),
    [({"size_average": False}, "sum"), ({"reduce": False}, "none"), ({"size_average": True}, "mean")],
)
def test_the_deprecated_form_of_the_reduction(options, reduction):
    with pytest.warns(UserWarning, match=reduction):
        assert nn.MSELoss(**options).reduction == reduction
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert nn.MSELoss().reduction == "mean"


def test_a_weight_is_a_buffer():
    loss = nn.CrossEntropyLoss(weight=tt.ones(3))
    assert list(loss.state_dict()) == ["weight"] and not list(loss.parameters())
    assert loss.double().weight.dtype is tt.float64
