"""The group `tt ops` with its commands."""

from __future__ import annotations

import typer

from tt.cli.help import Command, Group, examples, help_if_alone
from tt.cli.ops.check import check
from tt.cli.ops.coverage import show_coverage
from tt.cli.ops.explain import explain
from tt.cli.ops.list import list_ops
from tt.cli.ops.pages import write_pages
from tt.cli.ops.show import show

__all__ = ["app"]

app = typer.Typer(cls=Group)


@app.callback(invoke_without_command=True, epilog=examples("tt ops show softmax", "tt ops coverage"))
def ops(context: typer.Context) -> None:
    """The operators: what there is, who serves it, and whether all is as it should be."""
    help_if_alone(context)


app.command(
    "list",
    cls=Command,
    short_help="List the operators, with filters.",
    epilog=examples("tt ops list --missing --backend cuda", "tt ops list --kind reduction --json"),
)(list_ops)
app.command(
    "show",
    cls=Command,
    short_help="Show an operator and who serves it.",
    epilog=examples("tt ops show softmax", "tt ops show max.dim"),
)(show)
app.command(
    "check",
    cls=Command,
    short_help="Check schema, registrations and results.",
    epilog=examples("tt ops check", "tt ops check --backend cpu --run --ops 'linalg_*'"),
)(check)
app.command(
    "explain",
    cls=Command,
    short_help="Show how a call would be resolved, and why.",
    epilog=examples(
        "tt ops explain add cpu:float32 cpu:int64", "tt ops explain mul 'cpu:float32[2,3]+autograd' 2.5"
    ),
)(explain)
app.command(
    "coverage",
    cls=Command,
    short_help="Show how each backend serves each operator.",
    epilog=examples("tt ops coverage", "tt ops coverage --html coverage.html"),
)(show_coverage)
app.command(
    "pages",
    cls=Command,
    short_help="Write a page for each operator.",
    epilog=examples("tt ops pages build/pages", "tt ops pages docs/operators --namespace acme"),
)(write_pages)
