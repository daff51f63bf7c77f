"""Checks of formulas against the schema, for `tt ops check`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tt.core.library import REGISTRY, OpDefinition
from tt.plugins.autograd.formulas import tables
from tt.plugins.autograd.formulas.table import Formula, Unwritten, zero
from tt.plugins.autograd.record.plans import problems

__all__ = ["check_formulas", "missing_formulas"]


def known_formulas() -> dict[str, Formula]:
    """Return the formulas of tt's own operators and of the plugins that are active, by operator."""
    known = {op: formula for table in tables() for op, formula in table.formulas.items()}
    layer: Any = REGISTRY.layers.get("autograd")
    return known if layer is None else known | layer.formulas()


def missing_formulas(
    definitions: Iterable[OpDefinition], has_composite: Callable[[str], bool] | None = None
) -> list[tuple[str, str]]:
    """Return the (operator, argument) pairs that the schema calls differentiable and that nothing differentiates.

    Parameters
    ----------
    definitions : iterable of OpDefinition
        The operators to check.
    has_composite : callable, optional
        Returns whether an operator has a composite, through which it is differentiated if it has no formula.
    """
    known = known_formulas()
    composed = has_composite or (lambda op: REGISTRY.composite(op) is not None)
    missing = []
    for definition in definitions:
        if any(a.alias is not None and a.alias.write for a in definition.signature.arguments):
            continue  # an operator that changes its arguments has no gradient of its own
        formula = known.get(definition.name)
        if formula is None:
            if definition.grad and not composed(definition.name):
                missing += [(definition.name, argument) for argument in definition.grad]
        # A formula for all arguments at once does not list them.
        elif formula.backward is None and formula.joint is None:
            missing += [(definition.name, a) for a in definition.grad if a not in formula.gradients]
    return missing


def check_formulas(definitions: Iterable[OpDefinition]) -> list[str]:
    """Return the mistakes in the formulas: unknown operators, arguments and names.

    Parameters
    ----------
    definitions : iterable of OpDefinition
        All operators.
    """
    by_name = {definition.name: definition for definition in definitions}
    known = known_formulas()
    mistakes = []
    for op, formula in known.items():
        definition = by_name.get(op)
        if definition is None:
            mistakes.append(f"{op}: there is a formula for this operator, but no schema defines it")
        else:
            mistakes += problems(definition, formula)
            mistakes += [
                f"{op}: there is a formula for {argument!r}, which the schema does not list under grad"
                for argument, function in formula.gradients.items()
                if argument not in definition.grad
                and function is not zero
                and not isinstance(function, Unwritten)
            ]
    return mistakes
