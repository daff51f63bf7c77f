"""The content of the site's first page: parts of README.md and of the example backend, which tests run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from pictures import speed
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

ROOT: Final = Path(__file__).resolve().parents[2]
BACKEND: Final = ROOT / "tests" / "thirdparty" / "tt-strict-backend" / "src" / "tt_strict" / "plugin.py"


def landing() -> dict[str, str]:
    """Return the pieces of the page as HTML, by the names that the template has for them."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    first = re.search(r"^# tt\n\n(.*?[.])\s", readme, re.S | re.M)
    operator = re.search(r"^```python\n(.*?)^```$", readme, re.S | re.M)
    start = re.search(r"^## Start\n.*?^```sh\n(.*?)^```$", readme, re.S | re.M)
    if not (first and operator and start):
        raise ValueError("README.md has no first sentence, operator or start")
    return {
        "sentence": " ".join(first[1].split()),
        "install": coloured(start[1], "sh"),
        "operator": coloured(without_prompts(operator[1]), "python"),
        "backend": coloured(BACKEND.read_text(encoding="utf-8"), "python"),
        "speed": str(speed()),
    }


def coloured(code: str, language: str) -> str:
    """Return code as HTML in the colours of the site."""
    formatter = HtmlFormatter(cssclass=f"highlight-{language} notranslate highlight", wrapcode=True)
    return str(highlight(code.strip() + "\n", get_lexer_by_name(language), formatter))


def without_prompts(session: str) -> str:
    """Return the statements of a doctest without output."""
    lines = [line for line in session.splitlines() if line.startswith((">>> ", "... "))]
    return "\n".join(line[4:] for line in lines)
