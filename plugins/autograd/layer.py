"""The autograd layer: which rule each form of each operator gets."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from tt.core.library import Entry, Layer, OpDefinition, Operator, Source, TensorBase, errors
from tt.core.library import Rule as RuleType
from tt.plugins.autograd import views
from tt.plugins.autograd.context import ContextRule
from tt.plugins.autograd.formulas.table import Formula, Formulas, zero
from tt.plugins.autograd.graph import STATE, Graphless, attach, start
from tt.plugins.autograd.rules import FACT, PLAIN, RESULT, TENSOR, TENSORS, InplaceRule, Plan, Rule

__all__ = ["AutogradLayer", "check_formulas", "missing_formulas"]

Slot = tuple[int, int, Any]


def _of_each(fact: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Let a fact be asked of a tensor, a number, None, or a list of them."""

    def ask(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [ask(item) for item in value]
        return fact(value) if isinstance(value, TensorBase) else None

    return ask


def _shape(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_shape(item) for item in value]
    return tuple(value.handle.shape) if isinstance(value, TensorBase) else ()


FACTS: dict[str, Callable[[Any], Any]] = {
    "shape": _shape,
    "dtype": _of_each(lambda t: t.dtype),
    "device": _of_each(lambda t: t.device),
    "strides": _of_each(lambda t: tuple(t.stride())),
    "offset": _of_each(lambda t: t.storage_offset()),
}
"""What can be saved of a tensor instead of the tensor."""


# --- formulas into rules ---------------------------------------------------------------------------------------


def find_slot(definition: OpDefinition, name: str) -> Slot | None:
    """Return what a parameter of a formula stands for, or None if it is nothing."""
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
    """Return what is wrong with a formula, as far as the schema shows it."""
    found = []
    names = {a.name: a for a in definition.signature.arguments}
    for argument, function in formula.gradients.items():
        if argument not in names:
            found.append(f"{definition.name}: the formula names an argument {argument!r} that there is not")
        elif not names[argument].type.is_tensor:
            found.append(f"{definition.name}: the argument {argument!r} is no tensor and has no gradient")
        first, *rest = parameters(function) or [""]
        if first not in ("g", "gs"):
            found.append(
                f"{definition.name}: the formula of {argument!r} must take g or gs first, not {first!r}"
            )
        found += [
            f"{definition.name}: the formula of {argument!r} takes {name!r}, which is nothing of {definition.signature}"
            for name in rest
            if find_slot(definition, name) is None
        ]
    return found


def _slots(definition: OpDefinition, function: Callable[..., Any]) -> list[Slot]:
    """Return what a formula takes after the gradient."""
    found = [find_slot(definition, name) for name in parameters(function)[1:]]
    return [slot for slot in found if slot is not None]


def make_rule(operator: Operator, formula: Formula, form: str) -> Rule:
    """Return the rule of a form of an operator."""
    definition = operator.definition
    wrong = problems(definition, formula)
    if wrong:
        raise errors.ArgumentError(operator.name, wrong[0], signatures=[str(definition.signature)])
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

    def make_plan(needs: int) -> Plan:
        slots: list[Slot] = []
        calls = []
        for place, argument in enumerate(ordered):
            if needs >> place & 1:
                slots += [slot for slot in dict.fromkeys(wanted[place]) if slot not in slots]
                calls.append((place, formula.gradients[argument], tuple(map(slots.index, wanted[place]))))
        return Plan(tuple(slots), tuple(calls))

    kind = InplaceRule if form == "inplace" else Rule
    return kind(operator, tuple(names.index(a) for a in ordered), make_plan, takes_all)


# --- the layer -------------------------------------------------------------------------------------------------


class AutogradLayer(Layer):
    """Records calls whose tensors require gradients.

    An operator with a formula is differentiated as a unit; one with only a composite through its parts; one that the
    schema declares without gradient passes; for any other the result can be used but not differentiated.
    """

    name = "autograd"
    order = 100

    def __init__(self) -> None:
        super().__init__()
        self._formulas: dict[str, list[tuple[Formula, Any]]] = {}
        self._rules: dict[tuple[str, str], Any] = {}

    # --- formulas ----------------------------------------------------------------------------------------------

    def accept(self, table: Any, source: Any = None) -> Callable[[], None]:
        """Take a table of formulas; return what takes them out again.

        Parameters
        ----------
        table : Formulas
            Or any object whose `formulas` maps operators to a `Formula`, a `backward` function, or a tuple
            (backward, setup_context).
        source : Source, optional
            Who brought it.

        Raises
        ------
        DuplicateRegistrationError
            When an operator has a formula already.
        """
        formulas = [_as_formula(op, value) for op, value in table.formulas.items()]
        for formula in formulas:
            if self._formulas.get(formula.op):
                first = self._formulas[formula.op][0][1]
                raise errors.DuplicateRegistrationError(
                    f"formula of {formula.op}", str(first or Source()), str(source or Source())
                )
        for formula in formulas:
            self._formulas.setdefault(formula.op, []).insert(0, (formula, source))
        self._rules.clear()

        def remove() -> None:
            for formula in formulas:
                self._formulas[formula.op] = [f for f in self._formulas[formula.op] if f[0] is not formula]
            self._rules.clear()

        return remove

    def formula(self, op: str) -> Formula | None:
        """Return the formula of an operator, or None."""
        found = self._formulas.get(op)
        return found[0][0] if found else None

    def formulas(self) -> dict[str, Formula]:
        """Return all formulas by operator."""
        return {op: found[0][0] for op, found in self._formulas.items() if found}

    # --- what the dispatcher asks ------------------------------------------------------------------------------

    def rule(self, operator: Operator, form: str) -> RuleType | None:
        """Return the rule of a form of an operator, or None."""
        key = (operator.name, form)
        if key not in self._rules:
            self._rules[key] = self._make_rule(operator, form)
        found: RuleType | None = self._rules[key]
        return found

    def _make_rule(self, operator: Operator, form: str) -> RuleType | None:
        special = SPECIAL.get((operator.name, form))
        if special is not None:
            return special
        definition = operator.definition
        formula = self.formula(operator.name)
        if form == "out":
            return refuse_out if formula is not None or definition.grad else None
        if formula is None:
            if form == "inplace" and not definition.grad and not _has_composite(operator):
                # The new values do not depend on the old ones: a leaf is refused, any other history ends here.
                return make_rule(
                    operator, Formula(operator.name, {definition.signature.arguments[0].name: zero}), form
                )
            return None
        if formula.backward is not None:
            return ContextRule(operator, formula, form)
        return make_rule(operator, formula, form)

    def passes_through(self, operator: Operator, form: str) -> bool:
        """Tell whether the operator is declared without gradient."""
        return not operator.definition.grad

    def check(self, definitions: Iterable[OpDefinition]) -> list[tuple[str, str]]:
        """Return what is wrong with the formulas and which are missing, as (operator, problem)."""
        definitions = list(definitions)
        wrong = [
            (op, problem) for op, _, problem in (text.partition(": ") for text in check_formulas(definitions))
        ]
        return wrong + [
            (op, f"promises a gradient of {argument!r} and has neither a formula for it nor a composite")
            for op, argument in missing_formulas(definitions)
        ]

    def unsupported(self, entry: Entry, args: tuple[Any, ...]) -> Any:
        """Run the call; whoever differentiates the result gets an error that names the operator."""
        if not STATE.enabled():
            return entry.call_below(args)
        target = args[0] if entry.form == "inplace" else None
        if target is not None:
            views.check_inplace(target, target if target.base is None else target.base)
        needy = [views.edge(t) for t in _flat(args) if isinstance(t, TensorBase) and t.keys & STATE.bit]
        result = entry.call_below(args)
        tensors = [
            t for t in ([result] if isinstance(result, TensorBase) else result) if isinstance(t, TensorBase)
        ]
        node = start(Graphless.__new__(Graphless), tuple(n for n, _ in needy), tuple(i for _, i in needy))
        node.reason = f"the derivative for '{entry.operator.name}' is not implemented"
        node.outputs = len(tensors)
        node.shape, node.spec = tuple(tuple(t.shape) for t in tensors), tuple(t.spec for t in tensors)
        if node.outputs == 1:
            node.shape, node.spec = node.shape[0], node.spec[0]
        for number, tensor in enumerate(tensors):
            if STATE.floating >> tensor.spec.code & 1:
                attach(tensor, node, number)
        if target is not None and target.base is not None:
            # What is seen of the change through the tensor that is viewed has no gradient either.
            attach(target.base, node, 0)
        return result


def _has_composite(operator: Operator) -> bool:
    return operator.registry.composite(operator.name) is not None


def _as_formula(op: str, value: Any) -> Formula:
    if isinstance(value, Formula):
        return value
    backward, setup_context = value if isinstance(value, tuple) else (value, None)
    return Formula(op, {}, backward, setup_context)


def refuse_out(entry: Entry, args: tuple[Any, ...]) -> Any:
    """Run the out= form, unless that would have to be recorded."""
    if STATE.enabled() and any(isinstance(a, TensorBase) and a.keys & STATE.bit for a in _flat(args)):
        raise errors.GradientError(
            f"{entry.operator.definition.signature.name}(): functions with out=... arguments don't support automatic "
            "differentiation, but one of the arguments requires grad."
        )
    return entry.call_below(args)


def detach(entry: Entry, args: tuple[Any, ...]) -> Any:
    """Return a tensor that shares the memory but is no view to autograd: it has a history of its own."""
    result = entry.call_below(args)
    result.base = None
    return result


def detach_inplace(entry: Entry, args: tuple[Any, ...]) -> Any:
    """Let a tensor forget its history; a view would go on to have that of the tensor that it views."""
    (tensor,) = args
    if tensor.record.view is not None:
        raise errors.GradientError(
            "Can't detach views in-place. Use detach() instead. A view of a tensor with a history always has one."
        )
    tensor.keys &= ~STATE.bit
    if not tensor.record.leaf:
        tensor.record = None
    return tensor


def refuse_resize(entry: Entry, args: tuple[Any, ...]) -> Any:
    """Refuse to resize what a gradient may need."""
    if STATE.enabled():
        raise errors.InplaceError("cannot resize variables that require grad")
    return entry.call_below(args)


SPECIAL: dict[tuple[str, str], RuleType] = {
    ("detach", "functional"): detach,
    ("detach", "inplace"): detach_inplace,
    ("resize", "inplace"): refuse_resize,
}
"""Operators whose whole point is what they do to the history."""


def _flat(args: Iterable[Any]) -> Iterable[Any]:
    for value in args:
        if isinstance(value, list | tuple):
            yield from value
        else:
            yield value


# --- checks ----------------------------------------------------------------------------------------------------


def tables() -> list[Formulas]:
    """Return the tables of tt's own operators."""
    from tt.plugins.autograd.formulas import TABLES

    return TABLES


def own_formulas() -> dict[str, Formula]:
    """Return the formulas of tt's own operators."""
    return {op: formula for table in tables() for op, formula in table.formulas.items()}


def missing_formulas(
    definitions: Iterable[OpDefinition], has_composite: Callable[[str], bool] | None = None
) -> list[tuple[str, str]]:
    """Return the (operator, argument) pairs that the schema calls differentiable and that nothing differentiates.

    Parameters
    ----------
    definitions : iterable of OpDefinition
        The operators to check.
    has_composite : callable, optional
        Tells whether an operator has a composite, through which it is differentiated if it has no formula at all.
    """
    from tt.core.library import REGISTRY

    known = own_formulas()
    layer = REGISTRY.layers.get("autograd")
    if isinstance(layer, AutogradLayer):
        known |= layer.formulas()
    composed = has_composite or (lambda op: REGISTRY.composite(op) is not None)
    missing = []
    for definition in definitions:
        formula = known.get(definition.name)
        if formula is None:
            if definition.grad and not composed(definition.name):
                missing += [(definition.name, argument) for argument in definition.grad]
        elif formula.backward is None:
            missing += [(definition.name, a) for a in definition.grad if a not in formula.gradients]
    return missing


def check_formulas(definitions: Iterable[OpDefinition]) -> list[str]:
    """Return what is wrong with the formulas: unknown operators, arguments and names.

    Parameters
    ----------
    definitions : iterable of OpDefinition
        All operators.
    """
    from tt.core.library import REGISTRY

    by_name = {definition.name: definition for definition in definitions}
    layer = REGISTRY.layers.get("autograd")
    known = own_formulas() | (layer.formulas() if isinstance(layer, AutogradLayer) else {})
    found = []
    for op, formula in known.items():
        definition = by_name.get(op)
        if definition is None:
            found.append(f"{op}: there is a formula for this operator, but no schema defines it")
        else:
            found += problems(definition, formula)
            found += [
                f"{op}: there is a formula for {argument!r}, which the schema does not list under grad"
                for argument, function in formula.gradients.items()
                if argument not in definition.grad and function is not zero
            ]
    return found
