"""DistributedDataParallel: the training of several ranks is that of one process on all their data."""

from __future__ import annotations

import functools
import multiprocessing
import pickle
from collections import defaultdict, namedtuple

import numpy as np
import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.programs import run
from tt import nn
from tt.distributed.algorithms.ddp_comm_hooks import default_hooks
from tt.nn.parallel import DistributedDataParallel
from tt.nn.parallel.distributed import _moved

BATCH, STEPS = 12, 4


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(5, 7)
        self.second = nn.Linear(7, 3)

    def forward(self, x):
        return self.second(nn.functional.gelu(self.first(x)))


class Convolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(1, 3, 3)
        self.head = nn.Linear(27, 2)

    def forward(self, x):
        return self.head(nn.functional.relu(self.convolution(x[:, :25].reshape(-1, 1, 5, 5))).flatten(1))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Linear(5, 8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.layer(self.embedding(x[:, :25].reshape(-1, 5, 5))).mean(1))


MODELS = {"perceptron": (Perceptron, 5), "convolution": (Convolution, 25), "attention": (Attention, 25)}


def made(name):
    model = MODELS[name][0]().double()
    generator = np.random.default_rng(0)
    with tt.no_grad():
        for parameter in model.parameters():
            parameter.copy_(tt.from_numpy(generator.normal(size=tuple(parameter.shape)) * 0.3))
    return model


def data(name):
    return tt.from_numpy(np.random.default_rng(1).normal(size=(STEPS, BATCH, MODELS[name][1])))


def trained(model, batches, optimizer=None):
    """Return the parameters after some steps; the loss of a part of a batch is its mean."""
    optimizer = optimizer or tt.optim.AdamW(model.parameters(), lr=1e-2)
    for batch in batches:
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
    return [parameter.detach().numpy().copy() for parameter in model.parameters()]


def of_this_rank(batches):
    rank, size = dist.get_rank(), dist.get_world_size()
    return batches[:, rank * BATCH // size : (rank + 1) * BATCH // size]


def assert_same(found, expected, tolerance=1e-10):
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bucket_cap_mb": 1e-4},
        {"gradient_as_bucket_view": True},
        {"find_unused_parameters": True},
        {"static_graph": True, "gradient_as_bucket_view": True},
    ],
    ids=["default", "small buckets", "views", "unused", "static"],
)
def test_a_trajectory_is_that_of_one_process_on_the_whole_batch(engine, name, size, options):
    batches = data(name)
    expected = trained(made(name), batches)

    def train():
        model = made(name)
        return trained(DistributedDataParallel(model, **options), of_this_rank(batches))

    for found in run(train, size, backend=engine):
        assert_same(found, expected)


def test_all_ranks_start_with_the_state_of_rank_0(engine):
    def start():
        model = nn.BatchNorm1d(2)
        with tt.no_grad():
            for tensor in model.state_dict().values():
                tensor.fill_(dist.get_rank() + 1)
        return [value.tolist() for value in DistributedDataParallel(model).state_dict().values()]

    states = run(start, 3, backend=engine)
    assert states == [[[1.0, 1.0]] * 4 + [1]] * 3


def test_buffers_of_rank_0_are_sent_before_each_forward(engine):
    def program(broadcast):
        model = DistributedDataParallel(nn.BatchNorm1d(1), broadcast_buffers=broadcast)
        for _ in range(2):
            model(tt.full((2, 1), float(dist.get_rank() + 1)) + tt.tensor([[0.0], [1.0]])).sum().backward()
        return model.module.running_mean.item()

    assert len(set(run(lambda: program(False), 2, backend=engine))) == 2
    first, second = run(lambda: program(True), 2, backend=engine)
    assert first < second  # the last batch is each rank's own, what was before is rank 0's


