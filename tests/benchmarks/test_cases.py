"""The benchmark cases: they can be read, and every library computes the same in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.cases import (
    Case,
    find_case,
    make_array,
    make_loop,
    make_once,
    read_suite,
    statement_of,
    suite_names,
)
from benchmarks.libraries import to_arrays, unusable
from benchmarks.measure import agree

CASES = [(name, case) for name in suite_names() for case in read_suite(name).cases]


def test_there_are_22_small_calls_41_large_cases_and_6_training_steps() -> None:
    assert [len(read_suite(name).cases) for name in ("small_calls", "large", "training")] == [22, 41, 6]


def test_names_of_cases_are_unique_and_their_groups_exist() -> None:
    names = [case.name for _, case in CASES]
    assert len(names) == len(set(names))
    for name in suite_names():
        suite = read_suite(name)
        assert {case.group for case in suite.cases} == {group.name for group in suite.groups}


@pytest.mark.torch
@pytest.mark.sampled(12)
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("library", ["numpy", "torch", "autograd"])
@pytest.mark.parametrize(("suite", "case"), CASES, ids=[case.name for _, case in CASES])
def test_tt_computes_what_the_peer_computes(suite: str, case: Case, library: str) -> None:
    pytest.importorskip(library)
    if reason := unusable(library):
        pytest.skip(f"{library} computes nothing here: {reason}")
    if not statement_of(case, library):
        pytest.skip("the case has no statement for this library")
    assert agree(case, to_arrays(make_once(case, "tt")()), to_arrays(make_once(case, library)()))


def test_inputs_are_the_same_for_every_library() -> None:
    first = make_array("float32[2,3]", np.random.default_rng(0))
    second = make_array("float32[2,3]", np.random.default_rng(0))
    assert first.shape == (2, 3)
    assert first.dtype == np.float32
    np.testing.assert_array_equal(first, second)
    assert make_array("float32[]", np.random.default_rng(0)).shape == ()
    integers = make_array("int64[1000]", np.random.default_rng(0))
    assert (integers.min(), integers.max()) == (0, 9)
    limited = make_array("int64[1000]<100", np.random.default_rng(0))
    assert 90 < limited.max() < 100
    scaled = make_array("float32[2,3]*0.5", np.random.default_rng(0))
    np.testing.assert_allclose(scaled, first * 0.5)


def test_cases_are_found_by_name() -> None:
    assert find_case("a + b").tensor == "a + b"
    with pytest.raises(KeyError, match="no case is named 'a - b'"):
        find_case("a - b")


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
