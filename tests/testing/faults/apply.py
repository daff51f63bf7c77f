"""Applying a fault to an operator, and the conformance check's findings."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import tt
from tests.testing.faults.fault import Call, Fault
from tests.testing.faults.gradients import GRADIENTS
from tests.testing.faults.kernels import KERNELS
from tests.testing.faults.rules import RULES, options_of
from tests.testing.faults.selection import computed_dtypes
from tests.testing.faults.twin import TWIN, TwinBackend, kernels_of_cpu
from tt.core.dispatch.registry.registry import REGISTRY, Provider
from tt.core.dispatch.registry.tables import taken_names
from tt.core.library import CachedCall, KernelTable, OpDefinition, Tensor, TensorBase
from tt.core.types.dtype import to_dtype
from tt.testing.checks.call import tensors_in
from tt.testing.conformance import Failure, Report
from tt.testing.conformance.run import Target as Unit
from tt.testing.conformance.run import check_target, chosen_checks
from tt.testing.coverage import compute_dtype, kernel_dtypes

__all__ = ["FAULTS", "Outcome", "Target", "judge", "targets"]

FAULTS: tuple[Fault, ...] = (*KERNELS, *RULES, *GRADIENTS)
"""All faults."""


ELSEWHERE = {
    "tensor_split.tensor_indices_or_sections": "its indices are on the CPU, and such calls go another way"
}
"""Operators without calls that a fault could meet, each with the reason."""


@dataclass(frozen=True)
class Target:
    """Something that a fault spoils: an operator, and the argument that the fault is about, if it is about one."""

    op: str
    argument: str = ""

    def __str__(self) -> str:
        return self.op + (f"({self.argument})" if self.argument else "")


@dataclass
class Outcome:
    """The check's findings for a fault.

    Attributes
    ----------
    named : list of Failure
        The reports that name it: the operator, one of its checks, and the words of the fault.
    others : list of Failure
        All other reports.
    altered : int
        How many calls came out otherwise than they should.
    calls : int
        How many calls met the fault.
    """

    named: list[Failure]
    others: list[Failure]
    altered: int
    calls: int


def targets(fault: Fault) -> list[Target]:
    """Return all that a fault can spoil."""
    found = []
    for definition in REGISTRY.definitions():
        name = definition.name
        usable = (
            definition.samples and "::" not in name and name not in ELSEWHERE and fault.applies(definition)
        )
        # Forms for lists walk the arrays of a list by the kernels of the operators that they are made from, which the
        # faults spoil; what a fault does to an array it would have to do to each of a list.
        if name.startswith("_foreach_") and name != "_foreach_norm.Scalar":
            continue
        if not usable or name in fault.excluded or not set(fault.dtypes) & set(computed_dtypes(definition)):
            continue
        if fault.level in ("kernel", "cast") and not serves(fault, definition):
            continue
        if fault.name == "ignores an argument":
            found += [Target(name, a) for a in options_of(definition) if f"{name}({a})" not in fault.excluded]
        else:
            found.append(Target(name))
    return found


def serves(fault: Fault, definition: OpDefinition) -> bool:
    """Return whether a kernel of the CPU serves an operator for a fault's dtypes."""
    kernels = [r for r in kernels_of_cpu(definition.name) if r.kernel.form == "functional"]
    for name in set(fault.dtypes) & set(computed_dtypes(definition)):
        compute = compute_dtype(REGISTRY.operator(definition.name), to_dtype(name))
        for registration in kernels:
            if compute is None or (
                compute.name in (name, "float32" if fault.half else name)
                and compute.name in kernel_dtypes(registration, definition)
            ):
                return True
    return False


# --- judging -----------------------------------------------------------------------------------------------------


class Counter:
    """Counts the calls that a fault met, and those that it altered."""

    def __init__(self, fault: Fault) -> None:
        self.fault, self.calls, self.altered = fault, 0, 0
        self.broken: Exception | None = None

    def call(self, call: Call) -> Any:
        """Do a call wrongly."""
        self.calls += 1
        try:
            result = self.fault.make(call)
        except Exception as error:
            if error is not call.error and not self.fault.raises:
                self.broken = error  # a mistake in the fault itself, which the check need not find
            self.altered += call.deviates or error is not call.error
            raise
        self.altered += call.deviates or result is not call.result
        return result


