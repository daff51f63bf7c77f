"""Options of state dicts that concern several ranks."""

from __future__ import annotations

import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.programs import run
from tt.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)


def test_a_state_comes_from_rank_0():
    options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)

    def ranks():
        rank = dist.get_rank()
        model = tt.nn.Linear(2, 1)
        # What the other ranks give is ignored, as the empty state that they have who read no file.
        state = {"weight": tt.tensor([[1.0, 2.0]]), "bias": tt.tensor([3.0])} if rank == 0 else {}
        set_model_state_dict(model, state, options=options)
        optimizer = tt.optim.SGD(model.parameters(), lr=0.1 * (rank + 1), momentum=0.9)
        model(tt.ones(1, 2) * (rank + 1)).sum().backward()
        optimizer.step()
        set_optimizer_state_dict(
            model, optimizer, get_optimizer_state_dict(model, optimizer), options=options
        )
        first = next(iter(model.parameters()))
        return model.bias.item(), optimizer.param_groups[0]["lr"], optimizer.state[first]["momentum_buffer"]

    for _, rate, momentum in run(ranks, 2):
        assert rate == 0.1
        assert momentum.tolist() == [[1.0, 1.0]]


def test_a_part_cannot_come_from_rank_0():
    model = tt.nn.Linear(2, 1)
    options = StateDictOptions(broadcast_from_rank0=True)
    with pytest.raises(ValueError, match="full_state_dict"):
        set_model_state_dict(model, model.state_dict(), options=options)