def test_without_sync_gradients_add_up_and_the_next_pass_averages_the_sum(engine):
    def train():
        model = DistributedDataParallel(nn.Linear(1, 1, bias=False))
        x = tt.full((1, 1), float(dist.get_rank() + 1))
        with model.no_sync():
            model(x).sum().backward()
        before = model.module.weight.grad.item()
        model(10 * x).sum().backward()
        return before, model.module.weight.grad.item()

    assert run(train, 2, backend=engine) == [(1.0, 16.5), (2.0, 16.5)]


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right, self.never = (nn.Linear(1, 1, bias=False) for _ in range(3))

    def forward(self, x, left):
        return (self.left if left else self.right)(x)


def test_parameters_that_a_rank_does_not_use_count_as_zero_and_those_of_none_keep_their_gradients(engine):
    def train():
        model = DistributedDataParallel(TwoHeads(), find_unused_parameters=True)
        for _ in range(2):
            model.zero_grad()
            model(tt.ones(1, 1), dist.get_rank() == 0).sum().backward()
        heads = model.module
        return heads.left.weight.grad.item(), heads.right.weight.grad.item(), heads.never.weight.grad

    assert run(train, 2, backend=engine) == [(0.5, 0.5, None)] * 2


def test_a_forward_after_an_unfinished_reduction_is_refused_and_names_the_parameters():
    def train():
        model = DistributedDataParallel(TwoHeads())
        model(tt.ones(1, 1), True).sum().backward()
        with pytest.raises(RuntimeError, match=r"for rank \d: \[1, 2\], by name: right.weight, never.weight"):
            model(tt.ones(1, 1), True)
        return True

    assert run(train, 2) == [True, True]


def test_models_that_differ_between_ranks_are_refused_on_all_ranks():
    def build():
        with pytest.raises(
            RuntimeError, match=r"DDP expects same model across all ranks|appears not to match"
        ):
            DistributedDataParallel(nn.Linear(1, 1 + dist.get_rank()))
        with pytest.raises(RuntimeError, match="DDP expects same model across all ranks"):
            DistributedDataParallel(nn.Sequential(*(nn.Linear(1, 1) for _ in range(1 + dist.get_rank()))))
        return True

    assert run(build, 2) == [True, True]


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        DistributedDataParallel(nn.Linear(1, 1))

    def build():
        with pytest.raises(RuntimeError, match="doesn't have any parameter that requires a gradient"):
            DistributedDataParallel(nn.ReLU())
        with pytest.raises(ValueError, match="device_ids can only be None or contain a single element"):
            DistributedDataParallel(nn.Linear(1, 1), device_ids=[0, 1])
        with pytest.raises(TypeError, match="Communication hook must be callable"):
            DistributedDataParallel(nn.Linear(1, 1)).register_comm_hook(None, 3)
        return True

    assert run(build, 1) == [True]


@pytest.mark.parametrize(
    ("hook", "tolerance"),
    [
        (default_hooks.allreduce_hook, 1e-10),
        (default_hooks.fp16_compress_hook, 2e-3),
        (default_hooks.bf16_compress_hook, 2e-2),
        (default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook), 2e-3),
        (default_hooks.bf16_compress_wrapper(default_hooks.allreduce_hook), 2e-2),
    ],
    ids=["average", "float16", "bfloat16", "wrapped float16", "wrapped bfloat16"],
)
def test_hooks_average_in_their_number_of_bits(engine, hook, tolerance):
    batches = data("perceptron")
    model = made("perceptron")
    model(batches[0]).square().mean().backward()
    expected = [parameter.grad.numpy() for parameter in model.parameters()]

    def train():
        copy = made("perceptron")
        parallel = DistributedDataParallel(copy, bucket_cap_mb=1e-4)
        parallel.register_comm_hook(None, hook)
        parallel(of_this_rank(batches)[0]).square().mean().backward()
        return [parameter.grad.numpy() for parameter in copy.parameters()]

    for found in run(train, 2, backend=engine):
        assert_same(found, expected, tolerance)
        assert {gradient.dtype.name for gradient in found} == {"float64"}


