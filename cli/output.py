"""Prints: tables for people on a terminal, aligned plain text in a pipe, JSON for programs.

Nothing else in the package prints, so commands only pass on their content.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TextIO

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Steps", "as_json", "fields", "heading", "problem", "progress", "table", "text", "wide_table"]

Cell = str | int | float | None


def console() -> Console:
    """Return a console on the standard output as it is now (it may have been redirected since the last call)."""
    from rich.console import Console  # here and below: 20 ms, and text in a pipe needs none of it

    return Console(highlight=False, soft_wrap=False)


def is_terminal(stream: TextIO) -> bool:
    """Return whether a stream is shown to people, as rich decides it; a plain pipe is none without asking rich."""
    # Rich takes 20 ms to import; without a terminal and these variables its answer is no.
    if not stream.isatty() and not {"FORCE_COLOR", "TTY_COMPATIBLE"} & {*os.environ}:
        return False
    from rich.console import Console

    return Console(file=stream).is_terminal


def as_json(value: Any) -> None:
    """Print a value as JSON."""
    # Written without Rich, whose line wraps would break the JSON.
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def text(*lines: str) -> None:
    """Print lines as they are."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def problem(message: str) -> None:
    """Print an error on the standard error."""
    if is_terminal(sys.stderr):
        from rich.console import Console
        from rich.text import Text

        # Soft, so that paths and commands can be copied whole.
        errors = Console(stderr=True, highlight=False, soft_wrap=True)
        errors.print(Text.assemble(("error: ", "bold red"), message))
    else:
        sys.stderr.write(f"error: {message}\n")


def finding(message: str) -> None:
    """Print on the standard error what was found while the rest is still looked at."""
    sys.stderr.write(f"{message}\n")  # a bar of progress moves down for it


def heading(title: str) -> None:
    """Print the title of a section, after an empty line."""
    from rich.text import Text

    out = console()
    out.print()
    out.print(Text(title, style="bold"))


# --- tables ----------------------------------------------------------------------------------------------------


def cell(value: Cell) -> str:
    """Return a cell as text; numbers that are not whole get three digits after the point."""
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def table(columns: Sequence[str], rows: Sequence[Sequence[Cell]], *, empty: str = "nothing found") -> None:
    """Print a table; columns of numbers are flush right.

    Parameters
    ----------
    columns : sequence of str
        The headings.
    rows : sequence of sequences
        As many cells as there are columns in each.
    empty : str
        The message instead of a table without rows; on standard error, so that a pipe receives nothing.
    """
    if not rows:
        # To stderr: programs that read the table from a pipe must see no row.
        sys.stderr.write(f"{empty}\n")
        return
    right = [all(isinstance(row[i], int | float) for row in rows) for i in range(len(columns))]
    if is_terminal(sys.stdout):
        from rich import box
        from rich.table import Table
        from rich.text import Text

        shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
        for name, is_number in zip(columns, right, strict=True):
            shown.add_column(name, justify="right" if is_number else "left", overflow="fold")
        for row in rows:
            # As Text, since Rich would take brackets in a plain str for its markup.
            shown.add_row(*(Text(cell(value)) for value in row))
        console().print(shown)
    else:
        text(*plain_table([columns, *rows], right))


def wide_table(
    columns: Sequence[str], rows: Sequence[Sequence[Cell]], *, keep: int, empty: str = "nothing found"
) -> None:
    """Print a table with many columns: on a terminal, as several tables that fit its width.

    Each of them begins with the first `keep` columns.  In a pipe it is one table, so that a line has everything.
    """
    if not rows or not is_terminal(sys.stdout):
        table(columns, rows, empty=empty)
        return
    widths = [max(len(cell(row[i])) for row in (columns, *rows)) + GAP for i in range(len(columns))]
    room = console().width - sum(widths[:keep])
    parts: list[list[int]] = [[]]
    for i in range(keep, len(columns)):
        # A part has at least one column, even one that is wider than the terminal.
        if parts[-1] and sum(widths[j] for j in [*parts[-1], i]) > room:
            parts.append([])
        parts[-1].append(i)
    for part in parts:
        chosen = [*range(keep), *part]
        table([columns[i] for i in chosen], [[row[i] for i in chosen] for row in rows])


GAP = 3
"""The width of a column on a terminal in addition to its text."""


def plain_table(rows: Sequence[Sequence[Cell]], right: Sequence[bool]) -> Iterator[str]:
    """Yield the lines of a table whose columns are aligned with spaces."""
    cells = [[cell(value) for value in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(right))]
    for row in cells:
        aligned = (
            value.rjust(width) if flush_right else value.ljust(width)
            for value, width, flush_right in zip(row, widths, right, strict=True)
        )
        yield "  ".join(aligned).rstrip()


def fields(values: Mapping[str, Cell]) -> None:
    """Print names and values, one pair a line; those that are None or empty are left out."""
    shown = {name: cell(value) for name, value in values.items() if value not in (None, "")}
    width = max(map(len, shown), default=0)
    styled = is_terminal(sys.stdout)
    for name, value in shown.items():
        first, *more = value.splitlines()
        if styled:
            from rich.text import Text

            console().print(
                Text.assemble((name, "cyan"), " " * (width - len(name) + 2), first), soft_wrap=True
            )
        else:
            text(f"{name.ljust(width)}  {first}")
        text(*(" " * (width + 2) + line for line in more))


# --- progress --------------------------------------------------------------------------------------------------


class Steps(Protocol):
    """Receives the progress of something that takes time."""

    def __call__(self, done: int, note: str) -> None:
        """Report the number of finished steps, and the last one's result."""


@contextmanager
def progress(title: str, total: int, *, lines: int = 4) -> Iterator[Steps]:
    """Show the progress of `total` steps: a bar on a terminal, a few lines in a pipe.

    Both go to the standard error, so that the standard output holds results only.

    Parameters
    ----------
    title : str
        A description of the work.
    total : int
        The number of steps.
    lines : int
        How many lines to print in a pipe; 0 prints none.
    """
    if is_terminal(sys.stderr):
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            SpinnerColumn,
            TextColumn,
            TimeElapsedColumn,
        )

        columns = (
            SpinnerColumn(finished_text="✓"),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=Console(stderr=True, highlight=False)) as bar:
            task = bar.add_task(title, total=total, note="")
            yield lambda done, note: bar.update(task, completed=done, note=note)
        return

    def line(done: int, note: str) -> None:
        # A log in a file or in CI gets a few lines instead of a moving bar.
        every = max(1, total // lines) if lines else total + 1
        if done % every == 0 or (done == total and lines):
            sys.stderr.write(f"{title}: {done}/{total} {note}\n")

    yield line
