"""The outcome for each operator and dtype, and its difference from an earlier run."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.errors import ValueRangeError
from tt.core.types.dtype import to_dtype
from tt.testing.conformance.layouts import check_layout
from tt.testing.conformance.run import Target, check_target
from tt.testing.coverage import coverage, family_of
from tt.testing.findings.report import Report

if TYPE_CHECKING:
    from tt.testing.coverage import Place

__all__ = [
    "FORMAT",
    "Baseline",
    "Comparison",
    "Outcome",
    "dumps",
    "families",
    "family",
    "outcomes",
    "read_baseline",
    "served",
]

FORMAT: Final = "tt-conformance-1"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one operator with one dtype.

    Attributes
    ----------
    target : Target
        Which.
    served : str
        How the backend serves it: kernel, generic kernel, composite, fallback, other layout or missing.
    report : Report or None
        The findings of the checks; None if they were not made.
    seconds : float
        How long they took.
    """

    target: Target
    served: str
    report: Report | None = None
    seconds: float = 0.0

    @property
    def missing(self) -> bool:
        """Whether the backend lacks it, according to the tables or to the first call."""
        return self.served == "missing" or bool(self.report and self.report.missing)

    @property
    def failed(self) -> tuple[str, ...]:
        """The names of the checks that failed."""
        return tuple(dict.fromkeys(f.check for f in self.report.failures)) if self.report else ()

    @property
    def good(self) -> bool:
        """Whether nothing is wrong with it."""
        return not self.missing and not self.failed


def family(op: str) -> str:
    """Return the family of an operator, as `tt ops coverage` groups them."""
    return family_of(REGISTRY.operator(op).definition)


def families(results: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    """Return outcomes by family."""
    by_family: dict[str, list[Outcome]] = {}
    for outcome in results:
        by_family.setdefault(family(outcome.target.op), []).append(outcome)
    return by_family


def served(place: Place, wanted: Iterable[Target]) -> Iterator[Outcome]:
    """Yield how a backend serves operators, without calling them."""
    for target in wanted:
        how_served = coverage(REGISTRY.operator(target.op).definition, place, to_dtype(target.dtype))
        yield Outcome(target, how_served.how)


def outcomes(
    place: Place,
    wanted: Iterable[Target],
    *,
    seed: int = 0,
    checks: Sequence[str] | None = None,
    most: int | None = None,
) -> Iterator[Outcome]:
    """Yield the outcomes of a backend's checks, one operator and dtype after the other, of `most` samples each."""
    for outcome in served(place, wanted):
        start = time.perf_counter()
        if place.layout == "strided":
            report = check_target(outcome.target, place.device, seed=seed, checks=checks, most=most)
        else:
            report = check_layout(outcome.target, place, seed=seed, checks=checks, most=most)
        yield Outcome(outcome.target, outcome.served, report, time.perf_counter() - start)


# --- baselines ---------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Comparison:
    """The differences of a run from a baseline, in words.

    Attributes
    ----------
    regressions : list of (Target, str)
        What was good, or not there, and is wrong now.
    mended : list of (Target, str)
        What was wrong and is good now.
    changed : list of (Target, str)
        Targets that are served in another way.
    known : int
        How many operators and dtypes are as wrong as they were.
    """

    regressions: list[tuple[Target, str]] = field(default_factory=list)
    mended: list[tuple[Target, str]] = field(default_factory=list)
    changed: list[tuple[Target, str]] = field(default_factory=list)
    known: int = 0


@dataclass(frozen=True, slots=True)
class Baseline:
    """An earlier run.

    Attributes
    ----------
    backends : mapping
        Name of a backend -> operator -> dtype -> {"served", "missing", "failed"}.
    """

    backends: Mapping[str, Mapping[str, Mapping[str, Mapping[str, Any]]]]

    def before(self, backend: str, target: Target) -> Mapping[str, Any]:
        """Return the baseline's data for an operator and dtype; empty if it was not in the run."""
        return self.backends.get(backend, {}).get(target.op, {}).get(target.dtype, {})

    def is_known(self, backend: str, outcome: Outcome) -> bool:
        """Return whether the baseline has the same failures."""
        before = self.before(backend, outcome.target)
        known = set(before.get("failed", ()))
        return (not outcome.missing or bool(before.get("missing"))) and set(outcome.failed) <= known

    def compare(self, backend: str, found: Iterable[Outcome]) -> Comparison:
        """Compare a run with this one; what was not run now is left out."""
        comparison = Comparison()
        for outcome in found:
            target, before = outcome.target, self.before(backend, outcome.target)
            failed = set(before.get("failed", ()))
            if outcome.missing and not before.get("missing"):
                comparison.regressions.append((target, "is missing now" if before else "is missing"))
            # A new failure of an operator that had others is a regression, too.
            for check in outcome.failed:
                if check not in failed:
                    comparison.regressions.append((target, f"{check} fails" + (" now" if before else "")))
            if not outcome.good and self.is_known(backend, outcome):
                comparison.known += 1
            if before.get("missing") and not outcome.missing:
                comparison.mended.append((target, "is no longer missing"))
            if outcome.report is not None:
                # A check that did not run says nothing of its old failure.
                ran = set(outcome.report.checks)
                comparison.mended.extend(
                    (target, f"{check} no longer fails")
                    for check in sorted(failed - set(outcome.failed))
                    if check in ran and not outcome.missing
                )
            both = before and not outcome.missing and not before.get("missing")
            if both and before["served"] != outcome.served:
                comparison.changed.append((target, f"{before['served']} before, {outcome.served} now"))
        return comparison


def dumps(found: Mapping[str, Sequence[Outcome]]) -> str:
    """Return a run as the text of a baseline: a line for each operator and dtype, so that changes are easy to read."""
    backends = []
    for name, results in found.items():
        operators: dict[str, dict[str, Any]] = {}
        for outcome in results:
            facts = {"served": outcome.served, "missing": outcome.missing, "failed": list(outcome.failed)}
            operators.setdefault(outcome.target.op, {})[outcome.target.dtype] = facts
        rows = ",\n".join(f"{json.dumps(op)}: {json.dumps(dtypes)}" for op, dtypes in operators.items())
        backends.append("\n".join([f"{json.dumps(name)}: {{", *rows.splitlines(), "}"]))
    head = ["{", f'"format": "{FORMAT}",', '"backends": {']
    return "\n".join([*head, *(",\n".join(backends).splitlines()), "}", "}", ""])


def read_baseline(path: str | os.PathLike[str]) -> Baseline:
    """Read a baseline that `dumps` wrote.

    Raises
    ------
    ValueRangeError
        When the file is something else.
    OSError
        When it cannot be read.
    """
    with open(path, encoding="utf-8") as file:
        try:
            content = json.load(file)
        except (ValueError, UnicodeDecodeError) as error:
            raise ValueRangeError(
                f"{path} is not a baseline: {error}\n  write one with: --save-baseline FILE"
            ) from None
    what = content.get("format") if isinstance(content, dict) else None
    if what != FORMAT or not isinstance(content.get("backends"), dict):
        raise ValueRangeError(
            f"{path} is not a baseline of this version: its format is {what!r}, not {FORMAT!r}\n"
            "  write one with: --save-baseline FILE"
        )
    return Baseline(content["backends"])
