"""FullyShardedDataParallel: the wrapper trains as one process does, and its state dicts are whole."""

from __future__ import annotations

import copy
import functools

import numpy as np
import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.programs import run
from tt import nn
from tt.distributed.fsdp import (
    BackwardPrefetch,
    CPUOffload,
    FSDPModule,
    FullyShardedDataParallel,
    MixedPrecision,
    ShardingStrategy,
)
from tt.distributed.fsdp.wrap import (
    ModuleWrapPolicy,
    always_wrap_policy,
    size_based_auto_wrap_policy,
    transformer_auto_wrap_policy,
)

DATA = np.random.default_rng(1).normal(size=(4, 8, 5))
POLICIES = {
    "none": None,
    "always": always_wrap_policy,
    "size": functools.partial(size_based_auto_wrap_policy, min_num_params=40),
    "layers": functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={nn.Linear}),
    "classes": ModuleWrapPolicy({nn.Linear}),
    "set": {nn.Linear},
}


class Bare(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(tt.empty(2, device="meta"))


def made(seed=0):
    model = nn.Sequential(
        nn.Linear(5, 7), nn.Tanh(), nn.Sequential(nn.Linear(7, 6), nn.Tanh()), nn.Linear(6, 1)
    )
    generator = np.random.default_rng(seed)
    with tt.no_grad():
        for parameter in model.double().parameters():
            parameter.copy_(tt.from_numpy(generator.normal(size=tuple(parameter.shape))))
    return model


def part(batches=DATA):
    rank, size = dist.get_rank(), dist.get_world_size()
    return batches[:, rank * 8 // size : (rank + 1) * 8 // size]


def train(model, batches, optimizer=None):
    optimizer = optimizer or tt.optim.Adam(model.parameters(), lr=0.02)
    for batch in batches:
        optimizer.zero_grad()
        model(tt.from_numpy(batch)).square().mean().backward()
        optimizer.step()
    return optimizer


def arrays(state):
    return {name: value.numpy().copy() for name, value in state.items()}


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for name, value in found.items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("strategy", [ShardingStrategy.FULL_SHARD, ShardingStrategy.SHARD_GRAD_OP])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_trajectory_is_that_of_one_process_and_the_state_dict_is_whole(engine, policy, strategy):
    alone = made()
    train(alone, DATA)

    def program():
        model = FullyShardedDataParallel(
            made(seed=dist.get_rank()),
            sync_module_states=True,
            auto_wrap_policy=POLICIES[policy],
            sharding_strategy=strategy,
        )
        train(model, part())
        return arrays(model.state_dict())

    for found in run(program, 2, backend=engine):
        assert_same(found, arrays(alone.state_dict()))


def test_policies_choose_the_inner_modules_that_are_sharded_by_themselves(engine):
    def count(policy):
        model = FullyShardedDataParallel(made(), auto_wrap_policy=POLICIES[policy])
        return sum(isinstance(module, FSDPModule) for module in model.modules())

    counts = {policy: run(count, 1, policy, backend=engine)[0] for policy in POLICIES}
    assert counts == {"none": 1, "always": 7, "size": 3, "layers": 4, "classes": 4, "set": 4}


def test_states_of_model_and_optimizer_load_into_another_number_of_ranks(engine):
    alone = made()
    optimizer = train(alone, DATA[:2])
    train(alone, DATA[2:], optimizer)

    def first():
        model = FullyShardedDataParallel(made(), auto_wrap_policy=always_wrap_policy)
        optimizer = train(model, part()[:2])
        return model.state_dict(), FullyShardedDataParallel.optim_state_dict(model, optimizer)

    saved = run(first, 2, backend=engine)[0]

    def second():
        model = FullyShardedDataParallel(made(seed=5))
        optimizer = tt.optim.Adam(model.parameters(), lr=1.0)
        of_model, of_optimizer = copy.deepcopy(
            saved
        )  # as a file would: optimizers keep the tensors that they load
        model.load_state_dict(of_model)
        FullyShardedDataParallel.load_optim_state_dict(model, optimizer, of_optimizer)
        train(model, part()[2:], optimizer)
        return arrays(model.state_dict())

    for found in run(second, 4, backend=engine):
        assert_same(found, arrays(alone.state_dict()))


def test_without_sync_gradients_add_up_and_clipping_counts_all_ranks(engine):
    def program():
        model = FullyShardedDataParallel(nn.Linear(1, 2, bias=False))
        x = tt.full((1, 1), float(dist.get_rank() + 1))
        with model.no_sync():
            model(x).sum().backward()
        model(10 * x).sum().backward()
        norm = model.clip_grad_norm_(1.0).item()
        return round(norm, 4), round(model.weight.grad.item(), 4)

    assert run(program, 2, backend=engine) == [(23.3345, 0.7071)] * 2


def test_whole_parameters_can_be_changed_and_each_rank_keeps_its_rows(engine):
    def program():
        model = FullyShardedDataParallel(nn.Linear(1, 4, bias=False))
        with FullyShardedDataParallel.summon_full_params(model):
            model.module.weight.copy_(tt.arange(4.0).reshape(4, 1))
        with FullyShardedDataParallel.summon_full_params(model, writeback=False):
            model.module.weight.fill_(9.0)
        return model.weight.flatten().tolist()

    assert run(program, 2, backend=engine) == [[0.0, 1.0], [2.0, 3.0]]


def test_fewer_bits_in_forward_and_whole_bits_in_the_parameters(engine):
    def program():
        precision = MixedPrecision(param_dtype=tt.bfloat16, reduce_dtype=tt.float32, buffer_dtype=tt.bfloat16)
        model = FullyShardedDataParallel(
            nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)), mixed_precision=precision
        )
        out = model(tt.ones(4, 2))
        out.sum().backward()
        return out.dtype, model.module[0].weight.grad.dtype, model.module[1].running_mean.dtype

    assert run(program, 2, backend=engine) == [(tt.bfloat16, tt.float32, tt.bfloat16)] * 2


