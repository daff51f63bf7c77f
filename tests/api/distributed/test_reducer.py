"""When gradients are reduced: several forwards, checkpoints, parameters that a pass does not reach."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.programs import run
from tt import nn
from tt.nn.parallel import DistributedDataParallel
from tt.utils.checkpoint import checkpoint


def linear(value=1.0):
    layer = nn.Linear(1, 1, bias=False)
    with tt.no_grad():
        layer.weight.fill_(value)
    return layer


def test_a_forward_without_a_backward_is_allowed(engine):
    def train():
        model = DistributedDataParallel(linear())
        model(tt.ones(1, 1))  # validation without no_grad, say
        model(tt.full((1, 1), dist.get_rank() + 1.0)).sum().backward()
        return model.module.weight.grad.item()

    assert run(train, 2, backend=engine) == [1.5, 1.5]


@pytest.mark.parametrize("options", [{}, {"find_unused_parameters": True}, {"static_graph": True}], ids=str)
def test_the_backward_of_several_forwards_is_reduced_once(engine, options):
    def train():
        model = DistributedDataParallel(linear(), **options)
        for _ in range(2):
            model.zero_grad()
            x = tt.full((1, 1), dist.get_rank() + 1.0)
            (model(x) + model(10 * x)).sum().backward()
        return model.module.weight.grad.item(), model.reducer.iterations

    assert run(train, 2, backend=engine) == [(16.5, 2)] * 2


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = linear(), linear()

    def forward(self, x, left):
        return (self.left if left else self.right)(x)


@pytest.mark.parametrize("as_view", [False, True])
def test_gradients_that_added_up_count_although_the_last_pass_does_not_reach_their_parameters(
    engine, as_view
):
    def train():
        model = DistributedDataParallel(Heads(), find_unused_parameters=True, gradient_as_bucket_view=as_view)
        x = tt.full((1, 1), dist.get_rank() + 1.0)
        found = []
        for _ in range(2):
            with model.no_sync():
                model(x, True).sum().backward()
            model(x, dist.get_rank() == 0).sum().backward()  # the second rank reaches the right one
            found.append((model.module.left.weight.grad.item(), model.module.right.weight.grad.item()))
            model.zero_grad()
        return found

    # left: (1 + 1) of the first rank, 2 of the second; right: 2 of the second.
    assert run(train, 2, backend=engine) == [[(2.0, 1.0)] * 2] * 2


@pytest.mark.parametrize("as_view", [False, True])
@pytest.mark.parametrize("ranks_that_add", [(0, 1), (1,)], ids=str)
def test_gradients_that_added_up_are_averaged_although_no_rank_reaches_their_parameters(
    engine, as_view, ranks_that_add
):
    def train():
        rank = dist.get_rank()
        model = DistributedDataParallel(Heads(), find_unused_parameters=True, gradient_as_bucket_view=as_view)
        optimizer = tt.optim.SGD(model.parameters(), lr=1.0)
        x = tt.full((1, 1), rank + 1.0)
        found = []
        for _ in range(2):
            with model.no_sync():
                model(x, rank in ranks_that_add).sum().backward()
            model(x, False).sum().backward()
            found.append((model.module.left.weight.grad.item(), model.module.right.weight.grad.item()))
            optimizer.step()
            model.zero_grad()
        return found, model.module.left.weight.item()

    left = sum(rank + 1 for rank in ranks_that_add) / 2
    right = 1.5 + (1.5 - left)
    assert run(train, 2, backend=engine) == [([(left, right)] * 2, 1 - 2 * left)] * 2


def test_gradients_that_no_pass_adds_up_stay_with_their_rank_as_before_the_average(engine):
    def train():
        model = DistributedDataParallel(Heads(), find_unused_parameters=True)
        left = model.module.left.weight
        left.grad = tt.full((1, 1), float(dist.get_rank()))  # set by hand: no pass knows of it
        model(tt.ones(1, 1), False).sum().backward()
        return left.grad.item()

    assert run(train, 2, backend=engine) == [0.0, 1.0]


@dataclass
class Output:
    value: object


class Outputs(dict):
    def __init__(self, name, **items):
        super().__init__(items)


@pytest.mark.parametrize(
    "wrapped", [Output, lambda x: Outputs("name", x=[x]), lambda x: defaultdict(list, x=Output(x))]
)
def test_outputs_are_found_in_dicts_of_any_class_and_in_data_classes(wrapped):
    class Wrapped(Heads):
        def forward(self, x, left):
            return wrapped(super().forward(x, left))

    def train():
        model = DistributedDataParallel(Wrapped(), find_unused_parameters=True)
        output = model(tt.ones(1, 1) + dist.get_rank(), True)
        while not isinstance(output, tt.Tensor):
            output = (
                output.value if isinstance(output, Output) else output["x"] if "x" in output else output[0]
            )
        output.sum().backward()
        return model.module.left.weight.grad.item(), model.module.right.weight.grad

    assert run(train, 2) == [(1.5, None)] * 2


class NoGradient(tt.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return None


def test_a_parameter_that_a_pass_reaches_without_a_gradient_counts_as_unused(engine):
    class Blocked(Heads):
        def forward(self, x, left):
            return self.right(x) + NoGradient.apply(self.left(x))

    def train():
        model = DistributedDataParallel(Blocked(), find_unused_parameters=True)
        model(tt.full((1, 1), dist.get_rank() + 1.0), True).sum().backward()
        return model.module.left.weight.grad, model.module.right.weight.grad.item()

    assert run(train, 2, backend=engine) == [(None, 1.5)] * 2


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.other = nn.Embedding(3, 1, sparse=True), linear()

    def forward(self, word):
        return self.other(tt.ones(1, 1)) if word is None else self.words(word)


def test_sparse_gradients_that_added_up_are_averaged_although_no_rank_reaches_the_embedding(engine):
    def train():
        model = DistributedDataParallel(Words(), find_unused_parameters=True)
        with model.no_sync():
            model(tt.tensor([dist.get_rank()])).sum().backward()
        model(None).sum().backward()
        return model.module.words.weight.grad.to_dense().flatten().tolist()

    assert run(train, 2, backend=engine) == [[0.5, 0.5, 0.0]] * 2


def test_gradients_that_are_cleared_between_forward_and_backward_do_not_count(engine):
    def train():
        model = DistributedDataParallel(Heads(), find_unused_parameters=True)
        for left in (True, False):
            loss = model(tt.ones(1, 1), left if dist.get_rank() else True).sum()
            model.zero_grad()
            loss.backward()
        return model.module.left.weight.grad.item(), model.module.right.weight.grad.item()

    assert run(train, 2, backend=engine) == [(0.5, 0.5)] * 2


@pytest.mark.parametrize("options", [{}, {"static_graph": True}, {"find_unused_parameters": True}], ids=str)
def test_checkpointed_layers_that_share_a_weight_train_as_in_one_process(engine, options):
    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.head, self.never = nn.Linear(3, 3), nn.Linear(3, 1), nn.Linear(1, 1)

        def forward(self, x):
            for _ in range(3):
                x = checkpoint(lambda x: self.layer(x).tanh(), x, use_reentrant=False)
            return self.head(x)

    def made():
        model = Shared().double()
        generator = np.random.default_rng(0)
        with tt.no_grad():
            for parameter in model.parameters():
                parameter.copy_(tt.from_numpy(generator.normal(size=tuple(parameter.shape))))
        if not options:
            del model.never
        return model

    batches = tt.from_numpy(np.random.default_rng(1).normal(size=(3, 4, 3)))

    def trained(model, inputs):
        optimizer = tt.optim.SGD(model.parameters(), lr=0.1)
        for batch in inputs:
            optimizer.zero_grad()
            model(batch).square().mean().backward()
            optimizer.step()
        return [parameter.detach().numpy().copy() for parameter in model.parameters()]

    expected = trained(made(), batches)
    for found in run(
        lambda: trained(DistributedDataParallel(made(), **options), batches[:, dist.get_rank() :: 2]),
        2,
        backend=engine,
    ):
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)
