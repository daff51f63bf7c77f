"""Files that commands write: whole or not at all, and never over something else."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import typer

__all__ = ["require_writable", "write"]


def require_writable(path: Path, mark: str) -> None:
    """Refuse a place where a report cannot, or must not, be written.

    Parameters
    ----------
    path : Path
        Where it is to go.
    mark : str
        What one of the first two lines of an earlier report is; any other file that is there is kept.

    Raises
    ------
    typer.BadParameter
        With the reason.
    """
    if path.is_dir():
        raise typer.BadParameter(f"cannot write {path}: it is a folder; give the name of a file in it")
    if not path.parent.is_dir():
        raise typer.BadParameter(
            f"cannot write {path}: the folder {path.parent} does not exist; create it first"
        )
    if path.exists() and not _is_marked(path, mark):
        raise typer.BadParameter(
            f"{path} is there already, and this command did not write it: give another name, or remove it first"
        )
    if not os.access(path.parent, os.W_OK):
        raise typer.BadParameter(f"cannot write {path}: no permission to write into {path.parent}")


def _is_marked(path: Path, mark: str) -> bool:
    """Return whether a file is an earlier report, or empty."""
    try:
        with path.open(encoding="utf-8") as file:
            first = [file.readline(200).strip() for _ in range(2)]
    except (OSError, UnicodeDecodeError):
        return False
    return mark in first or first == ["", ""]


def write(path: Path, text: str) -> None:
    """Write a report that `require_writable` has allowed: all of it, or nothing.

    Raises
    ------
    typer.BadParameter
        When the file cannot be written.
    """
    try:
        # In the same folder, since only within one file system a file is replaced in one step.
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", newline="", dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as file:
            file.write(text)
        # Temporary files are readable by their owner alone.
        os.chmod(file.name, 0o644)
        os.replace(file.name, path)
    except OSError as error:
        raise typer.BadParameter(f"cannot write {path}: {error.strerror or error}") from error
