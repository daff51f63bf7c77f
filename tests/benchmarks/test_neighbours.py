"""Processes side by side: both kinds of turns are measured, and the exit status says whether the target is met."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import neighbours as module
from benchmarks.cases import find_case
from benchmarks.neighbours import CASES, TARGET, main, neighbours, neighbours_text


def test_the_cases_are_frozen_ones() -> None:
    assert all(find_case(name).tensor for name in CASES)


@pytest.mark.exhaustive
def test_processes_are_measured_with_one_and_with_several_threads() -> None:
    (found,) = neighbours(["exp(x)"], rounds=1, seconds=0.02)
    assert found["case"] == "exp(x)"
    assert found["one"] > 0 and found["several"] > 0
    assert found["ratio"] == pytest.approx(found["several"] / found["one"])


def test_throughputs_are_a_table() -> None:
    row = {"case": "x + y", "one": 8884.4, "several": 4442.2, "ratio": 0.5}
    assert neighbours_text([row], 2) == (
        "2 processes side by side, calls per second of each  1 thread each  2 threads each  ratio\n"
        "x + y                                                       8,884           4,442   0.50"
    )


@pytest.mark.parametrize(("ratio", "verdict", "status"), [(TARGET, "met", 0), (TARGET - 0.01, "missed", 1)])
def test_a_case_below_the_target_fails(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    ratio: float,
    verdict: str,
    status: int,
) -> None:
    def found(names: Any, **options: Any) -> list[dict[str, Any]]:
        return [{"case": name, "one": 1.0, "several": 1.0, "ratio": ratio} for name in names]

    monkeypatch.setattr(module, "neighbours", found)
    monkeypatch.setattr(module, "set_threads", lambda count: None)
    assert main(["exp(x)"]) == status
    assert capsys.readouterr().out.endswith(f"the least: {ratio:.2f} (exp(x)), target 0.9: {verdict}\n")
