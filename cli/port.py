"""`tt port`: PyTorch programs with their imports swapped."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Annotated

import typer

from tt.cli import files, output
from tt.cli.options import Json

__all__ = ["port"]


def port(
    paths: Annotated[list[Path], typer.Argument(metavar="FILE", help="A Python file that imports torch.")],
    write: Annotated[bool, typer.Option("--write", help="Change the files.")] = False,
    as_json: Json = False,
) -> None:
    """Swap the imports of PyTorch programs: `torch` becomes `tt`; list the names that tt lacks.

    Without --write, no file is changed, and the changes are shown as a diff. The exit code is 1 if tt lacks a name.
    """
    from tt.port import port as swap

    programs = []
    for path in paths:
        try:
            source = path.read_bytes().decode()  # with the line ends that it has
            programs.append((path, source, swap(source)))
        except OSError as error:
            raise typer.BadParameter(f"cannot read {path}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise typer.BadParameter(f"cannot read {path}: it is not text in UTF-8") from None
        except SyntaxError as error:
            raise typer.BadParameter(f"{path}:{error.lineno}: not a Python program: {error.msg}") from None
    # Only after all files were read, so that an error in one leaves every file as it was.
    for path, source, ported in programs:
        if write and ported.text != source:
            # Writing replaces the file, which would lose the mode of an executable script.
            mode = path.stat().st_mode
            files.write(path, ported.text)
            path.chmod(mode)
    missing = [(str(path), entry) for path, _, ported in programs for entry in ported.missing]
    if as_json:
        output.as_json(
            {
                "files": [
                    {
                        "file": str(path),
                        "changed": ported.text != source,
                        "written": write and ported.text != source,
                    }
                    for path, source, ported in programs
                ],
                "missing": [
                    {"file": path, "line": entry.line, "name": entry.name, "instead": entry.instead}
                    for path, entry in missing
                ],
            }
        )
    else:
        for path, source, ported in programs:
            if ported.text == source:
                output.text(f"{path}: nothing to change")
            elif write:
                output.text(f"{path}: changed")
            else:
                before, after = source.splitlines(), ported.text.splitlines()
                output.text(*difflib.unified_diff(before, after, str(path), str(path), lineterm="", n=0))
        if missing:
            output.text("", "names that tt lacks:")
            output.table(
                ("where", "name", "instead"),
                [(f"{path}:{entry.line}", entry.name, entry.instead) for path, entry in missing],
            )
    if missing:
        raise typer.Exit(1)