@pytest.mark.parametrize("strategy", [ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2])
@pytest.mark.parametrize("given", ["local world size", "mesh", "groups"])
def test_hybrid_strategies_divide_within_groups_and_copy_between_them(engine, strategy, given, monkeypatch):
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    alone = made()
    train(alone, DATA)

    def program():
        options = {}
        if given == "mesh":
            options["device_mesh"] = dist.init_device_mesh("cpu", (2, 2))
        elif given == "groups":
            mesh = dist.init_device_mesh("cpu", (2, 2))
            options["process_group"] = (mesh.get_group(1), mesh.get_group(0))
        model = FullyShardedDataParallel(
            made(seed=dist.get_rank()), sync_module_states=True, sharding_strategy=strategy,
            cpu_offload=CPUOffload(offload_params=True), **options,
        )  # fmt: skip
        train(model, part())
        return dist.get_process_group_ranks(model.process_group), arrays(model.state_dict())

    for rank, (members, found) in enumerate(run(program, 4, backend=engine)):
        assert members == ([0, 1] if rank < 2 else [2, 3])
        assert_same(found, arrays(alone.state_dict()))


def test_what_is_not_served_is_refused():
    def program():
        with pytest.raises(NotImplementedError, match="NO_SHARD is not served"):
            FullyShardedDataParallel(nn.Linear(1, 1), sharding_strategy=ShardingStrategy.NO_SHARD)
        hybrid = ShardingStrategy.HYBRID_SHARD
        with pytest.raises(ValueError, match="ndim=2 but got 1"):
            FullyShardedDataParallel(
                nn.Linear(1, 1), sharding_strategy=hybrid, device_mesh=dist.init_device_mesh("cpu", (1,))
            )
        with pytest.raises(ValueError, match="tuple of two groups"):
            FullyShardedDataParallel(nn.Linear(1, 1), dist.group.WORLD, hybrid)
        with pytest.raises(ValueError, match="a tuple of groups is for hybrid strategies"):
            FullyShardedDataParallel(nn.Linear(1, 1), (dist.group.WORLD, dist.group.WORLD))
        with pytest.raises(TypeError, match="cpu_offload must be a CPUOffload, got bool"):
            FullyShardedDataParallel(nn.Linear(1, 1), cpu_offload=True)
        with pytest.raises(TypeError, match=r"Bare is on the meta device and has no reset_parameters\(\)"):
            FullyShardedDataParallel(Bare())
        with pytest.raises(TypeError, match="ignored_states expects parameters or modules, got int"):
            FullyShardedDataParallel(nn.Linear(1, 1), ignored_states=[3])
        return True

    assert run(program, 1) == [True]


