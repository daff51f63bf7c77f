"""Averages of models: equal weights, exponential ones, buffers, devices, rates."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tt.optim.swa_utils import (
    SWALR,
    AveragedModel,
    get_ema_avg_fn,
    get_ema_multi_avg_fn,
    get_swa_avg_fn,
    get_swa_multi_avg_fn,
    update_bn,
)


class Model(tt.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = tt.nn.Parameter(tt.zeros(3))
        self.register_buffer("seen", tt.zeros(2))
        self.register_buffer("count", tt.tensor(0))

    def forward(self, x):
        return x * self.weight


def values(n):
    return np.random.default_rng(n).standard_normal(3).astype("f4")


def update(model, n):
    model.weight.data.copy_(tt.tensor(values(n)))
    model.seen.fill_(n)
    model.count += 1


@pytest.mark.parametrize("how", ["default", "avg_fn", "multi_avg_fn"])
def test_averages_have_equal_weights(how):
    model = Model()
    options = {"avg_fn": get_swa_avg_fn(), "multi_avg_fn": get_swa_multi_avg_fn()}
    averaged = AveragedModel(model, **({} if how == "default" else {how: options[how]}))
    for n in range(4):
        update(model, n)
        averaged.update_parameters(model)
    np.testing.assert_allclose(
        averaged.module.weight.detach().numpy(), np.mean([values(n) for n in range(4)], 0), rtol=1e-5
    )
    assert int(averaged.n_averaged) == 4
    assert averaged.module.seen.tolist() == [3, 3]
    assert averaged(tt.ones(3)).tolist() == averaged.module.weight.tolist()
    assert list(averaged.state_dict()) == ["n_averaged", "module.weight", "module.seen", "module.count"]


@pytest.mark.parametrize(
    "options", [{"avg_fn": get_ema_avg_fn(0.75)}, {"multi_avg_fn": get_ema_multi_avg_fn(0.75)}]
)
@pytest.mark.parametrize("use_buffers", [False, True])
def test_averages_may_be_exponential_and_buffers_averaged(options, use_buffers):
    model = Model()
    averaged = AveragedModel(model, use_buffers=use_buffers, **options)
    expected, seen = None, None
    for n in range(4):
        update(model, n)
        averaged.update_parameters(model)
        expected = values(n) if expected is None else 0.75 * expected + 0.25 * values(n)
        seen = float(n) if seen is None else 0.75 * seen + 0.25 * n
    np.testing.assert_allclose(averaged.module.weight.detach().numpy(), expected, rtol=1e-5)
    assert float(averaged.module.seen[0]) == pytest.approx(seen if use_buffers else 3)


def test_averages_of_integers_are_truncated_sums():
    averaged = AveragedModel(Model(), multi_avg_fn=get_ema_multi_avg_fn(0.9), use_buffers=True)
    model, expected = Model(), None
    for n in range(18):
        update(model, n)
        averaged.update_parameters(model)
        count = np.float32(n + 1)
        expected = int(
            count if expected is None else expected * np.float32(0.9) + count * np.float32(1 - 0.9)
        )
    assert int(averaged.module.count) == expected == 8


def test_a_function_gets_lists_of_one_dtype():
    seen = []

    def average(mine, theirs, number):
        seen.append([str(tensor.dtype) for tensor in (*mine, *theirs)])
        for one, other in zip(mine, theirs, strict=True):
            one.copy_(other)

    model = Model()
    averaged = AveragedModel(model, multi_avg_fn=average, use_buffers=True)
    for n in range(2):
        update(model, n)
        averaged.update_parameters(model)
    assert seen == [["tt.float32"] * 4, ["tt.int64"] * 2]


def test_wrong_averages_are_refused():
    with pytest.raises(ValueError, match="Invalid decay value 2"):
        get_ema_avg_fn(2.0)
    with pytest.raises(ValueError, match="Invalid decay value -1"):
        get_ema_multi_avg_fn(-1)
    with pytest.raises(AssertionError, match="Only one of avg_fn and multi_avg_fn"):
        AveragedModel(Model(), avg_fn=get_swa_avg_fn(), multi_avg_fn=get_swa_multi_avg_fn())


class _BatchNorm(tt.nn.Module):
    """The mean of the batches, as batch normalisation keeps it."""

    def __init__(self):
        super().__init__()
        self.momentum = 0.1
        self.register_buffer("running_mean", tt.ones(2))
        self.batches = 0

    def reset_running_stats(self):
        self.running_mean.zero_()
        self.batches = 0

    def forward(self, x):
        assert self.training
        self.batches += 1
        weight = 1 / self.batches if self.momentum is None else self.momentum
        self.running_mean.lerp_(x.mean(0), weight)
        return x


def test_statistics_of_batch_normalisation_are_computed_from_data():
    model = tt.nn.Sequential(_BatchNorm())
    model.eval()
    update_bn([[tt.full((3, 2), 1.0)], tt.full((3, 2), 3.0)], model, device="cpu")
    assert model[0].running_mean.tolist() == [2, 2]
    assert model[0].momentum == 0.1
    assert not model.training
    update_bn([1, 2], tt.nn.Sequential())


def test_rates_go_to_a_constant():
    optimizer = tt.optim.SGD([tt.zeros(1)], lr=1.0)
    scheduler = SWALR(optimizer, swa_lr=0.2, anneal_epochs=4)
    rates = []
    for _ in range(7):
        optimizer.step()
        rates += scheduler.get_last_lr()
        scheduler.step()
    part = (1 - np.cos(np.pi * np.minimum(np.arange(7) / 4, 1))) / 2
    np.testing.assert_allclose(rates, 0.2 * part + 1.0 * (1 - part))
    for options, message in (
        ({"anneal_strategy": "x"}, "anneal_strategy must be one of"), ({"anneal_epochs": -1}, "anneal_epochs must be"),
        ({"swa_lr": [1, 2]}, "swa_lr must have the same length"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            SWALR(optimizer, **{"swa_lr": 0.1, **options})


@pytest.mark.torch
def test_rates_are_those_of_pytorch():
    torch = pytest.importorskip("torch")
    for options in ({"anneal_epochs": 0}, {}, {"anneal_strategy": "linear", "anneal_epochs": 5}):
        found = []
        for lib in (tt, torch):
            optimizer = lib.optim.SGD(
                [{"params": [lib.zeros(1)]}, {"params": [lib.ones(1)], "lr": 0.5}], lr=1.0
            )
            scheduler = lib.optim.swa_utils.SWALR(optimizer, swa_lr=[0.1, 0.9], **options)
            rates = []
            for n in range(15):
                optimizer.step()
                if n == 3:
                    optimizer.param_groups[0]["lr"] = 0.7
                scheduler.step()
                rates += scheduler.get_last_lr()
            found.append((rates, list(scheduler.state_dict())))
        assert found[0][0] == pytest.approx(found[1][0], rel=1e-12)
        assert found[0][1] == found[1][1]
