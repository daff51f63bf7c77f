"""Checks of calling twice: the same call gives the same, and leaves the first result alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tt.core.testing.conformance.case import SKIPPED, UNDEFINED, Case, tensors_in
from tt.core.testing.conformance.memory import one_memory
from tt.core.testing.references import as_array

__all__ = ["check_repeat"]


def check_repeat(case: Case) -> Iterator[str]:
    """Call twice with the same arguments."""
    if case.random or case.definition.name in UNDEFINED or case.definition.kind == "view":
        yield SKIPPED
        return
    first = _content(case.result)
    again = case.run()
    pairs = zip(tensors_in(case.result), tensors_in(again), strict=False)
    if any(one.numel() and one_memory(one, other) and not _is_given(case, one) for one, other in pairs):
        yield "the same call, made again, returned the memory of the first result"
    elif _content(case.result) != first:
        yield "the same call, made again, changed the first result"
    elif _content(again) != first:
        yield "the same call gave other values when it was made again"


def _is_given(case: Case, result: Any) -> bool:
    """Tell whether a result lies in the memory of an argument, which another check judges."""
    return any(one_memory(result, tensor) for tensor in case.tensors if tensor.numel())


def _content(result: Any) -> list[Any]:
    """Return all of a result, to the last bit."""
    found = [as_array(t) for t in tensors_in(result)]
    return [(a.shape, a.dtype.name, a.tobytes()) for a in found] or [repr(result)]
