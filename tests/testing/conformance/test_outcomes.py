"""What became of operators: how they are served, baselines, and JUnit XML."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

import tt
from tt.core.dispatch.registry.registry import REGISTRY, Provider
from tt.core.errors import ValueRangeError
from tt.core.library import KernelTable
from tt.testing.conformance import Failure, Report, Target, targets
from tt.testing.conformance.junit import junit
from tt.testing.conformance.outcomes import Outcome, dumps, outcomes, read_baseline, served
from tt.testing.coverage import Place

CPU = Place("cpu")


def outcome(op="neg", dtype="float32", how="kernel", failed=(), missing=False):
    """Return an outcome in which checks failed."""
    failures = [
        Failure(op, "cpu", dtype, "shape ()", check, "wrong \x00 value", "import tt") for check in failed
    ]
    report = Report(failures, [(op, dtype)] if missing else [])
    report.checks.update(["runs", "values", "meta"])
    return Outcome(Target(op, dtype), how, report, 0.25)


def saved(tmp_path, *found):
    """Return the baseline of a run."""
    path = tmp_path / "baseline.json"
    path.write_text(dumps({"cpu": found}), encoding="utf-8")
    return read_baseline(path)


# --- how operators are served ------------------------------------------------------------------------------------


def test_kernels_composites_and_what_is_missing_are_told_apart():
    with tt.mask_kernels("softmin"):
        found = {o.target.op: o.served for o in served(CPU, targets("cpu", ["neg", "softmin"], ["float32"]))}
    assert (found["neg"], found["softmin"]) == ("kernel", "composite")


def test_a_run_reports_how_long_it_took_and_what_failed():
    table = KernelTable(device="cpu")
    table.kernel("neg", lambda self: self + 1, override=True, priority=100, takes=("self",))
    with REGISTRY.add(table, Provider("the test")):
        (found,) = outcomes(CPU, [Target("neg", "float32")])
    assert found.seconds > 0 and not found.good
    assert "values" in found.failed


def test_what_nothing_serves_is_missing():
    with tt.mask_kernels("sin"):
        (found,) = outcomes(CPU, [Target("sin", "float32")])
    assert found.missing and not found.failed


# --- baselines ---------------------------------------------------------------------------------------------------


def test_a_run_is_as_good_as_itself(tmp_path):
    found = [outcome(), outcome("add", failed=["values"]), outcome("sin", how="missing", missing=True)]
    comparison = saved(tmp_path, *found).compare("cpu", found)
    assert (comparison.regressions, comparison.mended, comparison.known) == ([], [], 2)


@pytest.mark.parametrize(
    ("before", "now", "regressions", "mended"),
    [
        (outcome(), outcome(failed=["values"]), ["values fails now"], []),
        (outcome(), outcome(how="missing", missing=True), ["is missing now"], []),
        (outcome(failed=["values"]), outcome(), [], ["values no longer fails"]),
        (outcome(missing=True), outcome(), [], ["is no longer missing"]),
        (
            outcome(failed=["values"]),
            outcome(failed=["meta"]),
            ["meta fails now"],
            ["values no longer fails"],
        ),
        (outcome("add"), outcome(failed=["values"]), ["values fails"], []),
        (outcome(failed=["gradient"]), outcome(), [], []),  # a check that did not run now
    ],
)
def test_what_is_worse_and_what_is_mended(tmp_path, before, now, regressions, mended):
    comparison = saved(tmp_path, before).compare("cpu", [now])
    assert [what for _, what in comparison.regressions] == regressions
    assert [what for _, what in comparison.mended] == mended


def test_a_composite_in_the_place_of_a_kernel_is_told(tmp_path):
    comparison = saved(tmp_path, outcome()).compare("cpu", [outcome(how="composite")])
    assert [what for _, what in comparison.changed] == ["kernel before, composite now"]
    assert comparison.regressions == []


def test_what_did_not_run_is_not_compared(tmp_path):
    assert saved(tmp_path, outcome(), outcome("add")).compare("cpu", [outcome()]).regressions == []


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "tt-conformance-9", "backends": {}}', "\xff"])
def test_another_file_is_no_baseline(tmp_path, text):
    path = tmp_path / "other.json"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(ValueRangeError, match=r"is not a baseline(.|\n)*--save-baseline FILE"):
        read_baseline(path)


# --- JUnit -------------------------------------------------------------------------------------------------------


def test_junit_has_a_suite_for_each_family_and_a_case_for_each_dtype():
    found = [
        outcome(),
        outcome(dtype="int64", failed=["values"]),
        outcome("sum", how="missing", missing=True),
    ]
    root = ElementTree.fromstring(junit({"cpu": found}))
    assert {k: root.get(k) for k in ("tests", "failures", "errors", "skipped")} == {
        "tests": "3",
        "failures": "2",
        "errors": "0",
        "skipped": "0",
    }
    assert [suite.get("name") for suite in root] == ["cpu.pointwise", "cpu.reduction"]
    cases = {case.get("name"): case for case in root.iter("testcase")}
    assert list(cases) == ["neg[float32]", "neg[int64]", "sum[float32]"]
    assert cases["neg[float32]"].get("time") == "0.250"
    assert cases["neg[int64]"][0].get("type") == "values"
    assert "import tt" in cases["neg[int64]"][0].text
    assert cases["sum[float32]"][0].get("type") == "missing"


def test_junit_skips_what_a_baseline_knows(tmp_path):
    found = [outcome(failed=["values"]), outcome("add", failed=["meta"])]
    root = ElementTree.fromstring(junit({"cpu": found}, saved(tmp_path, found[0])))
    assert (root.get("failures"), root.get("skipped")) == ("1", "1")
