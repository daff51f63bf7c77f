"""`tt exec`: a program of PyTorch that runs on tt."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Annotated

import typer

__all__ = ["execute"]


def execute(
    words: Annotated[
        list[str],
        typer.Argument(metavar="PROGRAM [ARGUMENT]", help="A Python file, and the words that it takes."),
    ],
    module: Annotated[bool, typer.Option("-m", help="PROGRAM is the name of a module.")] = False,
) -> None:
    """Run a program of PyTorch: `import torch` gives tt, in it and in the processes that it starts.

    Nothing is written, and PyTorch may be installed or not. The exit code is the program's.
    """
    command = [sys.executable, "-m", "tt.as_torch", *(["-m"] if module else []), *words]
    if os.name == "posix":
        # In the place of this process, so that signals, the terminal and tracebacks are the program's own.
        sys.stdout.flush()
        os.execv(sys.executable, command)
    raise typer.Exit(subprocess.run(command, check=False).returncode)