def test_hooks_by_the_names_of_pytorchs_types(engine):
    def train(kind):
        model = nn.Linear(1, 1, bias=False)
        parallel = DistributedDataParallel(model)
        with pytest.raises(TypeError, match="expected a BuiltinCommHookType, got str"):
            parallel._register_builtin_comm_hook("ALLREDUCE")
        parallel._register_builtin_comm_hook(kind)
        parallel(tt.full((1, 1), 1.0 + dist.get_rank() * 2**-12)).sum().backward()
        return model.weight.grad.item()

    exact, rounded = (run(train, 2, kind, backend=engine) for kind in dist.BuiltinCommHookType)
    assert exact == [1 + 2**-13] * 2 and rounded == [1.0] * 2


@pytest.mark.parametrize("by_initial", [True, False])
def test_ranks_with_fewer_batches_answer_the_others(engine, by_initial):
    def train():
        model = DistributedDataParallel(nn.Linear(1, 1, bias=False))
        with tt.no_grad():
            model.module.weight.fill_(0.0)
        optimizer = tt.optim.SGD(model.parameters(), lr=1.0)
        with model.join(divide_by_initial_world_size=by_initial):
            for _ in range(1 + dist.get_rank()):
                optimizer.zero_grad()
                model(tt.ones(1, 1)).sum().backward()
                optimizer.step()
        return model.module.weight.item()

    # The first batch is of two ranks, the second of one.
    assert run(train, 2, backend=engine) == ([-1.5] * 2 if by_initial else [-2.0] * 2)


def test_all_ranks_raise_where_one_has_no_batch_left_and_that_was_asked_for(engine):
    def train():
        model = DistributedDataParallel(nn.Linear(1, 1))
        with pytest.raises(RuntimeError, match="exhausted"), model.join(throw_on_early_termination=True):
            for _ in range(1 + dist.get_rank()):
                model(tt.ones(1, 1)).sum().backward()
        return True

    assert run(train, 2, backend=engine) == [True, True]


def test_gradients_as_views_lie_in_the_buckets(engine):
    def train():
        model = DistributedDataParallel(nn.Linear(3, 2), gradient_as_bucket_view=True)
        for _ in range(2):
            model(tt.ones(1, 3)).sum().backward()
        bucket = model.reducer.buckets[0].buffer()
        weight = model.module.weight.grad
        return weight.untyped_storage().data_ptr() == bucket.untyped_storage().data_ptr()

    assert run(train, 2, backend=engine) == [True, True]


def test_facts_for_logging_and_a_copy_by_pickle(engine):
    def train():
        model = DistributedDataParallel(nn.Linear(3, 2))
        model(tt.ones(1, 3)).sum().backward()
        facts = model._get_ddp_logging_data()
        copy = pickle.loads(pickle.dumps(model))
        same = all(tt.equal(a, b) for a, b in zip(model.parameters(), copy.parameters(), strict=True))
        return facts["world_size"], facts["iteration"], facts["bucket_sizes"], same

    assert run(train, 2, backend=engine) == [(2, 1, "32", True)] * 2


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


def test_backward_goes_on_while_buckets_are_averaged(engine):
    rank_0_is_ahead = multiprocessing.get_context("fork").Event()  # of threads and of processes

    def sent():
        return sum(each.operation.startswith("all_reduce") for each in dist.flight_recorder())

    def train():
        model = nn.Sequential(*(Watched(4, 4) for _ in range(4)))
        parallel = DistributedDataParallel(model, bucket_cap_mb=1e-5)
        seen = []

        def passed(number):
            if dist.get_rank() == 0:
                seen.append(sent() - before)
                if number == 1:
                    rank_0_is_ahead.set()
            elif (
                number == 3
            ):  # the average of the layer before cannot end until rank 0 is past the one before that
                assert rank_0_is_ahead.wait(20)

        for number, layer in enumerate(model):
            layer.passed = functools.partial(passed, number)
        before = sent()
        parallel(tt.ones(2, 4, requires_grad=True)).sum().backward()
        return seen

    assert run(train, 2, backend=engine)[0] == [2, 4, 6, 8]


