"""Resolution: how a combination was resolved.  `resolve` makes cached calls from it and `explain` prints it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from tt.core.types.dtype import dtype as Dtype

if TYPE_CHECKING:
    from collections.abc import Callable

    from tt.core.dispatch.call.operator import Operator

__all__ = ["CallKey", "Candidate", "Resolution", "ResolveContext"]


class CallKey(NamedTuple):
    """The properties that all calls of one cached call share.

    Attributes
    ----------
    operator : Operator
        The called operator.
    form : str
        functional, inplace or out.
    keys, bits : int
        Level 1 and level 2.
    """

    operator: Operator
    form: str
    keys: int
    bits: int


@dataclass(slots=True)
class Candidate:
    """A kernel, layer or composite that was considered for a call.

    Attributes
    ----------
    kind : str
        layer, kernel, generic kernel, composite, fallback or reroute.
    source : str
        Its origin: distribution, version, file:line.
    taken : bool
        Whether it serves.
    reason : str
        The reason why it was taken or passed over.
    """

    kind: str
    source: str
    taken: bool
    reason: str


@dataclass(slots=True)
class Resolution:
    """The record of resolving one (operator, form, keys, dtypes) combination.

    Attributes
    ----------
    operator, form : str
        The called operator and its form.
    call : str
        The combination in words.
    compute : dtype or None
        The dtype in which the kernel computes.
    results : tuple of (dtype or None)
        The dtypes of the results.
    candidates : list of Candidate
        In the order in which they were looked at.
    below : Resolution or None
        Of the call that a layer makes below.
    when_idle : tuple of (callable, Resolution), or None
        The resolution that holds instead while the callable returns True: a layer has nothing to do.
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
    when_idle: tuple[Callable[[], bool], Resolution] | None = field(default=None, repr=False)

    @property
    def taken(self) -> Candidate | None:
        """The candidate that serves the call, or None."""
        return next((c for c in self.candidates if c.taken), None)

    def note(self, kind: str, source: Any, taken: bool, reason: str) -> None:
        """Add a candidate."""
        self.candidates.append(Candidate(kind, str(source), taken, reason))


@dataclass(frozen=True, slots=True)
class ResolveContext:
    """One resolution while it is made.

    Attributes
    ----------
    key : CallKey
        The combination.
    args : tuple
        The arguments of its first call, for messages; empty without a call.
    resolution : Resolution
        The record.
    """

    key: CallKey
    args: tuple[Any, ...]
    resolution: Resolution

    @property
    def operator(self) -> Operator:
        """The called operator."""
        return self.key.operator

    @property
    def form(self) -> str:
        """The form of the call."""
        return self.key.form
