"""The benchmark cases: they can be read, and every library computes the same in them."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from benchmarks.cases import Case, make_array, make_loop, make_once, read_suite, statement_of, suite_names
from benchmarks.measure import Measurement, agree, detached, geometric_mean, measure_case
from benchmarks.report import compare_text, suite_dict, suite_text

CASES = [(name, case) for name in suite_names() for case in read_suite(name).cases]


def test_there_are_22_small_calls() -> None:
    assert len(read_suite("small_calls").cases) == 22


@pytest.mark.parametrize(("suite", "case"), CASES, ids=[case.name for _, case in CASES])
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_tt_computes_what_the_peer_computes(suite: str, case: Case, library: str) -> None:
    pytest.importorskip(library)
    if not statement_of(case, library):
        pytest.skip("the case has no statement for this library")
    ours = np.asarray(detached(make_once(case, "tt")()))
    theirs = np.asarray(detached(make_once(case, library)()))
    assert ours.dtype == theirs.dtype
    assert agree(ours, theirs)


def test_inputs_are_the_same_for_every_library() -> None:
    first = make_array("float32[2,3]", np.random.default_rng(0))
    second = make_array("float32[2,3]", np.random.default_rng(0))
    assert first.shape == (2, 3)
    assert first.dtype == np.float32
    np.testing.assert_array_equal(first, second)
    assert make_array("float32[]", np.random.default_rng(0)).shape == ()
    integers = make_array("int64[1000]", np.random.default_rng(0))
    assert (integers.min(), integers.max()) == (0, 9)


def test_a_malformed_input_is_refused() -> None:
    with pytest.raises(ValueError, match=r"dtype\[shape\]"):
        make_array("float32(2)", np.random.default_rng(0))


def test_a_loop_runs_all_lines_as_often_as_asked() -> None:
    case = Case("count", "", numpy="\ncalls.append(1)\ncalls.append(2)\n", numpy_setup="calls = []")
    captured: dict[str, Any] = {}
    loop = make_loop(case, "numpy")
    assert loop(3) > 0
    captured.update(
        zip(loop.__code__.co_freevars, (cell.cell_contents for cell in loop.__closure__ or ()), strict=True)
    )
    assert captured["calls"] == [1, 2] * 3


def test_a_case_that_fails_in_one_library_is_measured_in_the_others() -> None:
    case = Case("broken", "lib.no_such_operator()", numpy="np.zeros(2)")
    found = measure_case(case, ["tt", "numpy"], rounds=1, seconds=1e-5)
    assert list(found.microseconds) == ["numpy"]
    assert "no_such_operator" in found.failures["tt"]


def test_a_case_with_a_wrong_value_is_not_measured() -> None:
    case = Case("wrong", "lib.zeros(2)", numpy="np.ones(2, np.float32)")
    found = measure_case(case, ["tt", "numpy"], rounds=1, seconds=1e-5)
    assert found.failures == {"tt": "the value is not that of numpy"}
    assert list(found.microseconds) == ["numpy"]


@pytest.mark.parametrize("library", ["tt", "torch"])
def test_a_custom_operator_computes_what_the_built_in_one_does(library: str) -> None:
    pytest.importorskip(library)
    for case in read_suite("custom_ops").cases:
        if statement_of(case, library, built_in=True):
            own = np.asarray(detached(make_once(case, library)()))
            assert agree(own, np.asarray(detached(make_once(case, library, built_in=True)()))), case.name


def test_the_built_in_statement_takes_its_turns_and_is_no_other_library() -> None:
    (case,) = (case for case in read_suite("custom_ops").cases if case.name == "own add(a, b)")
    found = measure_case(case, ["tt", "numpy"], rounds=1, seconds=1e-5, fastest=True)
    assert list(found.microseconds) == ["tt", "numpy", "tt, built in"]
    assert statement_of(case, "numpy", built_in=True) == ""
    assert found.failures == {}


# --- the report ------------------------------------------------------------------------------------------------


def test_the_mean_of_ratios_is_geometric() -> None:
    assert geometric_mean([0.5, 2.0]) == pytest.approx(1.0)


def test_the_table_shows_times_ratios_means_and_failures() -> None:
    measurements = [
        Measurement("add", {"tt": 0.5, "numpy": 0.25, "torch": 1.0}),
        Measurement("exp", {"numpy": 0.25}, {"tt": "NoKernelError: none"}),
    ]
    assert suite_text("small calls", measurements) == (
        "small calls\n"
        "us                tt  numpy  torch  tt/numpy  tt/torch\n"
        "add             0.50   0.25   1.00      2.00      0.50\n"
        "exp                -   0.25      -         -         -\n"
        "geometric mean                          2.00      0.50\n"
        "exp: tt: NoKernelError: none"
    )


def test_the_built_in_operators_have_a_table_of_their_own() -> None:
    measurements = [
        Measurement("own", {"tt": 0.5, "tt, built in": 0.4, "torch": 8.0, "torch, built in": 1.0}),
        Measurement("alone", {"tt": 0.5}),
    ]
    assert suite_text("custom", measurements).split("\n\n")[1] == (
        "us              tt, built in  torch, built in  tt, ratio  torch, ratio\n"
        "own                     0.40             1.00       1.25          8.00\n"
        "geometric mean                                      1.25          8.00"
    )
    assert suite_dict("custom", measurements)["cases"]["own"]["to_built_in"] == {"tt": 1.25, "torch": 8.0}


def test_two_reports_are_compared_by_their_ratios() -> None:
    before = {"suites": {"s": suite_dict("calls", [Measurement("add", {"tt": 1.0, "torch": 1.0})])}}
    now = {"suites": {"s": suite_dict("calls", [Measurement("add", {"tt": 0.25, "torch": 0.5})])}}
    assert compare_text(before, now) == (
        "ratio to torch, else NumPy  before   now  change\n"
        "add                           1.00  0.50    -50%\n"
        "geometric mean of calls       1.00  0.50    -50%"
    )


def test_the_import_is_measured_in_fresh_interpreters() -> None:
    measure_import = importlib.import_module("benchmarks.import_time").measure_import
    found = measure_import(rounds=1)
    # Which is longer is for the benchmark to say: a machine that is busy decides it here.
    assert found.tt > 0 and found.numpy > 0
    assert found.to_dict()["difference"] == pytest.approx(found.tt - found.numpy)


def test_importing_tt_imports_no_plugin_and_nothing_that_can_wait() -> None:
    measure_import = importlib.import_module("benchmarks.import_time").measure_import
    found = measure_import(rounds=1)
    assert found.plugin_modules == []
    assert found.on_demand_modules == []
