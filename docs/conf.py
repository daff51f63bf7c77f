"""How Sphinx builds the documentation: `make docs`.

The pages are Markdown that reads well as source; additions for the site are made here.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

project = "tt"
extensions = ["myst_parser"]
# The root of the source is the root of the repository, so that links between all pages work.
include_patterns = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**.md"]
source_suffix = {".md": "markdown"}
root_doc = "README"
myst_heading_anchors = 4
html_theme = "furo"
html_title = "tt"
html_copy_source = False
html_additional_pages = {"index": "redirect.html"}
templates_path = ["site"]
nitpicky = True
# Pages may quote code in languages that Sphinx cannot highlight.
suppress_warnings = ["misc.highlighting_failure"]

LINK = re.compile(r"\[([^\]\n]*)\]\(([\w./-]+?)(#[\w-]+)?\)")
# The pages that list others, and what they list if not what they link to.
INDEXES = {
    "README": ["docs/README.md", "CONTRIBUTING.md", "CHANGELOG.md"],
    "docs/README": [],
    "docs/operators": ["operators/README"],
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

    source[0] = LINK.sub(shown, source[0])
    if name in INDEXES:
        linked = (target for _, target, _ in LINK.findall(source[0]) if target.endswith(".md"))
        listed = INDEXES[name] or dict.fromkeys(target for target in linked if not target.startswith("../"))
        # That of the operators is made by `make docs`: no link leads there yet.
        options = "" if name == "docs/operators" else ":hidden:\n"
        source[0] += f"\n\n```{{toctree}}\n{options}\n" + "\n".join(listed) + "\n```\n"
    elif name.startswith("docs/operators/") and not name.endswith("/README"):
        source[0] = "---\norphan: true\n---\n" + source[0]


def setup(app: Any) -> None:
    """Connect the handlers of this module."""
    app.connect("source-read", fit)
