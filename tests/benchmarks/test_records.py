"""Reports as folders of CSV files: what is written is read again, and the saved ones have one row a case."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from benchmarks.publish import RESULTS
from benchmarks.records import has_report, read_report, read_reports, write_report

FILES = sorted(RESULTS.glob("*/*.csv"))
CASE: dict[str, Any] = {
    "group": "calls",
    "microseconds": {"tt": 1.5, "torch, built in": 2.0},
    "ratio": {"torch": 0.75},
    "noise": {"torch": 0.01},
    "rounds": 5,
    "failures": {"jax": 'TypeError: "x", y\nand more'},
}
GROUP = {
    "geometric_mean": {"torch": 0.75}, "noise": 0.01, "aim": None, "worst": ["a + b", 0.75], "worst_allowed": 1.0,
}  # fmt: skip
REPORT: dict[str, Any] = {
    "environment": {"date": "2027-01-01", "form": "compiled"},
    "suites": {"calls": {"title": "calls", "cases": {"a + b": CASE}, "groups": {"calls": GROUP}}},
    "scale": {
        "operator": 1.25,
        "programs": [
            {"case": "x / y ~ z", "measured": {"1": 2.0}},
            {"case": "exp(x)", "measured": {"1": 3.0}},
        ],
        "ratios": {"x / y ~ z": {"tt": 3}, "exp(x)": {"tt": 1e-07}},
        "names": ["a", "b"],
        "none": [],
        "nothing": {},
    },
    "neighbours": [{"case": "exp(x)", "one": 1.0}],
    "again": {"calls": "2027-01-02, tt at abc", "scale": "2027-01-03, tt at abd"},
}


def test_a_report_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_report(tmp_path / "avx2", REPORT)
    assert read_report(tmp_path / "avx2") == REPORT
    assert read_reports(tmp_path) == {"avx2": REPORT}


def test_a_part_that_a_report_lacks_is_removed(tmp_path: Path) -> None:
    write_report(tmp_path, REPORT)
    write_report(tmp_path, {"environment": {"form": "native"}, "suites": {}})
    assert read_report(tmp_path) == {"environment": {"form": "native"}, "suites": {}}
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["cases", "environment", "groups", "suites"]


def test_a_folder_without_the_conditions_is_no_report(tmp_path: Path) -> None:
    assert not has_report(tmp_path) and not has_report(tmp_path / "absent")
    assert read_reports(tmp_path) == {}


def test_a_row_of_another_length_is_refused(tmp_path: Path) -> None:
    write_report(tmp_path, REPORT)
    (tmp_path / "cases.csv").write_text("suite,case\ncalls\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"cases\.csv: 1 cells, and 2 columns: \['calls'\]"):
        read_report(tmp_path)


# --- the saved reports ---


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_a_saved_file_has_one_row_a_case_and_no_cell_beyond_its_columns(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    header, *rows = csv.reader(text.splitlines())
    assert len(text.splitlines()) == 1 + len(rows) and rows
    assert len(set(header)) == len(header)
    assert all(len(row) == len(header) for row in rows)
    keys = {"cases": ("suite", "case"), "groups": ("suite", "group"), "suites": ("suite",)}
    columns = [header.index(name) for name in keys.get(file.stem, (header[0],))]
    assert len({tuple(row[column] for column in columns) for row in rows}) == len(rows)


@pytest.mark.parametrize("folder", sorted({file.parent for file in FILES}), ids=lambda folder: folder.name)
def test_a_saved_report_is_what_it_would_be_written_as(folder: Path, tmp_path: Path) -> None:
    write_report(tmp_path, read_report(folder))
    saved = {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir()}
    written = {file.name: file.read_text(encoding="utf-8") for file in tmp_path.iterdir()}
    assert saved == written
