"""Schedules against PyTorch's: rates, momenta, state dicts, chains, continued runs, errors and warnings."""

from __future__ import annotations

import re
import warnings

import pytest

import tt

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

SCHEDULES = {
    "LambdaLR": lambda s, o, e: s.LambdaLR(o, [lambda n: 0.9**n, lambda n: 1 / (n + 1)], e),
    "MultiplicativeLR": lambda s, o, e: s.MultiplicativeLR(o, lambda n: 0.9 + 0.01 * (n % 3), e),
    "StepLR": lambda s, o, e: s.StepLR(o, 7, 0.5, last_epoch=e),
    "MultiStepLR": lambda s, o, e: s.MultiStepLR(o, [3, 5, 5, 40], 0.7, last_epoch=e),
    "ConstantLR": lambda s, o, e: s.ConstantLR(o, 0.3, 9, last_epoch=e),
    "LinearLR": lambda s, o, e: s.LinearLR(o, 0.3, 0.8, 12, last_epoch=e),
    "ExponentialLR": lambda s, o, e: s.ExponentialLR(o, 0.97, e),
    "CosineAnnealingLR": lambda s, o, e: s.CosineAnnealingLR(o, 9, 0.01, last_epoch=e),
    "CosineAnnealingWarmRestarts": lambda s, o, e: s.CosineAnnealingWarmRestarts(o, 5, 2, 0.01, last_epoch=e),
    "PolynomialLR": lambda s, o, e: s.PolynomialLR(o, 30, 2.0, last_epoch=e),
    "CyclicLR": lambda s, o, e: s.CyclicLR(o, 0.01, [0.3, 0.4], 6, 9, last_epoch=e),
    "CyclicLR, triangular2": lambda s, o, e: s.CyclicLR(o, 0.01, 0.3, 6, mode="triangular2", last_epoch=e),
    "CyclicLR, exp_range": lambda s, o, e: s.CyclicLR(
        o, 0.01, 0.3, 6, mode="exp_range", gamma=0.97, last_epoch=e
    ),
    "CyclicLR, function": lambda s, o, e: s.CyclicLR(
        o, 0.01, 0.3, 6, scale_fn=lambda x: 1 / x, cycle_momentum=False, last_epoch=e
    ),
    "OneCycleLR": lambda s, o, e: s.OneCycleLR(o, [0.3, 0.4], total_steps=120, last_epoch=e),
    "OneCycleLR, linear": lambda s, o, e: s.OneCycleLR(
        o, 0.3, epochs=12, steps_per_epoch=10, anneal_strategy="linear", three_phase=True, last_epoch=e
    ),
}
CHAINABLE = [name for name in SCHEDULES if not name.startswith(("Cyclic", "OneCycle"))]


def optimizer(lib, kind="SGD", lr=0.5):
    params = [{"params": [lib.ones(1)]}, {"params": [lib.ones(2)], "lr": 0.25}]
    if kind == "SGD":
        return lib.optim.SGD(params, lr=lr, momentum=0.9)
    return lib.optim.Adam(params, lr=lr)


def options_of(optimizer):
    kept = {}
    for number, group in enumerate(optimizer.param_groups):
        for name in (
            "lr",
            "momentum",
            "betas",
            "initial_lr",
            "max_lr",
            "min_lr",
            "max_momentum",
            "base_momentum",
        ):
            if name in group:
                value = group[name]
                kept[name, number] = list(value) if isinstance(value, tuple) else float(value)
    return kept


def same(mine, theirs):
    """Compare nested values, numbers up to rounding."""
    if isinstance(theirs, dict):
        assert list(mine) == list(theirs)
        for name in theirs:
            same(mine[name], theirs[name])
    elif isinstance(theirs, list | tuple):
        assert type(mine) is type(theirs) and len(mine) == len(theirs)
        for one, other in zip(mine, theirs, strict=True):
            same(one, other)
    elif isinstance(theirs, bool | str | None):
        assert mine == theirs
    else:
        assert float(mine) == pytest.approx(float(theirs), rel=1e-9, abs=1e-12)


