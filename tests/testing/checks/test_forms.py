"""Forms that differ from the functional form are found."""

from __future__ import annotations

import tt
from tests.testing.checks.planted import found_with
from tt.core.dispatch.registry.registry import REGISTRY, Provider
from tt.core.library import KernelTable
from tt.testing.conformance import check_conformance


def test_right_forms_pass():
    report = check_conformance(
        "cpu", ops=["add", "neg"], dtypes=["float32", "bfloat16"], checks=["inplace", "out", "resize"]
    )
    assert report.failures == [] and {"inplace", "out", "resize"} <= set(report.checks)


def test_a_kernel_that_leaves_its_target_is_found():
    found = found_with("neg", lambda self, out: None, checks=["out"], form="out")
    assert {f.check for f in found} == {"out"}


def test_an_in_place_form_that_differs_is_found():
    table = KernelTable(device="cpu")

    @table.kernel("neg", form="inplace", override=True, priority=100)
    def negate(self):
        self[...] = 7

    with REGISTRY.add(table, Provider("the test")):
        failures = check_conformance("cpu", ops=["neg"], dtypes=["float32"]).failures
    assert "inplace" in {f.check for f in failures}


def test_a_method_that_differs_is_found(monkeypatch):
    monkeypatch.setattr(tt.Tensor, "neg", lambda self: self + 1)
    failures = check_conformance("cpu", ops=["neg"], dtypes=["float32"]).failures
    assert {f.check for f in failures} == {"method"}
