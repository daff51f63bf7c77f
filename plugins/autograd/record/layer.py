"""The autograd layer: which rule each form of each operator gets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tt.core.library import (
    CachedCall,
    Layer,
    OpDefinition,
    Operator,
    Provider,
    Tensor,
    TensorBase,
    errors,
    ops,
)
from tt.core.library import LayerFunction as RuleType
from tt.plugins.autograd.formulas.table import Formula, zero
from tt.plugins.autograd.record.graph import STATE, Graphless, attach, start
from tt.plugins.autograd.record.inplace import check_inplace
from tt.plugins.autograd.record.plans import make_rule
from tt.plugins.autograd.record.views import edge, root_of

__all__ = ["AutogradLayer"]

# --- the layer -------------------------------------------------------------------------------------------------


class AutogradLayer(Layer):
    """Records calls whose tensors require gradients.

    An operator with a formula is differentiated as a unit; one with only a composite through its parts; one that the
    schema declares without gradient passes; for any other the result can be used but not differentiated.
    """

    name = "autograd"
    order = 100
    idles = True
    differentiates = True
    transparent = True

    def __init__(self) -> None:
        super().__init__()
        self._formulas: dict[str, list[tuple[Formula, Any]]] = {}
        self._late: list[tuple[Any, Any]] = []
        self._rules: dict[tuple[str, str], Any] = {}
        self._of_layouts: list[Any] = []

    def counts_data(self) -> bool:
        """Return whether this thread runs a function whose gradient is computed."""
        from tt.plugins.autograd.transforms.levels import (
            is_differentiating,
        )  # most programs have no transforms

        return is_differentiating()

    def forget_view(self, tensor: Tensor) -> None:
        """Let changes of a tensor be its own: what it is a view of cannot be reached."""
        if tensor._record is not None:
            tensor._record.view = None

    # --- formulas ----------------------------------------------------------------------------------------------

    def accept(self, table: Any, source: Any = None) -> Callable[[], None]:
        """Take a table of formulas; return what takes them out again.

        Parameters
        ----------
        table : Formulas
            Or any object whose `formulas` maps operators to a `Formula`, a dict of formulas by argument, an object with
            the `function` for all arguments and the names that it `saves`, a `backward` function, or a tuple (backward,
            setup_context).  With an attribute `override` that is true it shadows
            earlier formulas.  One with `layouts` is for calls with tensors of these layouts only: its
            `function(op, layouts)` returns what takes the place of such a call, a function of the operator's
            arguments by whose parts it is differentiated, or None.  One with `family_of` has tables that it loads when
            it is asked for an operator's.
        source : Provider, optional
            Who brought it.

        Raises
        ------
        DuplicateRegistrationError
            When an operator has a formula already.
        """
        # First in the list: the table that came last is asked first.
        if hasattr(table, "layouts"):
            self._of_layouts.insert(0, table)
            return lambda: self._of_layouts.remove(table)
        if hasattr(table, "family_of"):
            late = (table, source)
            self._late.append(late)
            return lambda: self._remove_late(late)
        formulas = [_as_formula(op, value) for op, value in table.formulas.items()]
        # All are checked before any is taken: a refused table leaves nothing behind.
        for formula in formulas:
            if not getattr(table, "override", False) and (earlier := self._registered(formula.op)):
                first = earlier[0][1]
                raise errors.DuplicateRegistrationError(
                    f"formula of {formula.op}", str(first or Provider()), str(source or Provider())
                )
        for formula in formulas:
            self._formulas.setdefault(formula.op, []).insert(0, (formula, source))
        # Rules are cached by operator, not by formula, so they might be those of another one.
        self._rules.clear()

        def remove() -> None:
            for formula in formulas:
                self._formulas[formula.op] = [f for f in self._formulas[formula.op] if f[0] is not formula]
            self._rules.clear()

        return remove

    def formula(self, op: str) -> Formula | None:
        """Return the formula of an operator, or None."""
        registered = self._registered(op)
        return registered[0][0] if registered else None

    def formulas(self) -> dict[str, Formula]:
        """Return all formulas by operator."""
        for table, source in self._late:
            for family in table.families():
                self._take(family, source)
        return {op: registered[0][0] for op, registered in self._formulas.items() if registered}

    def _registered(self, op: str) -> list[tuple[Formula, Any]]:
        """Return the formulas of an operator, the one that counts first; loads the family that has one."""
        registered = self._formulas.get(op)
        if not registered:
            for table, source in self._late:
                family = table.family_of(op)
                if family is not None:
                    self._take(family, source)
            registered = self._formulas.get(op)
        return registered or []

    def _take(self, family: Any, source: Any) -> None:
        """Register the formulas of a family after those that came while it was not loaded: it was there before."""
        for op, formula in family.formulas.items():
            registered = self._formulas.setdefault(op, [])
            # A family is offered again for each of its operators that is asked for.
            if not any(known is formula for known, _ in registered):
                registered.append((formula, source))

    def _remove_late(self, late: tuple[Any, Any]) -> None:
        """Remove a table that loads families, with the formulas that it has loaded."""
        self._late = [other for other in self._late if other is not late]
        for op, registered in list(self._formulas.items()):
            self._formulas[op] = [entry for entry in registered if entry[1] is not late[1]]
        self._rules.clear()

    # --- methods for the dispatcher ------------------------------------------------------------------------------

    def rule(self, operator: Operator, form: str) -> RuleType | None:
        """Return the rule of a form of an operator, or None."""
        key = (operator.name, form)
        if key not in self._rules:
            self._rules[key] = self._make_rule(operator, form)
        result: RuleType | None = self._rules[key]
        return result

    def rule_for(self, operator: Operator, form: str, layouts: Sequence[str]) -> RuleType | None:
        """Return the rule of a form of an operator for tensors of layouts that are not strided."""
        for table in self._of_layouts:
            if form != "out" and any(layout in table.layouts for layout in layouts):
                function = table.function(operator.name, layouts)
                if function is not None:
                    return by_parts(function, form, self.rule(operator, form))
        return self.rule(operator, form)

    def _make_rule(self, operator: Operator, form: str) -> RuleType | None:
        special = SPECIAL.get((operator.name, form))
        if special is not None:
            return special
        definition = operator.definition
        formula = self.formula(operator.name)
        if form == "out":
            return run_out if "nondifferentiable" in definition.tags else refuse_out
        if operator.mutates:
            # Through its composite, if it has one: its parts are recorded.
            if _has_composite(operator):
                return None
            from tt.plugins.autograd.record.mutating import change_arguments  # here and below: seldom needed

            return change_arguments
        if formula is None:
            if "no_derivative" in definition.tags:
                return self.unsupported
            if (
                form == "functional"
                and "nondifferentiable" in definition.tags
                and definition.kind != "factory"
            ):
                return run_below  # not its composite, whose parts may well be differentiable
            if form == "inplace" and not definition.grad and not _has_composite(operator):
                # The new values do not depend on the old ones: a leaf is refused, any other history ends here.
                return make_rule(
                    operator, Formula(operator.name, {definition.signature.arguments[0].name: zero}), form
                )
            return None
        if formula.backward is not None:
            from tt.plugins.autograd.custom.context import ContextRule

            return ContextRule(operator, formula, form)
        return make_rule(operator, formula, form)

    def idle(self) -> bool:
        """Return whether this thread records nothing."""
        return not STATE.enabled()

    def saves(self, args: Sequence[Any]) -> bool:
        """Return whether this thread records."""
        return STATE.enabled()

    def passes_through(self, operator: Operator, form: str) -> bool:
        """Return whether the operator is declared without gradient."""
        return not operator.definition.grad and "no_derivative" not in operator.definition.tags

    def refuse_change(self, target: Tensor, root: Tensor) -> None:
        """Refuse to change a recorded tensor through a view that autograd does not know, unless recording is off."""
        if not STATE.enabled() or root._record is None:
            return
        if root._record.leaf:
            raise errors.InplaceError(
                "a view of a leaf that requires a gradient is changed in place; do so under no_grad()"
            )
        raise errors.InplaceError(
            "a view of a tensor with a history is changed in place, and how it was made is not known: it was made "
            "before, perhaps inside a Function\n  try: make the view again"
        )

    def check(self, definitions: Iterable[OpDefinition]) -> list[tuple[str, str]]:
        """Return the mistakes in the formulas and the missing ones, as (operator, problem)."""
        from tt.plugins.autograd.features.checks import check_formulas, missing_formulas

        definitions = list(definitions)
        wrong = [
            (op, problem) for op, _, problem in (text.partition(": ") for text in check_formulas(definitions))
        ]
        return wrong + [
            (op, f"promises a gradient of {argument!r} and has neither a formula for it nor a composite")
            for op, argument in missing_formulas(definitions)
        ]

    def unsupported(self, entry: CachedCall, args: tuple[Any, ...]) -> Any:
        """Run the call; differentiating its result raises an error that names the operator."""
        if not STATE.enabled():
            return entry.call_below(args)
        target = args[0] if entry.form == "inplace" else None
        root = None if target is None else root_of(target)
        # Before the call: afterwards the old values are lost.
        if root is not None:
            check_inplace(target, root)
        needy = [edge(t) for t in _flat(args) if isinstance(t, TensorBase) and t._keys & STATE.bit]
        result = entry.call_below(args)
        tensors = [t for t in _deep([result]) if isinstance(t, TensorBase)]
        # The edges are kept, so that a pass gets here and raises rather than stopping short with no gradient.
        node = start(Graphless.__new__(Graphless), tuple(n for n, _ in needy), tuple(i for _, i in needy))
        node.reason = f"the derivative for '{entry.operator.name}' is not implemented"
        node.outputs = len(tensors)
        node.shape, node.spec = tuple(tuple(t.shape) for t in tensors), tuple(t._spec for t in tensors)
        if node.outputs == 1:
            node.shape, node.spec = node.shape[0], node.spec[0]
        for number, tensor in enumerate(tensors):
            if STATE.floating >> tensor._spec.code & 1:
                attach(tensor, node, number)
                if target is None:
                    tensor._root = None  # a view of what only a composite knows is no view to the program
        if root is not None and root is not target:
            # The change, as visible in the viewed tensor, has no gradient either.
            attach(root, node, 0)
        return result


def _has_composite(operator: Operator) -> bool:
    return operator.registry.composite(operator.name) is not None


def _as_formula(op: str, value: Any) -> Formula:
    if isinstance(value, Formula):
        return value
    if isinstance(value, dict):
        return Formula(op, value)
    if hasattr(value, "saves"):
        return Formula(op, joint=value.function, saves=tuple(value.saves))
    backward, setup_context = value if isinstance(value, tuple) else (value, None)
    return Formula(op, {}, backward, setup_context)


def by_parts(function: Callable[..., Any], form: str, usual: RuleType | None) -> RuleType:
    """Return the rule that runs a function of the arguments, whose parts are recorded.

    Where the function returns NotImplemented, the usual rule of the operator serves.
    """

    def functional(entry: CachedCall, args: tuple[Any, ...]) -> Any:
        result = function(*args)
        return usual(entry, args) if result is NotImplemented and usual is not None else result

    def in_place(entry: CachedCall, args: tuple[Any, ...]) -> Any:
        target = args[0]
        if not STATE.enabled():
            return entry.call_below(args)
        copy = ops.clone(target)  # tensors saved by the inner operators must not change
        result = function(*(copy if value is target else value for value in args))
        if result is NotImplemented and usual is not None:
            return usual(entry, args)
        return ops.copy_(target, result)

    return functional if form == "functional" else in_place


def refuse_out(entry: CachedCall, args: tuple[Any, ...]) -> Any:
    """Run the out= form, unless that would have to be recorded."""
    if STATE.enabled() and any(isinstance(a, TensorBase) and a._keys & STATE.bit for a in _flat(args)):
        raise errors.GradientError(
            f"{entry.operator.definition.signature.name}(): out= is not differentiated, and an argument requires a "
            "gradient; call it without out=, or under no_grad()"
        )
    return run_out(entry, args)


def run_below(entry: CachedCall, args: tuple[Any, ...]) -> Any:
    """Run the kernel below: the results have no history."""
    return entry.call_below(args)


def run_out(entry: CachedCall, args: tuple[Any, ...]) -> Any:
    """Run the out= form below, and return the tensors that were given."""
    entry.call_below(args)
    outs = args[-entry.operator.out_count :]
    return outs[0] if len(outs) == 1 else entry.operator.return_type(outs)


def detach(entry: CachedCall, args: tuple[Any, ...]) -> Any:
    """Return a tensor that shares the memory but is not a view for autograd: it has its own history."""
    result = entry.call_below(args)
    result._root = None
    return result


def detach_inplace(entry: CachedCall, args: tuple[Any, ...]) -> Any:
    """Clear a tensor's history; a view would keep the history of its base."""
    (tensor,) = args
    if tensor._record.view is not None:
        raise errors.GradientError(
            "a view of a tensor with a history always has one: use detach() in place of detach_()"
        )
    tensor._keys &= ~STATE.bit
    # The record of a leaf stays: its `.grad` and its hooks live there.
    if not tensor._record.leaf:
        tensor._record = None
    return tensor


def refuse_resize(entry: CachedCall, args: tuple[Any, ...]) -> Any:
    """Refuse to resize a tensor that a gradient may need."""
    if STATE.enabled():
        raise errors.InplaceError("a tensor that requires a gradient is not resized")
    return entry.call_below(args)


SPECIAL: dict[tuple[str, str], RuleType] = {
    ("detach", "functional"): detach,
    ("detach", "inplace"): detach_inplace,
    ("resize", "inplace"): refuse_resize,
}
"""Operators whose purpose is to change the history."""


def _deep(values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        if isinstance(value, list | tuple):
            yield from _deep(value)
        else:
            yield value


def _flat(args: Iterable[Any]) -> Iterable[Any]:
    for value in args:
        if isinstance(value, list | tuple):
            yield from value
        else:
            yield value
