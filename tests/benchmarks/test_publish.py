"""The published figures: README.md, docs/benchmarks.md and the pictures show the figures of the saved report."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks import publish, written
from benchmarks.cases import read_suite
from benchmarks.publish import RESULTS, ROOT
from benchmarks.written import BEGIN, END, digest, replace, section


def saved() -> dict[str, Any]:
    report: dict[str, Any] = json.loads((RESULTS / "report.json").read_text(encoding="utf-8"))
    return report


def test_the_figures_of_the_readme_are_those_of_the_report() -> None:
    assert section(ROOT / "README.md") == written.readme(saved())


def test_the_figures_of_the_page_are_those_of_the_report() -> None:
    assert section(ROOT / "docs" / "benchmarks.md") == written.page(saved())


def test_the_report_holds_all_cases_and_the_conditions() -> None:
    report = saved()
    assert list(report["suites"]) == list(publish.SUITES)
    for name, suite in report["suites"].items():
        assert set(suite["cases"]) == {case.name for case in read_suite(name).cases}
    assert report["environment"]["form"] == "compiled"
    assert {"date", "processor", "threads", "python", "torch", "numpy"} <= set(report["environment"])


def test_drawing_again_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    report = saved()
    (tmp_path / "report.json").write_text(json.dumps(report), encoding="utf-8")
    assert publish.main(["--draw", "--to", str(tmp_path)]) == 0
    svg = (tmp_path / "benchmarks.svg").read_text(encoding="utf-8")
    assert f"report {digest(report)}" in svg
    assert (tmp_path / "benchmarks.png").read_bytes().startswith(b"\x89PNG")
    assert section(ROOT / "README.md") == written.readme(report)  # untouched without --readme


def test_without_matplotlib_there_is_no_picture_and_a_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "report.json").write_text(json.dumps(saved()), encoding="utf-8")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert publish.main(["--draw", "--to", str(tmp_path)]) == 0
    assert capsys.readouterr().out.endswith(
        f"{tmp_path}: report.json, tables.txt; no picture: matplotlib is not installed\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_there_is_nothing_to_draw_without_a_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        publish.main(["--draw", "--to", str(tmp_path)])
    assert "no report at" in capsys.readouterr().err


def test_a_section_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    replace(file, "new")
    assert file.read_text(encoding="utf-8") == f"before\n{BEGIN}\nnew\n{END}\nafter\n"
    assert section(file) == "new"


def test_a_file_without_a_section_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text("nothing", encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(f"no section between {BEGIN}")):
        replace(file, "new")
