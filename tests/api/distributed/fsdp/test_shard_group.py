"""Groups of divided parameters: checkpointed functions, saved views, tied weights, modules that a pass leaves out."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.programs import run
from tests.backends.strict_device import strict_device
from tt import nn
from tt.distributed.fsdp import FullyShardedDataParallel, ShardedParameter, ShardingStrategy, fully_shard
from tt.utils.checkpoint import checkpoint

STEPS = np.random.default_rng(0).normal(size=(2, 4, 4))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return self.outer(self.inner(x).tanh()).relu() + x


class Model(nn.Module):
    """Two blocks, some part of which is checkpointed, between operators on parameters of the model itself."""

    def __init__(self, checkpointed):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.pairs = nn.Parameter(tt.ones(4, 2))
        self.checkpointed = checkpointed

    def through(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpointed == "each block" else block(x)
        return x

    def forward(self, x):
        x = self.first(x)
        if self.checkpointed == "all blocks":
            x = checkpoint(self.through, x, use_reentrant=False)
        elif self.checkpointed == "also the model's own parameters":
            x = checkpoint(lambda y: self.first(self.through(y)), x, use_reentrant=True)
        else:
            x = self.through(x)
        square = tt.view_as_complex(self.pairs) ** 2
        return x @ (square.real * 2 - square.imag)


def again(module):
    """Let the forward of a module run under a checkpoint."""
    forward = module.forward
    module.forward = lambda x: checkpoint(forward, x, use_reentrant=False)


def made(checkpointed):
    model = Model(checkpointed).double()
    generator = np.random.default_rng(1)
    with tt.no_grad():
        for parameter in model.parameters():
            parameter.copy_(tt.from_numpy(generator.normal(size=tuple(parameter.shape))))
    for block in model.blocks:
        if checkpointed == "within the block":
            again(block.inner)
        elif checkpointed == "the forward of each block":
            again(block)
    return model


def trained(model, device="cpu"):
    optimizer = tt.optim.Adam(model.parameters(), lr=0.05)
    shards = any(isinstance(p, ShardedParameter) for p in model.parameters())
    for step in STEPS:
        batch = tt.from_numpy(step[2 * dist.get_rank() :][:2] if shards else step).to(device)
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
    return [
        (p.full_tensor() if isinstance(p, ShardedParameter) else p.detach()).cpu().numpy()
        for p in model.parameters()
    ]


def assert_same(results, expected):
    for result in results:
        for ours, theirs in zip(result, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)


CHECKPOINTED = (
    "nothing",
    "each block",
    "all blocks",
    "also the model's own parameters",
    "within the block",
    "the forward of each block",
)


@pytest.mark.parametrize("checkpointed", CHECKPOINTED)
@pytest.mark.parametrize("units", ["model", "model and blocks"])
@pytest.mark.parametrize("reshard", [True, False])
def test_checkpoints_in_and_around_groups_train_as_one_process(engine, checkpointed, units, reshard):
    def train():
        model = made(checkpointed)
        if units != "model":
            for block in model.blocks:
                fully_shard(block, reshard_after_forward=reshard)
        return trained(fully_shard(model, reshard_after_forward=reshard))

    assert_same(run(train, 2, backend=engine), trained(made(checkpointed)))


@pytest.mark.parametrize("strategy", [ShardingStrategy.FULL_SHARD, ShardingStrategy.SHARD_GRAD_OP])
@pytest.mark.parametrize("wrapped", [None, {Block}])
def test_checkpointed_blocks_of_a_wrapped_model_train_as_one_process(engine, strategy, wrapped):
    def train():
        model = made("each block")
        return trained(FullyShardedDataParallel(model, sharding_strategy=strategy, auto_wrap_policy=wrapped))

    assert_same(run(train, 2, backend=engine), trained(made("nothing")))


def test_a_checkpoint_around_a_group_keeps_no_tensor_that_it_saves_inside(engine):
    def count():
        seen = []
        layer = nn.Linear(4, 4)
        layer.register_forward_hook(lambda module, args, output: seen.append(output))
        block = fully_shard(nn.Sequential(layer, nn.Tanh()))
        y = checkpoint(block, tt.ones(1, 4), use_reentrant=False)
        first = len(seen)
        y.sum().backward()
        return first, len(seen)

    assert run(count, 2, backend=engine) == [(1, 2)] * 2  # it ran again: nothing of the first run was kept


@pytest.mark.parametrize("reshard", [True, False])
def test_groups_on_a_device_whose_arrays_share_no_memory_train_as_one_process(reshard):
    def train():
        model = made("each block").to("strict")
        for block in model.blocks:
            fully_shard(block, reshard_after_forward=reshard)
        return trained(fully_shard(model, reshard_after_forward=reshard), "strict")

    with strict_device():
        results = run(train, 2, backend="cpu:threads,strict:threads")
    assert_same(results, trained(made("nothing")))


class Complex(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(tt.complex(tt.arange(4.0), tt.ones(4)))
        self.pairs = nn.Parameter(tt.arange(8.0).reshape(4, 2))
        self.scale = nn.Parameter(tt.ones(4, dtype=tt.float64))

    def forward(self, x):
        pairs = tt.view_as_complex(self.pairs)
        parts = self.weight.real * self.weight.imag + self.pairs[:, 1] * pairs.real.square()
        return ((pairs * pairs).imag + parts + (self.weight * pairs).real) * self.scale * x


@pytest.mark.parametrize("reshard", [True, False])
def test_views_of_another_dtype_are_saved_and_parameters_of_several_dtypes_gathered_exactly(engine, reshard):
    def gradients(shards):
        model = Complex()
        if shards:
            fully_shard(model, reshard_after_forward=reshard)
        rank = dist.get_rank() if shards else 0.5
        model(tt.full((4,), 1.0 + rank, dtype=tt.float64)).sum().backward()
        return [(p.grad.full_tensor() if shards else p.grad).numpy() for p in model.parameters()]

    expected = gradients(False)
    for result in run(lambda: gradients(True), 2, backend=engine):
        for ours, theirs in zip(result, expected, strict=True):
            assert ours.dtype == theirs.dtype
            np.testing.assert_allclose(ours, theirs, rtol=1e-6)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.other, self.last = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)
        self.other.weight = self.one.weight

    def forward(self, x):
        return self.last(self.other(self.one(x).tanh()))


def tied():
    tt.manual_seed(0)
    model = Tied().double()
    generator = np.random.default_rng(2)
    with tt.no_grad():
        for parameter in model.parameters():
            parameter.copy_(tt.from_numpy(generator.normal(size=tuple(parameter.shape))))
    return model


def test_tied_weights_of_two_groups_are_refused_and_train_in_a_group_of_both_modules():
    def refuse():
        model = tied()
        fully_shard(model.one)
        with pytest.raises(ValueError, match=r"'weight' is shared .*fully_shard\(\[module_a, module_b\]\)"):
            fully_shard(model.other)
        with pytest.raises(ValueError, match=r"'other\.weight' is shared"):
            fully_shard(model)
        return True

    def train():
        model = tied()
        assert fully_shard([model.one, model.other]) == [model.one, model.other]
        fully_shard(model)
        assert model.one.weight is model.other.weight
        return trained(model)

    assert run(refuse, 2) == [True, True]
    assert_same(run(train, 2), trained(tied()))


def test_gradients_that_added_up_are_averaged_although_the_next_pass_leaves_their_module_out(engine):
    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.left, self.right = nn.Linear(1, 2, bias=False), nn.Linear(1, 2, bias=False)

        def forward(self, x, left):
            return (self.left if left else self.right)(x)

    def train():
        model = Heads()
        fully_shard(model.left)
        fully_shard(model.right)
        fully_shard(model)
        x = tt.full((1, 1), dist.get_rank() + 1.0)
        result = []
        for _ in range(2):
            model.set_requires_gradient_sync(False)
            model(x, True).sum().backward()
            model.set_requires_gradient_sync(True)
            model(x, False).sum().backward()
            result.append((model.left.weight.grad.tolist(), model.right.weight.grad.tolist()))
            model.zero_grad()
        return result

    assert run(train, 2, backend=engine) == [[([[1.5]], [[1.5]])] * 2] * 2


def test_a_sharded_module_is_not_copied_and_stays_with_its_data(engine):
    def refuse():
        model = fully_shard(nn.Linear(2, 2))
        with pytest.raises(AssertionError, match="FSDP does not support deepcopy"):
            copy.deepcopy(model)
        part = copy.deepcopy(model.weight)
        assert part.placement is model.weight.placement and bool((part == model.weight).all())
        model.double()
        return model(tt.ones(1, 2, dtype=tt.float64)).dtype is tt.float64

    assert run(refuse, 2, backend=engine) == [True, True]
