"""Words: dtypes and shares of a whole, as short as they can be said."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tt.core.types.dtype import DTYPES, STORED

__all__ = ["dtypes_in_words", "percentage"]

_CLASSES: Final = {
    "bool": ("bool",),
    "integers": tuple(d.name for d in DTYPES if d.kind in ("signed", "unsigned")),
    "floating": tuple(d.name for d in DTYPES if d.kind == "floating"),
    "complex": tuple(d.name for d in DTYPES if d.kind == "complex"),
}


def dtypes_in_words(names: Iterable[str]) -> str:
    """Return a set of dtypes in as few words as possible.

    Examples
    --------
    >>> from tt.testing.coverage import dtypes_in_words
    >>> dtypes_in_words(["float16", "bfloat16", "float32", "float64", "int64"])
    'int64, floating'
    """
    remaining = set(names)
    words: list[str] = []
    classes = _CLASSES
    if remaining.issuperset(d.name for d in DTYPES):
        words, classes = ["all"], {}
    for word, members in {**classes, "float8": tuple(d.name for d in STORED)}.items():
        words += [word] if remaining.issuperset(members) else [name for name in members if name in remaining]
    return ", ".join(words)


def percentage(part: int, whole: int) -> str:
    """Return a share in percent; 100% only of all, and 0% only of none.

    Examples
    --------
    >>> from tt.testing.coverage import percentage
    >>> percentage(999, 1000), percentage(1, 1000), percentage(5, 5), percentage(0, 0)
    ('99%', '1%', '100%', '-')
    """
    if not whole:
        return "-"
    return f"{max(100 * part // whole, 1 if part else 0)}%"
