"""Writing a package: templates filled in, all files or none."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import typer

from tt.cli import output

__all__ = ["author_lines", "finish", "render", "write"]

SHARED = {".gitignore": "shared/gitignore.in"}


def render(templates: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str]:
    """Return the files of a package: path -> content; `templates` maps paths to files of the folder `templates`."""
    folder = files("tt.cli.new") / "templates"
    return {
        Template(path).substitute(values): Template((folder / source).read_text(encoding="utf-8")).substitute(
            values
        )
        for path, source in {**SHARED, **templates}.items()
    }


def author_lines(author: str) -> str:
    """Return the line of pyproject.toml that names the author "Name <mail>"; empty without one."""
    if not author.strip():
        return ""
    match = re.fullmatch(r"\s*([^<>]*?)\s*(?:<([^<>@\s]+@[^<>@\s]+)>)?\s*", author)
    if match is None or not any(match.groups()):
        raise typer.BadParameter(f"{author!r} is not 'Name <mail>'", param_hint="--author")
    # Strings of JSON are strings of TOML, too.
    pairs = [
        f"{key} = {json.dumps(value)}"
        for key, value in zip(("name", "email"), match.groups(), strict=True)
        if value
    ]
    return f"authors = [{{ {', '.join(pairs)} }}]\n"


def write(folder: Path, content: Mapping[str, str], *, force: bool) -> None:
    """Write the files of a package: into a new folder as a whole, into one that is there one by one.

    Raises
    ------
    typer.BadParameter
        If the folder is not empty, without `--force`, or is a file, or cannot be written.
    """
    try:
        _write(folder, content, force=force)
    except OSError as error:
        raise typer.BadParameter(
            f"cannot write {str(folder)!r}: {error.strerror or error}", param_hint="--directory"
        ) from error


def _write(folder: Path, content: Mapping[str, str], *, force: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise typer.BadParameter(f"{str(folder)!r} is a file", param_hint="--directory")
    if folder.is_dir() and any(folder.iterdir()):
        if not force:
            raise typer.BadParameter(
                f"the folder {str(folder)!r} is not empty; choose another one, or write into it with --force",
                param_hint="--directory",
            )
        _fill(folder, content)
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    # The package appears under its name only when it is complete.
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        _fill(scratch, content)
        # mkdtemp lets only the owner in, unlike mkdir.
        scratch.chmod(0o777 & ~_umask())
        os.replace(scratch, folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _umask() -> int:
    # Python reads the mask only by setting another.
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _fill(folder: Path, content: Mapping[str, str]) -> None:
    for path, text in content.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def finish(
    what: str,
    folder: Path,
    content: Mapping[str, str],
    steps: Mapping[str, str],
    *,
    as_json: bool,
    facts: Mapping[str, Any] | None = None,
    remark: str = "",
) -> None:
    """Print the written files, the facts about them, and the next steps (command -> why)."""
    if as_json:
        report: dict[str, Any] = {"folder": str(folder), "files": sorted(content), "next": list(steps)}
        output.as_json({**report, **(facts or {})})
        return
    output.text(f"{what} in {folder}", *(f"  {path}" for path in sorted(content)))
    if remark:
        output.text("", remark)
    output.heading("next")
    width = max(map(len, steps))
    output.text(*(f"  {command.ljust(width)}  # {why}" for command, why in steps.items()))
