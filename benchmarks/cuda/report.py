"""The results of the CUDA benchmark, as a table, as Markdown and for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.cuda.measure import Floors, Measurement, verdict_of
from benchmarks.cuda.runners import NAMES
from benchmarks.report import aligned, number, rounded

__all__ = ["as_data", "dry_text", "failures", "floors_text", "markdown", "text"]

COLUMNS = (*NAMES, "floor", "floor / tt", "tt / torch", "submit tt", "submit torch", "aim")


def rows(measurements: Sequence[Measurement]) -> list[list[str]]:
    """Return a row for each case."""
    cells = []
    for m in measurements:
        own, ratio = m.microseconds("tt"), m.ratio("tt", "torch")
        share = m.floor / own if m.floor is not None and own else None
        cells.append(
            [
                m.case.name,
                *(number(m.microseconds(name)) for name in NAMES),
                number(m.floor),
                number(share),
                number(ratio.value if ratio else None),
                number(m.submit("tt")),
                number(m.submit("torch")),
                f"{m.case.aim}: {verdict_of(m)}",
            ]
        )
    return cells


def text(measurements: Sequence[Measurement]) -> str:
    """Return the table: microseconds a call, and how they stand to the floor and to PyTorch."""
    return "\n".join([aligned([["us", *COLUMNS], *rows(measurements)]), *failures(measurements)])


def markdown(measurements: Sequence[Measurement]) -> str:
    """Return the table in Markdown."""
    lines = ["| µs | " + " | ".join(COLUMNS) + " |", "|---|" + "---:|" * len(COLUMNS)]
    lines += ["| " + " | ".join([f"`{row[0]}`", *row[1:]]) + " |" for row in rows(measurements)]
    return "\n".join(lines)


def failures(measurements: Sequence[Measurement]) -> list[str]:
    """Return which case could not be measured in which way, and why."""
    return [f"{m.case.name}: {name}: {why}" for m in measurements for name, why in m.failures.items()]


def dry_text(measurements: Sequence[Measurement]) -> str:
    """Return the result of a dry run: which ways of running each case work and agree."""
    table = [["case", *NAMES]]
    for m in measurements:
        marks = ["agrees" if n in m.agreed else "fails" if n in m.failures else "-" for n in NAMES]
        table.append([m.case.name, *marks])
    return "\n".join([aligned(table), *failures(measurements)])


def floors_text(floors: Floors) -> str:
    """Return the limits of the hardware."""
    speeds = ", ".join(f"{name} {speed / 1e12:.1f} TFLOP/s" for name, speed in floors.flops.items())
    return f"measured floors: a copy {floors.bandwidth / 1e9:.0f} GB/s; products {speeds}"


def as_data(
    measurements: Sequence[Measurement], floors: Floors | None, environment: dict[str, str], *, dry: bool
) -> dict[str, Any]:
    """Return everything for JSON; a dry run has no times."""
    cases: dict[str, Any] = {}
    for m in measurements:
        cases[m.case.name] = {"agreed": m.agreed, "failures": m.failures}
        if not dry:
            ratios = {name: r for name in NAMES if name != "tt" and (r := m.ratio("tt", name)) is not None}
            cases[m.case.name] |= {
                "aim": m.case.aim,
                "verdict": verdict_of(m),
                "floor": None if m.floor is None else rounded(m.floor),
                "microseconds": {n: rounded(v) for n in NAMES if (v := m.microseconds(n)) is not None},
                "submit": {n: rounded(v) for n in NAMES if (v := m.submit(n)) is not None},
                "ratio": {name: rounded(r.value) for name, r in ratios.items()},
                "noise": {name: rounded(r.noise) for name, r in ratios.items()},
            }
    measured = None if floors is None or dry else {"bandwidth": floors.bandwidth, "flops": floors.flops}
    return {"dry": dry, "environment": environment, "floors": measured, "cases": cases}
