"""What `tt ops check` finds in formulas."""

from __future__ import annotations

from tests.plugins.autograd.calls import (
    DEFINITIONS,
)
from tt.core.library import REGISTRY
from tt.plugins.autograd.features.checks import check_formulas, missing_formulas


def test_every_differentiable_operator_has_a_formula() -> None:
    assert missing_formulas(DEFINITIONS) == []


def test_formulas_fit_the_schema() -> None:
    # All that is registered: plugins in use bring operators, and formulas for them, of their own.
    assert check_formulas(REGISTRY.definitions()) == []


def test_mistakes_in_formulas_are_found() -> None:
    from tt.plugins.autograd.formulas.table import Formula
    from tt.plugins.autograd.record.plans import problems

    definition = REGISTRY.operator("mul").definition
    assert problems(definition, Formula("mul", {"self": lambda g, other: g * other})) == []
    for gradients, message in [
        ({"left": lambda g: g}, "names an argument 'left' that there is not"),
        ({"self": lambda other: other}, "must take g or gs first, not 'other'"),
        ({"self": lambda g, rhs: g * rhs}, "takes 'rhs', which is neither an argument nor a result of"),
    ]:
        (found,) = problems(definition, Formula("mul", gradients))
        assert message in found


def test_a_missing_formula_is_reported() -> None:
    definition = REGISTRY.operator("mul").definition
    unknown = definition._replace(
        signature=type(definition.signature).parse("mull(Tensor self) -> Tensor"), grad=("self",)
    )
    assert missing_formulas([definition, unknown], lambda op: False) == [("mull", "self")]
