"""Translates compiler output to the user's file names, line numbers and lines."""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tt.core.errors import CompileError, did_you_mean

__all__ = ["WRAPPER", "Diagnostic", "compile_error", "disk_error", "is_full", "link_error", "read_output"]

WRAPPER: Final = "#wrapper of "
"""Separates, in the file name of generated lines, the user's file from the function that they call."""

_GNU: Final = re.compile(
    r"^(?P<file>.+?):(?P<line>\d+):(?:(?P<column>\d+):)?\s+(?P<kind>fatal error|error|warning|note):\s+(?P<message>.*)$"
)
_REQUIRED: Final = re.compile(r"^(?P<file>.+?):(?P<line>\d+):(?:\d+:)?\s+required (?:from|by)\b.*$")
_NVRTC: Final = re.compile(
    r"^(?P<file>.+?)\((?P<line>\d+)\): (?:catastrophic )?(?P<kind>error|warning|remark)[^:]*: (?P<message>.*)$"
)
_UNDEFINED: Final = re.compile(r"undefined (?:reference to|symbol:?)\s*[`'\"]?(?P<symbol>[^`'\"\n]+)")
_NO_LIBRARY: Final = re.compile(
    r"(?:cannot find|unable to find library|library not found for) (?P<library>-l\S+)"
)
_FULL: Final = ("No space left on device", "Disk quota exceeded")
"""Patterns of the messages of compilers and linkers, in English."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing that a compiler found, in the user's source.

    Attributes
    ----------
    file, line, column : str, int, int
        The position, counted from 1; the column is 0 if it is unknown.
    kind : str
        error, warning or note.
    message : str
        The compiler's message.
    source : str
        The line.
    """

    file: str
    line: int
    column: int
    kind: str
    message: str
    source: str = ""

    def __str__(self) -> str:
        location = f"{self.file}:{self.line}:" + (f"{self.column}:" if self.column else "")
        lines = [f"{location} {self.kind}: {self.message}"]
        if self.source.strip():
            text = self.source.rstrip()
            lines.append(f"    {text}")
            if 0 < self.column <= len(text) + 1:
                # Tabs stay tabs, so that the caret is below its column.
                indent = "".join("\t" if c == "\t" else " " for c in text[: self.column - 1])
                lines.append(f"    {indent}^")
        return "\n".join(lines)


def read_output(
    output: str, sources: Mapping[str, str], names: Mapping[str, str] | None = None
) -> list[Diagnostic]:
    """Return a compiler's problems, in its order.

    Parameters
    ----------
    output : str
        What GCC, Clang or NVRTC printed.
    sources : mapping
        Name of a file -> its text; the lines of other files are read from disk.
    names : mapping, optional
        File name for the compiler -> file name for the user.
    """
    diagnostics: list[Diagnostic] = []
    pending: list[Diagnostic] = []
    # "required from here" precedes the error in a template, and follows it in the report.
    for line in output.splitlines():
        required = _REQUIRED.match(line)
        if required is not None:
            pending.append(_diagnostic(required, "note", "required from here", sources, names or {}))
            continue
        match = _GNU.match(line) or _NVRTC.match(line)
        if match is None:
            continue
        kind = {"fatal error": "error", "remark": "note"}.get(match["kind"], match["kind"])
        problem = _diagnostic(match, kind, match["message"], sources, names or {})
        if problem in diagnostics:  # a template for another dtype, or another call in generated code
            continue
        diagnostics.append(problem)
        # Only positions in the user's files help.
        diagnostics += [d for d in pending if d.file in sources or (names and d.file in names.values())]
        pending.clear()
    return diagnostics


def _diagnostic(
    match: re.Match[str], kind: str, message: str, sources: Mapping[str, str], names: Mapping[str, str]
) -> Diagnostic:
    file, marker, function = match["file"].partition(WRAPPER)
    line, column = int(match["line"]), int(match.groupdict().get("column") or 0)
    if marker:
        # An error in generated code is reported at the declaration of the function that it calls.
        column, message = 0, f"in what calls {function}: {message}"
    source = _line(file, line, sources)
    return Diagnostic(names.get(file, file), line, column, kind, message, source)


def _line(file: str, line: int, sources: Mapping[str, str]) -> str:
    text = sources.get(file)
    if text is None:
        try:
            text = Path(file).read_text(encoding="utf-8", errors="replace")
        except (OSError, ValueError):
            return ""
    lines = text.splitlines()
    return lines[line - 1] if 0 < line <= len(lines) else ""


def disk_error(extension: str, folder: object, output: str = "", command: Sequence[str] = ()) -> CompileError:
    """Return the error of a build for which the disk has no space left."""
    first = next((line.rpartition("error: ")[2].strip() for line in output.splitlines() if is_full(line)), "")
    return CompileError(
        extension,
        f"the disk of {folder} is full" + (f": {first}" if first else ""),
        hint="free some space, or name folders on another disk in the environment variables TMPDIR and "
        "TT_EXTENSIONS_DIR",
        command=command,
        output=output,
    )


def is_full(failure: str | OSError) -> bool:
    """Return whether the output of a compiler, or an error of the system, says that no space is left."""
    if isinstance(failure, OSError):
        return failure.errno in (errno.ENOSPC, errno.EDQUOT)
    return any(text in failure for text in _FULL)


def compile_error(
    extension: str, output: str, problems: Sequence[Diagnostic], command: Sequence[str]
) -> CompileError:
    """Return the error of a compiler that failed: its errors, each with the notes that follow it."""
    kept: list[Diagnostic] = []
    for problem in problems:
        # Notes belong to the error before them; those of warnings are left out.
        if problem.kind == "error" or (problem.kind == "note" and kept):
            kept.append(problem)
    count = sum(problem.kind == "error" for problem in kept)
    if not count:
        text = output.strip() or "it printed nothing"
        return CompileError(
            extension,
            f"the compiler failed:\n{text}",
            command=command,
            output=output,
            hint=_see_command(command),
        )
    headline = f"the source does not compile: {count} error{'s' if count != 1 else ''}"
    return CompileError(extension, headline, problems=kept, command=command, output=output)


def link_error(extension: str, output: str, declared: Sequence[str], command: Sequence[str]) -> CompileError:
    """Return the error of a linker that failed, or of a library that cannot be loaded."""
    libraries = list(dict.fromkeys(_NO_LIBRARY.findall(output)))
    symbols = list(dict.fromkeys(symbol.strip() for symbol in _UNDEFINED.findall(output)))
    if libraries:
        return CompileError(
            extension,
            f"the linker does not find {', '.join(libraries)}",
            hint="extra_ldflags=['-L/folder/of/the/library', ...]",
            command=command,
            output=output,
        )
    if symbols:
        lines = [f"'{symbol}'{did_you_mean(symbol.partition('(')[0], declared)}" for symbol in symbols]
        return CompileError(
            extension,
            "it uses what no source and no library defines: " + ", ".join(lines),
            hint="define it in the sources, or name its library: extra_ldflags=['-lz']",
            command=command,
            output=output,
        )
    return CompileError(
        extension,
        f"linking failed:\n{output.strip()}",
        command=command,
        output=output,
        hint=_see_command(command),
    )


def _see_command(command: Sequence[str]) -> str:
    return f"the command, to repeat it: {' '.join(command)}" if command else ""
