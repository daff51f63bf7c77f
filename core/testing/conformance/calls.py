"""Checks of the call itself: it succeeds or raises what it must, and leaves its arguments alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tt.core.testing.conformance.case import Case
from tt.core.testing.references import as_array

__all__ = ["check_inputs", "check_runs"]


def check_runs(case: Case) -> Iterator[str]:
    """Call the operator, or meet the error that the sample names."""
    case.before = [(t, as_array(t).copy(), t._version) for t in case.tensors]
    error = case.sample.error
    if error is None:
        case.result = case.run()
        return
    try:
        result = case.run()
    except error:
        return
    except Exception as other:
        yield f"{type(other).__name__} instead of {_names(error)}: {other}"
    else:
        yield f"{_names(error)} was expected, and the result was {result!r}"


def _names(error: Any) -> str:
    return " or ".join(kind.__name__ for kind in (error if isinstance(error, tuple) else (error,)))


def check_inputs(case: Case) -> Iterator[str]:
    """Compare the arguments with what they were before the call."""
    for tensor, values, version in case.before:
        now = as_array(tensor)
        if now.tobytes() != values.tobytes():
            yield f"the call changed an argument: {values.tolist()} became {now.tolist()}"
        if tensor._version != version:
            yield f"the call bumped an argument's version from {version} to {tensor._version}"
