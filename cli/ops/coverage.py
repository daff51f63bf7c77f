"""`tt ops coverage`: every operator against every backend."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tt.cli import output
from tt.cli.files import require_writable, write
from tt.cli.options import Json, complete_backend, complete_dtype, complete_op

if TYPE_CHECKING:
    from tt.testing.coverage import Matrix, Place

__all__ = ["show_coverage"]

EMPTY = "no operator passes the filters"


def show_coverage(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="With --markdown: the page to write.")
    ] = None,
    backends: Annotated[
        list[str] | None,
        typer.Option(
            "--backend",
            metavar="NAME",
            help="Only this backend (default: all but meta); may be given several times.",
            autocompletion=complete_backend,
        ),
    ] = None,
    patterns: Annotated[
        list[str] | None,
        typer.Option(
            "--ops",
            metavar="PATTERN",
            help="Only operators whose name matches, for instance 'linalg_*'; may be given several times.",
            autocompletion=complete_op,
        ),
    ] = None,
    namespace: Annotated[
        str, typer.Option(metavar="NAME", help="Only this namespace: tt, or a plugin's, for instance acme.")
    ] = "",
    dtype: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Only operators that promise this dtype, and who serves it.",
            autocompletion=complete_dtype,
        ),
    ] = "",
    missing: Annotated[
        bool, typer.Option("--missing", help="Only operators that one of the backends does not serve.")
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Print a line for each operator instead of each family.")
    ] = False,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown, or write it into FILE.")
    ] = False,
    as_html: Annotated[
        Path | None,
        typer.Option(
            "--html", metavar="FILE", help="Write a page with filters, search and sorting into FILE."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show how each backend serves each operator: by a kernel, by a composite, or not at all."""
    from tt.testing.coverage import matrix, parse_place
    from tt.testing.coverage.markdown import GENERATED, markdown

    chosen = list(dict.fromkeys(map(parse_place, backends))) if backends else None
    require_one_format(file, as_markdown, as_html, as_json)
    for path in (file, as_html):
        if path is not None:
            # Refused before the matrix is made, and only files that tt wrote are overwritten.
            require_writable(path, GENERATED)
    table = matrix(chosen, ops=patterns or (), namespace=namespace, dtype=dtype or None, missing=missing)
    if as_json:
        output.as_json(table.as_data())
    elif as_html is not None:
        from tt.testing.coverage.html import html

        write(as_html, html(table))
        output.text(f"{as_html}: {len(table.rows)} operators, {len(table.places)} backends")
    elif as_markdown:
        if file is None:
            output.text(*markdown(table).splitlines())
            return
        write(file, markdown(table))
        output.text(f"{file}: {len(table.rows)} operators, {len(table.places)} backends")
    elif every or missing:
        print_operators(table)
    else:
        print_families(table)


def require_one_format(file: Path | None, as_markdown: bool, as_html: Path | None, as_json: bool) -> None:
    """Refuse options that contradict each other."""
    formats = [
        option
        for option, value in (
            ("--markdown", as_markdown),
            ("--html", as_html is not None),
            ("--json", as_json),
        )
        if value
    ]
    if len(formats) > 1:
        raise typer.BadParameter(f"{' and '.join(formats)} exclude each other: choose one")
    if file is not None and not as_markdown:
        raise typer.BadParameter(
            f"FILE ({file}) is where --markdown writes to: add --markdown, or take --html FILE"
        )


def print_families(found: Matrix) -> None:
    """Print a line for each family: how many of its operators each backend serves, and how."""
    columns = ["family", "operators", *map(str, found.places)]
    rows = [line(found, family, family) for family in found.families()]
    output.wide_table(columns, [*rows, line(found, "all", None)] if rows else [], keep=2, empty=EMPTY)
    if rows:
        legend(found)


def line(found: Matrix, name: str, family: str | None) -> list[str | int]:
    """Return a line of the table of families; a family of None means all."""
    count = sum(family in (None, row.family) for row in found.rows)
    return [name, count, *(share(found, backend, family) for backend in found.places)]


def share(found: Matrix, place: Place, family: str | None) -> str:
    """Return what share of a family a backend serves, and how many operators in which way."""
    from tt.testing.coverage import HOWS, percentage

    counts = found.counts(place, family)
    ways = " ".join(f"{counts[how]}{LETTERS[how]}" for how in HOWS if counts[how])
    return f"{percentage(*found.served(place, family)):>4}  {ways}"


LETTERS = {
    "kernel": "k",
    "generic kernel": "g",
    "composite": "c",
    "fallback": "f",
    "other layout": "o",
    "missing": "m",
}


def legend(found: Matrix) -> None:
    """Print the legend of the letters used."""
    from tt.testing.coverage import HOWS

    used = {cell.how for row in found.rows for cell in row.cells}
    output.text("", "  ".join(f"{LETTERS[how]} {how}" for how in HOWS if how in used))


def print_operators(found: Matrix) -> None:
    """Print a line for each operator."""
    from tt.testing.coverage.markdown import in_words

    columns = ["family", "operator", *map(str, found.places)]
    rows = [
        [row.family, row.definition.name, *(in_words(cell, row.part(cell)) for cell in row.cells)]
        for row in found.rows
    ]
    output.wide_table(columns, rows, keep=2, empty=EMPTY)
