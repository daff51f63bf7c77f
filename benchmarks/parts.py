"""Measurements other than the suites: growth, cores, processes side by side, memory, imports, instructions.

It depends little on the instruction set, so that it is measured with one.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from benchmarks.libraries import installed, unusable

__all__ = ["PARTS", "measure_parts"]

PARTS = {
    "growth": "curves",
    "scale": "cores",
    "neighbours": "processes side by side",
    "memory": "memory",
    "import": "import",
    "cold": "cold starts",
    "instructions": "instructions",
}
"""Keys of a report besides its suites, measured with the best instruction set, and their titles."""


def measure_parts(
    names: Sequence[str], threads: int, options: argparse.Namespace, step: Callable[[int, str], None]
) -> tuple[dict[str, Any], str]:
    """Measure what depends little on the instruction set; return it by name, and the tables."""
    libraries = [name for name in installed(("tt", "torch", "numpy")) if not unusable(name)]
    measures: dict[str, Callable[[], tuple[Any, str]]] = {
        "growth": lambda: growth_part(libraries, threads, options),
        "scale": lambda: scale_part(threads, options),
        "neighbours": lambda: neighbours_part(threads, options),
        "memory": lambda: memory_part([name for name in libraries if name != "numpy"]),
        "import": lambda: import_part(options),
        "cold": lambda: cold_part(options),
        "instructions": lambda: instructions_part([name for name in libraries if name != "numpy"]),
    }
    parts: dict[str, Any] = {}
    text: list[str] = []
    for number, name in enumerate(PARTS):
        # Neither cores nor processes side by side can be told from the time of one thread.
        if name in names and not (options.busy and name in ("scale", "neighbours")):
            step(number, PARTS[name])
            parts[name], written = measures[name]()
            text.append(written.strip())
    step(len(names), "")
    return parts, "\n\n".join(text)


def growth_part(libraries: list[str], threads: int, options: argparse.Namespace) -> tuple[Any, str]:
    """Measure how costs grow with installed plugins, with the graph and with sizes."""
    from benchmarks.growth import growth, growth_text

    figures = growth(libraries, threads, busy=options.busy, short=options.short)
    return figures, growth_text(figures)


def scale_part(threads: int, options: argparse.Namespace) -> tuple[Any, str]:
    """Measure programs by the number of cores."""
    from benchmarks.scale import scale, scale_text

    turns: dict[str, Any] = {"rounds": 2, "seconds": 0.005} if options.short else {}
    figures = scale(threads, short=options.short, **turns)
    return figures, scale_text(figures)


def neighbours_part(threads: int, options: argparse.Namespace) -> tuple[Any, str]:
    """Measure processes side by side."""
    from benchmarks.neighbours import CASES, neighbours, neighbours_text

    few: dict[str, Any] = {"rounds": 5, "seconds": 1.0}
    if options.short:
        few = {"names": CASES[:1], "rounds": 1, "seconds": 0.02}
    figures = neighbours(processes=max(2, threads), **few)
    return figures, neighbours_text(figures, max(2, threads))


def memory_part(libraries: list[str]) -> tuple[Any, str]:
    """Measure what tensors, nodes and a backward pass hold."""
    from benchmarks.memory import measure_memory, memory_text

    figures = measure_memory(libraries)
    return figures, memory_text(figures)


def import_part(options: argparse.Namespace) -> tuple[Any, str]:
    """Measure imports."""
    from benchmarks.import_time import import_text, measure_import

    figures = measure_import(rounds=3 if options.short else 21)
    return figures.to_dict(), import_text(figures)


def cold_part(options: argparse.Namespace) -> tuple[Any, str]:
    """Measure first steps and commands."""
    from benchmarks.import_time import cold_text, measure_cold

    figures = measure_cold(rounds=1 if options.short else 15)
    return figures.to_dict(), cold_text(figures)


def instructions_part(libraries: list[str]) -> tuple[Any, str]:
    """Count the instructions of calls."""
    os.environ.pop("TT_ISA", None)  # callgrind's processor may lack it
    figures = instructions(libraries)
    return figures, instructions_text(figures)


def instructions(libraries: list[str]) -> dict[str, dict[str, int]]:
    """Return the instructions of a call in each library; empty where they cannot be counted."""
    from benchmarks.instructions import CASES, UnavailableError, count_instructions

    counts: dict[str, dict[str, int]] = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # processes in parallel, because no time is measured
        runs = {library: pool.submit(count_instructions, CASES, library=library) for library in libraries}
        for library, run in runs.items():
            try:
                counts[library] = {count.case: round(count.instructions) for count in run.result()}
            except UnavailableError as reason:
                print(f"instructions of {library} are not counted: {reason}", file=sys.stderr)
    return counts


def instructions_text(found: dict[str, dict[str, int]]) -> str:
    """Return the counts as a table."""
    from benchmarks.report import aligned

    if not found:
        return "instructions: not counted"
    cases = list(next(iter(found.values())))
    rows = [["instructions of a call", *found]]
    rows += [[case, *(f"{counts[case]:,}" for counts in found.values())] for case in cases]
    return aligned(rows)
