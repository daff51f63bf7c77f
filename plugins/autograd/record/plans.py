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
    arguments = inspect.signature(function).parameters.values()
    return [p.name for p in arguments if p.default is p.empty]


def problems(definition: OpDefinition, formula: Formula) -> list[str]:
    """Return the mistakes in a formula that the schema reveals."""
    mistakes = []
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
            mistakes.append(
                f"{definition.name}: the formula names an argument {argument!r} that there is not"
            )
        elif not names[argument].type.is_tensor:
            mistakes.append(
                f"{definition.name}: the argument {argument!r} is not a tensor and has no gradient"
            )
        first, *rest = parameters(function) or [""]
        if first not in ("g", "gs"):
            mistakes.append(
                f"{definition.name}: the formula of {argument!r} must take g or gs first, not {first!r}"
            )
        mistakes += [
            f"{definition.name}: the formula of {argument!r} takes {name!r}, "
            f"which is neither an argument nor a result of {definition.signature}"
            for name in rest
            if find_slot(definition, name) is None
        ]
    return mistakes


def _slots(definition: OpDefinition, function: Callable[..., Any]) -> list[Slot]:
    """Return the parameters of a formula after the gradient."""
    slots = [find_slot(definition, name) for name in parameters(function)[1:]]
    return [slot for slot in slots if slot is not None]


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
        # `zero` ignores what it takes, so it goes with both kinds.
        one = [name for name, f in formula.gradients.items() if parameters(f)[0] == "g" and f is not zero]
        if one:
            raise errors.ArgumentError(
                operator.name, f"the formulas of one operator take all g or all gs: {one}"
            )
    slots_by_argument = [_slots(definition, formula.gradients[argument]) for argument in ordered]

    def make_plan(needs: int) -> SavePlan:
        slots: list[Slot] = []
        calls = []
        for number, argument in enumerate(ordered):
            if needs >> number & 1:
                # Formulas that take the same value share one slot.
                slots += [slot for slot in dict.fromkeys(slots_by_argument[number]) if slot not in slots]
                calls.append(
                    (number, formula.gradients[argument], tuple(map(slots.index, slots_by_argument[number])))
                )
        return SavePlan(tuple(slots), tuple(calls), formula.reusable)

    kind = InplaceRule if form == "inplace" else GradientRule
    return kind(operator, tuple(names.index(a) for a in ordered), make_plan, takes_all)


def _make_joint(operator: Operator, formula: Formula, form: str) -> GradientRule:
    """Return the rule of an operator that has one formula for all arguments."""
    function, signature = formula.joint, operator.definition.signature
    assert function is not None  # the caller looks
    arguments = signature.arguments
    positions = tuple(i for i, a in enumerate(arguments) if a.type.is_tensor)
    saved = [slot for name in formula.saves if (slot := find_slot(operator.definition, name)) is not None]
    slots = tuple(dict.fromkeys(saved))
    # One plan for all sets: a joint formula computes all gradients in any case.
    plan = SavePlan(slots, ((0, function, tuple(map(slots.index, saved))),))

    def order(returned: Any) -> Sequence[Any]:
        if isinstance(returned, dict):
            for name in returned:
                if signature.argument(name) is None:
                    raise errors.GradientError(
                        f"the backward of {operator.name} returned a gradient of {name!r}, which is not an argument"
                    )
            refuse_unwanted(operator.name, arguments, [returned.get(argument.name) for argument in arguments])
            return [returned.get(arguments[position].name) for position in positions]
        # A list is the gradient of the one list argument, not a gradient for each argument.
        only_a_list = len(positions) == 1 and arguments[positions[0]].type.list and isinstance(returned, list)
        values = (returned,) if only_a_list or not isinstance(returned, tuple | list) else returned
        if len(values) == len(positions):
            return values
        if len(values) == len(arguments):
            refuse_unwanted(operator.name, arguments, values)
            return [values[position] for position in positions]
        names = ", ".join(arguments[position].name for position in positions)
        raise errors.GradientError(
            f"the backward of {operator.name} must return {len(positions)} gradients, of {names}, and it returned "
            f"{len(values)}"
        )

    takes_all = next(iter(parameters(function)), "g") == "gs"
    kind = InplaceRule if form == "inplace" else GradientRule
    return kind(operator, positions, lambda needs: plan, takes_all, order)
