"""Time by cores: what a program does is counted, more cores are modelled, and tables say which is which."""

from __future__ import annotations

import pytest

import tt
from benchmarks.cases import find_case
from benchmarks.scale import FROZEN, MODELLED, Work, last_cache, modelled, scale, scale_text, work_of


def test_the_cases_are_frozen_ones() -> None:
    assert all(find_case(name).tensor for name in FROZEN)


def test_operators_and_the_bytes_beyond_the_cache_are_counted() -> None:
    large, small = tt.ones(1000), tt.ones(10)
    assert work_of(lambda: large + large, cache=11_999) == Work(1, 12_000)
    assert work_of(lambda: large + large, cache=12_000) == Work(1, 0)
    assert work_of(lambda: (small + small, large * 2.0), cache=1000) == Work(2, 8000)


def test_views_move_nothing() -> None:
    large = tt.ones(10, 100)
    assert work_of(lambda: large.t(), cache=0).memory_bytes == 0


def test_a_backward_pass_counts() -> None:
    leaf = tt.ones(3, requires_grad=True)
    assert (
        work_of(lambda: (leaf * 2.0).sum().backward(), 0).operators
        > work_of(lambda: (leaf * 2.0).sum(), 0).operators
    )


def test_arithmetic_is_divided_operators_are_not_and_memory_is_a_floor() -> None:
    model = {"operator": 1.0, "bandwidth": 100.0}
    assert modelled(100.0, Work(0, 0), 4, **model) == 25.0
    assert modelled(100.0, Work(20, 0), 4, **model) == 40.0
    assert modelled(100.0, Work(0, 8000), 4, **model) == 80.0
    assert modelled(100.0, Work(500, 0), 4, **model) == 100.0  # never longer than with one core


def test_the_processor_has_a_cache() -> None:
    assert last_cache() >= 2**18


@pytest.mark.exhaustive
def test_programs_are_measured_as_far_as_there_are_cores_and_modelled_beyond() -> None:
    before = tt.get_num_threads()
    found = scale(2, rounds=1, seconds=0.001, short=True)
    assert tt.get_num_threads() == before
    for program in found["programs"]:
        assert list(program["measured"]) == ["1", "2"]
        assert list(program["modelled"]) == [str(count) for count in MODELLED]
        assert all(value > 0 for value in (*program["measured"].values(), *program["modelled"].values()))
    assert "1 thread  2 threads  model, 2 cores  model, 4 cores" in scale_text(found)
