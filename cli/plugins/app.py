"""The group `tt plugins` with its commands."""

from __future__ import annotations

import typer

from tt.cli.help import Command, Group, examples, help_if_alone
from tt.cli.plugins.list import list_plugins
from tt.cli.plugins.show import show

__all__ = ["app"]

app = typer.Typer(cls=Group)


@app.callback(invoke_without_command=True, epilog=examples("tt plugins list", "tt plugins show cpu"))
def plugins(context: typer.Context) -> None:
    """The plugins that bring devices, layouts, layers and operators."""
    help_if_alone(context)


app.command(
    "list",
    cls=Command,
    short_help="List the installed plugins with their state.",
    epilog=examples("tt plugins list", "tt plugins list --activate"),
)(list_plugins)
app.command(
    "show",
    cls=Command,
    short_help="Show what a plugin declares and registers.",
    epilog=examples("tt plugins show cpu --activate"),
)(show)
