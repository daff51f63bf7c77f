"""Optimizers and schedulers with wrong arguments raise what PyTorch's raise, or a subclass of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

import tt
from tests.error_classes import not_caught, raised

torch = pytest.importorskip("torch")

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]

OPTIMIZERS: Final = sorted(
    name
    for name, kind in vars(torch.optim).items()
    if isinstance(kind, type)
    and issubclass(kind, torch.optim.Optimizer)
    and kind is not torch.optim.Optimizer
)

SCHEDULERS: Final[dict[str, dict[str, Any]]] = {
    "ConstantLR": {"factor": 0.5, "total_iters": 2},
    "CosineAnnealingLR": {"T_max": 3, "eta_min": 0.0},
    "CosineAnnealingWarmRestarts": {"T_0": 2, "T_mult": 1, "eta_min": 0.0},
    "CyclicLR": {
        "base_lr": 0.1,
        "max_lr": 1.0,
        "step_size_up": 2,
        "mode": "triangular",
        "cycle_momentum": False,
    },
    "ExponentialLR": {"gamma": 0.5},
    "LambdaLR": {"lr_lambda": lambda epoch: 0.5},
    "LinearLR": {"start_factor": 0.5, "end_factor": 1.0, "total_iters": 2},
    "MultiStepLR": {"milestones": [1, 2], "gamma": 0.1},
    "MultiplicativeLR": {"lr_lambda": lambda epoch: 0.5},
    "OneCycleLR": {"max_lr": 1.0, "total_steps": 4, "anneal_strategy": "cos", "cycle_momentum": False},
    "PolynomialLR": {"total_iters": 2, "power": 1.0},
    "ReduceLROnPlateau": {
        "mode": "min",
        "factor": 0.5,
        "patience": 1,
        "threshold_mode": "rel",
        "min_lr": 0.0,
    },
    "StepLR": {"step_size": 1, "gamma": 0.1},
}
"""Classes -> right arguments."""

APART: Final[dict[tuple[str, str], str]] = {
    (
        "",
        "params: an unknown option",
    ): "a text for the learning rate fails where something is first computed with it",
    ("Muon", "eps"): "PyTorch's clamp has no bound then",
    ("Rprop", "step_sizes"): "PyTorch unpacks a text",
    ("OneCycleLR", "total_steps"): "PyTorch compares a text with 0; of epochs it names the value",
    (
        "ReduceLROnPlateau",
        "mode",
    ): "PyTorch writes what is no text into its message, or looks for it in a set",
    ("ReduceLROnPlateau", "threshold_mode"): "as mode",
}
"""(class, what is wrong) -> why the exception is another one."""


def numbers(value: Any) -> Iterator[Any]:
    """Yield wrong values in the place of a right one, which both libraries have."""
    yield from (-1, -1.0, 2.5, 0, "x", None, [1], (), (0.5,), (2.0, 0.9), (-0.1, 0.9), {})
    if isinstance(value, str):
        yield "nonsense"
    if callable(value):
        yield from ([value, value], lambda: 1)


def parameters(library: Any) -> list[Any]:
    x = library.ones(2, 2, requires_grad=True)
    x.grad = library.ones(2, 2)
    return [x]


def groups(library: Any) -> dict[str, Any]:
    """Return what is no list of parameters, by name."""
    (x,) = parameters(library)
    return {
        "nothing": [],
        "None": None,
        "a text": "x",
        "a number": [1],
        "a tensor": x,
        "a dict": {"params": [x]},
        "the same twice": [{"params": [x]}, {"params": [x]}],
        "a group without params": [{"lr": 1}],
        "a tensor with a history": [x * 2],
        "an unknown option": [{"params": [x], "lr": "y"}],
        "a set": {x},
        "names": [("a", x), x],
        "twice a name": [("a", x), ("a", library.ones(1, requires_grad=True))],
    }


def step(optimizer: Any) -> None:
    optimizer.step(lambda: 1.0)


def optimizer_calls(name: str) -> Iterator[tuple[str, Callable[[Any], None]]]:
    """Yield wrong uses of an optimizer, as functions of a library, and the right one first."""

    def make(library: Any, given: Any = None, **options: Any) -> Any:
        return getattr(library.optim, name)(parameters(library) if given is None else given, **options)

    yield "", lambda library: step(make(library))
    for what in groups(tt):
        yield (
            f"params: {what}",
            lambda library, what=what: step(getattr(library.optim, name)(groups(library)[what])),
        )
        yield (
            f"add_param_group: {what}",
            lambda library, what=what: make(library).add_param_group(groups(library)[what]),
        )
    signature = inspect.signature(getattr(torch.optim, name)).parameters
    for key, parameter in signature.items():
        if key in ("params", "fused", "differentiable", "capturable", "foreach", "maximize"):
            continue
        for bad in numbers(parameter.default):
            yield f"{key} is {bad!r}", lambda library, key=key, bad=bad: step(make(library, **{key: bad}))
    yield "an unknown argument", lambda library: make(library, no_such_argument=1)
    for bad in ({}, {"state": {}}, {"param_groups": []}, {"state": {}, "param_groups": []}, None, "x"):
        yield f"load_state_dict of {bad!r}", lambda library, bad=bad: make(library).load_state_dict(bad)
    longer = {"state": {}, "param_groups": [{"params": [0, 1]}]}
    yield "load_state_dict of more parameters", lambda library: make(library).load_state_dict(longer)
    yield "a closure that is none", lambda library: make(library).step(3)
    yield "a closure with an argument", lambda library: make(library).step(lambda x: x)
    yield (
        "a hook that is none",
        lambda library: (make(library).register_step_pre_hook(3), step(make(library))),
    )


def scheduler_calls(name: str) -> Iterator[tuple[str, Callable[[Any], None]]]:
    """Yield wrong uses of a scheduler, as `optimizer_calls`."""
    right = SCHEDULERS[name]

    def run(library: Any, optimizer: Any = None, **changes: Any) -> None:
        optimizer = library.optim.SGD(parameters(library), lr=0.1) if optimizer is None else optimizer
        scheduler = getattr(library.optim.lr_scheduler, name)(optimizer, **{**right, **changes})
        for _ in range(2):
            optimizer.step()
            scheduler.step(*([0.5] if name == "ReduceLROnPlateau" else []))

    yield "", run
    for bad in ("x", 3, {}):
        yield f"optimizer is {bad!r}", lambda library, bad=bad: run(library, bad)
    for key, value in right.items():
        for bad in numbers(value):
            yield f"{key} is {bad!r}", lambda library, key=key, bad=bad: run(library, **{key: bad})
    for key, bad in (("last_epoch", 3), ("last_epoch", "x"), ("no_such_argument", 1)):
        yield f"{key}={bad!r}", lambda library, key=key, bad=bad: run(library, **{key: bad})


def other_errors(name: str, calls: Iterator[tuple[str, Callable[[Any], None]]]) -> Iterator[str]:
    right = False
    for changed, call in calls:
        theirs = raised(call, [torch], {})
        if not changed:
            right = theirs is None
            assert right or name in ("SparseAdam", "Muon"), (name, theirs)
        if isinstance(theirs, LookupError):  # of a tuple that is too short, where PyTorch did not look at it
            continue
        if theirs is None or (name, changed.partition(" is ")[0]) in APART or ("", changed) in APART:
            continue
        problem = not_caught(theirs, raised(call, [tt], {}))
        if problem:
            yield f"{name}, {changed}: {problem}"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_callers_except_catches_the_errors_of_optimizers(name: str) -> None:
    assert list(other_errors(name, optimizer_calls(name))) == []


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_callers_except_catches_the_errors_of_schedulers(name: str) -> None:
    assert list(other_errors(name, scheduler_calls(name))) == []
