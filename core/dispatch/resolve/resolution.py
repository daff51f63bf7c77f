"""Resolution: how a combination was resolved.  `resolve` makes cached calls from it and `explain` prints it."""

from __future__ import annotations

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

    __slots__ = ("_origin", "kind", "reason", "taken")

    def __init__(self, kind: str, origin: Any, taken: bool, reason: str) -> None:
        self.kind, self._origin, self.taken, self.reason = kind, origin, taken, reason

    @property
    def source(self) -> str:
        """Its origin in words, which only explanations and messages need."""
        return str(self._origin)

    def __repr__(self) -> str:
        return f"Candidate(kind={self.kind!r}, source={self.source!r}, taken={self.taken!r}, reason={self.reason!r})"


class Resolution:
    """The record of resolving one (operator, form, keys, dtypes) combination.

    Attributes
    ----------
    operator, form : str
        The called operator and its form.
    described : callable
        Returns the combination in words.
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

    __slots__ = (
        "below", "candidates", "casts", "compute", "described", "device", "form", "layout", "operator", "results",
        "when_idle",
    )  # fmt: skip

    def __init__(self, operator: str, form: str, described: Callable[[], str]) -> None:
        self.operator, self.form, self.described = operator, form, described
        self.device = self.layout = self.casts = ""
        self.compute: Dtype | None = None
        self.results: tuple[Dtype | None, ...] = ()
        self.candidates: list[Candidate] = []
        self.below: Resolution | None = None
        self.when_idle: tuple[Callable[[], bool], Resolution] | None = None

    def __repr__(self) -> str:
        return f"Resolution({self.operator!r}, {self.form!r}, {self.call!r}, candidates={self.candidates!r})"

    @property
    def call(self) -> str:
        """The combination in words."""
        return self.described()

    @property
    def taken(self) -> Candidate | None:
        """The candidate that serves the call, or None."""
        return next((c for c in self.candidates if c.taken), None)

    def note(self, kind: str, source: Any, taken: bool, reason: str) -> None:
        """Add a candidate; its source may be anything that can be written as text."""
        self.candidates.append(Candidate(kind, source, taken, reason))


class ResolveContext(NamedTuple):
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