def on_meta():
    with tt.device("meta"):
        return nn.Sequential(nn.Linear(5, 7), nn.BatchNorm1d(7), nn.Linear(7, 1))


@pytest.mark.parametrize("policy", ["none", "layers"])
def test_a_model_on_the_meta_device_gets_memory_and_values_unit_by_unit(engine, policy):
    def initialise(generator):
        def init(module):
            module.to_empty(device="cpu", recurse=False)
            for tensor in (*module.parameters(recurse=False), *module.buffers(recurse=False)):
                tensor.detach().copy_(tt.rand(tuple(tensor.shape), generator=generator))

        return init

    def program():
        init = initialise(tt.Generator().manual_seed(1))
        model = FullyShardedDataParallel(on_meta(), auto_wrap_policy=POLICIES[policy], param_init_fn=init)
        return model.eval()(tt.ones(2, 5)).flatten().tolist(), model.state_dict()

    expected = on_meta()
    init = initialise(tt.Generator().manual_seed(1))
    order = expected if policy == "none" else [expected[0], expected[2], expected[1]]  # inner units first
    for module in order:
        init(module)
    for output, state in run(program, 2, backend=engine):
        for name, value in expected.state_dict().items():
            assert tt.equal(state[name], value), name
        assert output == pytest.approx(expected.eval()(tt.ones(2, 5)).flatten().tolist())


def test_a_model_on_the_meta_device_is_reset_and_taken_from_rank_zero(engine):
    class Own(nn.Linear):
        def reset_parameters(self):
            nn.init.constant_(self.weight, dist.get_rank() + 1.0 if dist.is_initialized() else 0)
            nn.init.constant_(self.bias, 2.0)

    def program():
        with tt.device("meta"):
            module = nn.Sequential(Own(3, 4), Own(4, 2))
        model = FullyShardedDataParallel(
            module, auto_wrap_policy={Own}, sync_module_states=True, device_id=tt.device("cpu")
        )
        optimizer = tt.optim.SGD(model.parameters(), lr=0.1)
        model(tt.ones(1, 3)).sum().backward()
        optimizer.step()
        return model.state_dict()["0.weight"].tolist(), model.state_dict()["1.bias"].tolist()

    for weight, bias in run(program, 2, backend=engine):
        assert weight == [[pytest.approx(0.8)] * 3] * 4
        assert bias == pytest.approx([1.9, 1.9])


def test_backward_gathers_ahead_whichever_way_is_asked_for(engine):
    def program(prefetch):
        model = FullyShardedDataParallel(made(), backward_prefetch=prefetch, auto_wrap_policy={nn.Linear})
        optimizer = tt.optim.SGD(model.parameters(), lr=0.1)
        model(tt.from_numpy(part()[0])).sum().backward()
        optimizer.step()
        return {name: value.numpy() for name, value in model.state_dict().items()}

    expected = run(program, 2, None, backend=engine)[0]
    for prefetch in BackwardPrefetch:
        for state in run(program, 2, prefetch, backend=engine):
            assert all(np.array_equal(state[name], expected[name]) for name in expected)
