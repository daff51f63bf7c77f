"""The measurements, as tables of text and as the dictionaries of a report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.cases import Group, Suite
from benchmarks.libraries import PEERS
from benchmarks.measure import BUILT_IN, Measurement, geometric_mean

__all__ = ["GroupResult", "aligned", "failures", "group_results", "number", "suite_dict", "suite_text"]


@dataclass(frozen=True)
class GroupResult:
    """The geometric means of a group's ratios, their aim, and the worst case."""

    name: str
    means: dict[str, float]
    noise: float
    aim: float | None
    worst: tuple[str, float] | None
    worst_allowed: float | None

    @property
    def peer(self) -> str | None:
        """The peer that the target refers to."""
        return next((peer for peer in PEERS if peer in self.means), None)


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


def peers_of(measurements: Sequence[Measurement]) -> list[str]:
    """Return the peers that were measured in some case."""
    return [peer for peer in PEERS if any(peer in m.samples for m in measurements)]


def group_results(
    groups: Sequence[Group], measurements: Sequence[Measurement], form: str
) -> list[GroupResult]:
    """Return the means of the groups that have measurements."""
    result = []
    for group in groups:
        members = [m for m in measurements if m.group in ("", group.name) and "tt" in m.samples]
        ratios = {peer: [(r, m.case) for m in members if (r := m.ratio(peer)) is not None] for peer in PEERS}
        means = {peer: geometric_mean([r.value for r, _ in rs]) for peer, rs in ratios.items() if rs}
        if not means:
            continue
        first = ratios[next(iter(means))]
        worst = max(((case, r.value) for r, case in first), key=lambda pair: pair[1])
        noise = math.sqrt(sum(r.noise**2 for r, _ in first)) / len(first)
        result.append(GroupResult(group.name, means, noise, group.aim_of(form), worst, group.worst_of(form)))
    return result


def suite_text(suite: Suite, measurements: Sequence[Measurement], form: str = "compiled") -> str:
    """Return the table of a suite: microseconds a call, and tt's ratios to its peers."""
    peers = peers_of(measurements)
    rows = [["us", "tt", *peers, *(f"tt/{peer}" for peer in peers), "noise"]]
    for m in measurements:
        times = [number(m.microseconds.get(library)) for library in ("tt", *peers)]
        ratios = [number(r.value if (r := m.ratio(peer)) else None) for peer in peers]
        rows.append([m.case, *times, *ratios, f"{m.noise:.0%}"])
    results = group_results(suite.groups, measurements, form)
    for result in results:
        means = [number(result.means.get(peer)) for peer in peers]
        rows.append(
            [f"geometric mean, {result.name}", "", *("" for _ in peers), *means, f"{result.noise:.0%}"]
        )
    lines = [suite.title, aligned(rows), *(aim_text(result) for result in results if result.aim)]
    built_in = [m for m in measurements if any(BUILT_IN in library for library in m.samples)]
    if built_in:
        lines += ["", built_in_text(built_in)]
    return "\n".join([*lines, *failures(measurements)])


def failures(measurements: Sequence[Measurement]) -> list[str]:
    """Return which case could not be measured in which library, and why."""
    return [f"{m.case}: {library}: {why}" for m in measurements for library, why in m.failures.items()]


def aim_text(result: GroupResult) -> str:
    """Return whether a group is where it should be."""
    assert result.peer is not None and result.aim is not None
    mean = result.means[result.peer]
    verdict = "met" if mean <= result.aim else "missed"
    line = f"{result.name}: {mean:.2f} of {result.peer}, target {result.aim:.2f}: {verdict}"
    if result.worst is not None and result.worst_allowed is not None:
        case, worst = result.worst
        verdict = "met" if worst <= result.worst_allowed else "missed"
        line += f"; worst {worst:.2f} ({case}), allowed {result.worst_allowed:.2f}: {verdict}"
    return line


def built_in_text(measurements: Sequence[Measurement]) -> str:
    """Return the table of the times of the built-in operators, and the ratios of the cases to them."""
    libraries = ("tt", "torch")
    rows = [["us", *(f"{name}{BUILT_IN}" for name in libraries), *(f"{name}, ratio" for name in libraries)]]
    for m in measurements:
        times = [number(m.microseconds.get(name + BUILT_IN)) for name in libraries]
        rows.append([m.case, *times, *(number(m.to_built_in(name)) for name in libraries)])
    ratios = {name: [r for m in measurements if (r := m.to_built_in(name)) is not None] for name in libraries}
    means = [number(geometric_mean(ratios[name]) if ratios[name] else None) for name in libraries]
    rows.append(["geometric mean", "", "", *means])
    return aligned(rows)


def rounded(value: float) -> float:
    """Return a number with four significant digits, as a report keeps it."""
    return float(f"{value:.4g}")


def suite_dict(suite: Suite, measurements: Sequence[Measurement], form: str = "compiled") -> dict[str, Any]:
    """Return a suite as a report has it."""
    cases: dict[str, Any] = {}
    for m in measurements:
        ratios = {peer: r for peer in PEERS if (r := m.ratio(peer)) is not None}
        cases[m.case] = {
            "group": m.group,
            "microseconds": {name: rounded(value) for name, value in m.microseconds.items()},
            "ratio": {peer: rounded(r.value) for peer, r in ratios.items()},
            "noise": {peer: rounded(r.noise) for peer, r in ratios.items()},
            "rounds": len(next(iter(m.samples.values()), [])),
            "failures": m.failures,
        }
        built_in = {name: rounded(b) for name in ("tt", "torch") if (b := m.to_built_in(name)) is not None}
        if built_in:
            cases[m.case]["to_built_in"] = built_in
    return {
        "title": suite.title,
        "cases": cases,
        "groups": {
            result.name: {
                "geometric_mean": {peer: rounded(mean) for peer, mean in result.means.items()},
                "noise": rounded(result.noise),
                "aim": result.aim,
                "worst": list(result.worst) if result.worst else None,
                "worst_allowed": result.worst_allowed,
            }
            for result in group_results(suite.groups, measurements, form)
        },
    }
