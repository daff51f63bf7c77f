"""Timing a case: in turns, with the same values, and what failed."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.cases import Case, read_suite, statement_of
from benchmarks.libraries import unusable
from benchmarks.measure import Measurement, agree, check_case, geometric_mean, measure_case, ratio_of
from benchmarks.turns import Here


def test_a_case_that_fails_in_one_library_is_measured_in_the_others() -> None:
    case = Case("broken", "lib.no_such_operator()", numpy="np.zeros(2)")
    found = measure_case(case, ["tt", "numpy"], rounds=1, seconds=1e-5)
    assert list(found.samples) == ["numpy"]
    assert "no_such_operator" in found.failures["tt"]


def test_a_case_with_a_wrong_value_is_not_measured() -> None:
    case = Case("wrong", "lib.zeros(2)", numpy="np.ones(2, np.float32)")
    found = measure_case(case, ["tt", "numpy"], rounds=1, seconds=1e-5)
    assert found.failures == {"tt": "the value is not that of numpy"}
    assert list(found.samples) == ["numpy"]


@pytest.mark.torch
@pytest.mark.parametrize("library", ["tt", "torch"])
def test_a_custom_operator_computes_what_the_built_in_one_does(library: str) -> None:
    pytest.importorskip(library)
    for case in read_suite("custom_ops").cases:
        found, sound = check_case(case, [library])
        assert found.failures == {}, case.name
        assert (f"{library}, built in" in sound) == bool(statement_of(case, library, built_in=True))


def test_another_value_than_that_of_the_built_in_operator_is_a_failure() -> None:
    found, sound = check_case(Case("wrong", "lib.zeros(2)", built_in="lib.ones(2)"), ["tt"])
    assert found.failures == {"tt": "the value is not that of the built-in operator"}
    assert sound == []


def test_the_built_in_statement_takes_its_turns_and_is_no_other_library() -> None:
    (case,) = (case for case in read_suite("custom_ops").cases if case.name == "own add(a, b)")
    found = measure_case(case, ["tt", "numpy"], rounds=1, seconds=1e-5, busy=True)
    assert list(found.samples) == ["tt", "numpy", "tt, built in"]
    assert statement_of(case, "numpy", built_in=True) == ""
    assert found.failures == {}


def test_rounds_are_added_while_the_ratio_is_noisy_up_to_three_times_as_many() -> None:
    case = Case("noisy", "calls()", numpy="calls()", setup="", numpy_setup="")
    noisy = "import random, time\ndef calls():\n    time.sleep(random.choice([1e-5, 1e-3]))\n    return 0"
    case = Case("noisy", "calls()", numpy="calls()", setup=noisy, numpy_setup=noisy)
    found = measure_case(case, ["tt", "numpy"], rounds=3, seconds=1e-5)
    assert 3 <= len(found.samples["tt"]) <= 9


@pytest.mark.parametrize("busy", [False, True])
def test_a_turn_begins_when_the_threads_of_the_one_before_are_at_rest(busy: bool, monkeypatch) -> None:
    steps: list[str] = []
    turn = Here.turn

    def noted(here: Here, built_in: bool, count: int) -> float:
        steps.append(here.library)
        return turn(here, built_in, count)

    monkeypatch.setattr(Here, "turn", noted)
    monkeypatch.setattr(Here, "rest", lambda here: steps.append("rest"))
    measure_case(Case("calls", "0", numpy="0"), ["tt", "numpy"], rounds=1, seconds=1e-5, busy=busy)
    of_both = (["tt"], ["numpy"]) if busy else (["tt", "tt", "rest"], ["numpy", "numpy", "rest"])
    first = ["rest", "rest", *of_both[0], *of_both[1]]
    assert steps[: len(first)] == first


def test_an_unknown_library_is_refused() -> None:
    with pytest.raises(ValueError, match="no cases are written for jaxx"):
        measure_case(Case("any", "0"), ["tt", "jaxx"], rounds=1, seconds=1e-5)


def test_a_library_that_is_there_is_usable() -> None:
    assert unusable("tt") == unusable("numpy") == ""


# --- ratios ---


def test_the_mean_of_ratios_is_geometric() -> None:
    assert geometric_mean([0.5, 2.0]) == pytest.approx(1.0)


def test_a_ratio_is_the_median_of_the_rounds_and_not_moved_by_an_interrupted_one() -> None:
    found = ratio_of([1.0, 2.0, 1.0, 50.0, 1.0], [2.0, 4.0, 2.0, 2.0, 2.0])
    assert found.value == 0.5
    assert found.noise == 0.0


def test_the_noise_is_the_standard_error_of_the_median() -> None:
    random = np.random.default_rng(0)
    medians, errors = [], []
    for _ in range(200):
        left = random.normal(1.0, 0.1, 25)
        found = ratio_of(list(left), [1.0] * 25)
        medians.append(found.value)
        errors.append(found.noise)
    assert np.mean(errors) == pytest.approx(np.std(medians), rel=0.2)


def test_a_library_without_turns_has_no_ratio() -> None:
    assert Measurement("add", {"tt": [1.0]}).ratio("torch") is None
    assert Measurement("add", {"tt": [1.0]}).noise == 0.0


# --- values ---


def test_values_are_compared_with_the_tolerance_of_the_case() -> None:
    one, other = np.array([1.0, 100.0]), np.array([1.0 + 5e-3, 100.0])
    assert agree(Case("", "", tolerance=1e-4), [one], [other])
    assert not agree(Case("", "", tolerance=1e-5), [one], [other])
    assert not agree(Case("", ""), [one], [one.astype(np.float32)])
    assert not agree(Case("", ""), [one], [one, one])
    assert not agree(Case("", ""), [np.array([1, 2])], [np.array([1, 3])])


def test_random_numbers_are_compared_by_their_distribution() -> None:
    case, random = Case("", "", check="distribution"), np.random.default_rng(0)
    normal = random.standard_normal(10000)
    assert agree(case, [normal], [random.standard_normal(10000)])
    assert not agree(case, [normal], [random.standard_normal(10000) + 0.2])
    assert not agree(case, [normal], [random.standard_normal(10000) * 1.2])
    assert not agree(case, [normal], [normal[:100]])
