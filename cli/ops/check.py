"""`tt ops check`: whether schema and registrations are consistent, and whether a backend's results are right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tt.cli import output
from tt.cli.files import require_writable, write
from tt.cli.ops import conformance
from tt.cli.options import Json, complete_backend, complete_check, complete_dtype, complete_op

if TYPE_CHECKING:
    from tt.testing.conformance.outcomes import Baseline, Outcome
    from tt.testing.coverage import Place
    from tt.testing.registrations import Problem

__all__ = ["check"]

Files = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE",
        help="Schema files to check on their own.",
        exists=True,
        dir_okay=False,
        readable=True,
    ),
]
Backends = Annotated[
    list[str] | None,
    typer.Option(
        "--backend",
        metavar="NAME",
        help="Show what this backend lacks (default: cpu); may be given several times.",
        autocompletion=complete_backend,
    ),
]
Run = Annotated[
    bool, typer.Option("--run", help="Call the operators of the backend and check their results.")
]
Patterns = Annotated[
    list[str] | None,
    typer.Option(
        "--ops",
        metavar="PATTERN",
        help="Only operators whose name matches, for instance 'linalg_*'; may be given several times.",
        autocompletion=complete_op,
    ),
]
Dtypes = Annotated[
    list[str] | None,
    typer.Option(
        "--dtype",
        metavar="NAME",
        help="Only this dtype, or all (default: all; with --run one of each kind); may be given several times.",
        autocompletion=complete_dtype,
    ),
]
Checks = Annotated[
    list[str] | None,
    typer.Option(
        "--checks",
        metavar="NAME",
        help="With --run: only this check, for instance values; may be given several times.",
        autocompletion=complete_check,
    ),
]
Seed = Annotated[
    int | None, typer.Option(metavar="N", help="With --run: the seed of the inputs (default: 0).")
]
Samples = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, help="With --run: at most N inputs for each operator and dtype (default: all)."
    ),
]
FailFast = Annotated[
    bool, typer.Option("--fail-fast", help="With --run: stop at the first operator that fails.")
]
Junit = Annotated[
    Path | None, typer.Option(metavar="FILE", help="With --run: write the outcome as JUnit XML.")
]
BaselineFile = Annotated[
    Path | None,
    typer.Option(
        "--baseline",
        metavar="FILE",
        help="Compare with the outcome in FILE: only regressions count.",
        exists=True,
        dir_okay=False,
        readable=True,
    ),
]
Save = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the outcome into FILE, for later comparisons.")
]


def check(
    files: Files = None,
    backends: Backends = None,
    run: Run = False,
    patterns: Patterns = None,
    dtypes: Dtypes = None,
    checks: Checks = None,
    seed: Seed = None,
    samples: Samples = None,
    fail_fast: FailFast = False,
    junit: Junit = None,
    baseline: BaselineFile = None,
    save_baseline: Save = None,
    as_json: Json = False,
) -> None:
    """Check the schema and everything that plugins registered; exit with 1 and a list if something is wrong.

    With FILE, check only these schema files (those of a plugin, for instance): every mistake, with its position.
    With --backend, show how it implements every operator; with --run, call them and check values, memory, gradients.
    """
    from tt.testing.coverage import parse_place
    from tt.testing.registrations import check_all, check_files

    # Options that would be ignored are refused: a check that seems to pass would hide that they did
    # nothing.
    options = {
        "--backend": backends, "--run": run, "--ops": patterns, "--dtype": dtypes, "--baseline": baseline,
        "--save-baseline": save_baseline,
    }  # fmt: skip
    for_run = {
        "--checks": checks, "--seed": seed, "--junit": junit, "--samples": samples, "--fail-fast": fail_fast or None,
    }  # fmt: skip
    if files:
        refuse("FILE is checked on its own: leave out", {**options, **for_run})
        report(check_files(map(str, files)), f"no problems in {', '.join(map(str, files))}", as_json)
        return
    if not run:
        refuse(
            "add --run, or leave out", {name: value for name, value in for_run.items() if value is not None}
        )
    if not any(options.values()):
        report(check_all(), summary, as_json)
        return
    from tt.testing.conformance.junit import junit as as_junit
    from tt.testing.conformance.outcomes import dumps

    for path, mark in ((junit, conformance.JUNIT_MARK), (save_baseline, conformance.BASELINE_MARK)):
        if path is not None:
            require_writable(path, mark)
    # Read and checked before the run, which may take minutes.
    known = conformance.read(baseline) if baseline is not None else None
    backend_places = list(dict.fromkeys(map(parse_place, backends or ["cpu"])))
    if run:
        result = conformance.run(
            backend_places,
            patterns,
            dtypes,
            checks,
            seed or 0,
            samples=samples,
            fail_fast=fail_fast,
            tell=not as_json,
        )
        if junit is not None:
            write(junit, as_junit(result, known))
        problems: list[Problem] = []
    else:
        result = conformance.served(backend_places, patterns, dtypes)
        problems = problems_of(backend_places, patterns, result)
    if save_baseline is not None:
        write(save_baseline, dumps(result))
    good = show(result, problems, known, run, as_json)
    if not good:
        raise typer.Exit(1)


def refuse(advice: str, options: dict[str, Any]) -> None:
    """Refuse options that have no effect with the others."""
    wrong = [name for name, value in options.items() if value is not None and value is not False]
    if wrong:
        raise typer.BadParameter(f"{advice} {', '.join(wrong)}")


def problems_of(
    places: Sequence[Place], patterns: list[str] | None, found: dict[str, list[Outcome]]
) -> list[Problem]:
    """Return the problems of backends and of what their packages brought, or with patterns of the chosen operators."""
    from tt.testing.registrations import check_backends

    chosen = {outcome.target.op for outcomes in found.values() for outcome in outcomes}
    return check_backends(places, chosen if patterns else None)


def show(
    found: dict[str, list[Outcome]], problems: list[Problem], known: Baseline | None, ran: bool, as_json: bool
) -> bool:
    """Print the outcome; return whether all checks passed, or with a baseline, whether nothing is worse."""
    comparisons = {name: known.compare(name, outcomes) for name, outcomes in found.items()} if known else {}
    if known is not None:
        good = not any(comparison.regressions for comparison in comparisons.values())
    elif ran:
        good = all(outcome.good for outcomes in found.values() for outcome in outcomes)
    else:
        good = not problems
    if as_json:
        listed = {"problems": [asdict(problem) for problem in problems]}
        output.as_json({"ok": good, **listed, "backends": conformance.data(found, comparisons, ran)})
        return good
    print_problems(problems)
    for number, (name, outcomes) in enumerate(found.items()):
        if number or problems:
            output.text("")
        conformance.print_outcomes(name, outcomes, comparisons.get(name), ran)
    return good


def report(problems: list[Problem], well: Any, as_json: bool) -> None:
    """Print problems and exit with 1, or print a message if there are none."""
    if as_json:
        output.as_json({"ok": not problems, "problems": [asdict(problem) for problem in problems]})
    elif problems:
        print_problems(problems)
    else:
        output.text(well if isinstance(well, str) else well())
    if problems:
        raise typer.Exit(1)


def print_problems(problems: list[Problem]) -> None:
    """Print the problems by check; problems in files as compilers do, with the position first."""
    for check, group in groupby(sorted(problems, key=lambda p: p.check), key=lambda p: p.check):
        members = list(group)
        output.text(f"{check}: {len(members)} problem{'s' if len(members) > 1 else ''}")
        output.text(*(line for problem in members for line in str(problem).splitlines()))


def summary() -> str:
    """Return what was checked when all is well."""
    from tt.core.dispatch.registry.registry import REGISTRY

    kernels = sum(len(registrations) for registrations in REGISTRY.kernels.values())
    return f"no problems: {len(REGISTRY.names())} operators, {kernels} kernels, {len(REGISTRY.backends)} backends"
