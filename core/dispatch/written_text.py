"""Functions made of text, of which those with the same text share their code.

See Note [Written-out calls] in `written`.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from functools import cache
from types import CodeType, FunctionType
from typing import Any, Final

__all__ = ["ABSENT", "indented", "make", "open_function", "rewrite"]

ABSENT: Final[Any] = object()
"""The default of every parameter: what a call did not give."""


@cache
def _code(text: str) -> CodeType:
    name = f"<written-out call {_code.cache_info().misses}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    return compile(text, name, "exec")


def make(head: str, lines: list[str], constants: dict[str, Any]) -> Callable[..., Any]:
    """Return a function of the given head and lines, to which the constants are known.

    Functions of the same text share their code.
    """
    names = ", ".join(constants)
    body = "\n".join(f"        {line}" for line in lines)
    text = f"def maker({names}):\n    def written_out({head}):\n{body}\n    return written_out\n"
    space: dict[str, Any] = {}
    exec(_code(text), space)
    made: Callable[..., Any] = space["maker"](**constants)
    return made


def open_function(head: str, lines: list[str], constants: dict[str, Any]) -> FunctionType:
    """Return a function whose constants are its global names, so that its text can be replaced.

    The function may change what the constants stand for.
    """
    exec(_code(_definition(head, lines)), constants)
    made: FunctionType = constants["written_out"]
    return made


def rewrite(function: FunctionType, head: str, lines: list[str], constants: dict[str, Any]) -> None:
    """Give an open function another text, with further constants; calls in progress go on with the former text."""
    space = function.__globals__
    clash = [name for name in constants if name in space]
    assert not clash, f"constants of the former text: {clash}"
    space.update(constants)
    made: dict[str, Any] = {"ABSENT": ABSENT}
    exec(_code(_definition(head, lines)), made)
    function.__code__ = made["written_out"].__code__


def _definition(head: str, lines: list[str]) -> str:
    body = "\n".join(indented(lines))
    return f"def written_out({head}):\n{body}\n"


def indented(lines: list[str]) -> list[str]:
    """Return lines one level further to the right."""
    return [f"    {line}" for line in lines]
