"""Comparison of the ratios of two reports: the differences, and which of them exceed noise.

Note [Regressions]
------------------
Times of two runs are not compared, only ratios to a peer measured in the same run.  A ratio has become worse if it grew
by more than three times the noise of both runs together (measure.py, Note [Noise]), and by more than a twentieth: the
noise within a run does not see what differs between two processes (where memory lies, which pages are large).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from benchmarks.libraries import PEERS
from benchmarks.report import aligned, number

__all__ = ["Change", "changes", "compare_text"]

LEAST = 0.05
ERRORS = 3


@dataclass(frozen=True)
class Change:
    """The ratios of a case, or the mean of a group, in two reports."""

    name: str
    peer: str
    before: float
    now: float
    noise: float

    @property
    def threshold(self) -> float:
        """The relative change above which it is not noise."""
        return max(LEAST, ERRORS * self.noise)

    @property
    def worse(self) -> bool:
        """Whether the case has become slower, by more than noise."""
        return self.now / self.before - 1 > self.threshold

    @property
    def better(self) -> bool:
        """Whether the case has become faster, by more than noise."""
        return self.before / self.now - 1 > self.threshold


def changes(before: dict[str, Any], now: dict[str, Any]) -> list[Change]:
    """Return the changes of all that both reports hold: the cases, and behind each suite the means of its groups."""
    differences = []
    for name, suite in now["suites"].items():
        earlier = before.get("suites", {}).get(name, {"cases": {}, "groups": {}})
        for case, result in suite["cases"].items():
            old = earlier["cases"].get(case, {"ratio": {}})
            differences += change(case, old, result, "ratio")
        for group, result in suite["groups"].items():
            if group in earlier["groups"] and set(suite["cases"]) == set(earlier["cases"]):
                differences += change(
                    f"geometric mean, {group}", earlier["groups"][group], result, "geometric_mean"
                )
    return differences


def change(name: str, before: dict[str, Any], now: dict[str, Any], key: str) -> list[Change]:
    """Return the change of the ratio to the first peer that both reports have."""
    for peer in PEERS:
        if peer in before[key] and peer in now[key]:
            noise = math.hypot(
                *(error[peer] if isinstance(error := r["noise"], dict) else error for r in (before, now))
            )
            return [Change(name, peer, before[key][peer], now[key][peer], noise)]
    return []


def compare_text(found: list[Change]) -> str:
    """Return the changes as a table, and how many are regressions."""
    rows = [["ratio", "to", "before", "now", "change", "noise is below", ""]]
    for c in found:
        mark = "WORSE" if c.worse else "better" if c.better else ""
        percent = f"{c.now / c.before - 1:+.0%}"
        rows.append([c.name, c.peer, number(c.before), number(c.now), percent, f"{c.threshold:.0%}", mark])
    worse = [c.name for c in found if c.worse]
    summary = f"worse: {'; '.join(worse)}" if worse else "nothing is worse than before by more than noise"
    return f"{aligned(rows)}\n{summary}"
