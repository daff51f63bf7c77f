"""Counting instructions: reading callgrind's output, comparing with the committed figures, and without valgrind."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from benchmarks import instructions
from benchmarks.cases import find_case
from benchmarks.instructions import CASES, FIGURES, Count, UnavailableError, compare, read_part, table

PART = """\
# callgrind format
version: 1
positions: line
events: Ir

ob=(1) /usr/lib/libpython.so
fl=(1) ceval.c
fn=(1) evaluate
10 100
+3 20
cfn=(2) add
calls=500 40
+1 3000
fn=(2)
40 2000
* 500
fn=(3) multiply'2
12 7

totals: 2627
"""


def committed(**changes: object) -> dict[str, object]:
    return {"conditions": {"python": "3.11"}, "tolerance": 0.03, "instructions": {"a + b": 1000}} | changes


@pytest.mark.parametrize(
    "name", ["malloc", "_int_free", "unlink_chunk.constprop.0", "free'2", "malloc_consolidate"]
)
def test_what_the_allocator_does_is_left_out(name):
    assert instructions.is_allocator(name)


@pytest.mark.parametrize("name", ["_PyObject_Free", "tt_free_blocks", "PyMem_Malloc", "multiply_f32"])
def test_what_others_do_counts(name):
    assert not instructions.is_allocator(name)


def test_the_cost_of_a_function_is_its_own(tmp_path: Path) -> None:
    file = tmp_path / "part"
    file.write_text(PART, encoding="utf-8")
    found = read_part(file)
    assert found == Counter({"evaluate": 120, "add": 2500, "multiply'2": 7})
    assert found.total() == 2627  # what callgrind itself has counted


def test_a_case_that_costs_more_than_the_tolerance_is_named() -> None:
    assert compare({"a + b": 1029.0}, committed(), {"python": "3.11"}) == []
    assert compare({"a + b": 500.0}, committed(), {"python": "3.11"}) == []
    assert compare({"a + b": 1100.0}, committed(), {"python": "3.11"}) == [
        "a + b: 1100 instructions, committed are 1000 (+10.0%; allowed are +3%)"
    ]


def test_figures_of_another_python_are_not_compared() -> None:
    with pytest.raises(UnavailableError, match=r"figures are of python '3.11', here it is '3.12'"):
        compare({"a + b": 5000.0}, committed(), {"python": "3.12"})


def test_the_table_shows_the_change() -> None:
    counts = [Count("a + b", 990.0, Counter()), Count("v[3]", 20.0, Counter())]
    assert table(counts, committed()) == (
        "instructions  a call  committed  change\n"
        "a + b            990       1000   -1.0%\n"
        "v[3]              20          -       -"
    )


def test_the_committed_figures_are_of_the_cases_that_are_counted() -> None:
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    assert list(figures["instructions"]) == list(CASES)
    assert figures["tolerance"] == instructions.TOLERANCE
    assert all(find_case(case).name == case for case in CASES)


def test_without_valgrind_the_check_says_so_and_succeeds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(instructions, "conditions", lambda: json.loads(FIGURES.read_text())["conditions"])
    assert instructions.main(["--check"]) == 0
    assert capsys.readouterr().out == "instructions are not counted: valgrind is not installed\n"
    assert instructions.main([]) == 2


def test_an_unknown_case_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        instructions.main(["a ++ b"])
    assert "no case is named 'a ++ b'; there are: " in capsys.readouterr().err
