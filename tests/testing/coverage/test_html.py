"""The matrix as a page of HTML: its structure, and its program in a browser."""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

from tt.testing.coverage import Place, matrix
from tt.testing.coverage.html import fragment, html
from tt.testing.coverage.markdown import MEANINGS
from tt.testing.coverage.page import SCRIPT, STYLE

pytestmark = pytest.mark.exhaustive

VOID = {"meta", "input", "br", "link"}


class Page(HTMLParser):
    """Reads a page: its elements with their attributes and text, each closed where it has to be."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.open = [], []
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        element = {"tag": tag, "text": "", "path": [e["tag"] for e in self.open], **dict(attrs)}
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1]["tag"] == tag, f"</{tag}> closes {self.open[-1]['tag']}"
        self.open.pop()

    def handle_data(self, data):
        for element in self.open:
            element["text"] += data

    def all(self, tag, **attributes):
        wanted = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
        return [e for e in self.elements if e["tag"] == tag and all(e.get(n) == v for n, v in wanted.items())]


@pytest.fixture(scope="module")
def source(found):
    return html(found)


@pytest.fixture(scope="module")
def page(source):
    return Page(source)


# --- structure ---------------------------------------------------------------------------------------------------


@pytest.mark.exhaustive
def test_every_operator_has_a_row_and_every_backend_a_column(found, page):
    body = [e for e in page.all("tr") if "data-family" in e]
    assert len(body) == len(found.rows)
    cells = [e for e in page.all("td") if "data-how" in e]
    assert len(cells) == len(found.rows) * len(found.places)
    expected = [cell.how for row in found.rows for cell in row.cells]
    assert [cell["data-how"] for cell in cells] == expected
    heads = [e["text"] for e in page.all("button", class_="sort")]
    assert heads == ["operator", "family", *map(str, found.places)]


def test_a_cell_says_in_words_what_its_colour_means(page):
    for cell in page.all("td"):
        if "data-how" in cell:
            assert cell["text"].startswith(cell["data-how"])


def test_a_cell_tells_its_dtypes_and_who_brought_it(page):
    cell = next(e for e in page.all("td") if e.get("data-how") == "kernel")
    assert cell["title"].startswith("dtypes: ")
    assert cell["title"] in cell["text"]
    assert "tt-tensor" in cell["text"]


def test_a_cell_tells_how_dtypes_are_served_that_its_kernels_do_not_serve(found, page):
    cells = iter([e for e in page.all("td") if "data-how" in e])
    partial = 0
    for row in found.rows:
        for cell in row.cells:
            told = dict(p.split(":") for p in next(cells).get("data-elsewhere", "").split(",") if p)
            served = row.part(cell)
            assert set(told) == (set(row.promised) - set(served) if served else set())
            partial += bool(told)
            if told and partial % 20 == 0:
                name, how = next(iter(told.items()))
                assert how == matrix([cell.place], ops=[row.definition.name], dtype=name).rows[0].cells[0].how
    assert partial


def test_the_page_needs_nothing_from_elsewhere(page, source):
    for element in page.elements:
        assert not {"src", "href", "action", "onclick"} & element.keys(), element
    assert "url(" not in source and "@import" not in source
    assert not re.search(r"https?://", SCRIPT + STYLE)
    assert "fetch(" not in SCRIPT


def test_every_field_has_a_label_and_every_heading_a_scope(page):
    for tag in ("input", "select"):
        for element in page.all(tag):
            assert "label" in element["path"], element
    assert all(e.get("scope") in ("row", "col") for e in page.all("th"))
    assert page.all("html")[0]["lang"] == "en"
    assert page.all("output")[0]["aria-live"] == "polite"
    identifiers = [e["id"] for e in page.elements if "id" in e]
    assert len(set(identifiers)) == len(identifiers)


def test_the_program_finds_the_fields_it_asks_for(page):
    asked = set(re.findall(r'byId\("(\w+)"\)', SCRIPT))
    asked |= set(re.findall(r'"(\w+)"', re.search(r"fields = \[(.*?)\]", SCRIPT)[1]))
    assert asked <= {e.get("id") for e in page.elements}


def test_names_cannot_break_out_of_the_page(acme):
    text = html(acme)
    assert "<b>&" not in text
    assert "Doubles &lt;b&gt;&amp;every&lt;/b&gt; element." in text
    Page(text)


@pytest.fixture
def acme(tmp_path):
    from tt.core.dispatch.registry.registry import REGISTRY

    file = tmp_path / "acme.yaml"
    file.write_text(
        "schema_version: 1\nops:\n- func: acme::twice(Tensor self) -> Tensor\n  kind: pointwise\n  meta: like\n"
        "  promote: [self]\n  dtypes: floating\n  variants: [function]\n"
        "  doc: Doubles <b>&every</b> element.\n"
    )
    with REGISTRY.add_definitions(file):
        yield matrix([Place("cpu")], namespace="acme")


# --- in a browser ------------------------------------------------------------------------------------------------

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def browser(tmp_path_factory, source):
    """Return a function that opens the page in a browser and returns what became of it."""
    if BROWSER is None:
        pytest.skip("no browser is installed")
    folder = tmp_path_factory.mktemp("page")
    file = folder / "page.html"
    file.write_text(source)

    def open_page(state):
        command = [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={folder / 'user'}",
        ]
        ran = subprocess.run(
            [*command, "--dump-dom", f"{file.as_uri()}#{state}"], capture_output=True, text=True, timeout=120
        )
        if not ran.stdout:
            pytest.skip(f"the browser does not run here: {ran.stderr[-200:]}")
        return Page(ran.stdout.replace("<!--", "<!-- "))

    return open_page


def names_shown(page):
    rows = [i for i, e in enumerate(page.elements) if e["tag"] == "tr" and "data-family" in e]
    shown = [i for i in rows if "hidden" not in page.elements[i]]
    return [next(e for e in page.elements[i:] if e["tag"] == "summary")["text"] for i in shown]


def test_filters_and_sorting_work_in_a_browser(browser, found):
    page = browser("search=linalg_*&backend=cpu&how=kernel&sort=-operator")
    expected = [
        row.definition.name
        for row in found.rows
        if row.definition.name.startswith("linalg_") and row.cells[0].how == "kernel"
    ]
    assert names_shown(page) == sorted(expected, reverse=True)
    assert page.all("output")[0]["text"] == f"{len(expected)} of {len(found.rows)} operators"
    assert [e["text"] for e in page.all("th", aria_sort="descending")] == ["operator"]


def test_a_column_sorts_by_how_well_operators_are_served_in_a_browser(browser, found):
    page = browser("sort=cuda&core=1&dtype=int64&family=shaping")
    column = [str(place) for place in found.places].index("cuda")
    rows = [r for r in found.rows if r.definition.core and "int64" in r.promised and r.family == "shaping"]
    ranked = sorted(rows, key=lambda r: list(MEANINGS).index(r.cells[column].how))
    assert names_shown(page) == [r.definition.name for r in ranked]


def test_a_notebook_gets_a_table_of_families_without_style_and_script(found):
    table = Page(found._repr_html_())
    assert found._repr_html_() == fragment(found)
    cells = {e["tag"] for e in table.elements}
    assert cells == {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    heads = [e["text"] for e in table.all("th")]
    assert heads[: len(found.places) + 1] == ["family", *map(str, found.places)]
    assert heads[len(found.places) + 1 :] == [*found.families(), "all"]
    last = [e["text"] for e in table.all("td")][-len(found.places) :]
    assert last == [f"{served} of {whole}" for served, whole in map(found.served, found.places)]


def test_a_notebook_gets_names_of_plugins_as_text(found):
    row = dataclasses.replace(found.rows[0], family="<script>")
    text = fragment(dataclasses.replace(found, rows=(row,)))
    assert "<script" not in text and "<th>&lt;script&gt;</th>" in text
