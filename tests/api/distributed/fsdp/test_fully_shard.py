"""fully_shard: training on several ranks, each with a part of the parameters, is that of one process."""

from __future__ import annotations

import copy
import functools
import json
import multiprocessing

import numpy as np
import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.programs import run
from tests.backends.cuda.devices import fake_cuda
from tt import nn
from tt.distributed import checkpoint
from tt.distributed.checkpoint.state_dict import get_model_state_dict
from tt.distributed.fsdp import (
    CPUOffloadPolicy,
    FSDPModule,
    MixedPrecisionPolicy,
    ShardedParameter,
    ShardedTensor,
    clip_grad_norm_,
    fully_shard,
)

BATCH, STEPS = 12, 4
DATA = np.random.default_rng(1).normal(size=(STEPS, BATCH, 6, 8))


class Model(nn.Module):
    """Transformer layers between two linear ones that share their weight, and a number that scales."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Linear(8, 8, bias=False)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(8, 2, 10, dropout=0.0, batch_first=True) for _ in range(2)
        )
        self.scale = nn.Parameter(tt.tensor(1.5))
        self.frozen = nn.Parameter(tt.ones(3), requires_grad=False)
        self.head = nn.Linear(8, 8)
        self.head.weight = self.embedding.weight

    def forward(self, x):
        x = self.embedding(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(x) * self.scale


def made():
    model = Model().double()
    generator = np.random.default_rng(0)
    with tt.no_grad():
        for parameter in model.parameters():
            parameter.copy_(tt.from_numpy(np.asarray(generator.normal(size=tuple(parameter.shape)) * 0.5)))
    return model


def sharded(**options):
    model = made()
    for layer in model.layers:
        fully_shard(layer, **options)
    return fully_shard(model, **options)


def part():
    rank, size = dist.get_rank(), dist.get_world_size()
    return tt.from_numpy(DATA[:, rank * BATCH // size : (rank + 1) * BATCH // size])


def trained(model, batches, clip=None):
    optimizer = tt.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    for batch in batches:
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        if clip is not None:
            clip(model.parameters(), 0.05)
        optimizer.step()
    return model


def wholes(model):
    return [
        (p.full_tensor() if isinstance(p, ShardedParameter) else p.detach()).numpy().copy()
        for p in model.parameters()
    ]


def assert_same(found, expected, tolerance=1e-10):
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("reshard", [True, False])
def test_a_trajectory_is_that_of_one_process_on_the_whole_batch(engine, size, reshard):
    expected = wholes(trained(made(), tt.from_numpy(DATA)))
    for found in run(
        lambda: wholes(trained(sharded(reshard_after_forward=reshard), part())), size, backend=engine
    ):
        assert_same(found, expected)


@pytest.mark.parametrize("reshard", [True, False])
def test_copies_on_a_mesh_of_two_dimensions_train_as_one_process(engine, reshard, tmp_path):
    expected = wholes(trained(made(), tt.from_numpy(DATA)))

    def program():
        mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
        model = trained(sharded(mesh=mesh, reshard_after_forward=reshard), part())
        checkpoint.save({"model": get_model_state_dict(model)}, checkpoint_id=tmp_path / "step")
        loaded = sharded(mesh=mesh)
        state = {"model": get_model_state_dict(loaded)}
        checkpoint.load(state, checkpoint_id=tmp_path / "step")
        return tuple(model.head.weight.shape), wholes(model), wholes(loaded)

    for shape, found, loaded in run(program, 4, backend=engine):
        assert shape == (4, 8)
        assert_same(found, expected)
        assert_same(loaded, expected)
    index = json.loads((tmp_path / "step" / "index.json").read_text())
    rows = index["tensors"]["model.head.weight"]["chunks"]
    assert sorted(chunk[2:] for chunk in rows) == [[0, 4], [4, 8]]  # the copies write nothing


def test_gradients_of_copies_are_averaged_over_all_ranks_and_clipped_once(engine):
    expected = wholes(trained(made(), tt.from_numpy(DATA), nn.utils.clip_grad_norm_))

    def program():
        mesh = dist.init_device_mesh("cpu", (2, 2))
        return wholes(trained(sharded(mesh=mesh), part(), clip_grad_norm_))

    for found in run(program, 4, backend=engine):
        assert_same(found, expected, 1e-7)


def test_offloaded_parts_and_gradients_are_on_the_cpu_and_the_model_computes_on_its_device():
    def train(model, device):
        optimizer = tt.optim.SGD(model.parameters(), lr=0.1)
        for step in range(3):
            optimizer.zero_grad()
            x = tt.arange(6.0).reshape(2, 3).to(device) / (step + 1)
            output = model(x)
            output.square().sum().backward()
            optimizer.step()
        return output.device.type

    alone = nn.Linear(3, 4)
    start = copy.deepcopy(alone.state_dict())
    train(alone, "cpu")

    def program():
        model = nn.Linear(3, 4)
        model.load_state_dict(start)
        fully_shard(model.to("cuda"), offload_policy=CPUOffloadPolicy())
        device = train(model, "cuda")
        return device, {(p.device.type, p.grad.device.type) for p in model.parameters()}, wholes(model)

    with fake_cuda():
        results = run(program, 2)
    for device, places, found in results:
        assert device == "cuda" and places == {("cpu", "cpu")}
        assert_same(found, [p.detach().numpy() for p in alone.parameters()], 1e-5)


def test_gradients_are_clipped_by_the_norm_over_all_ranks(engine):
    expected = wholes(trained(made(), tt.from_numpy(DATA), nn.utils.clip_grad_norm_))
    for found in run(lambda: wholes(trained(sharded(), part(), clip_grad_norm_)), 2, backend=engine):
        assert_same(found, expected, 1e-7)  # both add 1e-6 to the norm, of which the digits after differ


def test_each_rank_keeps_its_rows_and_the_optimizer_state_of_them(engine):
    def shapes():
        model = sharded()
        assert isinstance(model, FSDPModule)
        assert isinstance(model, Model)
        assert model.head.weight is model.embedding.weight
        return tuple(model.head.weight.shape), tuple(model.scale.shape), tuple(model.frozen.shape)

    assert run(shapes, 3, backend=engine) == [
        ((3, 8), (1,), (1,)),
        ((3, 8), (0,), (1,)),
        ((2, 8), (0,), (1,)),
    ]


def test_between_forward_and_backward_nothing_holds_the_gathered_parameters(engine):
    def program(reshard):
        model = nn.Sequential(*(nn.Linear(100, 100, bias=False) for _ in range(4)))
        for layer in model:
            fully_shard(layer, reshard_after_forward=reshard)
        fully_shard(model, reshard_after_forward=reshard)
        gathered = []
        for layer in model:
            gather = layer._shards.gather
            layer._shards.gather = lambda gather=gather: (gathered.append(1), gather())[1]
        model(tt.ones(1, 100, requires_grad=True)).sum().backward()
        return len(gathered)

    assert run(lambda: program(True), 2, backend=engine) == [8, 8]
    assert run(lambda: program(False), 2, backend=engine) == [4, 4]


class Passed(tt.autograd.Function):
    """Calls a function when backward passes it."""

    @staticmethod
    def forward(ctx, x, call):
        ctx.call = call
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        ctx.call()
        return gradient, None


class Watched(nn.Linear):
    def forward(self, x):
        return super().forward(Passed.apply(x, lambda: self.passed()))


def reductions():
    return [each.state for each in dist.flight_recorder() if each.operation.startswith("reduce_scatter")]


class Both(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = layers

    def forward(self, x):
        right = self.layers["right"](x)
        return self.layers["left"](x), right


@pytest.mark.parametrize("reshard", [True, False])
def test_backward_goes_on_while_gradients_are_averaged(engine, reshard):
    rank_0_is_ahead = multiprocessing.get_context("fork").Event()  # of threads and of processes

    def train():
        model = nn.Sequential(*(Watched(4, 4) for _ in range(4)))
        for layer in model:
            fully_shard(layer, reshard_after_forward=reshard)
        fully_shard(model)
        seen = []

        def passed(number):
            if dist.get_rank() == 0:
                seen.append((number, reductions()))
                if number == 2:
                    rank_0_is_ahead.set()
            elif number == 3:  # the average of the last layer cannot end before rank 0 is past the one before
                assert rank_0_is_ahead.wait(20)

        for number, layer in enumerate(model):
            layer.passed = functools.partial(passed, number)
        model(tt.ones(2, 4, requires_grad=True)).sum().backward()
        return seen, reductions()

    (seen, at_end), _ = run(train, 2, backend=engine)
    assert seen[:2] == [(3, []), (2, ["running"])]
    assert [number for number, _ in seen] == [3, 2, 1, 0]
    assert at_end == ["completed"] * 4


def test_few_averages_run_at_a_time_because_each_holds_whole_gradients(engine):
    def train():
        model = nn.Sequential(*(Watched(4, 4) for _ in range(6)))
        for layer in model:
            fully_shard(layer)
        fully_shard(model)
        running = []
        for layer in model:
            layer.passed = lambda: running.append(reductions().count("running"))
        model(tt.ones(2, 4, requires_grad=True)).sum().backward()
        return max(running)

    assert max(run(train, 2, backend=engine)) <= 2


def test_a_module_that_is_used_twice_gets_the_sum_of_both_averages(engine):
    def train(shards):
        layer = nn.Linear(3, 3)
        with tt.no_grad():
            layer.weight.copy_(tt.arange(9.0).view(3, 3) / 9)
            layer.bias.copy_(tt.arange(3.0))
        model = nn.Sequential(layer, nn.Tanh(), layer).double()
        if shards:
            fully_shard(layer)
            fully_shard(model)
        model(tt.ones(2, 3, dtype=tt.float64)).square().sum().backward()
        gradients = [p.grad for p in (layer.weight, layer.bias)]
        if shards:
            return [
                ShardedTensor.of(g, p.placement).full_tensor()
                for g, p in zip(gradients, layer.parameters(), strict=True)
            ]
        return gradients

    expected = train(False)
    for found in run(lambda: train(True), 2, backend=engine):
        assert_same(found, expected)


def test_hooks_and_autograd_grad_see_averages(engine):
    def train():
        model = fully_shard(nn.Linear(1, 2, bias=False))
        seen = []
        model.weight.register_hook(lambda gradient: seen.append(gradient.tolist()))
        x = tt.full((1, 1), float(dist.get_rank() + 1))
        (found,) = tt.autograd.grad(model(x).sum(), [model.weight])
        model(x).sum().backward()
        model(x).sum().backward()
        return seen[-1], found.tolist(), model.weight.grad.tolist()

    assert run(train, 2, backend=engine) == [([[1.5]], [[1.5]], [[3.0]])] * 2


def test_a_backward_that_failed_leaves_nothing_to_the_next_step(engine):
    def fail():
        raise ValueError("stop here")

    def train():
        model = nn.Sequential(Watched(1, 1, bias=False), nn.Linear(1, 2, bias=False))
        for layer in model:
            fully_shard(layer)
        fully_shard(model)
        x = tt.ones(1, 1, requires_grad=True)
        model[0].passed = fail
        with pytest.raises(ValueError, match="stop here"):
            model(x).sum().backward()
        assert model[1].weight.grad is None
        model[0].passed = lambda: None
        model(x).sum().backward()
        return bool((model[1].weight.grad == model[0].weight.full_tensor()).all())

    assert run(train, 2, backend=engine) == [True, True]


@pytest.mark.parametrize("reshard", [True, False])
@pytest.mark.parametrize("added_up", [False, True])
def test_a_backward_after_one_that_failed_counts_each_average_once(engine, reshard, added_up):
    def fail():
        raise ValueError("stop here")

    def train(fails, replicas=False):
        options = {"reshard_after_forward": reshard}
        if replicas:
            options["mesh"] = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicas", "parts"))
        model = nn.Sequential(*(Watched(4, 4, bias=False) for _ in range(3)))
        with tt.no_grad():
            for number, layer in enumerate(model):
                layer.weight.copy_(tt.arange(16.0).view(4, 4) / 16 + number)
        for layer in model:
            layer.passed = lambda: None
            fully_shard(layer, **options)
        fully_shard(model, **options)
        x = tt.full((1, 4), dist.get_rank() + 1.0, requires_grad=True)
        if added_up:
            model.set_requires_gradient_sync(False)
            model(x).sum().backward()
            if fails:
                model[0].passed = fail
                with pytest.raises(ValueError, match="stop here"):
                    model(x).sum().backward()
            model.set_requires_gradient_sync(True)
        loss = model(x).square().sum()
        for _ in range(2 if fails else 0):
            model[0].passed = fail
            with pytest.raises(ValueError, match="stop here"):
                loss.backward(retain_graph=True)
            assert all(parameter.grad is None for parameter in model.parameters())
        model[0].passed = lambda: None
        loss.backward(retain_graph=True)
        first = [parameter.grad.tolist() for parameter in model.parameters()]
        model.zero_grad()
        loss.backward()
        return first, [parameter.grad.tolist() for parameter in model.parameters()]

    assert run(train, 2, True, backend=engine) == run(train, 2, False, backend=engine)
    assert run(train, 4, True, True, backend=engine) == run(train, 4, False, True, backend=engine)


def test_a_backward_that_failed_counts_for_nothing_where_the_next_one_does_not_reach_its_modules(engine):
    def train():
        model = nn.ModuleDict({"left": nn.Linear(1, 2, bias=False), "right": Watched(1, 2, bias=False)})
        both = Both(model)
        for layer in model.values():
            fully_shard(layer)
        fully_shard(both)
        x = tt.full((1, 1), dist.get_rank() + 1.0, requires_grad=True)
        left, right = both(x)
        model["right"].passed = lambda: [][0]
        with pytest.raises(IndexError):
            (10 * left + right).sum().backward(retain_graph=True)
        left.sum().backward()
        return model["left"].weight.grad.tolist()

    assert run(train, 2, backend=engine) == [[[1.5]]] * 2


def test_averages_cannot_be_differentiated_again(engine):
    def train():
        model = fully_shard(nn.Linear(1, 2, bias=False))
        loss = model(tt.ones(1, 1)).square().sum()
        (found,) = tt.autograd.grad(loss, [model.weight], create_graph=True)
        with pytest.raises(RuntimeError, match="once_differentiable"):
            found.sum().backward()
        return True

    assert run(train, 2, backend=engine) == [True, True]


def test_blocks_that_are_computed_again_train_as_one_process(engine):
    def train(shards):
        model = made()
        if shards:
            for layer in model.layers:
                fully_shard(layer)
            fully_shard(model)
        for layer in model.layers:
            forward = layer.forward
            layer.forward = lambda x, f=forward: tt.utils.checkpoint.checkpoint(f, x, use_reentrant=False)
        return wholes(trained(model, part() if shards else tt.from_numpy(DATA)))

    expected = train(False)
    for found in run(lambda: train(True), 2, backend=engine):
        assert_same(found, expected)


def test_gradients_add_up_without_communication_and_the_next_pass_averages_the_sum(engine):
    def train():
        model = fully_shard(nn.Linear(1, 2, bias=False))
        x = tt.full((1, 1), float(dist.get_rank() + 1))
        model.set_requires_gradient_sync(False)
        model(x).sum().backward()
        assert model.weight.grad is None
        model.set_requires_gradient_sync(True)
        model(10 * x).sum().backward()
        return model.weight.grad.tolist()

    assert run(train, 2, backend=engine) == [[[16.5]], [[16.5]]]


def test_parameters_compute_in_fewer_bits_and_their_gradients_keep_the_dtype(engine):
    def train():
        seen = []

        class Seeing(nn.Linear):
            def forward(self, x):
                seen.append((x.dtype, self.weight.dtype))
                return super().forward(x)

        policy = MixedPrecisionPolicy(
            param_dtype=tt.bfloat16, reduce_dtype=tt.float32, output_dtype=tt.float32
        )
        model = fully_shard(Seeing(2, 2), mp_policy=policy)
        out = model(tt.ones(1, 2))
        out.sum().backward()
        return seen, out.dtype, model.weight.dtype, model.weight.grad.dtype

    computed = [(tt.bfloat16, tt.bfloat16)]
    assert run(train, 2, backend=engine) == [(computed, tt.float32, tt.float32, tt.float32)] * 2


def test_ignored_parameters_stay_whole_and_all_are_whole_inside_of_summon(engine):
    def program():
        model = nn.Linear(2, 4)
        bias = model.bias
        fully_shard(model, ignored_params={bias})
        assert model.bias is bias
        with model.summon():
            inside = tuple(model.weight.shape)
        return inside, tuple(model.weight.shape)

    assert run(program, 2, backend=engine) == [((4, 2), (2, 2))] * 2


def test_what_cannot_be_sharded_is_refused():
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        fully_shard(nn.Linear(1, 1))

    def refuse():
        with pytest.raises(ValueError, match="expected a Module or a list of modules, got list"):
            fully_shard([])
        with pytest.raises(ValueError, match="containers that do not implement forward"):
            fully_shard(nn.ModuleList([nn.Linear(1, 1)]))
        model = fully_shard(nn.Linear(1, 1))
        with pytest.raises(ValueError, match="sharded already"):
            fully_shard(model)
        with pytest.raises(NotImplementedError, match="shard_placement_fn"):
            fully_shard(nn.Linear(1, 1), shard_placement_fn=print)
        with pytest.raises(TypeError, match="expected an OffloadPolicy, got bool"):
            fully_shard(nn.Linear(1, 1), offload_policy=True)
        mesh = dist.init_device_mesh("cpu", (1, 1, 1), mesh_dim_names=("a", "b", "c"))
        with pytest.raises(ValueError, match="1D or 2D DeviceMesh"):
            fully_shard(nn.Linear(1, 1), mesh=mesh)
        return True

    assert run(refuse, 1) == [True]
