"""The built site in a browser: Chromium, driven by Playwright, reads it from a server of this process.

`make docs` builds the site.  Without it, without Chromium or without `pip install tt-tensor[browser]` these tests skip,
or fail if they were asked for by their marker, as `make browser` does.  They leave screenshots in build/screenshots.
"""

from __future__ import annotations

import importlib
import posixpath
import re
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from html import unescape
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, NoReturn
from urllib.parse import unquote

import pytest

pytestmark = pytest.mark.browser

CHROMIUM: Final = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
FLAGS: Final = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",  # what asks for another host fails
)  # fmt: skip
WIDTHS: Final = {"phone": 390, "desk": 1280}
PARTS: Final = 3
"""Tests of many pages are that many, which processes share."""
LOOKED_AT: Final = (
    "index.html", "README.html", "search.html", "genindex.html", "docs/nn.html", "docs/errors.html",
    "docs/differences.html",
    "docs/how-it-works.html", "docs/benchmarks.html", "docs/matrix.html", "docs/commands.html",
    "docs/operators/README.html", "docs/operators/softmax.html", "docs/operators/linalg.svd.html",
    "docs/operators/nn.functional.scaled_dot_product_attention.html", "docs/reference/README.html",
    "docs/reference/tt.html", "docs/reference/nn.html", "docs/reference/library.html", "docs/reference/errors.html",
    "docs/reference/tt.Tensor.html", "docs/reference/tt.nn.Linear.html", "docs/reference/tt.nn.LSTM.html",
    "docs/reference/tt.utils.data.DataLoader.html",
)  # fmt: skip


def lacks(config: pytest.Config, reason: str) -> NoReturn:
    """Skip a test for a reason; fail if the tests of the site were asked for."""
    (pytest.fail if config.option.markexpr == "browser" else pytest.skip)(reason)


@pytest.fixture(scope="module")
def site(root: Path, pytestconfig: pytest.Config) -> Path:
    """The built site."""
    folder = root / "build" / "site"
    index = folder / "searchindex.js"  # which is written last
    if not index.is_file():
        lacks(pytestconfig, "build/site is missing: run make docs")
    sources = [root / "docs" / "conf.py", *root.glob("docs/*.md"), *root.glob("docs/site/*.*")]
    if index.stat().st_mtime < max(path.stat().st_mtime for path in sources):
        lacks(pytestconfig, "build/site is older than docs/: run make docs")
    return folder


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without a line for each, and an empty picture where a browser looks for one by itself."""

    def do_GET(self) -> None:
        if self.path != "/favicon.ico":
            super().do_GET()
            return
        self.send_response(HTTPStatus.NO_CONTENT)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where the site is served: a page that is read from the disk may not fetch the excerpts of a search."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser(pytestconfig: pytest.Config) -> Iterator[Any]:
    """Chromium with an empty profile."""
    try:
        playwright = importlib.import_module("playwright.sync_api")
    except ImportError:
        lacks(pytestconfig, "playwright is missing: install the extra browser")
    if CHROMIUM is None:
        lacks(pytestconfig, "Chromium is missing")
    with playwright.sync_playwright() as program:
        chromium = program.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield chromium
        chromium.close()


class Visitor:
    """A tab that keeps what goes wrong: errors, those of the console included, and requests that leave the site."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.address = address
        # A route that refuses requests would switch the cache off: each page would fetch and compile the scripts again.
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.wrong: list[str] = []
        self.page.on("request", self._asked)
        self.page.on(
            "console",
            lambda m: m.type == "error" and self.wrong.append(f"{self.page.url}: {m.text}"),
        )
        self.page.on("pageerror", lambda error: self.wrong.append(f"{self.page.url}: {error}"))
        self.page.on(
            "requestfailed", lambda request: self.wrong.append(f"{self.page.url}: {request.url} failed")
        )

    def _asked(self, request: Any) -> None:
        if not request.url.startswith((self.address, "data:", "blob:")):
            self.wrong.append(f"{self.page.url} asks for {request.url}")

    def open(self, name: str) -> Any:
        """Open a page of the site."""
        self.page.goto(self.address + name)
        return self.page


@pytest.fixture(scope="module")
def visitor(browser: Any, address: str) -> Iterator[Visitor]:
    """A tab of the size of a desk's screen."""
    found = Visitor(browser, address, viewport={"width": 1280, "height": 800})
    yield found
    found.context.close()


