"""Messages name an operator as the program called it: `swapaxes(): ...` although the operator is `transpose`.

An alias is the operator itself (`tt.swapaxes is tt.transpose`), so a call does not know by which name it was made.  A
message is made only when something is wrong, and then the code of the caller shows it: if it mentions an alias and not
the operator, the program called the alias.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Final

__all__ = ["as_called", "declare_aliases"]

INNER: Final = ("tt.core.", "tt.operators.", "tt.plugins.", "tt.backends.")
"""Modules whose calls of operators are not calls of the program."""

_ALIASES: Final[dict[str, set[str]]] = {}
"""Operator -> its other names, of the operators that the process has called."""


def declare_aliases(name: str, aliases: Iterable[str]) -> None:
    """Note the other names of an operator: ("transpose", ["swapaxes", "swapdims"])."""
    short = {alias.rpartition(".")[2] for alias in aliases} - {name}
    if short:
        _ALIASES.setdefault(name, set()).update(short)


def as_called(message: str) -> str:
    """Return a message that begins with an operator and "(): ", with the alias by which the program called it."""
    name, parentheses, problem = message.partition("(): ")
    if not parentheses or not name.replace(".", "").isidentifier():
        return message
    aliases = _ALIASES.get(name)
    if not aliases:
        return message
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(INNER):
        frame = frame.f_back
    mentioned = frame.f_code.co_names
    if name in mentioned or f"{name}_" in mentioned:
        return message
    called = [alias for alias in aliases if alias in mentioned or f"{alias}_" in mentioned]
    return f"{called[0]}(): {problem}" if len(called) == 1 else message
