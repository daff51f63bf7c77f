"""Tables of measurements, and how two reports differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.import_time import ImportTime
from benchmarks.measure import BUILT_IN, Measurement, geometric_mean

__all__ = ["compare_text", "import_text", "suite_dict", "suite_text"]

PEERS = ("numpy", "torch")


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as columns: the first flush left, the others flush right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            row[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def number(value: float | None) -> str:
    """Return a number with three significant digits, or a dash."""
    if value is None:
        return "-"
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


def means(measurements: Sequence[Measurement]) -> dict[str, float]:
    """Return the geometric mean of the ratios to each peer."""
    ratios = {peer: [r for m in measurements if (r := m.ratio(peer)) is not None] for peer in PEERS}
    return {peer: geometric_mean(found) for peer, found in ratios.items() if found}


def suite_text(title: str, measurements: Sequence[Measurement]) -> str:
    """Return the table of a suite: microseconds a call, and tt's ratios to its peers."""
    rows = [["us", "tt", "numpy", "torch", "tt/numpy", "tt/torch"]]
    for m in measurements:
        times = [number(m.microseconds.get(library)) for library in ("tt", *PEERS)]
        rows.append([m.case, *times, *(number(m.ratio(peer)) for peer in PEERS)])
    found = means(measurements)
    rows.append(["geometric mean", "", "", "", *(number(found.get(peer)) for peer in PEERS)])
    lines = [title, aligned(rows)]
    built_in = [m for m in measurements if any(BUILT_IN in library for library in m.microseconds)]
    if built_in:
        lines += ["", built_in_text(built_in)]
    lines += [f"{m.case}: {library}: {why}" for m in measurements for library, why in m.failures.items()]
    return "\n".join(lines)


def built_in_text(measurements: Sequence[Measurement]) -> str:
    """Return the table of what the built-in operators cost, and how many times as much the case costs."""
    libraries = ("tt", "torch")
    rows = [["us", *(f"{name}{BUILT_IN}" for name in libraries), *(f"{name}, ratio" for name in libraries)]]
    for m in measurements:
        times = [number(m.microseconds.get(name + BUILT_IN)) for name in libraries]
        rows.append([m.case, *times, *(number(m.to_built_in(name)) for name in libraries)])
    ratios = {name: [r for m in measurements if (r := m.to_built_in(name)) is not None] for name in libraries}
    found = [number(geometric_mean(ratios[name]) if ratios[name] else None) for name in libraries]
    rows.append(["geometric mean", "", "", *found])
    return aligned(rows)


def suite_dict(title: str, measurements: Sequence[Measurement]) -> dict[str, Any]:
    """Return a suite for JSON."""
    return {
        "title": title,
        "cases": {
            m.case: {
                "microseconds": m.microseconds,
                "ratio": {peer: m.ratio(peer) for peer in PEERS},
                "to_built_in": {name: m.to_built_in(name) for name in ("tt", "torch")},
                "failures": m.failures,
            }
            for m in measurements
        },
        "geometric_mean": means(measurements),
    }


def import_text(result: ImportTime) -> str:
    """Return what importing costs."""
    lines = [
        "import",
        aligned(
            [
                ["ms", "median"],
                ["import numpy", number(result.numpy)],
                ["import tt", number(result.tt)],
                ["difference", number(result.difference)],
            ]
        ),
        f"modules of tt: {result.tt_modules}",
        f"modules of plugins and backends: {', '.join(result.plugin_modules) or 'none'}",
        f"modules that should wait until they are needed: {', '.join(result.on_demand_modules) or 'none'}",
    ]
    return "\n".join(lines)


def compare_text(before: dict[str, Any], now: dict[str, Any]) -> str:
    """Return how the ratios changed since an earlier report; times of two runs are not compared."""
    rows = [["ratio to torch, else NumPy", "before", "now", "change"]]
    for name, suite in now["suites"].items():
        earlier = before.get("suites", {}).get(name, {"cases": {}, "geometric_mean": {}})
        for case, result in suite["cases"].items():
            rows.append(change(case, earlier["cases"].get(case, {}).get("ratio", {}), result["ratio"]))
        rows.append(
            change(f"geometric mean of {suite['title']}", earlier["geometric_mean"], suite["geometric_mean"])
        )
    return aligned(rows)


def change(name: str, before: dict[str, float | None], now: dict[str, float | None]) -> list[str]:
    """Return a row: the ratio to the first peer that both reports have."""
    for peer in reversed(PEERS):
        old, new = before.get(peer), now.get(peer)
        if old is not None and new is not None:
            return [name, number(old), number(new), f"{new / old - 1:+.0%}"]
    return [name, "-", "-", "-"]
