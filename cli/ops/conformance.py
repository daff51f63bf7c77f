"""The part of `tt ops check` that looks at backends: how they serve operators, and with --run, what these do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from tt.cli import output

if TYPE_CHECKING:
    from tt.testing.conformance.outcomes import Baseline, Comparison, Outcome
    from tt.testing.conformance.run import Target
    from tt.testing.coverage import Place

__all__ = [
    "BASELINE_MARK", "JUNIT_MARK", "data", "print_outcomes", "read", "run", "served",
]  # fmt: skip

JUNIT_MARK: Final = "<!-- written by tt ops check -->"
BASELINE_MARK: Final = '"format": "tt-conformance-1",'
Found = dict[str, list["Outcome"]]


# --- doing it ----------------------------------------------------------------------------------------------------


def chosen(
    place: Place, patterns: Sequence[str] | None, dtypes: Sequence[str] | None, ran: bool
) -> list[Target]:
    """Return the operators and dtypes that the options mean."""
    from tt.testing.conformance.layouts import is_served
    from tt.testing.conformance.run import QUICK, targets
    from tt.testing.registrations import is_concern_of

    every = (not dtypes and not ran) or (dtypes is not None and "all" in dtypes)
    tested = None if every else dtypes or QUICK
    candidates = targets(place.device, patterns or ("*",), tested, sampled=ran)
    if not patterns:  # what other packages bring is for their authors to check
        candidates = [target for target in candidates if is_concern_of(target.op, [place])]
    if ran and place.layout != "strided":  # a layout need not serve every operator
        return [target for target in candidates if is_served(target.op, place)]
    return candidates


def served(places: Sequence[Place], patterns: list[str] | None, dtypes: list[str] | None) -> Found:
    """Return how backends serve operators."""
    from tt.testing.conformance import outcomes

    return {str(p): list(outcomes.served(p, chosen(p, patterns, dtypes, ran=False))) for p in places}


def run(
    places: Sequence[Place],
    patterns: list[str] | None,
    dtypes: list[str] | None,
    checks: list[str] | None,
    seed: int,
    *,
    samples: int | None = None,
    fail_fast: bool = False,
    tell: bool = False,
) -> Found:
    """Check the operators of backends, with a progress bar.

    Parameters
    ----------
    places, patterns, dtypes, checks, seed
        The choices of the options.
    samples : int, optional
        How many inputs of each operator and dtype; a strided backend's only.
    fail_fast : bool
        Whether to stop after the first operator that is wrong or missing.
    tell : bool
        Whether to print faults at once, with the progress; the outcome comes at the end.
    """
    from tt.core.dispatch.registry.registry import REGISTRY
    from tt.core.errors import NothingToCheckError
    from tt.testing.conformance import outcomes
    from tt.testing.conformance.run import chosen_checks

    names = chosen_checks(checks)
    findings: Found = {}
    for backend in places:
        REGISTRY.backend(backend.device, backend.layout).require_available()
        chosen_targets = chosen(backend, patterns, dtypes, ran=True)
        if not chosen_targets:
            raise NothingToCheckError(str(backend), patterns or ())
        findings[str(backend)] = done = []
        with output.progress(f"checking {backend}", len(chosen_targets)) as step:
            for outcome in outcomes.outcomes(backend, chosen_targets, seed=seed, checks=names, most=samples):
                done.append(outcome)
                step(len(done), outcome.target.op)
                if tell and not outcome.good:
                    output.finding(f"{outcome.target}: {', '.join(outcome.failed) or 'missing'}")
                if fail_fast and not outcome.good:
                    return findings
        # A run in which nothing was checked must not look like success.
        if not any(outcome.missing or (outcome.report and outcome.report.samples) for outcome in done):
            raise NothingToCheckError(str(backend), patterns or ())
    return findings


def read(path: Path) -> Baseline:
    """Read a baseline; a file that is none is a wrong call."""
    from tt.core.errors import ValueRangeError
    from tt.testing.conformance.outcomes import read_baseline

    try:
        return read_baseline(path)
    except ValueRangeError as error:
        raise typer.BadParameter(str(error)) from None


# --- showing it --------------------------------------------------------------------------------------------------


def print_outcomes(name: str, outcomes: list[Outcome], comparison: Comparison | None, ran: bool) -> None:
    """Print a table of families, and the faults."""
    from tt.testing.conformance.outcomes import families

    groups = [*families(outcomes).items(), ("all", outcomes)]
    if ran:
        output.table(RAN, [ran_row(family, members) for family, members in groups])
    else:
        ways = [how for how in WAYS if any(o.served == how for o in outcomes)]
        columns = ["family", "operators", "with dtypes", *ways]
        output.table(columns, [served_row(family, members, ways) for family, members in groups])
    if comparison is None:
        print_missing(name, outcomes)
        if ran:
            print_failures(outcomes)
    else:
        print_comparison(outcomes, comparison)


WAYS: Final = ("kernel", "generic kernel", "composite", "fallback", "other layout", "missing")
RAN: Final = ["family", "operators", "with dtypes", "calls", "checks", "missing", "failed"]


def served_row(family: str, members: list[Outcome], ways: list[str]) -> list[str | int]:
    """Return how many of a family are served in which way."""
    counts = Counter(outcome.served for outcome in members)
    return [family, len({o.target.op for o in members}), len(members), *(counts[way] for way in ways)]


def ran_row(family: str, members: list[Outcome]) -> list[str | int]:
    """Return how much of a family was checked, and how much is wrong."""
    reports = [o.report for o in members if o.report]
    return [
        family, len({o.target.op for o in members}), len(members), sum(r.samples for r in reports),
        sum(r.checks.total() for r in reports), sum(o.missing for o in members), sum(bool(o.failed) for o in members),
    ]  # fmt: skip


def print_missing(name: str, outcomes: list[Outcome]) -> None:
    """Print the missing operators, one a line."""
    from tt.testing.coverage import dtypes_in_words

    absent: dict[str, list[str]] = {}
    for outcome in outcomes:
        if outcome.missing:
            absent.setdefault(outcome.target.op, []).append(outcome.target.dtype)
    if absent:
        output.heading(f"missing on {name}")
        output.text(*(f"{op} ({dtypes_in_words(dtypes)})" for op, dtypes in absent.items()))


def print_failures(outcomes: list[Outcome]) -> None:
    """Print the first failure of each check of each operator, and how many more there are like it."""
    groups: dict[tuple[str, str], list[Any]] = {}
    for outcome in outcomes:
        for failure in outcome.report.failures if outcome.report else ():
            groups.setdefault((failure.op, failure.check), []).append(failure)
    if not groups:
        return
    output.heading("failures")
    # One failure of a kind is shown in full: with other dtypes it reads the same.
    for failures in groups.values():
        output.text(*str(failures[0]).splitlines())
        if len(failures) > 1:
            dtypes = ", ".join(dict.fromkeys(f.dtype for f in failures))
            output.text(f"    and {len(failures) - 1} more like it, with {dtypes}")


def print_comparison(outcomes: list[Outcome], comparison: Comparison) -> None:
    """Print how a run differs from the baseline."""
    worse = {target for target, _ in comparison.regressions}
    for title, changes in (
        ("worse than the baseline", comparison.regressions),
        ("mended since the baseline", comparison.mended),
        ("served in another way", comparison.changed),
    ):
        if changes:
            output.heading(title)
            output.text(*(f"{target} {what}" for target, what in changes))
    print_failures([outcome for outcome in outcomes if outcome.target in worse])
    output.text(
        "",
        f"{len(worse)} worse than the baseline, {len({t for t, _ in comparison.mended})} mended, "
        f"{comparison.known} known to be wrong",
    )


# --- as data -----------------------------------------------------------------------------------------------------


def data(found: Found, comparisons: dict[str, Comparison], ran: bool) -> list[dict[str, Any]]:
    """Return everything about the backends as plain data."""
    from tt.testing.conformance.outcomes import families

    return [
        {
            "name": name,
            "families": {
                family: dict(zip(RAN[1:], ran_row(family, members)[1:], strict=True))
                if ran
                else dict(Counter(outcome.served for outcome in members))
                for family, members in families(outcomes).items()
            },
            "operators": [row(outcome) for outcome in outcomes],
            "comparison": compared(comparisons[name]) if name in comparisons else None,
        }
        for name, outcomes in found.items()
    ]


def row(outcome: Outcome) -> dict[str, Any]:
    """Return one operator and dtype."""
    from tt.testing.conformance.outcomes import family

    cells: dict[str, Any] = {
        "name": outcome.target.op, "family": family(outcome.target.op), "dtype": outcome.target.dtype,
        "served": outcome.served,
    }  # fmt: skip
    if outcome.report is not None:
        cells |= {
            "missing": outcome.missing,
            "seconds": round(outcome.seconds, 6),
            "calls": outcome.report.samples,
            "checks": dict(outcome.report.checks),
            "failures": [asdict(failure) for failure in outcome.report.failures],
        }
    return cells


def compared(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison."""
    kinds = {
        "regressions": comparison.regressions, "mended": comparison.mended, "changed": comparison.changed
    }  # fmt: skip
    return {
        kind: [{"name": target.op, "dtype": target.dtype, "what": what} for target, what in changes]
        for kind, changes in kinds.items()
    } | {"known": comparison.known}