@pytest.mark.parametrize(
    "options", [{}, {"gradient_as_bucket_view": True}, {"find_unused_parameters": True}], ids=str
)
@pytest.mark.parametrize("where", ["third gradient", "last gradient", "hook", "half a hook"])
@pytest.mark.parametrize("again", ["backward", "forward", "without sync", "added up"])
def test_a_backward_after_one_that_failed_is_averaged_as_if_it_were_the_first(engine, options, where, again):
    def train(fails):
        failing, arrived = [False], []
        model = made("perceptron")

        def fail(*_):
            if failing[0]:
                raise ValueError("stop here")

        def count(_):
            arrived.append(1)
            if len(arrived) % 4 == 3:
                fail()

        if where == "third gradient":
            for parameter in model.parameters():
                parameter.register_post_accumulate_grad_hook(count)
        parallel = DistributedDataParallel(model, bucket_cap_mb=1e-5, **options)
        if where == "last gradient":
            for parameter in model.parameters():
                parameter.register_post_accumulate_grad_hook(
                    lambda _: None if parallel.reducer._running else fail()
                )
        elif where != "third gradient":
            hook = default_hooks.allreduce_hook

            def failing_hook(state, bucket):
                if bucket.index() == 1:
                    fail()
                return hook(state, bucket)

            if where == "half a hook":
                failing_hook = default_hooks.bf16_compress_wrapper(failing_hook)
            parallel.register_comm_hook(None, failing_hook)
        found = []
        for batch in of_this_rank(data("perceptron")):
            parallel.zero_grad()
            if again == "added up":
                with parallel.no_sync():
                    (parallel(batch) * 3).sum().backward()
            if fails or again != "without sync":
                loss = parallel(batch).square().mean()
            for _ in range(2 * fails):
                failing[0] = True
                arrived.clear()
                with pytest.raises(ValueError, match="stop here"):
                    loss.backward(retain_graph=True)
                failing[0] = False
                arrived.clear()
                parallel.zero_grad()
                if again == "forward":
                    loss = parallel(batch).square().mean()
                if again == "added up":
                    with parallel.no_sync():
                        (parallel(batch) * 3).sum().backward()
                    loss = parallel(batch).square().mean()
            if again == "without sync":
                with parallel.no_sync():
                    parallel(batch).square().mean().backward()
                found.append([p.grad.numpy().copy() for p in parallel.parameters()])
                loss = parallel(batch).square().mean()
            loss.backward()
            found.append([p.grad.numpy().copy() for p in parallel.parameters()])
        return found

    for ours, theirs in zip(
        run(train, 2, True, backend=engine), run(train, 2, False, backend=engine), strict=True
    ):
        for some, others in zip(ours, theirs, strict=True):
            for gradient, other in zip(some, others, strict=True):
                np.testing.assert_allclose(gradient, other, rtol=1e-12)


def test_arguments_are_moved_in_containers_of_any_class():
    class Named(dict):
        name = "batch"

    pair = namedtuple("Pair", "left right")
    x = tt.ones(2)
    packed = nn.utils.rnn.pack_sequence([x, x[:1]])
    moved = _moved((Named(x=x), defaultdict(list, x=[x, 1]), pair(x, "text"), packed), "meta")
    assert [type(each) for each in moved] == [Named, defaultdict, pair, nn.utils.rnn.PackedSequence]
    named, default, both, sequence = moved
    for tensor in (named["x"], default["x"][0], both.left, sequence.data):
        assert tensor.device.type == "meta" and x.device.type == "cpu"
    assert default["x"][1] == 1 and default["new"] == [] and both.right == "text"
    assert sequence.batch_sizes.tolist() == [2, 1]
