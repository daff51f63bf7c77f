"""Measures everything, and writes it down: `python -m benchmarks.publish`, or `make bench`.

The suites run once for each instruction set that the processor has, with all libraries held to it; the rest is measured
with the best one.  Into a folder go the reports (folders of CSV files) and tables (text) of each instruction set, and
the picture (PNG and SVG).  With `--readme`, reports go to benchmarks/results, what is not committed, tables and the
picture, to build/benchmarks, and the sections of README.md and docs/benchmarks.md that hold figures are written again;
a test compares them with the reports.  `--draw` measures nothing and writes the same from the reports that are there.
`--suite` and `--part` measure some again on the same machine and keep the other figures; the page says which.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import written
from benchmarks.cases import read_suite
from benchmarks.environment import environment
from benchmarks.levels import TITLES, hold_to
from benchmarks.libraries import set_threads
from benchmarks.parts import PARTS, measure_parts
from benchmarks.records import has_report, read_report, read_reports, report_name, write_report

__all__ = ["PARTS", "RESULTS", "main"]

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
BUILT = ROOT / "build" / "benchmarks"
SUITES = ("small_calls", "training", "large", "sparse", "programs", "custom_ops")
AGAINST_TORCH = (
    "products",
    "convolutions",
    "attention",
    "moves",
    "decompositions",
    "equations",
    "networks",
    "recurrent",
    "modules",
    "optimizers",
)
"""Suites with many and long cases, which run with PyTorch as the only peer."""
CONDITIONS = ("processor", "cores", "threads", "clock", "system", "python", "torch", "numpy", "form")
"""What must be the same where figures of several runs stand side by side."""
STEP = re.compile(r"^.*: (\d+)/\d+ (.*)$")
"""A line of the suites' progress."""

Step = Callable[[int, str], None]


def tables_name(level: str) -> str:
    """Return the name of the file of an instruction set's tables."""
    return f"tables-{level}.txt" if level else "tables.txt"


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.publish", description=(__doc__ or "").split("\n\n")[1]
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--to", type=Path, default=BUILT, help="the folder (%(default)s)")
    where.add_argument(
        "--readme", action="store_true", help="write benchmarks/results, README.md and docs/benchmarks.md"
    )
    parser.add_argument(
        "--draw", action="store_true", help="measure nothing: write from the reports that are there"
    )
    parser.add_argument(
        "--isa",
        action="append",
        choices=tuple(TITLES),
        help="measure this instruction set, and keep the reports of others (default: those above the baseline that "
        "the processor has)",
    )
    parser.add_argument("--busy", action="store_true", help="one thread, and the processor's time of it")
    parser.add_argument(
        "--short", action="store_true", help="few and short turns: to see that it runs, not for figures"
    )
    parser.add_argument(
        "--suite",
        action="append",
        choices=SUITES + AGAINST_TORCH,
        help="only this suite; the reports of the folder keep the others",
    )
    parser.add_argument(
        "--part",
        action="append",
        choices=tuple(PARTS),
        help="only this part, of those that are measured with one instruction set; the reports keep the others",
    )
    parsed = parser.parse_args(words)
    if parsed.readme:
        parsed.to = RESULTS
    parsed.some = bool(parsed.suite or parsed.part)
    if parsed.some and parsed.readme and (parsed.short or parsed.busy):
        parser.error("figures of short turns, or of a busy machine, are not published beside others")
    if parsed.draw and not read_reports(parsed.to):
        parser.error(f"no report in {parsed.to}")
    return parsed


def main(words: list[str] | None = None) -> int:
    """Measure, or read the reports, and write everything that follows from them."""
    options = arguments(words)
    options.to.mkdir(parents=True, exist_ok=True)
    status = 0
    if not options.draw:
        status = measure(options)
    reports = read_reports(options.to)
    drawn = draw(reports, BUILT if options.readme else options.to)
    if options.readme:
        written.replace(ROOT / "README.md", written.readme(reports))
        written.replace(ROOT / "docs" / "benchmarks.md", written.page(reports))
    names = ", ".join(report_name(level) for level in reports)
    print(f"\n{written.summary(reports)}\n\n{options.to}: {names}{drawn}")
    return status


def draw(reports: dict[str, dict[str, Any]], folder: Path) -> str:
    """Draw the picture if matplotlib is there; return the names of the files, or why there are none."""
    if importlib.util.find_spec("matplotlib") is None:
        return "; no picture: matplotlib is not installed"
    if written.part(reports, "growth") is None:
        return "; no picture: the reports lack the curves, which --part growth measures"
    from benchmarks.picture import draw_report

    folder.mkdir(parents=True, exist_ok=True)
    return "".join(f", {path.name}" for path in draw_report(reports, folder))


# --- measuring ---


def usable_levels() -> list[str]:
    """Return the instruction sets to measure, the best first: the processor's; the baseline if it has no other."""
    program = "from tt.backends.cpu.native.loading import levels; print(*levels().usable)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    usable = done.stdout.split()
    return [
        level for level in TITLES if level in usable and (level != "baseline" or usable == ["baseline"])
    ] or [""]


