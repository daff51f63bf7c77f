"""Resolution: the record of how a combination was resolved.  Entries are made from it and `explain` prints it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tt.core.types.dtype import dtype as Dtype

__all__ = ["Candidate", "Resolution"]


@dataclass(slots=True)
class Candidate:
    """Something that could have served a call.

    Attributes
    ----------
    kind : str
        layer, kernel, generic kernel, composite, fallback or reroute.
    source : str
        Who brought it: distribution, version, file:line.
    taken : bool
        Whether it serves.
    reason : str
        Why it was taken or passed over.
    """

    kind: str
    source: str
    taken: bool
    reason: str


@dataclass(slots=True)
class Resolution:
    """How one (operator, form, keys, dtypes) combination was resolved.

    Attributes
    ----------
    operator, form : str
        What is called.
    call : str
        The combination in words.
    compute : dtype or None
        The dtype in which the kernel computes.
    results : tuple of (dtype or None)
        The dtypes of the results.
    candidates : list of Candidate
        In the order in which they were looked at.
    """

    operator: str
    form: str
    call: str = ""
    device: str = ""
    layout: str = ""
    compute: Dtype | None = None
    results: tuple[Dtype | None, ...] = ()
    casts: str = ""
    candidates: list[Candidate] = field(default_factory=list)
    below: Resolution | None = None

    @property
    def taken(self) -> Candidate | None:
        """What serves the call, or None."""
        return next((c for c in self.candidates if c.taken), None)

    def note(self, kind: str, source: Any, taken: bool, reason: str) -> None:
        """Add a candidate."""
        self.candidates.append(Candidate(kind, str(source), taken, reason))
