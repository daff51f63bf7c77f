"""Trace and count: seeing the calls that a program makes, from the dispatcher's own records."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from tt.core.blocks import swapped
from tt.core.dispatch.call.op_overload import OpOverload
from tt.core.dispatch.intercept.modes import Mode, cached_call_with_modes
from tt.core.dispatch.resolve.resolution import Candidate, Resolution
from tt.core.tensor.base import TensorBase
from tt.core.types.thread_state import THREAD

__all__ = ["TracedCall", "count", "trace_calls"]


@dataclass(slots=True)
class TracedCall:
    """One dispatched call.

    Attributes
    ----------
    operator, form : str
        The called operator.
    depth : int
        0 for the program's own calls, 1 for those made by a composite or layer of such a call, and so on.
    arguments : str
        Dtypes and shapes in words.
    resolution : Resolution
        The resolution of the call.
    served_by : Candidate or None
        The candidate that served it, below all layers.
    seconds : float
        Time spent, inner calls included.
    """

    operator: str
    form: str
    depth: int
    arguments: str
    resolution: Resolution
    served_by: Candidate | None
    seconds: float = 0.0

    def __str__(self) -> str:
        taken = self.served_by
        suffix = {"functional": "", "inplace": "_", "out": " out="}[self.form]
        who = f"{taken.kind}: {taken.source}" if taken is not None else "nothing"
        return f"{'  ' * self.depth}{self.operator}{suffix}({self.arguments}) -> {who}"


def served_by(resolution: Resolution) -> Any:
    """Return the candidate that finally serves a call now, below all layers."""
    while True:
        if resolution.below is not None:
            resolution = resolution.below
        elif resolution.when_idle is not None and resolution.when_idle[0]():
            resolution = resolution.when_idle[1]
        else:
            return resolution.taken


def _describe(value: Any) -> str:
    if isinstance(value, TensorBase):
        return f"{value.dtype.name}{list(value.shape)}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_describe, value))}]"
    return repr(value)


class trace_calls(Mode):  # noqa: N801 - used as a function: `with tt.trace_calls() as calls`
    """Record every call inside a `with` block, including the calls inside composites and layers.

    Examples
    --------
    >>> import tt
    >>> with tt.trace_calls() as t:
    ...     _ = tt.ones(2) + 1
    >>> [call.operator for call in t.calls if call.depth == 0]
    ['ones', 'add']
    """

    def __init__(self) -> None:
        self.calls: list[TracedCall] = []
        self._depth = 0

    def handle(self, overload: OpOverload, args: tuple[Any, ...]) -> Any:
        """Record the call and continue, staying active for the inner calls."""
        cached = cached_call_with_modes(overload, args)
        shown = ", ".join(_describe(value) for value in args)
        call = TracedCall(
            overload.operator.name,
            overload.form,
            self._depth,
            shown,
            cached.resolution,
            served_by(cached.resolution),
        )
        self.calls.append(call)
        self._depth += 1
        start = time.perf_counter()
        try:
            with again(self):
                return cached.run(args)
        finally:
            self._depth -= 1
            call.seconds = time.perf_counter() - start

    def __str__(self) -> str:
        return "\n".join(map(str, self.calls))


class count(Mode):  # noqa: N801 - used as a function: `with tt.count() as counts`
    """Count the calls inside a `with` block by operator, form and candidate.

    Calls that composites and layers make are counted too.

    Attributes
    ----------
    calls : Counter
        (operator, form, "kind: source") -> number.
    """

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, str, str]] = Counter()

    def handle(self, overload: OpOverload, args: tuple[Any, ...]) -> Any:
        """Count the call and continue, staying active for the inner calls."""
        cached = cached_call_with_modes(overload, args)
        taken = served_by(cached.resolution)
        self.calls[overload.operator.name, overload.form, f"{taken.kind}: {taken.source}"] += 1
        with again(self):
            return cached.run(args)


def again(mode: Mode) -> AbstractContextManager[None]:
    """Keep a mode on the thread's stack while it handles a call."""
    return swapped(THREAD, "modes", [*THREAD.modes, mode])