def measure(options: argparse.Namespace) -> int:
    """Measure everything, write the reports and the tables, and return the exit status of the suites."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = 1 if options.busy else cores
    set_threads(threads)  # before anything imports NumPy, here and in every process
    levels = options.isa or usable_levels()
    if options.isa:
        hold_to(levels[0])
    from tt.cli.output import progress

    chosen = tuple(options.suite or (() if options.some else SUITES + AGAINST_TORCH))
    also = tuple(options.part or (() if options.some else PARTS))
    cases = sum(len(read_suite(name).cases) for name in chosen)
    kept = read_reports(options.to) if options.some else {}
    check_machine(kept, environment(["tt", "torch", "numpy"], threads, busy=options.busy))
    tables = BUILT if options.readme else options.to
    tables.mkdir(parents=True, exist_ok=True)
    status, total = 0, len(levels) * cases
    with progress("measuring", total + len(also), lines=20) as step:
        for number, level in enumerate(levels if chosen else ()):
            title = TITLES.get(level, "all")

            def show(done: int, note: str, before: int = number * cases, title: str = title) -> None:
                step(before + done, f"{title}: {note}")

            report, text, failed = level_report(options, level, chosen, show)
            kept[level] = merged(kept.get(level), report)
            write_report(options.to / report_name(level), kept[level])  # kept if what follows is interrupted
            (tables / tables_name(level)).write_text(f"{text.strip()}\n", encoding="utf-8")
            status = status or failed
        if also:
            now = environment(["tt"], threads, busy=options.busy, level=levels[0])
            report = kept.setdefault(levels[0], {"environment": now, "suites": {}})
            measured, text = measure_parts(
                also, threads, options, lambda done, note: step(total + done, note)
            )
            again = {name: stamp(now) for name in also} if options.some else {}
            report.update(measured, again={**report.get("again", {}), **again})
            write_report(options.to / report_name(levels[0]), report)
            with (tables / tables_name(levels[0])).open("a", encoding="utf-8") as file:
                file.write(f"\n{text}\n")
    for level in () if options.isa or options.some else (*TITLES, ""):  # of what another processor had
        if level not in kept:
            shutil.rmtree(options.to / report_name(level), ignore_errors=True)
    return status


def check_machine(kept: dict[str, dict[str, Any]], now: dict[str, str]) -> None:
    """Refuse, before anything is measured, to add to figures of another machine or of other versions.

    Raises
    ------
    SystemExit
        When there are such figures.
    """
    for report in kept.values():
        before = report["environment"]
        differing = [name for name in CONDITIONS if before.get(name) != now.get(name)]
        if differing:
            what = "; ".join(f"{name}: {before.get(name)}, now {now.get(name)}" for name in differing)
            raise SystemExit(
                f"the figures that are kept were measured elsewhere ({what}); measure everything"
            )


def merged(before: dict[str, Any] | None, found: dict[str, Any]) -> dict[str, Any]:
    """Return the report that was there with the suites that were measured again."""
    if before is None:
        return found
    again = {**before.get("again", {}), **dict.fromkeys(found["suites"], stamp(found["environment"]))}
    return {**before, "suites": before["suites"] | found["suites"], "again": again}


def stamp(conditions: dict[str, str]) -> str:
    """Return when and of which commit something was measured."""
    return f"{conditions['date']}, tt at {conditions['commit']}"


def level_report(
    options: argparse.Namespace, level: str, chosen: tuple[str, ...], step: Step
) -> tuple[dict[str, Any], str, int]:
    """Run the suites of an instruction set: those with every peer, then those with PyTorch alone."""
    report: dict[str, Any] = {}
    text, status, done = "", 0, 0
    for among, alone in ((SUITES, False), (AGAINST_TORCH, True)):
        names = tuple(name for name in chosen if name in among)
        if not names:
            continue

        def show(count: int, note: str, before: int = done) -> None:
            step(before + count, note)

        part, printed, failed = suites(suite_words(options, level, names, alone), show)
        report = {**part, **report, "suites": report.get("suites", {}) | part["suites"]}
        text, status = f"{text}\n\n{printed}", status or failed
        done += sum(len(read_suite(name).cases) for name in names)
    return report, text, status


def suite_words(options: argparse.Namespace, level: str, names: tuple[str, ...], alone: bool) -> list[str]:
    """Return the options of benchmarks.run for suites and an instruction set."""
    words = [*names, "--each", *(["--isa", level] if level else [])]
    if alone:
        words += ["--peers", "torch"]
    if options.short:
        words += ["--rounds", "2", "--seconds", "0.0005"]
    else:
        words += ["--rounds", "5"]
    return [*words, "--busy"] if options.busy else words


def suites(words: list[str], step: Step) -> tuple[dict[str, Any], str, int]:
    """Run suites in a separate process; return their report, output and exit status."""
    with tempfile.TemporaryDirectory(prefix="tt-bench-") as folder:
        saved, output = Path(folder, "report"), Path(folder, "output.txt")
        command = [sys.executable, "-m", "benchmarks.run", *words, "--save", str(saved)]
        before = last = 0
        with (
            output.open("w", encoding="utf-8") as stdout,
            subprocess.Popen(command, cwd=ROOT, stdout=stdout, stderr=subprocess.PIPE, text=True) as run,
        ):
            assert run.stderr is not None
            for line in run.stderr:
                match = STEP.match(line)
                if match is None:
                    sys.stderr.write(line)
                    continue
                if int(match[1]) < last:  # the next suite
                    before += last
                last = int(match[1])
                step(before + last, match[2])
        text = output.read_text(encoding="utf-8")
        print(text, flush=True)
        if not has_report(saved):
            raise SystemExit(run.returncode or 1)
        return read_report(saved), text, run.returncode


if __name__ == "__main__":
    sys.exit(main())
