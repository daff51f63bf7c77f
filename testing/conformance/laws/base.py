"""The class of a law."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tt.testing.checks.case import SKIPPED, Case

__all__ = ["Law", "refused"]


@dataclass(frozen=True, slots=True)
class Law:
    """The promise of a word of the schema, and its check.

    Attributes
    ----------
    statement : str
        The promise, in one sentence.
    check : callable or str
        Yields the faults of a case; or the name of the conformance check that looks at just this.
    every : bool
        Whether it is checked on every sample; else on the first sample on which it can be.
    """

    statement: str
    check: Callable[[Case], Iterator[str]] | str
    every: bool = False

    def broken(self, word: str, case: Case) -> Iterator[str]:
        """Yield the ways in which a case breaks the law."""
        done = f"law {word}"
        # A text names the check that looks after this law already.
        if isinstance(self.check, str) or (not self.every and case.shared.get(done)):
            return
        messages = list(self.check(case))
        if messages == [SKIPPED]:
            return
        case.shared[done] = True
        for message in messages:
            yield f"law {word!r}: {message}"


def refused(call: Callable[[], Any], what: str) -> Iterator[str]:
    """Yield a message unless a call raises an error that a user may catch."""
    try:
        call()
    except (RuntimeError, TypeError, ValueError):
        return
    yield f"{what} is not refused"
