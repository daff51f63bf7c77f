"""Transforms nested in each other over every operator with a formula, statements in place, Functions, custom operators.

What a nesting gives is compared with plain backward passes over each example: at ordinary points, and at points with
zeros, equal elements and infinities.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection
from typing import Final

import numpy as np
import pytest

import tt
from tests.plugins.autograd.transforms.matrix import (
    CROSSINGS,
    CUSTOM,
    FUNCTIONS,
    OPERATORS,
    REVERSE,
    SPECIAL,
    STATEMENTS,
    Case,
    crossings,
    of_function,
    of_operator,
    of_statement,
    wrong_at,
)
from tt.core.library import OpDefinition
from tt.library import scoped

pytestmark = [
    pytest.mark.filterwarnings("ignore:upsample:UserWarning"),  # deprecated operators have derivatives, too
    pytest.mark.filterwarnings("ignore:lu:UserWarning"),
]

NO_GRADIENT: Final = ("_ctc_loss", "linalg_pinv", "linalg_lstsq")
"""Operators whose gradient is not that of their values, at some points: `_ctc_loss` takes its arguments for logarithms
of probabilities, as PyTorch does, and the others cut off singular values.  Forward over reverse differentiates the
tangent, which gives the transposed of a matrix that is not symmetric then."""

FORWARD_OVER_REVERSE: Final = ("J(R)", "J(J)", "V(J(G))")

WITHOUT_DERIVATIVE: Final = frozenset({
    ("linalg_qr", "ties"),  # the factor R is singular but for rounding, which its inverse makes large
    ("linalg_solve", "infinite"), ("linalg_slogdet", "infinite"),  # the order of elimination decides about NaN
})  # fmt: skip
"""Operators and special points at which they have no derivative, and which numbers come out says nothing."""

WITHOUT_TANGENTS: Final = ("Cube",)


def wrongs(case: Case, names: Collection[str], transposed: Collection[str] = ()) -> list[str]:
    """Return what is wrong with some nestings at the point of a case; some may give the transposed matrix."""
    with np.errstate(all="ignore"):
        found = {name: wrong_at(case, name, name in transposed) for name in names}
    return [f"{case.name}: {name}: {text}" for name, text in found.items() if text]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("definition", OPERATORS, ids=[d.name for d in OPERATORS])
def test_nested_transforms_of_an_operator_are_plain_backward_passes(definition: OpDefinition) -> None:
    wrong: list[str] = []
    transposed = FORWARD_OVER_REVERSE if definition.name in NO_GRADIENT else ()
    for case in of_operator(definition, most=3):
        if case.is_ordinary():
            wrong += wrongs(case, crossings(case), transposed)
    assert not wrong, "\n".join(wrong)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("definition", OPERATORS, ids=[d.name for d in OPERATORS])
def test_nested_transforms_at_special_points_are_plain_backward_passes(definition: OpDefinition) -> None:
    wrong: list[str] = []
    transposed = FORWARD_OVER_REVERSE if definition.name in NO_GRADIENT else ()
    for ordinary in of_operator(definition, most=1):
        for point, values in SPECIAL.items():
            case = ordinary.moved_to(values)
            if (definition.name, point) not in WITHOUT_DERIVATIVE and case.runs(case.point):
                wrong += wrongs(case, crossings(case), transposed)
    assert not wrong, "\n".join(wrong)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("source", STATEMENTS)
def test_nested_transforms_of_statements_are_plain_backward_passes(source: str) -> None:
    assert not wrongs(of_statement(source), CROSSINGS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nested_transforms_of_a_function_are_plain_backward_passes(name: str) -> None:
    names = REVERSE if name in WITHOUT_TANGENTS else CROSSINGS
    assert not wrongs(of_function(name, FUNCTIONS[name]), names)


@pytest.mark.parametrize("name", CUSTOM)
def test_nested_transforms_of_a_custom_operator_are_plain_backward_passes(name: str) -> None:
    with scoped():
        assert not wrongs(of_function(name, CUSTOM[name]("matrix")), CROSSINGS)


def test_the_derivatives_of_statements_are_those_of_differences() -> None:
    for source in STATEMENTS:
        if "detach" in source or ".data" in source:
            continue
        case = of_statement(source)
        steps = 1e-5 * np.eye(12)
        points = [np.concatenate([x.numpy().reshape(-1) for x in case.point]) + s for s in (*steps, *-steps)]
        gradients = [
            np.concatenate([g.reshape(-1) for g in case.first(case.split(point))]) for point in points
        ]
        slopes = (np.array(gradients[:12]) - np.array(gradients[12:])) / 2e-5
        np.testing.assert_allclose(case.second(case.point), slopes, rtol=1e-6, atol=1e-6, err_msg=source)


@pytest.mark.parametrize("crossing", CROSSINGS)
def test_a_wrong_derivative_is_found(crossing: str) -> None:
    calls = itertools.count()

    def changing(x: tt.Tensor, y: tt.Tensor) -> tt.Tensor:
        """Another function each time."""
        return x * x * y * (1 + next(calls))

    assert wrongs(of_function("changing", changing), [crossing])


@pytest.mark.parametrize("name", NO_GRADIENT)
def test_gradients_that_are_none_of_the_values_have_no_symmetric_derivative(name: str) -> None:
    definition = next(d for d in OPERATORS if d.name == name)
    cases = list(of_operator(definition, most=3))
    matrices = [c.second(c.point) for c in (*cases, cases[0].moved_to(SPECIAL["ties"]))]
    assert max(np.abs(m - m.T)[np.isfinite(m - m.T)].max(initial=0.0) for m in matrices) > 1e-3
