"""The log of one opcheck: the state shared by its tests, their findings and gaps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tt.testing.checks.call import CheckedCall, copied

__all__ = ["Finding", "Log", "Probe"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that one run of one check found.

    Attributes
    ----------
    fault : str
        A key of `FAULTS`.
    message : str
        The fault, in words.
    call : CheckedCall
        On which call.
    how : str
        How to repeat it: see `snippets.repeat`.
    argument : str
        The argument that it is about, for the advice.
    """

    fault: str
    message: str
    call: CheckedCall
    how: str = "call"
    argument: str = ""


@dataclass
class Log:
    """The state that the tests of one opcheck share.

    Attributes
    ----------
    rtol, atol : float or None
        How far values may differ; None: as far as their dtypes say.
    notes : list of str
        Gaps of the present test.
    calls : int
        How often the operator was called.
    changed : set of str
        The declared targets that some call has changed.
    reported : set of tuple
        The fault and the argument of each finding so far.
    """

    rtol: float | None = None
    atol: float | None = None
    notes: list[str] = field(default_factory=list)
    calls: int = 0
    changed: set[str] = field(default_factory=set)
    reported: set[tuple[str, str]] = field(default_factory=set)

    def copy(self, call: CheckedCall, *, requires_grad: bool = False) -> CheckedCall:
        """Return the call with copies of its arguments."""
        return CheckedCall(call.caller, copied(call.args, requires_grad=requires_grad), call.on)

    def run(self, call: CheckedCall) -> Any:
        """Make the call, and count it."""
        self.calls += 1
        return call.run()

    def result(self, call: CheckedCall) -> Any:
        """Make the call on copies of its arguments and return its result."""
        return self.run(self.copy(call))

    def note(self, text: str) -> None:
        """Note a gap."""
        if text not in self.notes:
            self.notes.append(text)


Probe = Callable[[CheckedCall, Log], Iterator[Finding]]
"""Looks for findings in one call."""
