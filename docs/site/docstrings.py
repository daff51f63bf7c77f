"""Docstrings as reStructuredText."""

from __future__ import annotations

import re
from typing import Any, Final

__all__ = ["escaped", "process"]

# Left as they are: code, formulas, links with addresses, and bold text.
_KEPT: Final = re.compile(r"(:\w+:`[^`]*`|``.+?``|`[^`]*`_{0,2}|\*\*\w[^*]*\w\*\*)", re.S)
_PARAMETER: Final = re.compile(r"^[\w*, ]+ : |^\*{1,2}\w+$|^\w+_$")
_PROMPT: Final = (">>> ", "... ")


def escaped(lines: list[str]) -> list[str]:
    r"""Return text whose stars, bars and underscores are meant as they stand.

    Docstrings are written to be read in a terminal: `(*, in_features)` has no emphasis, `x_` is not a reference.
    """
    found, code = [], False
    for block in _paragraphs(lines):
        code = block[0].lstrip().startswith(_PROMPT) or (code and block[0].startswith(" "))
        if code or _is_heading(block):
            found += block
            continue
        parts = _KEPT.split("\n".join(block))
        parts[::2] = [re.sub(r"\\|[*|]|(?<=\w)_(?!\w)", r"\\\g<0>", part) for part in parts[::2]]
        for i in range(1, len(parts), 2):  # `Tensor`s
            parts[i] += "\\ " if parts[i].endswith("`") and re.match(r"\w", parts[i + 1]) else ""
        found += [
            plain if _PARAMETER.match(plain) else text
            for plain, text in zip(block, "".join(parts).split("\n"), strict=True)
        ]
    return found


def _paragraphs(lines: list[str]) -> list[list[str]]:
    """Return the lines in groups that end with an empty line."""
    groups: list[list[str]] = [[]]
    for line in lines:
        groups[-1].append(line)
        if not line.strip():
            groups.append([])
    return [group for group in groups if group]


def _is_heading(block: list[str]) -> bool:
    return not any(line.strip() for line in block)


def process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Escape a docstring; autodoc calls this before napoleon reads the sections."""
    lines[:] = escaped(lines)