def both(make, kind="SGD"):
    pairs = [(lib, optimizer(lib, kind)) for lib in (tt, torch)]
    return [(o, make(lib.optim.lr_scheduler, o)) for lib, o in pairs]


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_a_hundred_steps(name, kind):
    (mine, schedule), (theirs, reference) = both(lambda s, o: SCHEDULES[name](s, o, -1), kind)
    for _ in range(100):
        same(options_of(mine), options_of(theirs))
        same(schedule.get_last_lr(), reference.get_last_lr())
        mine.step()
        theirs.step()
        schedule.step()
        reference.step()
    same(
        schedule.state_dict(),
        {k: dict(v) if k == "milestones" else v for k, v in reference.state_dict().items()},
    )


@pytest.mark.parametrize("epoch", [0, 2, 4, 8])
@pytest.mark.parametrize("name", SCHEDULES)
def test_a_continued_run(name, epoch):
    def make(s, o):
        SCHEDULES[name](s, o, -1)
        return SCHEDULES[name](s, o, epoch)

    (mine, schedule), (theirs, reference) = both(make)
    for _ in range(20):
        same(options_of(mine), options_of(theirs))
        mine.step()
        theirs.step()
        schedule.step()
        reference.step()


@pytest.mark.filterwarnings("ignore:The epoch parameter")
@pytest.mark.parametrize("name", SCHEDULES)
def test_a_given_epoch(name):
    (mine, schedule), (theirs, reference) = both(lambda s, o: SCHEDULES[name](s, o, -1))
    mine.step()
    theirs.step()
    for epoch in (3, 7, 8, 2, None, 30, None):
        schedule.step(epoch)
        reference.step(epoch)
        same(options_of(mine), options_of(theirs))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("second", CHAINABLE)
@pytest.mark.parametrize("first", CHAINABLE)
def test_one_after_another_and_both_at_once(first, second):
    def sequence(s, o):
        schedules = [SCHEDULES[name](s, o, -1) for name in (first, second, first)]
        return s.SequentialLR(o, schedules, [5, 11])

    def chain(s, o):
        return s.ChainedScheduler([SCHEDULES[name](s, o, -1) for name in (first, second)])

    for make in (sequence, chain):
        (mine, schedule), (theirs, reference) = both(make)
        for _ in range(20):
            same(options_of(mine), options_of(theirs))
            same(schedule.get_last_lr(), reference.get_last_lr())
            mine.step()
            theirs.step()
            schedule.step()
            reference.step()
        assert list(schedule.state_dict()) == list(reference.state_dict())


@pytest.mark.parametrize("options", [
    {}, {"mode": "max"}, {"threshold_mode": "abs", "threshold": 0.1}, {"cooldown": 3, "patience": 2},
    {"min_lr": [0.1, 0.01], "factor": 0.5, "patience": 1}, {"min_lr": 0.05, "patience": 0}, {"eps": 0.2, "patience": 1},
])  # fmt: skip
def test_plateaus(options):
    (mine, schedule), (theirs, reference) = both(lambda s, o: s.ReduceLROnPlateau(o, **options))
    losses = [1 / (1 + n) + 0.3 * (n % 4 == 0) for n in range(30)] + [0.5] * 40
    for loss in losses:
        schedule.step(loss)
        reference.step(loss)
        same(options_of(mine), options_of(theirs))
        same(schedule.state_dict(), reference.state_dict())


@pytest.mark.parametrize("name", SCHEDULES)
def test_state_dicts_are_exchanged(name):
    (mine, schedule), (theirs, reference) = both(lambda s, o: SCHEDULES[name](s, o, -1))
    for _ in range(12):
        theirs.step()
        reference.step()
    schedule.load_state_dict(reference.state_dict())
    for group, other in zip(mine.param_groups, theirs.param_groups, strict=True):
        group["lr"] = other["lr"]
    mine.step()
    for _ in range(5):
        schedule.step()
        reference.step()
        same(options_of(mine), options_of(theirs))


def refused(make, lib):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            make(lib.optim.lr_scheduler, optimizer(lib), lib)
        except Exception as error:
            return type(error), str(error)
    return None


def too_far(s, o, lib):
    scheduler = s.OneCycleLR(o, 0.1, total_steps=3)
    for _ in range(5):
        scheduler.step()


