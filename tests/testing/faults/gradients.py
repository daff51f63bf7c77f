"""Faults of gradients: formulas that are wrong in one way."""

from __future__ import annotations

from typing import Any

import tt
from tests.testing.faults.fault import Call, Fault
from tt.core.library import Mode, OpDefinition

__all__ = ["GRADIENTS"]


def differentiable(d: OpDefinition) -> bool:
    """Return whether the operator has formulas by argument."""
    from tt.core.dispatch.registry.registry import REGISTRY

    formula = REGISTRY.layer("autograd").formula(d.name)
    return formula is not None and bool(formula.gradients) and "inplace_only" not in d.tags


def gradients(d: OpDefinition) -> int:
    from tt.core.dispatch.registry.registry import REGISTRY

    return len(REGISTRY.layer("autograd").formula(d.name).gradients) if differentiable(d) else 0


class Overwriting(Mode):
    """Writes where it should add."""

    def handle(self, caller: Any, args: tuple[Any, ...]) -> Any:
        name, ops = caller.operator.name, tt.ops
        values = dict(zip(caller.operator.positions, args, strict=False))
        if name == "scatter_add":
            return ops.scatter(values["self"], values["dim"], values["index"], values["src"])
        if name == "index_add":
            return ops.index_copy(values["self"], values["dim"], values["index"], values["source"])
        if name == "index_put" and values["accumulate"]:
            args = tuple(False if n == "accumulate" else v for n, v in values.items())
        return caller.dispatch(args)


def forgets_to_add(call: Call) -> Any:
    with Overwriting():
        return call.run()


def each_tensor(result: Any, function: Any) -> Any:
    if isinstance(result, list | tuple):
        return type(result)(None if r is None else function(r) for r in result)
    return None if result is None else function(result)


NOT_DIFFERENTIATED = (
    "its gradient is zero, or its results are random or free up to a phase: nothing to compare"
)
INFINITE = {"special_entr": "the samples hold negative numbers, where it is minus infinity"}
ADD_UP = ("cummax", "cummin", "unfold", "gather", "scatter_reduce", "index", "index_select")
"""Operators whose gradient adds up what comes from several places, by an operator that writes at indices."""

GRADIENTS = (
    Fault("scales its gradient", ("gradient",), "derivative|gradient",
          lambda c: each_tensor(c.run(), lambda g: g * 1.5), differentiable, level="formula",
          inert=NOT_DIFFERENTIATED, excluded=INFINITE),
    Fault("has a gradient of the wrong sign", ("gradient",), "derivative|gradient",
          lambda c: each_tensor(c.run(), lambda g: -g), differentiable, level="formula",
          inert=NOT_DIFFERENTIATED, excluded=INFINITE),
    Fault("has a gradient of zero", ("gradient",), "derivative|gradient",
          lambda c: each_tensor(c.run(), lambda g: g * 0), differentiable, level="formula",
          inert=NOT_DIFFERENTIATED, excluded=INFINITE),
    Fault("gives the gradient of another argument", ("gradient",), "derivative|gradient",
          lambda c: c.run(), lambda d: gradients(d) > 1, level="swapped formulas",
          inert=NOT_DIFFERENTIATED, excluded={"div.mode": "both of its gradients are zero"}),
    Fault("forgets to add gradients up", ("gradient",), "derivative|gradient", forgets_to_add,
          lambda d: d.name in ADD_UP, level="formula"),
)  # fmt: skip
