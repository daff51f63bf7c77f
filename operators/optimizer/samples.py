"""Inputs of operators over lists of tensors, and of the steps of optimizers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from tt.core.types.dtype import complex128, float32, float64, int32
from tt.operators._samples.base import OPTION, FamilyTable, Inputs, Sample

family = FamilyTable()

SHAPES = ((3,), (2, 4), (), (0, 2))

# --- lists -----------------------------------------------------------------------------------------------------


def tensors(make: Inputs, **how: Any) -> list[Any]:
    """Return tensors of several shapes."""
    return [make.tensor(*shape, **how) for shape in SHAPES]


def operands(make: Inputs, lists: Callable[[], list[Any]], count: int) -> dict[str, Any]:
    """Return what the operator takes besides self, by the types in its signature."""
    chosen: dict[str, Any] = {}
    for argument in make.definition.signature.arguments[1:]:
        if argument.type.list:
            numbers = [n % 3 + 1 for n in range(count)]
            chosen[argument.name] = lists() if argument.type.is_tensor else numbers
        elif argument.type.is_tensor:  # one number, or one for each tensor
            packed = argument.name == "scalars"
            chosen[argument.name] = make.tensor(*([count] if packed else []), low=1, high=3)
        elif argument.type.base == "Scalar":
            chosen[argument.name] = 2
    return chosen


@family("foreach")
def foreach(make: Inputs) -> Iterator[Sample]:
    # Above zero, where logarithms and roots exist, and small, as integers may have eight bits.
    signature = make.definition.signature

    def lists() -> list[Any]:
        return tensors(make, low=1, high=3)

    def sample(
        first: list[Any],
        name: str,
        others: Callable[[], list[Any]] = lists,
        changed: dict[str, Any] | None = None,
    ) -> Sample:
        options = operands(make, others, len(first)) | (changed or {})
        positional = [options.pop(a.name) for a in signature.positional[1:] if a.name in options]
        if signature.arguments[0].type.list:
            return Sample((first, *positional), options, name, OPTION if name.startswith("error") else None)
        return Sample((2, first), {}, name, OPTION if name.startswith("error") else None)

    yield sample(lists(), "several")
    yield sample(
        [make.tensor(2, 3, low=1, high=3, layout="transposed")], "transposed",
        lambda: [make.tensor(2, 3, low=1, high=3, layout="transposed")],
    )  # fmt: skip
    yield sample([make.tensor(2, 3, low=1, high=3)], "broadcast", lambda: [make.tensor(3, low=1, high=3)])
    for argument in signature.arguments[1:]:
        if argument.type.base == "Scalar" and not argument.type.list:
            yield sample(lists(), f"another {argument.name}", changed={argument.name: 3})
        if argument.type.list:
            short = lists()[1:] if argument.type.is_tensor else [2]
            if signature.arguments[0].type.list:
                yield sample(lists(), f"error: length of {argument.name}", changed={argument.name: short})
        elif argument.type.is_tensor:
            yield sample(
                lists(), f"error: shape of {argument.name}", changed={argument.name: make.tensor(2, 2)}
            )
    yield sample([], "error: nothing", list)


@family("foreach_norm")
def foreach_norm(make: Inputs) -> Iterator[Sample]:
    for order in (2, 1, 3, 0):
        yield Sample((tensors(make), order), name=f"order {order}")
    yield Sample((tensors(make)[:3], math.inf), name="largest")
    wide = complex128 if make.dtype.is_complex else float64
    yield Sample((tensors(make), 2, wide), name="dtype")
    yield Sample(([],), name="error: nothing", error=OPTION)
    if make.definition.signature.name == "_foreach_norm":
        yield Sample((tensors(make), math.inf), name="error: largest of nothing", error=OPTION)


@family("foreach_max")
def foreach_max(make: Inputs) -> Iterator[Sample]:
    yield Sample((tensors(make)[:3],), name="several")
    yield Sample(([],), name="error: nothing", error=OPTION)
    yield Sample((tensors(make),), name="error: largest of nothing", error=OPTION)


@family("foreach_mm")
def foreach_mm(make: Inputs) -> Iterator[Sample]:
    yield Sample(
        ([make.tensor(2, 3), make.tensor(1, 2)], [make.tensor(3, 2), make.tensor(2, 4)]), name="several"
    )
    yield Sample(([], []), name="error: nothing", error=OPTION)
    yield Sample(([make.tensor(2, 3)], []), name="error: lengths", error=OPTION)


# --- steps -----------------------------------------------------------------------------------------------------


def flag(make: Inputs, value: float) -> Any:
    """Return a number as a tensor, as scalers of gradients hand it on."""
    return make.of(value, float32)


@family("fused_sgd")
def fused_sgd(make: Inputs) -> Iterator[Sample]:
    plain = {
        "weight_decay": 0.0, "momentum": 0.0, "lr": 0.1, "dampening": 0.0, "nesterov": False, "maximize": False,
        "is_first_step": False,
    }  # fmt: skip
    moving = {**plain, "momentum": 0.9}
    for name, options in {
        # First, as only a scale changes the gradients.
        "scaled": {**moving, "grad_scale": flag(make, 4.0), "found_inf": flag(make, 0.0)},
        "plain": plain,
        "decay, maximized": {**plain, "weight_decay": 0.5, "maximize": True},
        "momentum": moving,
        "first step": {**moving, "is_first_step": True},
        "dampened": {**moving, "dampening": 0.5, "weight_decay": 0.25},
        "nesterov": {**moving, "nesterov": True},
        "rate in a tensor": {**moving, "lr": flag(make, 0.1)},
        "left out": {**moving, "grad_scale": flag(make, 4.0), "found_inf": flag(make, 1.0)},
    }.items():
        buffers = tensors(make) if options["momentum"] else []
        yield Sample((tensors(make), tensors(make), buffers), options, name)
    yield Sample((tensors(make), tensors(make)[1:], []), plain, "error: lengths", OPTION)
    yield Sample(([make.tensor(2)], [make.tensor(3)], []), plain, "error: shapes", OPTION)
    yield Sample(([], [], []), plain, "error: nothing", OPTION)


@family("fused_adam")
def fused_adam(make: Inputs) -> Iterator[Sample]:
    plain = {
        "lr": 0.1, "beta1": 0.75, "beta2": 0.9, "weight_decay": 0.0, "eps": 1e-3, "amsgrad": False, "maximize": False,
    }  # fmt: skip
    for name, options in {
        # First, as only a scale changes the gradients.
        "scaled": {**plain, "grad_scale": flag(make, 4.0), "found_inf": flag(make, 0.0)},
        "plain": plain,
        "decay, maximized": {**plain, "weight_decay": 0.5, "maximize": True},
        "largest moments": {**plain, "amsgrad": True, "weight_decay": 0.25},
        "rate in a tensor": {**plain, "lr": flag(make, 0.1)},
        "left out": {**plain, "grad_scale": flag(make, 4.0), "found_inf": flag(make, 1.0)},
    }.items():
        largest = tensors(make, low=0, high=4) if options["amsgrad"] else []
        squares, steps = tensors(make, low=0, high=4), [flag(make, n + 1.0) for n in range(len(SHAPES))]
        yield Sample((tensors(make), tensors(make), tensors(make), squares, largest, steps), options, name)
    one = [make.tensor(2)]
    yield Sample((one, [], one, one, [], [flag(make, 1.0)]), plain, "error: lengths", OPTION)
    yield Sample((one, [make.tensor(3)], [make.tensor(2)], [make.tensor(2)], [], [flag(make, 1.0)]), plain,
                 "error: shapes", OPTION)  # fmt: skip


@family("fused_adagrad")
def fused_adagrad(make: Inputs) -> Iterator[Sample]:
    plain = {"lr": 0.1, "lr_decay": 0.0, "weight_decay": 0.0, "eps": 1e-3, "maximize": False}
    for name, options in {
        # First, as only a scale changes the gradients.
        "scaled": {**plain, "grad_scale": flag(make, 4.0), "found_inf": flag(make, 0.0)},
        "plain": plain,
        "decay, maximized": {**plain, "weight_decay": 0.5, "maximize": True},
        "falling rate": {**plain, "lr_decay": 0.5},
        "left out": {**plain, "grad_scale": flag(make, 4.0), "found_inf": flag(make, 1.0)},
    }.items():
        steps = [flag(make, n + 1.0) for n in range(len(SHAPES))]
        yield Sample((tensors(make), tensors(make), tensors(make, low=0, high=4), steps), options, name)
    yield Sample(([make.tensor(2)], [], [make.tensor(2)], [flag(make, 1.0)]), plain, "error: lengths", OPTION)


RULES = {
    "adamax": (2, [0.75, 0.9, 0.1, -0.5]),
    "nadam": (2, [0.75, 0.9, 0.1, 0.5, -0.25, -0.5]),
    "radam": (2, [0.75, 0.9, 0.1, 0.0, -0.5]),
    "adadelta": (2, [0.75, 0.5, -0.5]),
    "rmsprop": (1, [0.75, 0.5, -0.5, 0.0]),
    "rprop": (2, [0.5, 1.25, 0.25, 3.0]),
    "asgd": (1, [0.25, 0.5, 1.0]),
}
"""Rules with their numbers of states, and with numbers."""


@family("fused_rule")
def fused_rule(make: Inputs) -> Iterator[Sample]:
    def sample(rule: str, states: int, numbers: list[float], name: str, maximize: bool = False) -> Sample:
        lists = [tensors(make, low=1, high=4) if n < states else [] for n in range(3)]
        options = {"maximize": True} if maximize else {}
        return Sample((tensors(make), tensors(make), *lists, rule, numbers), options, name)

    for rule, (states, numbers) in RULES.items():
        yield sample(rule, states, [0.0, 1.0, *numbers], rule)
        yield sample(rule, states, [0.5, 0.75, *numbers], f"{rule}, decay, maximized", True)
    yield sample("radam", 2, [0.0, 1.0, 0.75, 0.9, 0.1, -0.5, 0.0], "radam, first steps")
    yield sample("rmsprop", 2, [0.0, 1.0, 0.75, 0.5, -0.5, 0.5], "rmsprop, momentum")
    square, mean = tensors(make, low=3, high=4), tensors(make, low=0, high=1)
    yield Sample((tensors(make), tensors(make), square, [], mean, "rmsprop", [0.0, 1.0, 0.75, 4.0, -0.5, 0.0]),
                 name="rmsprop, centered")  # fmt: skip
    yield sample("asgd", 1, [0.0, 1.0, 0.25, 0.5, 0.5], "asgd, averaged")
    one, numbers = [make.tensor(2)], [0.0, 1.0, 0.25, 0.5, 1.0]
    yield Sample((one, one, one, [], [], "unknown", numbers), {}, "error: rule", OPTION)
    yield Sample((one, one, one, [], [], "asgd", []), {}, "error: numbers", OPTION)
    yield Sample((one, one, [], [], [], "asgd", numbers), {}, "error: states", OPTION)
    yield Sample((one, [], one, [], [], "asgd", numbers), {}, "error: lengths", OPTION)
    yield Sample((one, [make.tensor(3)], one, [], [], "asgd", numbers), {}, "error: shapes", OPTION)


# --- scales of losses ------------------------------------------------------------------------------------------


@family("amp_unscale")
def amp_unscale(make: Inputs) -> Iterator[Sample]:
    none, factor = flag(make, 0.0), flag(make, 0.25)
    yield Sample((tensors(make), none, factor), name="finite")
    yield Sample((tensors(make), flag(make, 1.0), factor), name="found before")
    for name, value in {"infinite": math.inf, "negative": -math.inf, "not a number": math.nan}.items():
        bad = make.of([1.0, value], make.dtype)
        yield Sample(([*tensors(make), bad], flag(make, 0.0), factor), name=name)
    yield Sample((tensors(make), make.of([0.0], float32), make.of([1.0], float32)), name="only checked")
    yield Sample(([make.tensor(2, 3, layout="transposed")], flag(make, 0.0), factor), name="transposed")
    yield Sample(([], flag(make, 0.0), factor), name="nothing")
    one = [make.tensor(2)]
    yield Sample((one, make.of([0.0, 0.0], float32), factor), name="error: two flags", error=RuntimeError)
    yield Sample((one, none, make.of([1.0, 1.0], float32)), name="error: two factors", error=RuntimeError)
    yield Sample((one, none, make.of(1, int32)), name="error: dtype of the factor", error=RuntimeError)


@family("amp_update_scale")
def amp_update_scale(make: Inputs) -> Iterator[Sample]:
    def sample(scale: float, count: int, found: float, name: str) -> Sample:
        return Sample((flag(make, scale), make.of(count, int32), flag(make, found), 2.0, 0.5, 3), name=name)

    yield sample(8.0, 0, 0.0, "counts")
    yield sample(8.0, 2, 0.0, "grows")
    yield sample(8.0, 2, 1.0, "shrinks")
    yield sample(8.0, 1, 2.0, "shrinks, two devices")
    yield sample(8.0, 1, math.nan, "shrinks, not a number")
    yield sample(3e38, 2, 0.0, "stays finite")
    yield Sample((make.of([8.0], float32), make.of([2], int32), make.of([0.0], float32), 2.0, 0.5, 3),
                 name="one dimension")  # fmt: skip
    three, count, none = (flag(make, 3.0), make.of(0, int32), flag(make, 0.0))
    for name, args in {
        "error: two scales": (make.of([8.0, 8.0], float32), count, none),
        "error: two counts": (three, make.of([1, 1], int32), none),
        "error: dtype of the count": (three, none, none),
        "error: dtype of the flag": (three, count, count),
    }.items():
        yield Sample((*args, 2.0, 0.5, 3), name=name, error=RuntimeError)
