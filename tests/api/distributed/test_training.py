"""A small language model takes the same steps on one process and on several, however it is divided."""

from __future__ import annotations

import numpy as np
import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.programs import run
from tests.api.distributed.training import batches, made, part, trained
from tt.distributed.fsdp import FullyShardedDataParallel, ShardedParameter, fully_shard
from tt.distributed.optim import ZeroRedundancyOptimizer
from tt.nn.parallel import DistributedDataParallel

OPTIONS = {"lr": 1e-2, "weight_decay": 0.1}


def replicated(model):
    return DistributedDataParallel(model), None


def zero(model):
    wrapped = DistributedDataParallel(model)
    return wrapped, ZeroRedundancyOptimizer(wrapped.parameters(), tt.optim.AdamW, **OPTIONS)


def zero_with_views(model):
    wrapped = DistributedDataParallel(model, gradient_as_bucket_view=True)
    made = ZeroRedundancyOptimizer(
        wrapped.parameters(), tt.optim.AdamW, parameters_as_bucket_view=True, **OPTIONS
    )
    return wrapped, made


def sharded(model):
    for layer in model.layers:
        fully_shard(layer)
    return fully_shard(model), None


def sharded_after_forward(model):
    for layer in model.layers:
        fully_shard(layer, reshard_after_forward=False)
    return fully_shard(model, reshard_after_forward=False), None


def wrapped_whole(model):
    return FullyShardedDataParallel(model), None


WAYS = (replicated, zero, zero_with_views, sharded, sharded_after_forward, wrapped_whole)


def whole_parameters(model):
    if isinstance(model, FullyShardedDataParallel):
        with FullyShardedDataParallel.summon_full_params(model):
            return [parameter.detach().numpy().copy() for parameter in model.parameters()]
    found = [p.full_tensor() if isinstance(p, ShardedParameter) else p.detach() for p in model.parameters()]
    return [parameter.numpy().copy() for parameter in found]


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_trajectory_is_that_of_one_process_on_the_whole_batch(engine, way, size):
    inputs = batches(tt, "gpt")
    alone = made(tt, "gpt")
    losses = trained(tt, alone, inputs, tt.optim.AdamW(alone.parameters(), **OPTIONS))
    expected = whole_parameters(alone)

    def train():
        model, optimizer = way(made(tt, "gpt"))
        optimizer = optimizer or tt.optim.AdamW(model.parameters(), **OPTIONS)
        own = trained(tt, model, part(inputs, dist.get_rank(), size), optimizer)
        return own, whole_parameters(model)

    found = run(train, size, backend=engine)
    np.testing.assert_allclose(np.mean([own for own, _ in found], axis=0), losses, rtol=1e-10)
    for _, parameters in found:
        assert len(parameters) == len(expected)
        for ours, theirs in zip(parameters, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)
