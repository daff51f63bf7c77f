"""Measures everything, and writes it down: `python -m benchmarks.publish`, or `make bench`.

Into a folder go the report (JSON), the tables (text) and the picture (PNG and SVG).  With `--readme`, report and tables
go to benchmarks/results, the picture, which is not committed, to build/benchmarks, and the sections of README.md and
docs/benchmarks.md that hold figures are written again; a test compares them with the report.  `--draw` measures nothing
and writes the same from the report that is there.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks import written
from benchmarks.libraries import installed, set_threads, unusable

__all__ = ["RESULTS", "main"]

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
BUILT = ROOT / "build" / "benchmarks"
SUITES = ("small_calls", "training", "large", "sparse", "programs", "custom_ops")
REPORT = "report.json"
TABLES = "tables.txt"
BEGUN = time.perf_counter()


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
        "--draw", action="store_true", help="measure nothing: write from the report that is there"
    )
    parser.add_argument("--busy", action="store_true", help="one thread, and the processor's time of it")
    parser.add_argument(
        "--short", action="store_true", help="few and short turns: to see that it runs, not for figures"
    )
    parsed = parser.parse_args(words)
    if parsed.readme:
        parsed.to = RESULTS
    if parsed.draw and not (parsed.to / REPORT).exists():
        parser.error(f"no report at {parsed.to / REPORT}")
    return parsed


def main(words: list[str] | None = None) -> int:
    """Measure, or read the report, and write everything that follows from it."""
    options = arguments(words)
    options.to.mkdir(parents=True, exist_ok=True)
    if options.draw:
        report = json.loads((options.to / REPORT).read_text(encoding="utf-8"))
        status = 0
    else:
        report, tables, status = measure(options)
        (options.to / REPORT).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        (options.to / TABLES).write_text(tables, encoding="utf-8")
    drawn = draw(report, BUILT if options.readme else options.to)
    if options.readme:
        written.replace(ROOT / "README.md", written.readme(report))
        written.replace(ROOT / "docs" / "benchmarks.md", written.page(report))
    print(f"\n{written.summary(report)}\n\n{options.to}: {REPORT}, {TABLES}{drawn}")
    return status


def draw(report: dict[str, Any], folder: Path) -> str:
    """Draw the picture if matplotlib is there; return the names of the files, or why there are none."""
    if importlib.util.find_spec("matplotlib") is None:
        return "; no picture: matplotlib is not installed"
    from benchmarks.picture import draw_report

    folder.mkdir(parents=True, exist_ok=True)
    return "".join(f", {path.name}" for path in draw_report(report, folder))


# --- measuring ---


def measure(options: argparse.Namespace) -> tuple[dict[str, Any], str, int]:
    """Return the report, its tables, and the exit status of the suites."""
    say("suites")
    turns = ["--rounds", "2", "--seconds", "0.0005"] if options.short else []
    busy = ["--busy"] if options.busy else []
    report, tables, status = suites([*SUITES, *turns, *busy])
    parts = [tables]
    threads = int(report["environment"]["threads"])
    set_threads(threads)
    libraries = [name for name in installed(("tt", "torch", "numpy")) if not unusable(name)]
    chains = [name for name in libraries if name != "numpy"]

    from benchmarks.growth import growth, growth_text
    from benchmarks.import_time import cold_text, import_text, measure_cold, measure_import
    from benchmarks.memory import measure_memory, memory_text

    say("curves")
    report["growth"] = growth(libraries, threads, busy=options.busy, short=options.short)
    parts.append(growth_text(report["growth"]))
    say("memory")
    report["memory"] = measure_memory(chains)
    parts.append(memory_text(report["memory"]))
    say("import")
    imported = measure_import(rounds=3 if options.short else 21)
    report["import"] = imported.to_dict()
    parts.append(import_text(imported))
    cold = measure_cold(rounds=1 if options.short else 15)
    report["cold"] = cold.to_dict()
    parts.append(cold_text(cold))
    say("instructions")
    report["instructions"] = instructions(chains)
    parts.append(instructions_text(report["instructions"]))
    return report, "\n\n".join(part.strip() for part in parts) + "\n", status


def say(what: str) -> None:
    """Print on standard error the current measurement and the elapsed time."""
    print(f"measuring, after {time.perf_counter() - BEGUN:.0f} s: {what}", file=sys.stderr, flush=True)


def suites(words: list[str]) -> tuple[dict[str, Any], str, int]:
    """Run suites in a separate process; return their report, output and exit status."""
    with tempfile.TemporaryDirectory(prefix="tt-bench-") as folder:
        file = Path(folder, REPORT)
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.run", *words, "--json", str(file)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        print(done.stdout, flush=True)
        if not file.exists():
            raise SystemExit(done.returncode or 1)
        return json.loads(file.read_text(encoding="utf-8")), done.stdout, done.returncode


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
