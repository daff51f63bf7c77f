"""An optimizer with other parameters and another state, for a while."""

from __future__ import annotations

import copy

import pytest

import tt
from tt.optim import swap_in_optimizer_params_and_state


def trained():
    param = tt.ones(2, requires_grad=True)
    optimizer = tt.optim.Adam([param], lr=0.1)
    param.sum().backward()
    optimizer.step()
    return param, optimizer


def test_steps_change_what_was_swapped_in():
    param, optimizer = trained()
    before, other, state = param.tolist(), {"w": tt.zeros(2)}, copy.deepcopy(optimizer.state_dict())
    state["param_groups"][0]["lr"] = 0.5
    with swap_in_optimizer_params_and_state(optimizer, other, state):
        other["w"].grad = tt.ones(2)
        optimizer.step()
    assert other["w"].tolist() == pytest.approx([-0.5, -0.5]) and state["state"][0]["step"] == 2
    assert param.tolist() == before and optimizer.state[param]["step"] == 1
    assert optimizer.param_groups[0]["lr"] == 0.1 and optimizer.param_groups[0]["params"][0] is param


def test_an_exception_restores_the_optimizer():
    param, optimizer = trained()
    with (
        pytest.raises(KeyError),
        swap_in_optimizer_params_and_state(optimizer, {"w": tt.zeros(2)}, optimizer.state_dict()),
    ):
        raise KeyError
    assert optimizer.param_groups[0]["params"][0] is param and param in optimizer.state


@pytest.mark.parametrize(
    ("params", "change", "message"),
    [
        ({}, {}, "match"),
        ({"a": tt.zeros(2)}, {"param_groups": []}, "groups"),
        ({"a": tt.zeros(2)}, {"param_groups": None}, "NoneType"),
    ],
)
def test_what_does_not_correspond_is_refused(params, change, message):
    _, optimizer = trained()
    swap = swap_in_optimizer_params_and_state(optimizer, params, optimizer.state_dict() | change)
    with pytest.raises(RuntimeError, match=message), swap:
        pass


def test_an_optimizer_without_state_is_refused():
    optimizer = tt.optim.Adam([tt.ones(1, requires_grad=True)])
    swap = swap_in_optimizer_params_and_state(optimizer, {"a": tt.ones(1)}, optimizer.state_dict())
    with pytest.raises(RuntimeError, match="initialized"), swap:
        pass
