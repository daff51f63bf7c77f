"""Sums of sparse tensors over ranks, and embeddings with sparse gradients in DistributedDataParallel."""

from __future__ import annotations

import numpy as np
import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.programs import ENGINES, run
from tt import nn
from tt.nn.parallel import DistributedDataParallel


def part(rank, counts, dense=()):
    """Return a rank's tensor, with as many elements as `counts` says; indices come twice."""
    generator = np.random.default_rng(rank)
    indices = generator.integers(0, 3, size=(2, counts[rank]))
    values = generator.integers(-4, 5, size=(counts[rank], *dense)).astype(float)
    return tt.sparse_coo_tensor(tt.from_numpy(indices), tt.from_numpy(values), (3, 4, *dense))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dense", [(), (2,)], ids=["numbers", "rows"])
@pytest.mark.parametrize("counts", [(5, 2, 7), (0, 3, 0), (0, 0, 0)], ids=str)
def test_the_sum_is_that_of_the_dense_tensors_for_any_numbers_of_elements(counts, dense, engine):
    parts = [part(rank, counts, dense) for rank in range(3)]
    expected = sum(each.to_dense() for each in parts)

    def program():
        x, y = parts[dist.get_rank()].clone(), parts[dist.get_rank()].clone()
        work = dist.all_reduce(x, async_op=True)
        dist.all_reduce(y, op=dist.ReduceOp.AVG)
        work.wait()
        return x, y

    for x, y in run(program, 3, backend=engine):
        assert x.is_coalesced() and x.dtype is tt.float64
        assert tt.equal(x.to_dense(), expected)
        np.testing.assert_allclose(y.to_dense().numpy(), expected.numpy() / 3)


def test_what_is_not_a_sum_and_sizes_that_differ_are_refused():
    def program():
        with pytest.raises(RuntimeError, match="not combined by MAX"):
            dist.all_reduce(tt.eye(2).to_sparse(), op=dist.ReduceOp.MAX)
        with pytest.raises(dist.CollectiveMismatchError, match="sparse COO"):
            dist.all_reduce(tt.eye(2 + dist.get_rank()).to_sparse())
        with pytest.raises(dist.CollectiveMismatchError, match="sparse COO"):
            dist.all_reduce(tt.eye(2).to_sparse() if dist.get_rank() else tt.eye(2))
        return True

    assert run(program, 2) == [True, True]


class Words(nn.Module):
    """Two embeddings and a layer; the second embedding is used by the first rank only, if asked for."""

    def __init__(self, sparse):
        super().__init__()
        self.words = nn.Embedding(9, 4, sparse=sparse)
        self.bags = nn.EmbeddingBag(7, 4, mode="sum", sparse=sparse)
        self.head = nn.Linear(4, 1)

    def forward(self, x, bags=True):
        found = self.words(x).mean(1)
        return self.head(found + self.bags(x % 7) if bags else found)


def made(sparse):
    model = Words(sparse).double()
    generator = np.random.default_rng(0)
    with tt.no_grad():
        for parameter in model.parameters():
            parameter.copy_(tt.from_numpy(generator.normal(size=tuple(parameter.shape))))
    return model


BATCHES = tt.from_numpy(np.random.default_rng(1).integers(0, 9, size=(3, 12, 2)))


def trained(model, batches):
    optimizer = tt.optim.SGD(model.parameters(), lr=0.1)
    for batch in batches:
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
    return model


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize(
    "options",
    [{}, {"find_unused_parameters": True}, {"static_graph": True}, {"gradient_as_bucket_view": True}],
    ids=str,
)
def test_embeddings_train_as_in_one_process_and_keep_sparse_gradients(engine, size, options):
    expected = trained(made(False), BATCHES)

    def train():
        model = made(True)
        rank = dist.get_rank()
        own = BATCHES[:, rank * 12 // size : (rank + 1) * 12 // size]
        trained(DistributedDataParallel(model, **options), own)
        assert model.words.weight.grad.layout is model.bags.weight.grad.layout is tt.sparse_coo
        return [p.detach().numpy().copy() for p in model.parameters()]

    for found in run(train, size, backend=engine):
        for ours, theirs in zip(found, expected.parameters(), strict=True):
            np.testing.assert_allclose(ours, theirs.detach().numpy(), rtol=1e-12, atol=1e-12)


def test_an_embedding_that_a_rank_does_not_use_has_no_part_in_the_average(engine):
    def train():
        model = made(True)
        parallel = DistributedDataParallel(model, find_unused_parameters=True)
        parallel(tt.tensor([[1, 1]]), bags=dist.get_rank() == 0).sum().backward()
        return model.bags.weight.grad.to_dense(), model.head.weight

    found = run(train, 2, backend=engine)
    for gradient, head in found:
        expected = tt.zeros(7, 4, dtype=tt.float64)
        expected[1] = 2 * head.detach() / 2  # twice in the bag, on one of two ranks
        assert tt.equal(gradient, expected)


def test_with_a_hook_and_with_fewer_batches_sparse_gradients_are_averaged(engine):
    from tt.distributed.algorithms.ddp_comm_hooks import DDPCommHookType, register_ddp_comm_hook

    def train():
        model = made(True)
        parallel = DistributedDataParallel(model)
        register_ddp_comm_hook(DDPCommHookType.ALLREDUCE, parallel)
        optimizer = tt.optim.SGD(model.parameters(), lr=0.1)
        with parallel.join():
            for batch in BATCHES[: 1 + dist.get_rank()]:
                optimizer.zero_grad()
                parallel(batch).sum().backward()
                optimizer.step()
        return model.words.weight.detach().numpy().copy()

    alone = made(False)
    optimizer = tt.optim.SGD(alone.parameters(), lr=0.1)
    for batch, share in (
        (BATCHES[0], 1.0),
        (BATCHES[1], 0.5),
    ):  # the second batch is that of one of two ranks
        optimizer.zero_grad()
        (alone(batch).sum() * share).backward()
        optimizer.step()
    for found in run(train, 2, backend=engine):
        np.testing.assert_allclose(found, alone.words.weight.detach().numpy(), rtol=1e-12)


def test_a_gradient_of_the_other_layout_is_refused():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(5, 3, sparse=True)

        def forward(self, x):
            return self.words(x) @ self.words.weight.T

    class Free(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(tt.ones(5, 3))

        def forward(self, x):
            return nn.functional.embedding(x, self.weight, sparse=True)

    def train():
        for model, text in ((Tied(), "has a dense gradient"), (Free(), "has a sparse gradient")):
            with pytest.raises(RuntimeError, match=text):
                DistributedDataParallel(model)(tt.tensor([1])).sum().backward()
        return True

    assert run(train, 2) == [True, True]
