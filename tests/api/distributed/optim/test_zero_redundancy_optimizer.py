"""ZeroRedundancyOptimizer: the training is that of the optimizer alone, and each rank keeps a part of the state."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.programs import run
from tt import nn
from tt.distributed.optim import ZeroRedundancyOptimizer
from tt.nn.parallel import DistributedDataParallel


def made():
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 1)).double()
    generator = np.random.default_rng(0)
    with tt.no_grad():
        for parameter in model.parameters():
            parameter.copy_(tt.from_numpy(generator.normal(size=tuple(parameter.shape))))
    return model


DATA = np.random.default_rng(1).normal(size=(6, 8, 4))
OPTIMIZERS = {
    "SGD": {"lr": 0.1, "momentum": 0.9},
    "Adam": {"lr": 0.02},
    "AdamW": {"lr": 0.02, "fused": True},
    "RMSprop": {"lr": 0.01},
}


def steps(model, optimizer, batches, scheduler=None):
    for batch in batches:
        optimizer.zero_grad()
        model(tt.from_numpy(batch)).square().mean().backward()
        optimizer.step()
        if scheduler is not None:
            scheduler.step()


def values(model):
    return [parameter.detach().numpy().copy() for parameter in model.parameters()]


def part(batches):
    rank, size = dist.get_rank(), dist.get_world_size()
    return batches[:, rank * 8 // size : (rank + 1) * 8 // size]


def assert_same(found, expected):
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("as_view", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_trajectory_with_data_parallel_is_that_of_one_process(engine, name, as_view, size):
    kind, options = getattr(tt.optim, name), OPTIMIZERS[name]
    alone = made()
    optimizer = kind(alone.parameters(), **options)
    steps(alone, optimizer, DATA, tt.optim.lr_scheduler.StepLR(optimizer, 2))

    def train():
        model = made()
        parallel = DistributedDataParallel(model)
        own = ZeroRedundancyOptimizer(
            parallel.parameters(), kind, parameters_as_bucket_view=as_view, **options
        )
        steps(parallel, own, part(DATA), tt.optim.lr_scheduler.StepLR(own, 2))
        return values(model), len(own.optim.state)

    found = run(train, size, backend=engine)
    for parameters, _ in found:
        assert_same(parameters, values(alone))
    assert sum(count for _, count in found) == 6
    assert max(count for _, count in found) < 6


def test_the_state_of_all_ranks_is_gathered_and_loads_into_one_and_into_several(engine):
    alone = made()
    optimizer = tt.optim.Adam(alone.parameters(), lr=0.02)
    steps(alone, optimizer, DATA)

    def save():
        model = made()
        parallel = DistributedDataParallel(model)
        own = ZeroRedundancyOptimizer(parallel.parameters(), tt.optim.Adam, lr=0.02)
        steps(parallel, own, part(DATA)[:3])
        own.consolidate_state_dict(to=1)
        if dist.get_rank() != 1:
            with pytest.raises(RuntimeError, match="has not been consolidated on this rank"):
                own.state_dict()
        saved = [own.state_dict() if dist.get_rank() == 1 else None]
        dist.broadcast_object_list(saved, src=1)
        kept = copy.deepcopy(saved[0])  # as a file would: a state dict holds the optimizer's own tensors
        fresh = ZeroRedundancyOptimizer(parallel.parameters(), tt.optim.Adam, lr=1.0)
        fresh.load_state_dict(saved[0])
        steps(parallel, fresh, part(DATA)[3:])
        return values(model), kept

    found = run(save, 2, backend=engine)
    for parameters, _ in found:
        assert_same(parameters, values(alone))
    saved = found[0][1]
    reference = made()
    half = tt.optim.Adam(reference.parameters(), lr=0.02)
    steps(reference, half, DATA[:3])
    expected = half.state_dict()
    assert list(saved["state"]) == list(expected["state"])
    for number, state in expected["state"].items():
        for name, value in state.items():
            np.testing.assert_allclose(saved["state"][number][name].numpy(), value.numpy(), rtol=1e-10)
    again = tt.optim.Adam(reference.parameters(), lr=1.0)
    again.load_state_dict(saved)
    steps(reference, again, DATA[3:])
    assert_same(values(reference), values(alone))


def test_groups_keep_their_options_and_more_can_be_added(engine):
    def train():
        model = made()
        first, *others = model.parameters()
        optimizer = ZeroRedundancyOptimizer([{"params": [first], "lr": 1.0}], tt.optim.SGD, lr=0.5)
        optimizer.add_param_group({"params": others, "lr": 0.25})
        before = values(model)
        for parameter in model.parameters():
            parameter.grad = tt.ones_like(parameter)
        optimizer.step()
        return [float(np.mean(b - a)) for b, a in zip(before, values(model), strict=True)]

    for found in run(train, 3, backend=engine):
        np.testing.assert_allclose(found, [1.0, *[0.25] * 5])


@pytest.mark.parametrize(
    ("params", "error", "text"),
    [
        ([], ValueError, "empty parameter list"),
        (3, TypeError, "iterable of Tensors or dicts"),
        ([3], TypeError, "iterable of Tensors or dicts"),
        (tt.ones(2), TypeError, "iterable of Tensors"),
    ],
    ids=["none", "a number", "numbers", "a tensor"],
)
def test_what_are_no_parameters_is_refused(params, error, text):
    with pytest.raises(error, match=text):
        ZeroRedundancyOptimizer(params, tt.optim.SGD, lr=0.1)
