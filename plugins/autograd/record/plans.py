"""Turns formulas into rules: the meaning of a formula's parameter names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tt.core.library import OpDefinition, Operator, TensorBase, errors
from tt.plugins.autograd.backward.validate_grads import refuse_unwanted
from tt.plugins.autograd.formulas.table import Formula, zero
from tt.plugins.autograd.record.codes import FACT, PLAIN, RESULT, TENSOR, TENSORS
from tt.plugins.autograd.record.grad_state import STATE
from tt.plugins.autograd.record.inplace import InplaceRule
from tt.plugins.autograd.record.rules import GradientRule, SavePlan

__all__ = ["FACTS", "find_slot", "make_rule", "problems"]

Slot = tuple[int, int, Any]


def _of_each(fact: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Make a fact of a tensor applicable to numbers, None, and lists."""

    def ask(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [ask(item) for item in value]
        return fact(value) if isinstance(value, TensorBase) else None

    return ask


def _shape(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_shape(item) for item in value]
    return tuple(value._handle.shape) if isinstance(value, TensorBase) else ()


FACTS: dict[str, Callable[[Any], Any]] = {
    "shape": _shape,
    "dtype": _of_each(lambda t: t.dtype),
    "device": _of_each(lambda t: t.device),
    "strides": _of_each(lambda t: tuple(t.stride())),
    "offset": _of_each(lambda t: t.storage_offset()),
    "requires_grad": _of_each(lambda t: bool(t._keys & STATE.bit)),
}
"""Facts that can be saved instead of a tensor."""


# --- formulas into rules ---------------------------------------------------------------------------------------


def find_slot(definition: OpDefinition, name: str) -> Slot | None:
    """Return the meaning of a formula's parameter, or None if it has none."""
    signature = definition.signature
    for position, argument in enumerate(signature.arguments):
        if name == argument.name:
            if not argument.type.is_tensor:
                return PLAIN, position, None
            return (TENSORS if argument.type.list else TENSOR), position, None
    names = [r.name for r in signature.returns]
    if name == "result" or name in names:
        return RESULT, 0 if name == "result" else names.index(name), None
    for position, argument in enumerate(signature.arguments):
        fact = (
            FACTS.get(name.removeprefix(argument.name + "_"))
            if name.startswith(argument.name + "_")
            else None
        )
        if fact is not None and argument.type.is_tensor:
            return FACT, position, fact
    return None


def parameters(function: Callable[..., Any]) -> list[str]:
    """Return the parameter names of a formula; those with defaults are its own affair."""
    found = inspect.signature(function).parameters.values()
    return [p.name for p in found if p.default is p.empty]


def problems(definition: OpDefinition, formula: Formula) -> list[str]:
    """Return the mistakes in a formula that the schema reveals."""
    found = []
    names = {a.name: a for a in definition.signature.arguments}
    if formula.joint is not None:
        return [
            f"{definition.name}: backward saves {name!r}, "
            f"which is neither an argument nor a result of {definition.signature}"
            for name in formula.saves
            if find_slot(definition, name) is None
        ]
    for argument, function in formula.gradients.items():
        if argument not in names:
            found.append(f"{definition.name}: the formula names an argument {argument!r} that there is not")
        elif not names[argument].type.is_tensor:
            found.append(f"{definition.name}: the argument {argument!r} is not a tensor and has no gradient")
        first, *rest = parameters(function) or [""]
        if first not in ("g", "gs"):
            found.append(
                f"{definition.name}: the formula of {argument!r} must take g or gs first, not {first!r}"
            )
        found += [
            f"{definition.name}: the formula of {argument!r} takes {name!r}, "
            f"which is neither an argument nor a result of {definition.signature}"
            for name in rest
            if find_slot(definition, name) is None
        ]
    return found


def _slots(definition: OpDefinition, function: Callable[..., Any]) -> list[Slot]:
    """Return the parameters of a formula after the gradient."""
    found = [find_slot(definition, name) for name in parameters(function)[1:]]
    return [slot for slot in found if slot is not None]


def make_rule(operator: Operator, formula: Formula, form: str) -> GradientRule:
    """Return the rule of a form of an operator."""
    definition = operator.definition
    wrong = problems(definition, formula)
    if wrong:
        problem = wrong[0].removeprefix(f"{definition.name}: ")
        raise errors.ArgumentError(operator.name, problem, signatures=[str(definition.signature)])
    if formula.joint is not None:
        return _make_joint(operator, formula, form)
    names = [a.name for a in definition.signature.arguments]
    ordered = sorted(formula.gradients, key=names.index)
    takes_all = any(parameters(f)[0] == "gs" for f in formula.gradients.values())
    if takes_all:
        one = [name for name, f in formula.gradients.items() if parameters(f)[0] == "g" and f is not zero]
        if one:
            raise errors.ArgumentError(
                operator.name, f"the formulas of one operator take all g or all gs: {one}"
            )
    wanted = [_slots(definition, formula.gradients[argument]) for argument in ordered]

    def make_plan(needs: int) -> SavePlan:
        slots: list[Slot] = []
        calls = []
        for place, argument in enumerate(ordered):
            if needs >> place & 1:
                slots += [slot for slot in dict.fromkeys(wanted[place]) if slot not in slots]
                calls.append((place, formula.gradients[argument], tuple(map(slots.index, wanted[place]))))
        return SavePlan(tuple(slots), tuple(calls), formula.reusable)

    kind = InplaceRule if form == "inplace" else GradientRule
    return kind(operator, tuple(names.index(a) for a in ordered), make_plan, takes_all)


def _make_joint(operator: Operator, formula: Formula, form: str) -> GradientRule:
    """Return the rule of an operator that has one formula for all arguments."""
    function, signature = formula.joint, operator.definition.signature
    assert function is not None  # the caller looks
    arguments = signature.arguments
    places = tuple(i for i, a in enumerate(arguments) if a.type.is_tensor)
    wanted = [slot for name in formula.saves if (slot := find_slot(operator.definition, name)) is not None]
    slots = tuple(dict.fromkeys(wanted))
    plan = SavePlan(slots, ((0, function, tuple(map(slots.index, wanted))),))

    def order(found: Any) -> Sequence[Any]:
        if isinstance(found, dict):
            for name in found:
                if signature.argument(name) is None:
                    raise errors.GradientError(
                        f"the backward of {operator.name} returned a gradient of {name!r}, which is not an argument"
                    )
            refuse_unwanted(operator.name, arguments, [found.get(argument.name) for argument in arguments])
            return [found.get(arguments[place].name) for place in places]
        only_a_list = len(places) == 1 and arguments[places[0]].type.list and isinstance(found, list)
        values = (found,) if only_a_list or not isinstance(found, tuple | list) else found
        if len(values) == len(places):
            return values
        if len(values) == len(arguments):
            refuse_unwanted(operator.name, arguments, values)
            return [values[place] for place in places]
        names = ", ".join(arguments[place].name for place in places)
        raise errors.GradientError(
            f"the backward of {operator.name} must return {len(places)} gradients, of {names}, and it returned "
            f"{len(values)}"
        )

    takes_all = next(iter(parameters(function)), "g") == "gs"
    kind = InplaceRule if form == "inplace" else GradientRule
    return kind(operator, places, lambda needs: plan, takes_all, order)
