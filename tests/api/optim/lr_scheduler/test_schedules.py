"""Schedules: rates by hand, closed forms, warnings, saved functions, pictures; without PyTorch."""

from __future__ import annotations

import builtins
import math
import sys
import types

import pytest

import tt
from tt.optim import lr_scheduler as s

SCHEDULES = {
    "LambdaLR": (lambda o: s.LambdaLR(o, lambda n: 1 / (n + 1)), lambda n: 1 / (n + 1)),
    "MultiplicativeLR": (lambda o: s.MultiplicativeLR(o, lambda n: 0.9), lambda n: 0.9**n),
    "StepLR": (lambda o: s.StepLR(o, 3, 0.5), lambda n: 0.5 ** (n // 3)),
    "MultiStepLR": (lambda o: s.MultiStepLR(o, [2, 5, 5], 0.5), lambda n: 0.5 ** ((n >= 2) + 2 * (n >= 5))),
    "ConstantLR": (lambda o: s.ConstantLR(o, 0.25, 4), lambda n: 0.25 if n < 4 else 1),
    "LinearLR": (lambda o: s.LinearLR(o, 0.5, 0.9, 4), lambda n: 0.5 + 0.4 * min(n, 4) / 4),
    "ExponentialLR": (lambda o: s.ExponentialLR(o, 0.8), lambda n: 0.8**n),
    "PolynomialLR": (lambda o: s.PolynomialLR(o, 8, 2.0), lambda n: (1 - min(n, 8) / 8) ** 2),
    "CosineAnnealingLR": (
        lambda o: s.CosineAnnealingLR(o, 4, 0.1), lambda n: 0.1 + 0.9 * (1 + math.cos(math.pi * n / 4)) / 2,
    ),
    "CosineAnnealingWarmRestarts": (
        lambda o: s.CosineAnnealingWarmRestarts(o, 4), lambda n: (1 + math.cos(math.pi * (n % 4) / 4)) / 2,
    ),
    "CyclicLR": (
        lambda o: s.CyclicLR(o, 1.0, 3.0, 2, 4),
        lambda n: 1 + 2 * (n % 6 / 2 if n % 6 <= 2 else (6 - n % 6) / 4),
    ),
    "OneCycleLR": (
        lambda o: s.OneCycleLR(o, 4.0, total_steps=11, anneal_strategy="linear", pct_start=0.5, div_factor=4),
        lambda n: 1 + 3 * n / 4.5 if n <= 4.5 else 4 + (1e-4 - 4) * (n - 4.5) / 5.5,
    ),
}  # fmt: skip


def optimizer(lr=1.0, groups=1):
    params = [{"params": [tt.zeros(1)]} for _ in range(groups)]
    return tt.optim.SGD(params, lr=lr, momentum=0.9)


def run(opt, schedule, steps):
    rates = [float(schedule.get_last_lr()[0])]
    for _ in range(steps):
        opt.step()
        schedule.step()
        rates.append(float(schedule.get_last_lr()[0]))
    return rates


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("tensor", [False, True])
def test_rates(name, tensor):
    make, formula = SCHEDULES[name]
    opt = optimizer(tt.tensor(1.0, dtype=tt.float64) if tensor else 1.0)
    rate = opt.param_groups[0]["lr"]
    assert run(opt, make(opt), 10) == pytest.approx([formula(n) for n in range(11)])
    if tensor:  # a program that captured the rate sees it change
        assert opt.param_groups[0]["lr"] is rate


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_saved_schedule_continues(name):
    make, formula = SCHEDULES[name]
    opt = optimizer()
    schedule = make(opt)
    run(opt, schedule, 4)
    other = optimizer()
    second = make(other)
    other.load_state_dict(opt.state_dict())
    second.load_state_dict(schedule.state_dict())
    assert run(other, second, 5) == pytest.approx([formula(n) for n in range(4, 10)])


def test_groups_have_rates_of_their_own():
    opt = tt.optim.SGD([{"params": [tt.zeros(1)]}, {"params": [tt.ones(1)], "lr": 0.5}], lr=1.0)
    schedule = s.LambdaLR(opt, [lambda n: 0.5**n, lambda n: n])
    opt.step()
    schedule.step()
    assert schedule.get_last_lr() == [0.5, 0.5]
    assert schedule.base_lrs == [1.0, 0.5]
    with pytest.raises(ValueError, match="Expected 2 lr_lambdas, but got 3"):
        s.LambdaLR(opt, [abs] * 3)


def test_callable_objects_are_saved_and_functions_not():
    class Factor:
        def __init__(self, base):
            self.base = base

        def __call__(self, epoch):
            return self.base**epoch

    schedule = s.LambdaLR(optimizer(groups=2), [Factor(0.5), lambda n: 1.0])
    saved = schedule.state_dict()
    assert saved["lr_lambdas"] == [{"base": 0.5}, None]
    other = s.LambdaLR(optimizer(groups=2), [Factor(0.9), lambda n: 1.0])
    other.load_state_dict(saved)
    assert other.lr_lambdas[0].base == 0.5
    assert "lr_lambdas" in saved


def test_a_step_before_the_optimizer_warns_and_one_after_it_does_not():
    opt = optimizer()
    schedule = s.StepLR(opt, 2)
    with pytest.warns(UserWarning, match="`lr_scheduler.step\\(\\)` before `optimizer.step\\(\\)`"):
        schedule.step()
    opt = optimizer()
    schedule = s.StepLR(opt, 2)
    opt.step()
    schedule.step()
    opt = optimizer()
    schedule = s.StepLR(opt, 2)
    opt.step = lambda: None
    with pytest.warns(UserWarning, match="overridden after learning rate scheduler"):
        schedule.step()


def test_get_lr_is_for_steps_and_epochs_are_deprecated():
    opt = optimizer()
    schedule = s.ExponentialLR(opt, 0.5)
    opt.step()
    with pytest.warns(UserWarning, match="please use `get_last_lr"):
        assert schedule.get_lr() == [0.5]
    with pytest.warns(UserWarning, match="epoch parameter"):
        schedule.step(3)
    assert schedule.get_last_lr() == [0.125]


def test_rates_that_a_program_changes_stay_changed():
    opt = optimizer()
    schedule = s.ExponentialLR(opt, 0.5)
    opt.step()
    opt.param_groups[0]["lr"] = 8.0
    schedule.step()
    assert schedule.get_last_lr() == [4.0]


def test_a_schedule_needs_initial_rates_to_continue():
    with pytest.raises(KeyError, match="initial_lr"):
        s.ExponentialLR(optimizer(), 0.5, last_epoch=3)
    with pytest.raises(TypeError, match="int is not an Optimizer"):
        s.ExponentialLR(3, 0.5)
    with pytest.raises(NotImplementedError, match="LRScheduler has no get_lr"):
        s.LRScheduler(optimizer())


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_cycles_change_momenta_the_other_way(kind):
    opt = getattr(tt.optim, kind)([tt.zeros(1)], lr=1.0, **({"momentum": 0.5} if kind == "SGD" else {}))
    schedule = s.CyclicLR(opt, 1.0, 2.0, 2, base_momentum=0.5, max_momentum=0.75)
    group, found = opt.param_groups[0], []
    for _ in range(5):
        found.append(group["momentum"] if kind == "SGD" else group["betas"][0])
        opt.step()
        schedule.step()
    assert found == [0.75, 0.625, 0.5, 0.625, 0.75]
    with pytest.raises(ValueError, match="must support momentum or beta1"):
        s.OneCycleLR(tt.optim.Adagrad([tt.zeros(1)]), 0.1, total_steps=3)


def test_one_cycle_ends():
    opt = optimizer()
    schedule = s.OneCycleLR(opt, 1.0, total_steps=2)
    with pytest.raises(ValueError, match="Tried to step 3 times"):
        run(opt, schedule, 3)


def test_schedules_follow_each_other():
    opt = optimizer()
    parts = [s.ConstantLR(opt, 0.5, 9), s.StepLR(opt, 2, 0.5), s.ExponentialLR(opt, 0.5)]
    schedule = s.SequentialLR(opt, parts, milestones=[2, 5])
    assert run(opt, schedule, 7) == [0.5, 0.5, 1.0, 1.0, 0.5, 1.0, 0.5, 0.25]
    saved = schedule.state_dict()
    other = optimizer()
    second = s.SequentialLR(
        other,
        [s.ConstantLR(other, 0.5, 9), s.StepLR(other, 2), s.ExponentialLR(other, 0.1)],
        milestones=[1, 2],
    )
    second.load_state_dict(saved)
    other.load_state_dict(opt.state_dict())
    assert run(other, second, 1) == [0.25, 0.125]


def test_schedules_act_together():
    opt = optimizer()
    schedule = s.ChainedScheduler([s.ConstantLR(opt, 0.5, 2), s.ExponentialLR(opt, 0.5)])
    assert run(opt, schedule, 3) == [0.5, 0.25, 0.25, 0.125]


def test_a_plateau_reduces_rates():
    opt = optimizer(groups=2)
    schedule = s.ReduceLROnPlateau(opt, factor=0.5, patience=1, cooldown=1, min_lr=[0.4, 0.0])
    for loss in (1.0, tt.tensor(1.0), 1.0):
        schedule.step(loss)
    assert schedule.get_last_lr() == [0.5, 0.5]
    assert schedule.in_cooldown
    for loss in (1.0, 1.0, 1.0):
        schedule.step(loss)
    assert schedule.get_last_lr() == [0.4, 0.25]
    opt.add_param_group({"params": [tt.ones(1)]})
    with pytest.raises(RuntimeError, match="differs from when `ReduceLROnPlateau` was initialized"):
        for _ in range(4):
            schedule.step(1.0)


class Axes:
    """The axes of a picture."""

    def __init__(self):
        self.lines = []
        self.labels = {}

    def plot(self, x, y, label):
        self.lines.append((list(x), y))

    def __getattr__(self, name):
        return lambda *args: self.labels.setdefault(name, args)


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_picture_shows_the_next_steps_and_changes_nothing(name):
    make, formula = SCHEDULES[name]
    opt = optimizer(groups=2)
    schedule = make(opt)
    run(opt, schedule, 2)
    before, groups = dict(schedule.state_dict()), [dict(g) for g in opt.param_groups]
    axes = schedule.plot(6, ax=Axes())
    assert len(axes.lines) == 2
    assert axes.lines[0][0] == list(range(2, 9))
    assert axes.lines[0][1] == pytest.approx([formula(n) for n in range(2, 9)])
    assert axes.labels["set_title"] == (type(schedule).__name__,)
    assert schedule.state_dict() == before
    assert opt.param_groups == groups


def test_pictures_of_several_schedules_and_of_metrics():
    opt = optimizer()
    parts = [s.ConstantLR(opt, 0.5, 9), s.ExponentialLR(opt, 0.5)]
    schedule = s.SequentialLR(opt, parts, milestones=[2])
    assert schedule.plot(4, ax=Axes()).lines[0][1] == [0.5, 0.5, 1.0, 0.5, 0.25]
    assert [part.last_epoch for part in parts] == [0, -1]
    opt = optimizer()
    chain = s.ChainedScheduler([s.ExponentialLR(opt, 0.5), s.ExponentialLR(opt, 0.5)])
    assert chain.plot(2, ax=Axes()).lines[0][1] == [1.0, 0.25, 0.0625]
    assert "last_epoch" not in chain.state_dict()
    plateau = s.ReduceLROnPlateau(optimizer(), patience=0)
    assert plateau.plot([1.0, 2.0], ax=Axes()).lines[0][1] == [1.0, 1.0, 0.1]
    with pytest.raises(TypeError, match="needs the metrics"):
        plateau.plot(3)


def test_a_new_figure_is_made_by_matplotlib_and_its_absence_explained(monkeypatch):
    made = Axes()
    pyplot = types.SimpleNamespace(subplots=lambda: (None, made))
    monkeypatch.setitem(sys.modules, "matplotlib", types.SimpleNamespace(pyplot=pyplot))
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", pyplot)
    schedule = s.ExponentialLR(optimizer(), 0.5)
    assert schedule.plot(3) is made
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "matplotlib":
            raise ModuleNotFoundError("No module named 'matplotlib'")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ModuleNotFoundError, match=r"needs matplotlib.*\n.*pip install matplotlib"):
        schedule.plot(3)


# --- tensors as options -------------------------------------------------------------------------------------------


WITH_TENSORS = {
    "CyclicLR, base_lr": (lambda o, v: s.CyclicLR(o, v, 3.0, 2), lambda c: c.base_lrs),
    "CyclicLR, max_lr": (lambda o, v: s.CyclicLR(o, 0.1, v, 2), lambda c: c.max_lrs),
    "CyclicLR, base_momentum": (
        lambda o, v: s.CyclicLR(o, 0.1, 3.0, 2, base_momentum=v), lambda c: c.base_momentums
    ),
    "CyclicLR, max_momentum": (
        lambda o, v: s.CyclicLR(o, 0.1, 3.0, 2, max_momentum=v), lambda c: c.max_momentums
    ),
    "OneCycleLR, max_momentum": (
        lambda o, v: s.OneCycleLR(o, 3.0, 9, max_momentum=v),
        lambda c: [g["max_momentum"] for g in c.optimizer.param_groups],
    ),
    "OneCycleLR, max_lr": (
        lambda o, v: s.OneCycleLR(o, v, 9), lambda c: [g["max_lr"] for g in c.optimizer.param_groups]
    ),
    "ReduceLROnPlateau, min_lr": (lambda o, v: s.ReduceLROnPlateau(o, min_lr=v), lambda c: c.min_lrs),
    "SWALR": (
        lambda o, v: tt.optim.swa_utils.SWALR(o, v), lambda c: [g["swa_lr"] for g in c.optimizer.param_groups]
    ),
}  # fmt: skip


@pytest.mark.parametrize("as_list", [False, True])
@pytest.mark.parametrize("name", WITH_TENSORS)
def test_a_schedule_keeps_copies_of_the_tensors_that_it_is_made_with(name, as_list):
    make, kept = WITH_TENSORS[name]
    value = tt.tensor(0.25)
    schedule = make(optimizer(groups=2), [value, value] if as_list else value)
    first, second = kept(schedule)
    assert first is not value and second is not first
    value.fill_(7.0)
    assert [float(first), float(second)] == [0.25, 0.25]


@pytest.mark.parametrize("name", [name for name in WITH_TENSORS if "Plateau" not in name])
def test_rates_of_tensors_are_those_of_numbers(name):
    make, _ = WITH_TENSORS[name]
    runs = []
    for value in (tt.tensor(0.25, dtype=tt.float64), 0.25):
        opt = optimizer(groups=2)
        runs.append((run(opt, make(opt, value), 8), [float(g["momentum"]) for g in opt.param_groups]))
    assert runs[0][0] == pytest.approx(runs[1][0]) and runs[0][1] == pytest.approx(runs[1][1])


def test_one_cycle_keeps_numbers_for_a_rate_that_is_a_tensor():
    opt = optimizer(tt.tensor(1.0))
    schedule = s.OneCycleLR(opt, 4.0, total_steps=5, div_factor=4)
    assert schedule.base_lrs == [1.0] and type(schedule.base_lrs[0]) is float
    assert type(opt.param_groups[0]["initial_lr"]) is float
    assert isinstance(opt.param_groups[0]["lr"], tt.Tensor)


@pytest.mark.parametrize(("milestones", "first"), [([0], 1), ([0, 0], 2), ([0, 2], 1), ([1], 0)])
def test_a_sequence_begins_with_the_schedule_of_epoch_0(milestones, first):
    opt = optimizer()
    parts = [s.ConstantLR(opt, factor, 9) for factor in (0.5, 0.25, 0.125)][: len(milestones) + 1]
    schedule = s.SequentialLR(opt, parts, milestones)
    assert schedule.get_last_lr() == [[0.5, 0.25, 0.125][first]] == [opt.param_groups[0]["lr"]]