def pages_of(site: Path) -> list[str]:
    """Return the pages of the site, those that people wrote first."""
    made = ("docs/operators/", "docs/reference/", "_static/")
    names = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    names = [name for name in names if not name.startswith("_static/")]
    return sorted(names, key=lambda name: (name.startswith(made), name))


def kinds_of(site: Path, names: list[str]) -> list[str]:
    """Return pages that together have every element, every class and every script that any of the pages has."""
    seen: set[str] = set()
    chosen = []
    for name in names:
        text = (site / name).read_text(encoding="utf-8")
        found = {*re.findall(r"<(\w+)", text), *re.findall(r'\b(?:class|src|type|rel)="([^"]*)"', text)}
        if not found <= seen:
            chosen.append(name)
            seen |= found
    return chosen


@pytest.mark.parametrize("part", range(PARTS))
def test_every_written_page_and_every_kind_of_made_page_loads_without_an_error_or_a_request(
    visitor: Visitor, site: Path, part: int
) -> None:
    names = pages_of(site)
    written = [name for name in names if not name.startswith(("docs/operators/", "docs/reference/"))]
    made = [name for name in names if name not in set(written)]
    kinds = kinds_of(site, made)
    assert len(written) > 40 and len(made) > 1000 and len(kinds) > 20
    # The others are loaded where they are looked at.
    chosen = [name for name in [*written, *dict.fromkeys([*kinds, *made[::80]])] if name not in LOOKED_AT]
    visitor.wrong.clear()
    for name in chosen[part::PARTS]:
        if not visitor.open(name).title():
            visitor.wrong.append(f"{name} has no title")
    assert not visitor.wrong


def test_every_link_and_every_file_of_every_page_is_there(site: Path) -> None:
    texts = {name: (site / name).read_text(encoding="utf-8") for name in pages_of(site)}
    files = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    anchors = {name: set(map(unescape, re.findall(r'\bid="([^"]+)"', text))) for name, text in texts.items()}
    broken, checked = [], 0
    for name, text in texts.items():
        folder = name.rpartition("/")[0]
        for found in set(re.findall(r'<[^<>]*\b(?:href|src)="([^"]+)"', text)):
            address = unescape(found)
            if re.match(r"[a-z][a-z+.-]*:", address):
                continue
            path, _, anchor = address.partition("#")
            path = unquote(path.partition("?")[0])
            target = posixpath.normpath(posixpath.join(folder, path)) if path else name
            checked += 1
            if target not in files:
                broken.append(f"{name}: {address}: there is no such file")
            elif anchor and target in anchors and unquote(anchor) not in anchors[target]:
                broken.append(f"{name}: {address}: there is no such place")
    assert checked > 10000 and not broken, "\n".join(broken[:30])


def test_no_page_and_no_stylesheet_takes_anything_from_another_host(site: Path) -> None:
    # Links may lead elsewhere; what a browser fetches by itself may not.
    fetched = re.compile(
        r"""<(?:script|img|iframe|source|video|audio|embed|object|input)\b[^>]*\b(?:src|srcset|data)="(?:[a-z]+:)?//[^"]*"
        |<link\b(?![^>]*\brel="canonical")[^>]*\bhref="(?:[a-z]+:)?//[^"]*"
        |@import[^;]*//[^;]*|url\(\s*["']?(?:https?:)?//[^)]*""",
        re.X,
    )
    texts = {name: site / name for name in pages_of(site)}
    texts |= {path.relative_to(site).as_posix(): path for path in site.rglob("*.css")}
    found = {name: fetched.findall(path.read_text(encoding="utf-8")) for name, path in texts.items()}
    assert len(found) > 1000 and not {name: places for name, places in found.items() if places}


def test_what_is_copied_from_a_session_is_what_is_typed(visitor: Visitor) -> None:
    visitor.wrong.clear()
    page = visitor.open("docs/tutorials/operator.html")
    copied = page.evaluate(
        """[...document.querySelectorAll(".highlight-python pre")].map(block => {
          getSelection().selectAllChildren(block);
          return getSelection().toString();
        })"""
    )
    assert len(copied) > 8
    session = copied[0]
    assert (
        session.startswith("import numpy as np\nimport tt\n")
        and "    limit = x.dtype.type(limit)\n" in session
    )
    assert "tensor([-1.9998" not in session
    assert not any(re.search(r"^(>>>|\.\.\.) \S", text, re.M) for text in copied)
    assert not visitor.wrong


