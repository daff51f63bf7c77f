from __future__ import annotations

import numpy as np
import pytest

import tt
import tt.distributed as dist
import tt.distributed.nn  # an attribute of dist
from tests.api.distributed.programs import run
from tt.distributed import ReduceOp

SIZE = 3


def weights(rank, shape):
    return tt.tensor(np.random.default_rng(100 + rank).normal(size=shape))


def inputs(rank):
    return np.random.default_rng(rank).normal(size=(SIZE, 2))


def gathered(x, group):
    return tt.stack(dist.nn.gather(x, 1, group))


def to_all(x, group):
    shapes = [tt.zeros(2) for _ in range(SIZE)]
    return tt.stack(dist.nn.all_to_all(shapes, list(x), group))


def uneven(x, group):
    rank = dist.get_rank(group)
    sent = [2 if to == (rank + 1) % SIZE else 1 if to == rank else 0 for to in range(SIZE)]
    received = [2 if source == (rank - 1) % SIZE else 1 if source == rank else 0 for source in range(SIZE)]
    return dist.nn.all_to_all_single(tt.zeros(3, 2), x, received, sent, group)


FUNCTIONS = {
    "all_reduce": lambda x, group: dist.nn.all_reduce(x, group=group),
    "all_reduce of averages": lambda x, group: dist.nn.all_reduce(x, ReduceOp.AVG, group),
    "broadcast": lambda x, group: dist.nn.broadcast(x, 1, group),
    "reduce": lambda x, group: dist.nn.reduce(x, 2, group=group),
    "reduce of averages": lambda x, group: dist.nn.reduce(x, 2, ReduceOp.AVG, group),
    "all_gather": lambda x, group: tt.stack(dist.nn.all_gather(x, group)),
    "reduce_scatter": lambda x, group: dist.nn.reduce_scatter(x[0], list(x), group=group),
    "reduce_scatter of averages": lambda x, group: dist.nn.reduce_scatter(x[0], list(x), ReduceOp.AVG, group),
    "gather": gathered,
    "scatter": lambda x, group: dist.nn.scatter(list(x), 1, group),
    "all_to_all": to_all,
    "all_to_all_single": uneven,
}


def losses(function, arrays):
    """Return the sum of all ranks' losses."""

    def program():
        rank = dist.get_rank()
        y = function(tt.tensor(arrays[rank]), None)
        return (y.sin() * weights(rank, y.shape)).sum().item()

    return sum(run(program, SIZE))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_agree_with_finite_differences_of_the_sum_of_all_losses(engine, name):
    function = FUNCTIONS[name]
    arrays = [inputs(rank) for rank in range(SIZE)]

    def program():
        rank = dist.get_rank()
        x = tt.tensor(arrays[rank], requires_grad=True)
        y = function(x, dist.group.WORLD)
        (y.sin() * weights(rank, y.shape)).sum().backward()
        return x.grad.numpy()

    found = run(program, SIZE, backend=engine)
    step = 1e-6
    for rank in range(SIZE):
        for at in ((0, 0), (1, 1), (2, 0)):
            ends = []
            for sign in (1, -1):
                moved = [each.copy() for each in arrays]
                moved[rank][at] += sign * step
                ends.append(losses(function, moved))
            np.testing.assert_allclose(
                found[rank][at], (ends[0] - ends[1]) / (2 * step), rtol=1e-5, atol=1e-7
            )


def first_derivatives(function, arrays, second):
    """Return the sum of each rank's first derivatives, or the second derivatives of the sum of these."""

    def program():
        x = tt.tensor(arrays[dist.get_rank()], requires_grad=True)
        (first,) = tt.autograd.grad(function(x, None).pow(3).sum(), x, create_graph=True)
        if not second:
            return first.sum().item()
        return tt.autograd.grad(first.sum(), x)[0].numpy()

    return run(program, SIZE)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_derivatives_agree_with_finite_differences(name):
    arrays = [inputs(rank) for rank in range(SIZE)]
    found = first_derivatives(FUNCTIONS[name], arrays, second=True)
    step = 1e-6
    for rank, at in ((0, (0, 0)), (1, (1, 1)), (2, (2, 0))):
        ends = []
        for sign in (1, -1):
            moved = [each.copy() for each in arrays]
            moved[rank][at] += sign * step
            ends.append(sum(first_derivatives(FUNCTIONS[name], moved, second=False)))
        np.testing.assert_allclose(found[rank][at], (ends[0] - ends[1]) / (2 * step), rtol=1e-5, atol=1e-7)


def test_reductions_without_a_gradient_are_refused():
    with pytest.raises(ValueError, match="only SUM and AVG"):
        dist.nn.all_reduce(tt.ones(1), ReduceOp.MAX)
    with pytest.raises(ValueError, match="only SUM and AVG"):
        dist.nn.reduce_scatter(tt.ones(1), [tt.ones(1)], ReduceOp.PRODUCT)
