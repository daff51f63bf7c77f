"""The group `tt cuda` with its commands."""

from __future__ import annotations

import typer

from tt.cli.cuda.warmup import warmup
from tt.cli.help import Command, Group, examples, help_if_alone

__all__ = ["app"]

app = typer.Typer(cls=Group)


@app.callback(invoke_without_command=True, epilog=examples("tt cuda warmup"))
def cuda(context: typer.Context) -> None:
    """The kernels of CUDA on this machine."""
    help_if_alone(context)


app.command(
    "warmup",
    cls=Command,
    short_help="Compile the kernels that programs run most.",
    epilog=examples("tt cuda warmup", "tt cuda warmup --arch sm_90 --dtype float32"),
)(warmup)
