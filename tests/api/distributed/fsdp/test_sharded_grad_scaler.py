"""Scaled losses on several ranks: all take a step or none does."""

from __future__ import annotations

import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.programs import run
from tt import nn
from tt.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from tt.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
from tt.nn.parallel import DistributedDataParallel

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize("backend", ["threads", "bare"])
@pytest.mark.parametrize("options", [{}, {"fused": True}], ids=["plain", "fused"])
@pytest.mark.parametrize("bad", [INF, NAN])
@pytest.mark.parametrize("explicit", [False, True], ids=["step", "unscaled before"])
def test_an_infinite_gradient_of_one_rank_leaves_the_step_out_on_both(bad, options, backend, explicit):
    def program():
        weight = tt.ones(2, requires_grad=True)
        optimizer = tt.optim.SGD([weight], lr=0.25, **options)
        scaler = ShardedGradScaler("cpu", init_scale=8.0)
        seen = []
        for step in range(3):
            optimizer.zero_grad()
            factor = bad if (step == 1 and dist.get_rank() == 1) else 1.0
            scaler.scale((weight * factor).sum()).backward()
            if explicit:
                scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
            seen.append((weight.tolist(), scaler.get_scale()))
        return seen

    expected = [([0.75, 0.75], 8.0), ([0.75, 0.75], 4.0), ([0.5, 0.5], 4.0)]
    assert run(program, 2, backend=backend) == [expected, expected]


def test_without_agreement_the_ranks_would_part(engine):
    def program():
        weight = tt.ones(2, requires_grad=True)
        optimizer, scaler = tt.optim.SGD([weight], lr=0.25), tt.amp.GradScaler("cpu", init_scale=8.0)
        scaler.scale((weight * (INF if dist.get_rank() else 1.0)).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        return scaler.get_scale()

    assert run(program, 2, backend=engine) == [8.0, 4.0]


def test_a_rank_without_gradients_takes_part(engine):
    def program():
        weight = tt.ones(2, requires_grad=True)
        optimizer, scaler = tt.optim.SGD([weight], lr=0.25), ShardedGradScaler("cpu", init_scale=8.0)
        loss = scaler.scale(weight.sum() * INF)
        if dist.get_rank():
            loss.backward()
        scaler.step(optimizer)
        scaler.update()
        return weight.tolist(), scaler.get_scale()

    assert run(program, 2, backend=engine) == [([1.0, 1.0], 4.0)] * 2


def test_only_the_ranks_of_its_group_agree(engine):
    def program():
        groups = [dist.new_group([0, 1]), dist.new_group([2, 3])]
        weight = tt.ones(2, requires_grad=True)
        optimizer = tt.optim.SGD([weight], lr=0.25)
        scaler = ShardedGradScaler("cpu", init_scale=8.0, process_group=groups[dist.get_rank() // 2])
        scaler.scale((weight * (INF if dist.get_rank() == 3 else 1.0)).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        return scaler.get_scale()

    assert run(program, 4, backend=engine) == [8.0, 8.0, 4.0, 4.0]


def test_data_parallel_ranks_agree_with_a_plain_scaler(engine):
    def program():
        tt.manual_seed(0)
        model = DistributedDataParallel(nn.Linear(2, 1))
        optimizer, scaler = (
            tt.optim.SGD(model.parameters(), lr=0.25),
            tt.amp.GradScaler("cpu", init_scale=8.0),
        )
        before = model.module.weight.tolist()
        scales = []
        for step in range(2):
            optimizer.zero_grad()
            factor = INF if (step == 0 and dist.get_rank() == 1) else 1.0
            scaler.scale(model(tt.ones(3, 2)).sum() * factor).backward()
            scaler.step(optimizer)
            scaler.update()
            scales.append(scaler.get_scale())
            assert (model.module.weight.tolist() == before) is (step == 0)
        return scales, model.module.weight.tolist()

    first, second = run(program, 2, backend=engine)
    assert first == second and first[0] == [4.0, 4.0]


@pytest.mark.parametrize("half", [False, True])
def test_a_divided_model_is_trained_as_a_whole_one(engine, half):
    def batch(rank):
        return tt.arange(12.0).reshape(6, 2)[rank * 3 : rank * 3 + 3] / 8

    def trained(model, batches, scaler):
        optimizer = tt.optim.SGD(model.parameters(), lr=0.25, momentum=0.5)
        for step in range(3):
            optimizer.zero_grad()
            loss = model(batches).float().square().mean() * (INF if step == 1 else 1.0)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        return scaler.get_scale()

    def made():
        tt.manual_seed(0)
        return nn.Sequential(nn.Linear(2, 4), nn.Linear(4, 1))

    def program():
        policy = MixedPrecisionPolicy(param_dtype=tt.bfloat16) if half else MixedPrecisionPolicy()
        model = fully_shard(made(), mp_policy=policy)
        scale = trained(model, batch(dist.get_rank()), ShardedGradScaler("cpu", init_scale=8.0))
        return scale, {name: value.full_tensor().tolist() for name, value in model.state_dict().items()}

    whole = made()
    scale = trained(whole, tt.cat([batch(0), batch(1)]), tt.amp.GradScaler("cpu", init_scale=8.0))
    for other, state in run(program, 2, backend=engine):
        assert other == scale == 4.0
        for name, value in whole.state_dict().items():
            tt.testing.assert_close(
                tt.tensor(state[name]), value, rtol=5e-2 if half else 1e-5, atol=2e-2 if half else 1e-6
            )


def test_float16_gradients_are_unscaled_and_losses_keep_their_dtype(engine):
    def program():
        weight = tt.ones(2, dtype=tt.float16, requires_grad=True)
        optimizer, scaler = tt.optim.SGD([weight], lr=0.25), ShardedGradScaler("cpu", init_scale=8.0)
        loss, (other,) = scaler.scale(weight.sum()), scaler.scale([weight.sum()])
        loss.backward()
        scaler.step(optimizer)
        return loss.dtype, other.dtype, weight.tolist()

    assert run(program, 2, backend=engine) == [(tt.float16, tt.float16, [0.75, 0.75])] * 2


@pytest.mark.torch
def test_the_parameters_are_those_of_pytorch():
    pytest.importorskip("torch")
    import inspect

    from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler as Theirs

    ours, theirs = (inspect.signature(scaler).parameters for scaler in (ShardedGradScaler, Theirs))
    assert [*ours] == [*theirs]
    assert [p.default for p in ours.values()][:-1] == [p.default for p in theirs.values()][:-1]