def judge(fault: Fault, target: Target, backend: TwinBackend, seed: int) -> Outcome:
    """Return the conformance check's findings for an operator with a fault."""
    counter = Counter(fault)
    device = "cpu" if "formula" in fault.level else TWIN
    report = Report()
    with APPLIED[fault.level](fault, target, backend, counter):
        checks = chosen_checks(fault.checks)
        promised = computed_dtypes(REGISTRY.operator(target.op).definition)
        for name in fault.dtypes:
            if name in promised:
                report.add(check_target(Unit(target.op, name), device, seed=seed, checks=checks))
    if counter.broken is not None:
        raise counter.broken
    failures = report.failures
    named = [f for f in failures if f.check in fault.checks and re.search(fault.says, f.message)]
    return Outcome(named, [f for f in failures if f not in named], counter.altered, counter.calls)


def same(one: Any, other: Any) -> bool:
    """Return whether two results are the same in every byte."""
    if isinstance(one, TensorBase) or isinstance(other, TensorBase):
        return (
            isinstance(one, TensorBase)
            and isinstance(other, TensorBase)
            and one.device == other.device
            and same(one._handle, other._handle)
        )
    if isinstance(one, list | tuple):
        return isinstance(other, list | tuple) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray | np.generic) and isinstance(other, np.ndarray | np.generic):
        a, b = np.asarray(one), np.asarray(other)
        return (a.shape, a.dtype, a.strides, a.tobytes()) == (b.shape, b.dtype, b.strides, b.tobytes())
    return type(one) is type(other) and bool(one == other or one != one)


# --- where faults stand ------------------------------------------------------------------------------------------


@contextlib.contextmanager
def kernel(fault: Fault, target: Target, backend: TwinBackend, counter: Counter) -> Iterator[None]:
    """Let faulty kernels serve the operator on the twin."""
    definition = REGISTRY.operator(target.op).definition
    table, memory = KernelTable(device=TWIN), {}
    for registration in reversed(kernels_of_cpu(target.op)):
        sound = registration.kernel
        if sound.form != "functional":
            continue
        names = taken_names(sound, definition.signature)
        table.kernel(
            target.op,
            faulty(definition, sound.function, names, counter, memory),
            takes=names,
            dtypes=sound.dtypes,
            half="native" if fault.half else sound.half,
            check=sound.check,
            priority=100 + sound.priority,
            override=True,
        )
    with REGISTRY.add(table, Provider(f"a fault: {fault.name}")):
        yield


def faulty(
    definition: OpDefinition,
    sound: Callable[..., Any],
    names: tuple[str, ...],
    counter: Counter,
    memory: dict[Any, Any],
) -> Callable[..., Any]:
    def function(*prepared: Any) -> Any:
        call = Call(definition, sound, dict(zip(names, prepared, strict=False)), memory)
        before = [a.tobytes() for a in call.arrays]
        expected: Any
        try:
            expected = sound(*prepared)
        except Exception as error:
            expected = error
        altered = counter.altered
        try:
            result = counter.call(call)
        except Exception as error:
            counter.altered = altered + (type(error) is not type(expected))
            raise
        changed = before != [a.tobytes() for a in call.arrays] or not same(result, expected)
        counter.altered = altered + (changed or any(result is a for a in call.arrays))
        return result

    return function


