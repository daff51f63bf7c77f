"""Names that nothing defines, and the nearest that exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from tt.core.errors.base import TTError, _restored


def nearest(word: str, candidates: Iterable[str], *, count: int = 3) -> list[str]:
    """Return the candidates that `word` was probably meant to be, best first.

    Examples
    --------
    >>> from tt.core.errors import nearest
    >>> nearest("matmull", ["matmul", "mul", "exp"], count=1)
    ['matmul']
    """
    return difflib.get_close_matches(word, list(candidates), n=count, cutoff=0.6)


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """Return "; did you mean 'x' or 'y'?" or an empty string."""
    found = nearest(word, candidates)
    return "; did you mean " + " or ".join(repr(name) for name in found) + "?" if found else ""


class UnknownNameError(TTError, ValueError):
    """A name (device, layout, dtype, plugin, mode, ...) that nobody registered."""

    def __init__(self, kind: str, name: str, candidates: Iterable[str], *, note: str = "") -> None:
        self.kind, self.name, self.candidates = kind, name, tuple(candidates)
        known = ", ".join(sorted(self.candidates)) or "(none)"
        text = f"unknown {kind} {name!r}{did_you_mean(name, self.candidates)}\n  known: {known}"
        super().__init__(text + (f"\n  {note}" if note else ""))


class UnknownOpError(TTError, AttributeError):
    """An operator that no schema defines."""

    def __init__(self, op: str, candidates: Iterable[str] = ()) -> None:
        self.op, self._names = op, tuple(candidates)
        super().__init__(op)
        # Python would take the object from which the name was asked, and end the text with a guess of its own.
        self.name, self.obj = op, None

    @cached_property
    def candidates(self) -> tuple[str, ...]:
        """The nearest names; searched for when they are asked for, since `hasattr` asks for none."""
        return tuple(nearest(self.op, self._names))

    def __str__(self) -> str:
        return f"no operator is named {self.op!r}{did_you_mean(self.op, self.candidates)}\n  see: tt ops list"

    def __reduce__(self) -> tuple[Any, ...]:
        state = {"op": self.op, "name": self.op, "obj": None, "_names": self.candidates}
        return _restored, (type(self), self.args), {**self.__dict__, **state}
