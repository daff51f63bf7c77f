"""The group `tt new` with its commands."""

from __future__ import annotations

import typer

from tt.cli.help import Command, Group, examples, help_if_alone
from tt.cli.new.backend import backend
from tt.cli.new.op import op

__all__ = ["app"]

app = typer.Typer(cls=Group)


@app.callback(
    invoke_without_command=True,
    epilog=examples("tt new op acme::twice", "tt new backend npu --library array_api_strict"),
)
def new(context: typer.Context) -> None:
    """Packages for tt that pass their own tests from the first minute."""
    help_if_alone(context)


app.command(
    "backend",
    cls=Command,
    short_help="Write a package with a backend.",
    epilog=examples("tt new backend npu --library array_api_strict"),
)(backend)
app.command(
    "op",
    cls=Command,
    short_help="Write a package with an operator.",
    epilog=examples("tt new op acme::twice", "tt new op acme::twice --directory work/acme --license MIT"),
)(op)
