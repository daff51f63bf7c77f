"""The group `tt as-torch`: the package `torch` of an environment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tt.cli import output
from tt.cli.help import Command, Group, examples, help_if_alone
from tt.cli.options import Json

__all__ = ["app"]

Target = Annotated[
    Path | None,
    typer.Option("--target", metavar="FOLDER", help="A folder of packages; by default this environment's."),
]

app = typer.Typer(cls=Group)


@app.callback(invoke_without_command=True, epilog=examples("tt as-torch install", "tt as-torch status"))
def as_torch(context: typer.Context) -> None:
    """`import torch` gives tt in a whole environment, for packages that require PyTorch."""
    help_if_alone(context)


def install(target: Target = None) -> None:
    """Write a small package `torch` into the environment, so that `import torch` gives tt.

    Packages that require torch, installed afterwards, find their requirement met. Refused where PyTorch is.
    """
    from tt.as_torch.environment import add, standing

    before = standing(target)
    now = add(target)
    what = "is there already" if before.gives == "tt" else "is written"
    output.text(f"torch {now.version} {what}: {now.folder}")


def remove(target: Target = None) -> None:
    """Remove the package that `tt as-torch install` has written; `pip uninstall torch` does it, too."""
    from tt.as_torch import environment

    folder = environment.standing(target).folder
    was_there = environment.remove(target)
    output.text(f"torch is removed: {folder}" if was_there else f"there is no torch to remove: {folder}")


def status(target: Target = None, as_json: Json = False) -> None:
    """Say what `import torch` gives in the environment: tt, PyTorch or nothing."""
    from tt.as_torch.environment import standing

    now = standing(target)
    if as_json:
        output.as_json(now._asdict())
    else:
        output.text(f"import torch gives {' '.join(filter(None, (now.gives, now.version)))}: {now.folder}")


for _name, _command, _short, _examples in (
    ("install", install, "Write the package.", ("tt as-torch install",)),
    ("remove", remove, "Remove it.", ("tt as-torch remove",)),
    ("status", status, "Say what import torch gives.", ("tt as-torch status", "tt as-torch status --json")),
):
    app.command(_name, cls=Command, short_help=_short, epilog=examples(*_examples))(_command)
