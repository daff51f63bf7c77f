"""`tt ops check`: whether schema and registrations fit together."""

from __future__ import annotations

from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tt.cli import output
from tt.cli.options import Json, complete_backend

if TYPE_CHECKING:
    from tt.core.check import Problem

__all__ = ["check"]

Files = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[FILE]...",
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
        help="Also what this backend lacks (default: cpu); may be given several times.",
        autocompletion=complete_backend,
    ),
]


def check(files: Files = None, backends: Backends = None, as_json: Json = False) -> None:
    """Check the schema and everything that plugins registered; exit with 1 and a list if something is wrong.

    With FILE, check only these schema files (those of a plugin, for instance): every mistake, with its place.
    """
    from tt.core.check import check_all, check_files
    from tt.core.coverage import parse_place

    if files:
        problems = check_files(map(str, files))
    else:
        problems = check_all([parse_place(backend) for backend in backends] if backends else None)
    if as_json:
        output.as_json({"ok": not problems, "problems": [asdict(problem) for problem in problems]})
    elif problems:
        print_problems(problems)
    else:
        output.text(summary(files))
    if problems:
        raise typer.Exit(1)


def print_problems(problems: list[Problem]) -> None:
    """Print the problems by check; those of files as compilers do, with their place first."""
    for check, group in groupby(sorted(problems, key=lambda p: p.check), key=lambda p: p.check):
        found = list(group)
        output.text(f"{check}: {len(found)} problem{'s' if len(found) > 1 else ''}")
        output.text(*(line for problem in found for line in str(problem).splitlines()))


def summary(files: list[Path] | None) -> str:
    """Return what was checked when all is well."""
    if files:
        return f"no problems in {', '.join(map(str, files))}"
    from tt.core.dispatch.registry import REGISTRY

    kernels = sum(len(registrations) for registrations in REGISTRY.kernels.values())
    return f"no problems: {len(REGISTRY.names())} operators, {kernels} kernels, {len(REGISTRY.backends)} backends"