def results(page: Any) -> list[str]:
    """Return what a search finds once it has ended: it shows its results one after the other."""
    page.locator("#search-results .search-summary", has_text="Search finished").wait_for(timeout=60_000)
    return list(page.locator("#search-results li a").all_inner_texts())


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ("softmax", "tt.softmax"),
        ("custom_op", "tt.library"),
        ("Linear", "tt.nn.Linear"),
        ("lr_scheduler", "tt.optim.lr_scheduler"),
    ],
)
def test_the_search_finds(visitor: Visitor, words: str, title: str) -> None:
    visitor.wrong.clear()
    page = visitor.open(f"search.html?q={words}")
    found = results(page)
    assert any(title in text for text in found[:30]), found[:30]
    page.wait_for_load_state("networkidle")  # the excerpts have come
    assert not visitor.wrong


def test_the_search_finds_without_a_server(browser: Any, site: Path) -> None:
    page = browser.new_page()
    page.goto(f"file://{site / 'search.html'}?q=softmax")
    found = results(page)
    assert any("tt.softmax" in text for text in found), found
    page.close()


def test_the_matrix_filters_and_sorts(visitor: Visitor) -> None:
    visitor.wrong.clear()
    page = visitor.open("docs/matrix.html")

    def shown() -> list[str]:  # in one call: the table has thousands of cells
        return list(page.evaluate(SHOWN))

    everything = shown()
    page.fill("#search", "linalg_*")
    page.wait_for_function(f"{SHOWN}.length < {len(everything)}")
    names = shown()
    assert len(names) > 20 and all(name.startswith("linalg_") for name in names)
    page.click("#filters button[type=reset]")
    page.wait_for_function(f"{SHOWN}.length === {len(everything)}")
    page.check("#core")
    assert 0 < len(shown()) < len(everything)
    page.uncheck("#core")
    heading = page.locator("#matrix th button").first
    orders = []
    for _ in range(2):
        heading.click()
        orders.append(shown())
    assert orders[0] != orders[1] and orders[0] == orders[1][::-1] and sorted(orders[0]) == sorted(everything)
    assert not visitor.wrong


# The operators of the rows that take up space.
SHOWN: Final = """[...document.querySelectorAll("#matrix tbody tr")]
  .filter(row => row.getClientRects().length)
  .map(row => row.querySelector("th summary").textContent.trim())"""


@pytest.mark.parametrize("part", range(PARTS))
def test_no_page_is_wider_than_the_screen_and_the_colours_follow_the_reader(
    browser: Any, address: str, root: Path, part: int
) -> None:
    visitor = Visitor(browser, address, viewport={"width": 1280, "height": 844})
    wide, colours = [], set()
    screenshots = root / "build" / "screenshots"
    for name in LOOKED_AT[part::PARTS]:
        page = visitor.open(name)
        for screen, width in WIDTHS.items():
            page.set_viewport_size({"width": width, "height": 844})
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                excess = page.evaluate(
                    "document.documentElement.scrollWidth - document.documentElement.clientWidth"
                )
                if excess > 0:
                    wide.append(f"{name}: {excess} pixels on a {screen}'s screen")
                colours.add((scheme, *page.evaluate(BRIGHTNESS)))
                picture = f"{name.removesuffix('.html').replace('/', '.')}-{screen}-{scheme}.png"
                page.screenshot(path=screenshots / picture)
    visitor.context.close()
    assert not wide and not visitor.wrong
    assert {scheme for scheme, _, _ in colours} == {"light", "dark"}
    assert all(
        (back > text) == (scheme == "light") and abs(back - text) > 300 for scheme, back, text in colours
    ), colours


# The sum of red, green and blue of the background and of the text.
BRIGHTNESS: Final = """(() => {
  const sum = colour => colour.match(/[0-9.]+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0);
  const style = getComputedStyle(document.body);
  const back = [document.body, document.documentElement].map(e => getComputedStyle(e).backgroundColor)
    .find(c => c !== "rgba(0, 0, 0, 0)");
  return [sum(back || "255 255 255"), sum(style.color)];
})()"""
