"""How values are compared, and that wrong ones are found."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tt
from tests.testing.checks.planted import found_with
from tt.core.dispatch.registry.registry import REGISTRY
from tt.testing.checks.case import Case
from tt.testing.checks.values import differences, reference_of, unlike
from tt.testing.samples import Sample

X = tt.tensor([1.0, 2.0])


@pytest.mark.parametrize(
    ("found", "expected", "says"),
    [
        (X, [1.0, 2.0], None),
        (X, [1.0, 3.0], r"1 of 2 values differ, at \[1\] 2.0 instead of 3.0"),
        (X, [[1.0, 2.0]], r"shape \(2,\) instead of \(1, 2\)"),
        (tt.tensor(float("nan")), float("nan"), None),
        (tt.tensor(1.0, dtype=tt.float64), 1 + 1e-9, "values differ"),
        (tt.tensor(1.0), 1 + 1e-7, None),
        ([X, X], [X.numpy()], "2 results instead of 1"),
        (3, 4, "3 instead of 4"),
    ],
)
def test_results_differ_beyond_the_tolerances_of_their_dtypes(found, expected, says):
    messages = list(differences(found, expected if isinstance(expected, list) and isinstance(found, list) else
                                np.asarray(expected) if isinstance(found, tt.Tensor) else expected))  # fmt: skip
    assert not messages if says is None else re.search(says, messages[0])


def test_two_results_are_unlike_in_values_dtypes_numbers_and_kinds():
    assert unlike((X, 1.0), [X.clone(), 1]) == ""
    assert "2 of 2 values differ" in unlike(X, X + 1)
    assert unlike(X, X.to(tt.float64)) == "tt.float32 instead of tt.float64"
    assert unlike([X], [X, X]) == "1 results instead of 2"
    assert unlike(X, None) == "a tensor instead of None"
    assert unlike(X, X + 0.5, 1.0, 1.0) == ""


def test_a_reference_that_does_not_apply_is_none():
    operator = REGISTRY.operator("neg")
    case = Case(operator, "cpu", tt.float32, Sample((X,)), None)
    assert reference_of(case, {"self": X}).tolist() == [-1.0, -2.0]
    assert reference_of(case, {}) is NotImplemented


def test_a_composite_that_differs_from_the_kernel_is_found():
    assert {f.check for f in found_with("relu6", lambda self: self * 0, checks=["composite"])} == {
        "composite"
    }


def test_wrong_values_are_found_with_code_that_repeats_the_call():
    failures = found_with("neg", lambda self: -self + 1, takes=("self",))
    assert {f.check for f in failures} >= {"values"}
    first = next(f for f in failures if f.check == "values")
    assert "instead of" in first.message
    namespace: dict[str, object] = {}
    exec(first.snippet, namespace)
    assert "tt.ops.neg(" in first.snippet
