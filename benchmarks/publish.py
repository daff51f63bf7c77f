"""Measures everything, and writes it down: `python -m benchmarks.publish`, or `make bench`.

The suites run once for each instruction set that the processor has, with all libraries held to it; the rest is measured
with the best one.  Into a folder go the reports (JSON) and tables (text) of each instruction set, and the picture (PNG
and SVG).  With `--readme`, reports and tables go to benchmarks/results, the picture, which is not committed, to
build/benchmarks, and the sections of README.md and docs/benchmarks.md that hold figures are written again; a test
compares them with the reports.  `--draw` measures nothing and writes the same from the reports that are there.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks import written
from benchmarks.cases import read_suite
from benchmarks.levels import TITLES, hold_to
from benchmarks.libraries import installed, set_threads, unusable

__all__ = ["RESULTS", "main", "read_reports"]

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
PARTS = ("curves", "cores", "processes side by side", "memory", "import", "instructions")
STEP = re.compile(r"^.*: (\d+)/\d+ (.*)$")
"""A line of the suites' progress."""

Step = Callable[[int, str], None]


def report_name(level: str) -> str:
    """Return the name of the file of an instruction set's report; there is none where no kernels are compiled."""
    return f"report-{level}.json" if level else "report.json"


def tables_name(level: str) -> str:
    """Return the name of the file of an instruction set's tables."""
    return f"tables-{level}.txt" if level else "tables.txt"


