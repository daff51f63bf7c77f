"""Options that the commands of `tt new` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["Author", "Directory", "Force", "License"]

Directory = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="The folder of the package (default: named as the package, here)."),
]
Author = Annotated[str, typer.Option(metavar="'NAME <MAIL>'", help="The author (default: none).")]
License = Annotated[str, typer.Option(metavar="SPDX", help="The licence, as an SPDX expression.")]
Force = Annotated[
    bool,
    typer.Option("--force", help="Write into a folder that is not empty, replacing files of the same names."),
]
