"""The published figures: README.md, docs/benchmarks.md and the pictures show the figures of the saved report."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import publish, written
from benchmarks.cases import read_suite
from benchmarks.environment import environment
from benchmarks.publish import RESULTS, ROOT
from benchmarks.records import read_reports, report_name, write_report
from benchmarks.written import BEGIN, END, digest, replace, section


def saved() -> dict[str, dict[str, Any]]:
    return read_reports(RESULTS)


def made(mean: float, worst: float, **parts: Any) -> dict[str, Any]:
    """Return a report of one group with a target of 0.5 and an allowed worst of 1."""
    group = {
        "geometric_mean": {"torch": mean},
        "aim": 0.5,
        "worst": ["slow(x)", worst],
        "worst_allowed": 1.0,
        "noise": 0.01,
    }
    case = {"microseconds": {"tt": 1.0, "torch": 2.0}, "ratio": {"torch": mean}, "group": "calls"}
    suite = {"title": "calls", "cases": {"slow(x)": case}, "groups": {"calls": group}}
    return {"environment": next(iter(saved().values()))["environment"], "suites": {"calls": suite}, **parts}


def test_the_figures_of_the_readme_are_those_of_the_reports() -> None:
    assert section(ROOT / "README.md") == written.readme(saved())


def test_the_figures_of_the_page_are_those_of_the_reports() -> None:
    assert section(ROOT / "docs" / "benchmarks.md") == written.page(saved())


def test_the_reports_hold_all_cases_and_the_conditions() -> None:
    assert saved()
    for report in saved().values():
        assert list(report["suites"]) == list(publish.SUITES + publish.AGAINST_TORCH)
        for name, suite in report["suites"].items():
            assert set(suite["cases"]) == {case.name for case in read_suite(name).cases}
        assert report["environment"]["form"] == "compiled"
        assert {"date", "processor", "threads", "python", "torch", "numpy"} <= set(report["environment"])


def test_reports_are_read_by_instruction_set_the_best_first(tmp_path: Path) -> None:
    for level in ("baseline", "avx2", "avx512", "other"):
        write_report(tmp_path / level, {"environment": {"form": level}, "suites": {}})
    assert [(level, report["environment"]["form"]) for level, report in read_reports(tmp_path).items()] == [
        ("avx512", "avx512"), ("avx2", "avx2"), ("baseline", "baseline"),
    ]  # fmt: skip


def test_each_instruction_set_has_a_column_and_what_misses_its_target_is_bold() -> None:
    text = written.group_table({"avx512": made(0.4, 0.9), "avx2": made(0.6, 1.2)})
    assert text.splitlines() == [
        "| time of tt / time of PyTorch | AVX-512 | AVX2 | target | worst case, AVX-512 | worst case, AVX2 |",
        "|---|---:|---:|---:|---:|---:|",
        "| calls | 0.40 | **0.60** | 0.50 | 0.90 (slow(x)) | **1.20** (slow(x)) |",
    ]


def test_a_suite_has_the_times_of_the_best_and_the_ratios_of_every_instruction_set() -> None:
    text = written.suite_table({"avx512": made(0.4, 0.9), "avx2": made(0.6, 1.2)}, "calls")
    assert text.splitlines() == [
        "| µs, AVX-512 | tt | PyTorch | tt / PyTorch, AVX-512 | tt / PyTorch, AVX2 |",
        "|---|---:|---:|---:|---:|",
        "| `slow(x)` | 1.00 | 2.00 | 0.40 | 0.60 |",
        "| geometric mean, calls |  |  | 0.40 | **0.60** |",
    ]


def test_what_one_report_has_is_taken_from_it() -> None:
    reports = {"avx512": made(0.4, 0.9), "avx2": made(0.6, 1.2, growth={"backward": {}})}
    assert written.part(reports, "growth") == {"backward": {}}
    assert written.part(reports, "memory") is None


def test_modelled_times_are_said_to_be_modelled() -> None:
    program = {
        "case": "m @ n", "operators": 1, "memory_bytes": 2_000_000,
        "measured": {"1": 100.0, "2": 60.0}, "modelled": {"2": 50.0, "4": 25.0},
    }  # fmt: skip
    text = written.scale_part({"operator": 1.5, "gigabytes_a_second": 30.0, "programs": [program]})
    assert "| µs | operators | MB | 1 thread | 2 threads | modelled, 2 cores | modelled, 4 cores |" in text
    assert "| `m @ n` | 1 | 2 | 100 | 60.0 | 50.0 | 25.0 |" in text
    assert "**modelled, not measured**" in text


def test_cold_starts_have_their_targets() -> None:
    steps = [{"name": "import tt", "milliseconds": 50.0}, {"name": "first backward", "milliseconds": 151.0}]
    text = written.cold_part(
        {"steps": steps, "further": 90.0, "commands": {"--help": 300.0, "ops list": 100.0}}
    )
    assert text.splitlines()[:7] == [
        "|  | time | target |",
        "|---|---:|---:|",
        "| to the end of: import tt | 50 ms | - |",
        "| to the end of: first backward | **151 ms** | 150 ms |",
        "| first call of a further operator of a loaded family | 90 µs | 150 µs |",
        "| `tt --help` | **300 ms** | 250 ms |",
        "| `tt ops list` | 100 ms | 600 ms |",
    ]


def test_drawing_again_gives_the_same(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    first = next(iter(saved().values()))
    for level in ("avx512", "avx2"):
        write_report(tmp_path / level, first)
    before = section(ROOT / "README.md")
    assert publish.main(["--draw", "--to", str(tmp_path)]) == 0
    svg = (tmp_path / "benchmarks.svg").read_text(encoding="utf-8")
    assert f"report {digest({'avx512': first, 'avx2': first})}" in svg
    assert (tmp_path / "benchmarks.png").read_bytes().startswith(b"\x89PNG")
    assert section(ROOT / "README.md") == before  # untouched without --readme


def test_without_matplotlib_there_is_no_picture_and_a_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = next(iter(saved().values()))
    write_report(tmp_path / "avx2", first)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert publish.main(["--draw", "--to", str(tmp_path)]) == 0
    assert capsys.readouterr().out.endswith(f"{tmp_path}: avx2; no picture: matplotlib is not installed\n")
    assert [path.name for path in tmp_path.iterdir()] == ["avx2"]


def test_the_instruction_sets_of_the_processor_are_measured_but_for_the_baseline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def found(words: str) -> list[str]:
        done = subprocess.CompletedProcess([], 0, f"{words}\n", "")
        monkeypatch.setattr(publish.subprocess, "run", lambda *args, **kwargs: done)
        return publish.usable_levels()

    assert found("baseline avx2 avx512") == ["avx512", "avx2"]
    assert found("baseline avx2") == ["avx2"]
    assert found("baseline") == ["baseline"]
    assert found("") == [""]  # no native kernels: no instruction set to choose


@pytest.mark.parametrize("how", ["--short", "--busy"])
def test_rough_figures_are_not_published_beside_others(how: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        publish.main(["--suite", "programs", "--readme", how])
    assert (
        "figures of short turns, or of a busy machine, are not published beside others"
        in capsys.readouterr().err
    )


def test_suites_that_are_measured_again_replace_their_figures_and_say_so() -> None:
    before, found = made(0.4, 0.9), made(0.3, 0.8)
    before["suites"]["others"] = {**before["suites"]["calls"], "title": "other calls"}
    found["environment"] = {**found["environment"], "date": "2027-01-01", "commit": "abc"}
    merged = publish.merged(before, found)
    assert merged["suites"] == {**found["suites"], "others": before["suites"]["others"]}
    assert merged["environment"] == before["environment"]
    assert merged["again"] == {"calls": "2027-01-01, tt at abc"}
    again = {**merged, "again": {**merged["again"], "cold": "2027-01-02, tt at abd"}}
    assert written.when({"avx2": again}).endswith(
        ". Measured later, AVX2: calls (2027-01-01, tt at abc)."
        " Measured later, AVX2: cold starts (2027-01-02, tt at abd)"
    )


def test_figures_of_another_machine_are_not_mixed() -> None:
    before = {"avx2": made(0.4, 0.9)}
    now = before["avx2"]["environment"]
    publish.check_machine(before, {**now, "date": "2027-01-01", "commit": "abc"})
    with pytest.raises(
        SystemExit, match=r"were measured elsewhere \(threads: 2, now 64\); measure everything"
    ):
        publish.check_machine(before, {**now, "threads": "64"})


@pytest.mark.exhaustive
@pytest.mark.torch
def test_a_short_run_writes_a_report_for_each_instruction_set(tmp_path: Path) -> None:
    words = ["-m", "benchmarks.publish", "--short", "--suite", "programs", "--to", str(tmp_path)]
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    levels = publish.usable_levels()
    reports = read_reports(tmp_path)
    assert list(reports) == levels
    for level, report in reports.items():
        assert report["environment"]["instruction set"] == (level or "the best of the processor")
        assert list(report["suites"]) == ["programs"]
        assert (tmp_path / publish.tables_name(level)).read_text(encoding="utf-8")
    assert "measuring: {0}/{0}".format(2 * len(levels)) in done.stderr


@pytest.mark.exhaustive
def test_a_part_is_measured_beside_what_is_there(tmp_path: Path) -> None:
    (level, *_) = publish.usable_levels()
    now = environment(["tt", "torch", "numpy"], len(os.sched_getaffinity(0)))
    write_report(tmp_path / report_name(level), {"environment": now, "suites": {}, "memory": {}})
    words = ["-m", "benchmarks.publish", "--short", "--part", "cold", "--to", str(tmp_path)]
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "measuring: 1/1" in done.stderr, done.stderr
    report = read_reports(tmp_path)[level]
    assert report["suites"] == {} and report["memory"] == {}
    assert report["cold"]["further"] > 0 and list(report["again"]) == ["cold"]


def test_every_part_has_a_place_on_the_page() -> None:
    found = saved()
    assert all(written.part(found, name) is not None for name in publish.PARTS)


def test_there_is_nothing_to_draw_without_a_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        publish.main(["--draw", "--to", str(tmp_path)])
    assert "no report in" in capsys.readouterr().err


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
