"""How Sphinx builds the documentation: `make docs`.

The pages are Markdown that reads well as source; additions for the site are made here.
"""

from __future__ import annotations

import functools
import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util import logging

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs" / "site"))
sys.path.append(str(ROOT))  # for `benchmarks`, whose results a picture shows

from docstrings import process  # noqa: E402 - modules of docs/site
from landing import landing  # noqa: E402
from links import inventories, prepare, resolve  # noqa: E402
from pictures import with_pictures  # noqa: E402
from plots import plot  # noqa: E402
from reference import FOLDER, write  # noqa: E402

project = "tt"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.intersphinx"]
# The root of the source is the root of the repository, so that links between all pages work.
include_patterns = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**.md", f"{FOLDER}/*.rst"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
root_doc = "README"
myst_heading_anchors = 4
myst_fence_as_directive = {
    "math"
}  # as on the web pages of repositories: a block of code in the language math
html_math_renderer = "mathml"
html_theme = "furo"
html_title = "tt"
html_copy_source = False
html_static_path = ["site/static"]
html_css_files = ["copying.css"]
html_show_copyright = False  # LICENSE has it
smartquotes = False  # quotes are often those of a string
html_additional_pages = {"index": "landing.html"}
html_context = {"landing": landing()}
templates_path = ["site"]
# The reference: docstrings write names as `tt.add`, and not every name in backticks has a page.
default_role = "py:obj"
intersphinx_mapping = inventories(ROOT / "build" / "inventories")
autodoc_inherit_docstrings = False  # a class lists what it defines, and links to its bases
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 90
napoleon_google_docstring = False
napoleon_use_ivar = True  # attributes in a list: those with docstrings of their own are described below it
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]
# Pages may quote code in languages that Sphinx cannot highlight.
suppress_warnings = ["misc.highlighting_failure"]

LINK = re.compile(r"\[([^\]\n]*)\]\(([\w./-]+?)(#[\w-]+)?\)")
OPERATOR = re.compile(r"^## Schema\n\n```text\n(\w+)", re.M)
SOURCE = re.compile(r"`([\w./-]+):(\d+)`")
MATRIX = """```{raw} html
<p><a href="matrix.html">Open the matrix alone</a></p>
<iframe src="matrix.html" title="Operators and backends" style="width:100%;height:80vh;border:0"></iframe>
```"""
HOME = '<p><a href="coverage.html" target="_top">tt: coverage of operators</a></p>'
"""The way back from the matrix, which is a page without the site's menu."""
# The pages that list others, and their lists if not their links.
INDEXES = {
    "README": ["docs/README.md", "CONTRIBUTING.md", "CHANGELOG.md"],
    "docs/README": [],
    "docs/operators": ["operators/README"],
    "docs/reference": ["reference/README"],
}


def fit(app: Any, name: str, source: list[str]) -> None:
    """Adapt a page to the site.

    A page that lists others gets them as its contents.  A link to a folder or to a page outside the site
    becomes text.  The pages of operators are found through their index and the search: there are too
    many of them for the contents.
    """
    folder = (ROOT / name).parent

    def shown(link: re.Match[str]) -> str:
        target = (folder / link[2]).resolve()
        page = target.suffix == ".md" and target.relative_to(ROOT).with_suffix("").as_posix()
        outside = target.is_dir() or (target.exists() and page and page not in app.project.docnames)
        return link[1] if outside else link[0]

    source[0] = with_pictures(LINK.sub(shown, source[0])).replace("<!-- matrix -->", MATRIX)
    # The empty line that ends a session is for doctest, not for readers.
    source[0] = re.sub(r"(?ms)^(```python\n.*?)\n+^```$", r"\1\n```", source[0])
    if name in INDEXES:
        linked = (target for _, target, _ in LINK.findall(source[0]) if target.endswith(".md"))
        listed = INDEXES[name] or dict.fromkeys(target for target in linked if not target.startswith("../"))
        # What `make docs` makes has no link yet.
        options = "" if name in ("docs/operators", "docs/reference") else ":hidden:\n"
        source[0] += f"\n\n```{{toctree}}\n{options}\n" + "\n".join(listed) + "\n```\n"
    elif name.startswith("docs/operators/") and not name.endswith("/README"):
        source[0] = "---\norphan: true\n---\n" + with_code(with_plot(with_classes(source[0])))


# --- operators -------------------------------------------------------------------------------------------------


@functools.cache
def formulas() -> dict[str, str]:
    """Return where the gradient of each operator is written, by its name."""
    folder = ROOT / "plugins" / "autograd" / "formulas"
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*.py")):
        for match in re.finditer(r"\bof\(\s*\"([\w.]+)\"", text := path.read_text(encoding="utf-8")):
            line = text.count("\n", 0, match.start()) + 1
            found.setdefault(match[1].partition(".")[0], f"{path.relative_to(ROOT).as_posix()}:{line}")
    return found


def with_classes(text: str) -> str:
    """Return the page of an operator with links from the classes that it is related to, which autodoc describes."""
    before, heading, related = text.partition("## See also\n")
    names, end, rest = related.partition("\n## ")

    def linked(name: re.Match[str]) -> str:
        page = ROOT / "docs" / "reference" / f"{name[1]}.rst"
        return f"[{name[1]}](../reference/{page.name})" if page.is_file() else name[0]

    return before + heading + re.sub(r"`(tt\.[\w.]+)`", linked, names) + end + rest


def with_plot(text: str) -> str:
    """Return the page of an operator with a plot in front of its parameters, if its texts give a range."""
    import tt
    from tt.core.schema.operator_texts import operator_text
    from tt.core.schema.snapshot import definitions

    operator = OPERATOR.search(text)
    definition = definitions().get(operator[1]) if operator else None
    bounds = operator_text(definition).plot if definition else ()
    if not definition or not bounds:
        return text
    title = f"tt.{definition.public_names[0]}"
    drawn = plot(title, functools.reduce(getattr, definition.public_names[0].split("."), tt), bounds)
    return text.replace(
        "\n## Parameters\n", f"\n```{{raw}} html\n<figure>{drawn}</figure>\n```\n\n## Parameters\n", 1
    )


def with_code(text: str) -> str:
    """Return the page of an operator with the place of its formula, and links from places to the files."""
    page, heading, places = text.partition("\n## Source\n")
    operator = OPERATOR.search(page)
    if operator and operator[1] in formulas():
        places += f"- gradient: `{formulas()[operator[1]]}`\n"
    return page + heading + SOURCE.sub(r"[`\1:\2`](../../\1)", places)


# --- formulas --------------------------------------------------------------------------------------------------


def mathml(latex: str, display: str) -> str:
    """Return a formula as MathML, which browsers draw without a script or a font from elsewhere."""
    from latex2mathml.converter import convert

    found = str(convert(latex.strip(), display=display))
    if "\\" in found:
        logging.getLogger(__name__).warning("a formula has a command that has no MathML: %s", latex)
    return found


def inline_math(translator: Any, node: Any) -> None:
    """Write a formula in a line."""
    translator.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def block_math(translator: Any, node: Any) -> None:
    """Write a formula of its own."""
    translator.body.append(
        f'<div class="formula" style="padding:.5em 0">{mathml(node.astext(), "block")}</div>\n'
    )
    raise nodes.SkipNode


# --- coverage --------------------------------------------------------------------------------------------------


def write_coverage(app: Any, error: Exception | None) -> None:
    """Write the matrix of operators and backends of tt, which the page of coverage shows, next to that page."""
    if error is None and app.builder.format == "html":
        from tt.cli.pages.pages import own_places
        from tt.testing.coverage import matrix
        from tt.testing.coverage.html import html

        page = html(matrix(own_places())).replace("<header>", f"<header>{HOME}", 1)
        (Path(app.outdir) / "docs" / "matrix.html").write_text(page, encoding="utf-8")


def setup(app: Any) -> None:
    """Connect the handlers of this module."""
    write(ROOT / FOLDER)
    app.connect("autodoc-process-docstring", process, priority=400)  # before napoleon
    app.connect("doctree-read", prepare)
    app.connect("missing-reference", resolve, priority=400)  # before intersphinx
    app.connect("build-finished", write_coverage)
    app.connect("source-read", fit)
    app.add_html_math_renderer("mathml", (inline_math, None), (block_math, None))
