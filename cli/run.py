"""`tt run`: a program started several times, as ranks that find each other."""

from __future__ import annotations

from typing import Annotated

import typer

from tt.cli import output

__all__ = ["run"]


def run(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[OPTION]... PROGRAM [ARGUMENT]...", help="As for torchrun.")
    ] = None,
) -> None:
    """Start a program several times, as ranks that find each other; the options are torchrun's."""
    from tt.distributed.run import main  # here: sockets and processes, which no other command needs

    raise typer.Exit(main(words or [], say=output.finding))
