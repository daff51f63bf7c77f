"""`tt ops suggest-fake`: what a fake implementation of an operator could be."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tt.cli import output
from tt.cli.options import Json, OpName

if TYPE_CHECKING:
    from tt.core.testing.suggest import Suggestion

__all__ = ["suggest_fake"]

Calls = Annotated[
    list[str] | None,
    typer.Option(
        "--call", metavar="CODE", help="A call to learn from: 'ops.acme.twice(tt.ones(2, 3))'; several times."
    ),
]
Script = Annotated[
    Path | None,
    typer.Option(
        "--script",
        metavar="FILE",
        help="A Python file to run; the calls that it makes are learned from. It may define the operator, too.",
        exists=True,
        dir_okay=False,
        readable=True,
    ),
]
Verify = Annotated[
    int, typer.Option("--verify", metavar="N", help="Compare on this many further calls.", min=1)
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Of the further calls.")]


def suggest_fake(
    name: OpName,
    calls: Calls = None,
    script: Script = None,
    verify: Verify = 200,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Propose a fake implementation (what the result looks like without data) from observed calls, and verify it.

    Without --call and --script, it learns from the operator's samples, or from calls made up from its signature. Exits
    with 1 if no rule fits what was observed.
    """
    from tt.core.testing.suggest import suggest_fake
    from tt.core.testing.suggest.suggest import ROUNDS

    with output.progress(f"suggest-fake {name}", ROUNDS, lines=0) as step:
        found = suggest_fake(
            name,
            calls=calls or (),
            script=None if script is None else str(script),
            verify=verify,
            seed=seed,
            progress=step,
        )
    if as_json:
        output.as_json(found.to_dict())
    else:
        output.text(*lines_of(found))
    if not found.found:
        raise typer.Exit(1)


def lines_of(found: Suggestion) -> list[str]:
    """Return what was found as text; a proposal as a program, with comments."""
    from tt.core.testing.suggest.code import imports

    if found.kind == "fake":
        lines = [
            f"# {found.signature}",
            *(f"# {line}" for line in evidence(found)),
            *sorted({*imports(found.code), "import tt"}),
            "",
            "",
        ]
        return [*lines, f'@tt.library.register_fake("{found.op}")', *found.code.splitlines()]
    if found.kind == "no_calls":
        lines = [f"{found.op}: no call succeeded, so there is nothing to learn from"]
        lines += [f"  {text}" for text in found.contradictions]
        return [*lines, f"  try: --call 'ops.{found.op.replace('::', '.')}(...)', or --script FILE"]
    if found.kind == "nothing":
        lines = [f"{found.op}: no rule fits all of {found.observed} calls: {found.why}"]
        if found.nearest:
            lines += ["the nearest rule:", *(f"    {line}" for line in found.nearest.splitlines())]
            return [*lines, "does not fit", *(f"    {text}" for text in found.contradictions)]
        return [*lines, "for instance", *(f"    {text}" for text in found.contradictions)]
    what = "shape" if found.kind == "data_dependent_shape" else "value"
    return [
        f"{found.op}: the {what} of the result depends on data: arguments that look the same gave",
        *(f"    {text}" for text in found.contradictions),
        f"say so: tags=('{found.kind}',) in custom_op, or tags: [{found.kind}] in YAML; tensors without data are then "
        "refused",
    ]


def evidence(found: Suggestion) -> list[str]:
    """Return from how many calls a proposal was made, and what was verified."""
    lines = [f"made from {found.observed} calls: {found.source}, and variations of them"]
    lines.append(
        f"verified on {found.verified} further calls: shapes and dtypes on all, strides on the {found.strides} with "
        "row-major arguments"
    )
    if found.refused:
        lines.append(f"the operator refused {found.refused} more variations")
    if found.left_out:
        lines.append(f"left out: {found.left_out}")
    if found.has_fake:
        lines.append("the operator has a fake implementation or a shape rule already")
    return lines
