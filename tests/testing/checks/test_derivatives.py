"""Gradients that are not those of finite differences are found."""

from __future__ import annotations

import pytest

import tt
from tt.core.dispatch.registry.registry import REGISTRY, Provider
from tt.plugins.autograd.formulas.table import Formulas
from tt.testing.checks.case import Case
from tt.testing.checks.derivatives import check_gradient
from tt.testing.conformance import check_conformance
from tt.testing.samples import Sample


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_right_gradients_pass(dtype):
    report = check_conformance(
        "cpu", ops=["mul", "exp", "cumsum", "matmul"], dtypes=[dtype], checks=["gradient"]
    )
    assert report.failures == [] and report.checks["gradient"] > 20


def test_a_kink_is_no_wrong_gradient():
    operator = REGISTRY.operator("relu")
    case = Case(operator, "cpu", tt.float64, Sample((tt.zeros(3, dtype=tt.float64),)), None)
    assert list(check_gradient(case)) == []


def test_a_gradient_that_is_a_little_wrong_is_found():
    formulas = Formulas()
    formulas.of("tanhshrink", self=lambda g, self: g * self.tanh() ** 2 * 1.01)
    with REGISTRY.add(formulas, Provider("the test")):
        failures = check_conformance(
            "cpu", ops=["tanhshrink"], dtypes=["float64"], checks=["gradient"]
        ).failures
    assert failures and "by differences" in failures[0].message


def test_a_wrong_gradient_is_found_with_code_that_shows_it():
    formulas = Formulas()
    formulas.of("tanhshrink", self=lambda g, self: g * 1.5)
    with REGISTRY.add(formulas, Provider("the test")):
        failures = check_conformance("cpu", ops=["tanhshrink"], dtypes=["float32", "complex64"]).failures
    assert {f.check for f in failures} == {"gradient"}
    assert {f.dtype for f in failures} == {"float32", "complex64"}
    exec(failures[0].snippet, {"print": lambda gradients: None})
