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

NO_GRADIENT: Final = ("_ctc_loss", "linalg_pinv")
"""Operators whose gradient is not that of their values: `_ctc_loss` takes its arguments for logarithms of
probabilities, as PyTorch does, and `linalg_pinv` cuts off singular values.  Forward over reverse differentiates the
tangent, which gives the transposed of a matrix that is not symmetric then."""

FORWARD_OVER_REVERSE: Final = ("J(R)", "J(J)", "V(J(G))")

INFINITE: Final = ("_cross_entropy", "_ctc_loss", "grid_sampler")
"""Operators of which a call for all examples adds infinities in another order than a call for each."""

SINGULAR: Final = "linalg"
"""The module of operators that are not compared at special points: matrices are singular there, and what rounding
leaves of zeros decides about their decompositions."""

WITHOUT_TANGENTS: Final = ("Cube",)


def compared(definition: OpDefinition, case: Case) -> list[str]:
    """Return the nestings that are compared for a sample of an operator."""
    left_out = FORWARD_OVER_REVERSE if definition.name in NO_GRADIENT else ()
    return [name for name in crossings(case) if name not in left_out]


def wrongs(case: Case, names: Collection[str]) -> list[str]:
    """Return what is wrong with some nestings at the point of a case."""
    with np.errstate(all="ignore"):
        found = {name: wrong_at(case, name) for name in names}
    return [f"{case.name}: {name}: {text}" for name, text in found.items() if text]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("definition", OPERATORS, ids=[d.name for d in OPERATORS])
def test_nested_transforms_of_an_operator_are_plain_backward_passes(definition: OpDefinition) -> None:
    wrong: list[str] = []
    for case in of_operator(definition, most=3):
        if case.is_ordinary():
            wrong += wrongs(case, compared(definition, case))
    assert not wrong, "\n".join(wrong)


@pytest.mark.sampled(10)
@pytest.mark.parametrize(
    "definition",
    [d for d in OPERATORS if d.module != SINGULAR],
    ids=[d.name for d in OPERATORS if d.module != SINGULAR],
)
def test_nested_transforms_at_special_points_are_plain_backward_passes(definition: OpDefinition) -> None:
    wrong: list[str] = []
    for ordinary in of_operator(definition, most=1):
        for point, values in SPECIAL.items():
            if point == "infinite" and definition.name in INFINITE:
                continue
            case = ordinary.moved_to(values)
            if case.runs(case.point):
                wrong += wrongs(case, compared(definition, case))
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
