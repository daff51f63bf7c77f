"""Averages of parameters between ranks that train alone for some steps, and the optimizer that asks for them."""

from __future__ import annotations

import copy

import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.programs import run
from tt.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import PostLocalSGDState, post_localSGD_hook
from tt.distributed.algorithms.model_averaging import utils
from tt.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from tt.distributed.algorithms.model_averaging.hierarchical_model_averager import HierarchicalModelAverager
from tt.distributed.optim import PostLocalSGDOptimizer
from tt.nn.parallel import DistributedDataParallel


def number(value, dtype=tt.float32):
    parameter = tt.nn.Parameter(tt.full((2,), float(value), dtype=dtype))
    parameter.grad = tt.zeros_like(parameter)
    return parameter


def test_parameters_of_several_dtypes_are_averaged_and_those_without_gradients_are_not(engine):
    def average():
        rank = dist.get_rank()
        wide, narrow, still = number(rank, tt.float64), number(2 * rank), number(rank)
        still.grad = None
        utils.average_parameters_or_parameter_groups([{"params": [wide, still]}, {"params": [narrow]}])
        with pytest.raises(NotImplementedError, match="type int is not supported"):
            utils.get_params_to_average([3])
        return wide[0].item(), narrow[1].item(), still[0].item()

    assert run(average, 3, backend=engine) == [(1.0, 2.0, 0.0), (1.0, 2.0, 1.0), (1.0, 2.0, 2.0)]


def test_only_ranks_of_the_group_are_averaged(engine):
    def average():
        pair = dist.new_group([0, 2])
        x = number(dist.get_rank())
        PeriodicModelAverager(2, process_group=pair).average_parameters([x])
        return x[0].item()

    assert run(average, 3, backend=engine) == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: PeriodicModelAverager(0), "``period`` must be a positive"),
        (lambda: PeriodicModelAverager(2, -1), "``warmup_steps`` must be a non-negative"),
        (lambda: HierarchicalModelAverager({}), "must not be empty"),
        (lambda: HierarchicalModelAverager({0: 2}), "minimum period"),
        (lambda: HierarchicalModelAverager({4: 1, 2: 2}), "must increase"),
        (lambda: HierarchicalModelAverager({2: 1}), "equal to the size of arg"),
        (lambda: HierarchicalModelAverager({2: 2}, -1), "``warmup_steps`` must be a non-negative"),
    ],
)
def test_wrong_periods_are_refused(make, text):
    def build():
        with pytest.raises(ValueError, match=text):
            make()
        return True

    assert run(build, 2) == [True, True]


def test_a_period_of_one_step_is_warned_of(engine):
    def build():
        with pytest.warns(UserWarning, match="only DistributedDataParallel should be used"):
            PeriodicModelAverager(1)
        return True

    assert run(build, 1, backend=engine) == [True]


def test_post_local_training_is_that_of_all_ranks_first_and_of_each_alone_between_averages(engine):
    data = tt.arange(16.0).reshape(8, 2, 1) / 8  # by step and rank

    def train():
        model = tt.nn.Linear(1, 1, bias=False)
        with tt.no_grad():
            model.weight.fill_(0.0)
        parallel = DistributedDataParallel(model)
        alone, _ = dist.new_subgroups(1)
        state = PostLocalSGDState(None, alone, start_localSGD_iter=3)
        parallel.register_comm_hook(state, post_localSGD_hook)
        inner = tt.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
        optimizer = PostLocalSGDOptimizer(inner, PeriodicModelAverager(2, warmup_steps=3))
        found = []
        for step in range(8):
            optimizer.zero_grad()
            x = data[step, dist.get_rank()].reshape(1, 1)
            (parallel(x) - 3 * x).square().sum().backward()
            optimizer.step()
            found.append(model.weight.item())
        return found

    # The same on paper: two weights and velocities.
    weights, speeds, expected = [0.0, 0.0], [0.0, 0.0], []
    for step in range(8):
        gradients = [2 * (w - 3) * data[step, r].item() ** 2 for r, w in enumerate(weights)]
        if step < 3:
            gradients = [sum(gradients) / 2] * 2
        speeds = [0.5 * v + g for v, g in zip(speeds, gradients, strict=True)]
        weights = [w - 0.1 * v for w, v in zip(weights, speeds, strict=True)]
        if step >= 3 and (step - 3) % 2 == 0:
            weights = [sum(weights) / 2] * 2
        expected.append(weights)
    found = run(train, 2, backend=engine)
    for rank in range(2):
        assert found[rank] == pytest.approx([row[rank] for row in expected], rel=1e-5)
    assert found[0][4] != found[1][4] and found[0][5] == found[1][5]


def test_the_state_dict_has_the_step_and_a_scheduler_changes_the_optimizer(engine):
    def save():
        x = number(1.0)
        inner = tt.optim.Adam([x], lr=0.5)
        optimizer = PostLocalSGDOptimizer(inner, PeriodicModelAverager(2))
        scheduler = tt.optim.lr_scheduler.StepLR(optimizer, 1)
        optimizer.step()
        scheduler.step()
        assert optimizer.state is inner.state and optimizer.defaults is inner.defaults
        assert inner.param_groups[0]["lr"] == pytest.approx(0.05)
        saved = copy.deepcopy(optimizer.state_dict())
        fresh = PostLocalSGDOptimizer(tt.optim.Adam([x], lr=1.0), PeriodicModelAverager(2))
        fresh.load_state_dict(saved)
        assert (fresh.averager.step, fresh.param_groups[0]["lr"]) == (1, pytest.approx(0.05))
        assert fresh.param_groups is fresh.optim.param_groups
        with pytest.warns(UserWarning, match="does not contain a step counter"):
            fresh.load_state_dict(inner.state_dict())
        return fresh.averager.step

    assert run(save, 1, backend=engine) == [0]
