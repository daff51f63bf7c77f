"""The matrix as one HTML page that needs no network: filters, search and sorting in plain JavaScript.

Every cell states the meaning of its colour in words, and opens to show dtypes and providers; without JavaScript
the page is the whole table.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Final

from tt.core.dispatch.registry.registry import REGISTRY
from tt.testing.coverage.markdown import GENERATED, MEANINGS, in_words
from tt.testing.coverage.matrix import Matrix, Row
from tt.testing.coverage.page import SCRIPT, STYLE
from tt.testing.coverage.served import Coverage, How
from tt.testing.coverage.words import dtypes_in_words, percentage

__all__ = ["fragment", "html"]

# In the order of MEANINGS, in which a column sorts.
_CLASS: Final[dict[How, str]] = {
    "kernel": "kernel", "generic kernel": "generic", "composite": "composite", "fallback": "fallback",
    "other layout": "other", "missing": "missing",
}  # fmt: skip


def html(matrix: Matrix) -> str:
    """Return the matrix as a page of HTML.

    Examples
    --------
    >>> from tt.testing.coverage import Place, matrix
    >>> from tt.testing.coverage.html import html
    >>> html(matrix([Place("cpu")], ops=["exp"])).splitlines()[0]
    '<!doctype html>'
    """
    return "\n".join(_lines(matrix)) + "\n"


def fragment(matrix: Matrix) -> str:
    """Return a table of families and backends for a notebook: no style or script that would reach its other cells.

    Examples
    --------
    >>> from tt.testing.coverage import Place, matrix
    >>> from tt.testing.coverage.html import fragment
    >>> print(fragment(matrix([Place("cpu")], ops=["exp"])))
    <table><caption>1 operator: served by 1 backend</caption>
    <thead><tr><th>family</th><th>cpu</th></tr></thead><tbody>
    <tr><th>pointwise</th><td>1 of 1</td></tr>
    <tr><th>all</th><td>1 of 1</td></tr>
    </tbody></table>
    """
    title = f"{_counted(len(matrix.rows), 'operator')}: served by {_counted(len(matrix.places), 'backend')}"
    title += f", {matrix.dtype}" if matrix.dtype else ""
    heads = "".join(f"<th>{escape(str(name))}</th>" for name in ("family", *matrix.places))
    lines = [f"<table><caption>{escape(title)}</caption>", f"<thead><tr>{heads}</tr></thead><tbody>"]
    for family in (*matrix.families(), None):
        counts = [matrix.served(backend, family) for backend in matrix.places]
        cells = "".join(f"<td>{served} of {whole}</td>" for served, whole in counts)
        lines.append(f"<tr><th>{escape(family or 'all')}</th>{cells}</tr>")
    return "\n".join([*lines, "</tbody></table>"])


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _lines(matrix: Matrix) -> Iterator[str]:
    title = "Operator coverage" + (f": {matrix.dtype}" if matrix.dtype else "")
    yield "<!doctype html>"
    yield GENERATED
    yield '<html lang="en">'
    yield "<head>"
    yield '<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="color-scheme" content="light dark">'
    yield f"<title>{escape(title)}</title>"
    yield f"<style>{STYLE}</style>"
    yield "</head>"
    yield "<body>"
    yield f"<header><h1>{escape(title)}</h1>"
    yield f"<p>{len(matrix.rows)} operators, {len(matrix.places)} backends.</p></header>"
    yield "<main>"
    yield from _summary(matrix)
    yield from _filters(matrix)
    yield from _operators(matrix)
    yield "</main>"
    yield f"<script>{SCRIPT.replace('ORDER', json.dumps(_CLASS))}</script>"
    yield "</body>"
    yield "</html>"


# --- the backends ----------------------------------------------------------------------------------------------


def _summary(matrix: Matrix) -> Iterator[str]:
    used = _used(matrix)
    yield '<section aria-labelledby="backends"><h2 id="backends">Backends</h2>'
    yield '<div class="wide"><table id="summary"><thead><tr><th scope="col">backend</th>'
    yield "".join(f'<th scope="col" class="number">{how}</th>' for how in used)
    yield '<th scope="col" class="number">served</th><th scope="col">brought by</th></tr></thead><tbody>'
    for backend in matrix.places:
        counts = matrix.counts(backend)
        source = str(REGISTRY.backend_sources[backend.device, backend.layout])
        yield f'<tr><th scope="row">{escape(str(backend))}</th>'
        yield "".join(f'<td class="number">{counts[how]}</td>' for how in used)
        yield f'<td class="number">{percentage(*matrix.served(backend))}</td><td>{escape(source)}</td></tr>'
    yield "</tbody></table></div><dl>"
    for how in used:
        yield f'<div><dt><span class="how {_CLASS[how]}">{how}</span></dt><dd>{escape(MEANINGS[how])}</dd></div>'
    yield "</dl></section>"


def _used(matrix: Matrix) -> list[How]:
    used = {cell.how for row in matrix.rows for cell in row.cells}
    return [how for how in MEANINGS if how in used]


# --- filters ---------------------------------------------------------------------------------------------------


def _filters(matrix: Matrix) -> Iterator[str]:
    dtypes = list(dict.fromkeys(name for row in matrix.rows for name in row.promised))
    namespaces = list(dict.fromkeys(row.definition.signature.namespace for row in matrix.rows))
    yield '<section aria-labelledby="operators"><h2 id="operators">Operators</h2>'
    yield '<form id="filters" role="search" hidden>'
    yield '<label>name <input id="search" type="search" placeholder="linalg_* or soft" autocomplete="off"></label>'
    yield _choice("family", "family", matrix.families())
    yield _choice("backend", "backend", [str(backend) for backend in matrix.places])
    yield _choice("how", "served by", list(_used(matrix)))
    yield _choice("dtype", "promises", dtypes)
    yield _choice("namespace", "namespace", namespaces)
    yield '<label class="check"><input id="core" type="checkbox"> core only</label>'
    yield '<button type="reset">reset</button>'
    yield '<output id="count" aria-live="polite"></output></form>'


def _choice(name: str, label: str, values: list[str]) -> str:
    options = "".join(f"<option>{escape(value)}</option>" for value in values)
    return f'<label>{label} <select id="{name}"><option value="">any</option>{options}</select></label>'


# --- operators -------------------------------------------------------------------------------------------------


def _operators(matrix: Matrix) -> Iterator[str]:
    columns = ["operator", "family", *map(str, matrix.places)]
    yield '<div class="wide"><table id="matrix"><thead><tr>'
    yield "".join(
        f'<th scope="col"><button type="button" class="sort">{escape(name)}</button></th>' for name in columns
    )
    yield "</tr></thead><tbody>"
    for row in matrix.rows:
        yield from _row(row)
    yield "</tbody></table></div></section>"


def _row(row: Row) -> Iterator[str]:
    definition = row.definition
    core = ' data-core="1"' if definition.core else ""
    yield (
        f'<tr data-family="{escape(row.family)}" data-namespace="{escape(definition.signature.namespace)}" '
        f'data-dtypes="{" ".join(row.promised)}"{core}>'
        f'<th scope="row"><details><summary>{escape(definition.name)}</summary>'
        f"<code>{escape(str(definition.signature))}</code><p>{escape(definition.doc.strip())}</p>"
        f"<p>{'core, ' if definition.core else ''}{definition.kind}; promises "
        f"{escape(dtypes_in_words(row.promised))}</p></details></th><td>{escape(row.family)}</td>"
    )
    for cell in row.cells:
        yield _cell(cell, in_words(cell, row.part(cell)), row.elsewhere(cell))
    yield "</tr>"


def _cell(cell: Coverage, words: str, elsewhere: Mapping[str, How]) -> str:
    about = f"dtypes: {dtypes_in_words(cell.dtypes)}" if cell.dtypes else MEANINGS[cell.how]
    shown = f'<span class="how {_CLASS[cell.how]}">{escape(words)}</span>'
    data = f'data-how="{cell.how}" title="{escape(about)}"'
    if elsewhere:
        data += f' data-elsewhere="{",".join(f"{name}:{how}" for name, how in elsewhere.items())}"'
    if not cell.sources:
        return f"<td {data}>{shown}</td>"
    sources = "".join(f"<li>{escape(source)}</li>" for source in cell.sources)
    return f"<td {data}><details><summary>{shown}</summary><p>{escape(about)}</p><ul>{sources}</ul></details></td>"