@contextlib.contextmanager
def rule(
    fault: Fault, target: Target, backend: TwinBackend, counter: Counter, form: str = "functional"
) -> Iterator[None]:
    """Let a rule of the twin's layer handle a form of the operator."""
    operator = REGISTRY.operator(target.op)
    names = list(operator.positions)
    count = operator.out_count
    memory: dict[Any, Any] = {
        "functional": lambda call: operator.overload().dispatch(tuple(call.args[n] for n in names)),
        "outs": lambda call: list(call.args.values())[-count:],
    }

    def handle(entry: CachedCall, args: tuple[Any, ...]) -> Any:
        shown = names + [f"out{i}" for i in range(len(args) - len(names))]

        def sound(*given: Any) -> Any:
            return below(entry, given, form)

        return counter.call(
            Call(operator.definition, sound, dict(zip(shown, args, strict=True)), memory, target.argument)
        )

    backend.layer.rules[target.op, form] = handle
    operator.invalidate()
    try:
        yield
    finally:
        del backend.layer.rules[target.op, form]
        operator.invalidate()


def below(entry: CachedCall, args: tuple[Any, ...], form: str) -> Any:
    from tests.testing.faults.twin import run_inplace_below

    return run_inplace_below(entry, args) if form == "inplace" else entry.call_below(args)


@contextlib.contextmanager
def method(fault: Fault, target: Target, backend: TwinBackend, counter: Counter) -> Iterator[None]:
    """Let the method do another thing than the function."""
    definition = REGISTRY.operator(target.op).definition
    name = definition.signature.name
    getattr(tt.ones(1), name)
    sound = vars(Tensor)[name]

    def handle(self: Any, *args: Any, **kwargs: Any) -> Any:
        return counter.call(Call(definition, lambda *a: getattr(tt.ops, name)(self, *args, **kwargs), {}, {}))

    setattr(Tensor, name, handle)
    try:
        yield
    finally:
        setattr(Tensor, name, sound)


@contextlib.contextmanager
def cast(fault: Fault, target: Target, backend: TwinBackend, counter: Counter) -> Iterator[None]:
    """Let the backend cast wrongly."""
    operator = REGISTRY.operator(target.op)

    def handle(handle: Any, native_dtype: Any) -> Any:
        def sound(*given: Any) -> Any:
            return TwinBackend.cast(backend, *given)

        return counter.call(
            Call(operator.definition, sound, {"handle": handle, "native_dtype": native_dtype}, {})
        )

    backend.cast = handle  # type: ignore[method-assign]  # of this instance only
    operator.invalidate()
    try:
        yield
    finally:
        del backend.cast
        operator.invalidate()


@contextlib.contextmanager
def formula(
    fault: Fault, target: Target, backend: TwinBackend, counter: Counter, swapped: bool = False
) -> Iterator[None]:
    """Let faulty formulas differentiate the operator, on the CPU."""
    layer = REGISTRY.layer("autograd")
    definition = REGISTRY.operator(target.op).definition
    gradients = layer.formula(target.op).gradients
    sound = dict(gradients)
    order = list(sound)
    if swapped:
        order[:2] = order[1], order[0]
    for argument, taken in zip(sound, order, strict=True):
        gradients[argument] = faulty_formula(definition, sound[taken], counter)
        counter.altered += argument != taken
    refresh()
    try:
        yield
    finally:
        gradients.update(sound)
        refresh()


def refresh() -> None:
    """Let the layer make its rules again."""
    from tt.plugins.autograd.formulas.table import Formulas

    REGISTRY.add(Formulas()).remove()


def faulty_formula(
    definition: OpDefinition, sound: Callable[..., Any], counter: Counter
) -> Callable[..., Any]:
    @functools.wraps(sound)
    def function(*given: Any) -> Any:
        call = Call(definition, sound, dict(enumerate(given)), {})  # type: ignore[arg-type]  # by position
        altered = counter.altered
        result = counter.call(call)
        found, expected = list(tensors_in(result)), list(tensors_in(sound(*given)))
        counter.altered = altered + (
            len(found) != len(expected)
            or any(
                not np.array_equal(a._handle, b._handle, equal_nan=True)
                for a, b in zip(found, expected, strict=True)
            )
        )
        return result

    return function


APPLIED: dict[str, Callable[..., Any]] = {
    "kernel": kernel,
    "rule": rule,
    "inplace": functools.partial(rule, form="inplace"),
    "out": functools.partial(rule, form="out"),
    "method": method,
    "cast": cast,
    "formula": formula,
    "swapped formulas": functools.partial(formula, swapped=True),
}