def read_reports(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the reports of a folder by instruction set, the best first."""
    files = {level: folder / report_name(level) for level in (*TITLES, "")}
    return {
        level: json.loads(file.read_text(encoding="utf-8")) for level, file in files.items() if file.exists()
    }


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
        "--suite", action="append", choices=SUITES + AGAINST_TORCH, help="with --short: only this suite"
    )
    parsed = parser.parse_args(words)
    if parsed.readme:
        parsed.to = RESULTS
    if parsed.suite and not parsed.short:
        parser.error("figures of some suites are not published; python -m benchmarks.run measures them")
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
    names = ", ".join(name for level in reports for name in (report_name(level), tables_name(level)))
    print(f"\n{written.summary(reports)}\n\n{options.to}: {names}{drawn}")
    return status


def draw(reports: dict[str, dict[str, Any]], folder: Path) -> str:
    """Draw the picture if matplotlib is there; return the names of the files, or why there are none."""
    if importlib.util.find_spec("matplotlib") is None:
        return "; no picture: matplotlib is not installed"
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
    found = done.stdout.split()
    return [
        level for level in TITLES if level in found and (level != "baseline" or found == ["baseline"])
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

    chosen = options.suite or SUITES + AGAINST_TORCH
    cases = sum(len(read_suite(name).cases) for name in chosen)
    status, reports, tables = 0, {}, {}
    with progress("measuring", len(levels) * cases + len(PARTS), lines=20) as step:
        for number, level in enumerate(levels):
            title = TITLES.get(level, "all")

            def show(done: int, note: str, before: int = number * cases, title: str = title) -> None:
                step(before + done, f"{title}: {note}")

            reports[level], tables[level], failed = level_report(options, level, chosen, show)
            write(options.to, level, reports[level], tables[level])  # kept if what follows is interrupted
            status = status or failed
        parts(
            reports[levels[0]],
            tables,
            levels[0],
            options,
            lambda done, note: step(len(levels) * cases + done, note),
        )
    for level in () if options.isa else (*TITLES, ""):  # of what another processor had
        if level not in reports:
            (options.to / report_name(level)).unlink(missing_ok=True)
            (options.to / tables_name(level)).unlink(missing_ok=True)
    write(options.to, levels[0], reports[levels[0]], tables[levels[0]])
    return status


def write(folder: Path, level: str, report: dict[str, Any], tables: str) -> None:
    """Write the report and the tables of an instruction set."""
    (folder / report_name(level)).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    (folder / tables_name(level)).write_text(f"{tables.strip()}\n", encoding="utf-8")


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

        found, printed, failed = suites(suite_words(options, level, names, alone), show)
        report = {**found, **report, "suites": report.get("suites", {}) | found["suites"]}
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
        file, output = Path(folder, "report.json"), Path(folder, "output.txt")
        command = [sys.executable, "-m", "benchmarks.run", *words, "--json", str(file)]
        before = last = 0
        with (
            output.open("w", encoding="utf-8") as stdout,
            subprocess.Popen(command, cwd=ROOT, stdout=stdout, stderr=subprocess.PIPE, text=True) as run,
        ):
            assert run.stderr is not None
            for line in run.stderr:
                found = STEP.match(line)
                if found is None:
                    sys.stderr.write(line)
                    continue
                if int(found[1]) < last:  # the next suite
                    before += last
                last = int(found[1])
                step(before + last, found[2])
        text = output.read_text(encoding="utf-8")
        print(text, flush=True)
        if not file.exists():
            raise SystemExit(run.returncode or 1)
        return json.loads(file.read_text(encoding="utf-8")), text, run.returncode


def parts(
    report: dict[str, Any], tables: dict[str, str], level: str, options: argparse.Namespace, step: Step
) -> None:
    """Measure what depends little on the instruction set, into the report and the tables of the best one."""
    from benchmarks.growth import growth, growth_text
    from benchmarks.import_time import cold_text, import_text, measure_cold, measure_import
    from benchmarks.memory import measure_memory, memory_text
    from benchmarks.neighbours import CASES, neighbours, neighbours_text
    from benchmarks.scale import scale, scale_text

    threads = int(report["environment"]["threads"])
    libraries = [name for name in installed(("tt", "torch", "numpy")) if not unusable(name)]
    chains = [name for name in libraries if name != "numpy"]
    text = []
    step(0, PARTS[0])
    report["growth"] = growth(libraries, threads, busy=options.busy, short=options.short)
    text.append(growth_text(report["growth"]))
    step(1, PARTS[1])
    if not options.busy:  # neither can be told from the time of one thread
        turns: dict[str, Any] = {"rounds": 2, "seconds": 0.005} if options.short else {}
        report["scale"] = scale(threads, short=options.short, **turns)
        text.append(scale_text(report["scale"]))
        step(2, PARTS[2])
        few = (
            {"names": CASES[:1], "rounds": 1, "seconds": 0.02}
            if options.short
            else {"rounds": 5, "seconds": 1.0}
        )
        report["neighbours"] = neighbours(processes=max(2, threads), **few)
        text.append(neighbours_text(report["neighbours"], max(2, threads)))
    step(3, PARTS[3])
    report["memory"] = measure_memory(chains)
    text.append(memory_text(report["memory"]))
    step(4, PARTS[4])
    imported = measure_import(rounds=3 if options.short else 21)
    report["import"] = imported.to_dict()
    text.append(import_text(imported))
    cold = measure_cold(rounds=1 if options.short else 15)
    report["cold"] = cold.to_dict()
    text.append(cold_text(cold))
    step(5, PARTS[5])
    os.environ.pop("TT_ISA", None)  # callgrind's processor may lack it
    report["instructions"] = instructions(chains)
    text.append(instructions_text(report["instructions"]))
    step(6, "")
    tables[level] = "\n\n".join(part.strip() for part in (tables[level], *text))


def instructions(libraries: list[str]) -> dict[str, dict[str, int]]:
    """Return the instructions of a call in each library; empty where they cannot be counted."""
    from benchmarks.instructions import CASES, UnavailableError, count_instructions

    found: dict[str, dict[str, int]] = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # processes in parallel, because no time is measured
        runs = {library: pool.submit(count_instructions, CASES, library=library) for library in libraries}
        for library, run in runs.items():
            try:
                found[library] = {count.case: round(count.instructions) for count in run.result()}
            except UnavailableError as reason:
                print(f"instructions of {library} are not counted: {reason}", file=sys.stderr)
    return found


def instructions_text(found: dict[str, dict[str, int]]) -> str:
    """Return the counts as a table."""
    from benchmarks.report import aligned

    if not found:
        return "instructions: not counted"
    cases = list(next(iter(found.values())))
    rows = [["instructions of a call", *found]]
    rows += [[case, *(f"{counts[case]:,}" for counts in found.values())] for case in cases]
    return aligned(rows)


if __name__ == "__main__":
    sys.exit(main())