@pytest.mark.parametrize("make", [
    lambda s, o, lib: s.ExponentialLR(3, 0.9),
    lambda s, o, lib: s.ExponentialLR(o, 0.9, last_epoch=3),
    lambda s, o, lib: s.LRScheduler(o),
    lambda s, o, lib: s.LambdaLR(o, [lambda e: 1] * 3),
    lambda s, o, lib: s.MultiplicativeLR(o, [lambda e: 1] * 3),
    lambda s, o, lib: s.ConstantLR(o, factor=2),
    lambda s, o, lib: s.LinearLR(o, start_factor=0),
    lambda s, o, lib: s.LinearLR(o, end_factor=2),
    lambda s, o, lib: s.CosineAnnealingWarmRestarts(o, 0),
    lambda s, o, lib: s.CosineAnnealingWarmRestarts(o, 1, 0.5),
    lambda s, o, lib: s.CosineAnnealingWarmRestarts(o, 3).step(-1),
    lambda s, o, lib: s.CyclicLR(o, 0.1, 1.0, mode="x"),
    lambda s, o, lib: s.CyclicLR(o, [0.1, 0.1, 0.1], 1.0),
    lambda s, o, lib: s.CyclicLR(lib.optim.Adagrad([lib.ones(1)]), 0.1, 1.0),
    lambda s, o, lib: s.OneCycleLR(o, 0.1),
    lambda s, o, lib: s.OneCycleLR(o, 0.1, epochs=0, steps_per_epoch=1),
    lambda s, o, lib: s.OneCycleLR(o, 0.1, epochs=1, steps_per_epoch=0),
    lambda s, o, lib: s.OneCycleLR(o, 0.1, total_steps=0),
    lambda s, o, lib: s.OneCycleLR(o, 0.1, total_steps=5, pct_start=2),
    lambda s, o, lib: s.OneCycleLR(o, 0.1, total_steps=5, anneal_strategy="x"),
    too_far,
    lambda s, o, lib: s.ReduceLROnPlateau(o, factor=1.0),
    lambda s, o, lib: s.ReduceLROnPlateau(o, min_lr=[1, 2, 3]),
    lambda s, o, lib: s.ReduceLROnPlateau(o, mode="x"),
    lambda s, o, lib: s.ReduceLROnPlateau(o, threshold_mode="x"),
    lambda s, o, lib: s.ReduceLROnPlateau(3),
    lambda s, o, lib: s.SequentialLR(o, [], []),
    lambda s, o, lib: s.SequentialLR(o, [s.ExponentialLR(optimizer(lib), 0.9)], []),
    lambda s, o, lib: s.SequentialLR(o, [s.ExponentialLR(o, 0.9)], [1]),
    lambda s, o, lib: s.SequentialLR(o, [s.ReduceLROnPlateau(o), s.ExponentialLR(o, 0.9)], [1]),
    lambda s, o, lib: s.SequentialLR(o, [1, s.ExponentialLR(o, 0.9)], [1]),
    lambda s, o, lib: s.ChainedScheduler([]),
    lambda s, o, lib: s.ChainedScheduler([s.ExponentialLR(o, 0.9), s.ExponentialLR(optimizer(lib), 0.9)]),
    lambda s, o, lib: s.ChainedScheduler([s.ReduceLROnPlateau(o)]),
])  # fmt: skip
def test_errors(make):
    mine, theirs = refused(make, tt), refused(make, torch)
    assert theirs is not None and mine is not None
    assert mine[0] is theirs[0]
    words = set(re.findall(r"[a-z_]{4,}|\d+", theirs[1].split("\n")[0].lower()))
    found = set(re.findall(r"[a-z_]{4,}|\d+", mine[1].lower()))
    assert len(words - found) <= len(words) * 0.6, (mine, theirs)


@pytest.mark.parametrize("milestones", [[0], [0, 0], [0, 3], [2, 2]])
def test_sequences_that_begin_at_a_milestone(milestones):
    rates = []
    for lib in (tt, torch):
        s, opt = lib.optim.lr_scheduler, optimizer(lib)
        parts = [s.ConstantLR(opt, 0.1, 3), s.ExponentialLR(opt, 0.9), s.StepLR(opt, 2, 0.5)]
        schedule = s.SequentialLR(opt, parts[: len(milestones) + 1], list(milestones))
        rates.append([schedule.get_last_lr()])
        for _ in range(7):
            opt.step()
            schedule.step()
            rates[-1].append(schedule.get_last_lr())
    assert rates[0] == [pytest.approx(lr) for lr in rates[1]]
