"""`tt ops explain`: how a call would be resolved, before it is made."""

from __future__ import annotations

from typing import Annotated

import typer

from tt.cli import output
from tt.cli.options import Json, OpName

__all__ = ["explain"]

Specs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SPEC",
        help="A tensor or number of the call, in order: cpu:float32, cpu:float32[2,3] with a shape, cpu:float32() "
        "without dimensions, cpu/sparse_coo:float32, cpu:float32+autograd, 2.5.",
    ),
]


def explain(name: OpName, specs: Specs = None, as_json: Json = False) -> None:
    """Show how a call would be resolved: every candidate in order, its provider, why it was taken or passed over.

    Exits with 1 if the call would not be served.
    """
    from tt.core.dispatch.resolve.explain import explain

    explanation = explain(name, specs or [])
    if as_json:
        output.as_json(explanation.to_dict())
    else:
        output.text(explanation.text())
    if not explanation.served:
        raise typer.Exit(1)
