"""The group `tt ops` with its commands."""

from __future__ import annotations

import typer

from tt.cli.ops.check import check
from tt.cli.ops.coverage import show_coverage
from tt.cli.ops.explain import explain
from tt.cli.ops.list import list_ops
from tt.cli.ops.pages import write_pages
from tt.cli.ops.show import show
from tt.cli.options import help_if_alone

__all__ = ["app"]

app = typer.Typer()


@app.callback(invoke_without_command=True)
def ops(context: typer.Context) -> None:
    """The operators: what there is, who serves it, and whether all is as it should be."""
    help_if_alone(context)


app.command("list")(list_ops)
app.command("show")(show)
app.command("check")(check)
app.command("explain")(explain)
app.command("coverage")(show_coverage)
app.command("pages")(write_pages)
