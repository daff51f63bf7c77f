"""The smallest call in which a finding is still there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tt.core.schema.model import MISSING
from tt.core.tensor.base import TensorBase
from tt.testing.checks.call import CheckedCall, tensors_in
from tt.testing.checks.sizes import resized
from tt.testing.findings.log import Finding

__all__ = ["smallest"]

TRIES = 40
"""How many smaller calls are tried for a finding."""
GIST = 80
"""How many characters of the message of an exception must stay."""


def smallest(finding: Finding, probe: Callable[[CheckedCall], Iterator[Finding]]) -> Finding:
    """Return the same finding on a call with fewer arguments and smaller tensors, as far as it is found there, too.

    Parameters
    ----------
    finding : Finding
        What was found.
    probe : callable
        Looks for findings in a call.
    """
    tries = TRIES
    progress = True
    while progress and tries > 0:
        progress = False
        # Greedy: after each success the search starts over from the smaller call.
        for smaller in _smaller(finding.call):
            if tries <= 0:
                break
            tries -= 1
            match = _find(finding, probe, smaller)
            if match is not None:
                finding, progress = match, True
                break
    return finding


def _smaller(call: CheckedCall) -> Iterator[CheckedCall]:
    """Yield calls that are a step smaller, those first that leave most out."""
    yield from _fewer(call)
    sizes = sorted({n for t in tensors_in(call.args) for n in t.shape if n > 1}, reverse=True)
    for size in sizes:
        for small in dict.fromkeys((1, 2, size // 2, size - 1)):
            smaller = resized(call, size, small) if small < size else None
            if smaller is not None:
                yield smaller


def _fewer(call: CheckedCall) -> Iterator[CheckedCall]:
    """Yield the call with one argument at its default, and with one tensor of a list less."""
    for position, (argument, value) in enumerate(call.named()):
        default = None if argument.type.optional and argument.default is MISSING else argument.default
        if default is not MISSING and (type(value) is not type(default) or _differ(value, default)):
            yield _with(call, position, default)
        if isinstance(value, list | tuple) and len(value) > 1 and any(True for _ in tensors_in(value)):
            for left_out in range(len(value)):
                yield _with(call, position, type(value)([*value[:left_out], *value[left_out + 1 :]]))


def _differ(value: Any, default: Any) -> bool:
    return not isinstance(value, TensorBase) and value != default


def _with(call: CheckedCall, place: int, value: Any) -> CheckedCall:
    return replace(call, args=(*call.args[:place], value, *call.args[place + 1 :]))


def _find(
    finding: Finding, probe: Callable[[CheckedCall], Iterator[Finding]], smaller: CheckedCall
) -> Finding | None:
    findings = []
    try:
        # One by one, so that a probe that fails half-way keeps what it has found.
        for one in probe(smaller):
            findings.append(one)
    except Exception:  # the operator need not take the smaller arguments
        pass
    return next((f for f in findings if _same(f, finding)), None)


def _same(one: Finding, other: Finding) -> bool:
    """Return whether two findings are the same fault of the same argument; numbers in an error's text may differ."""
    if one.fault != other.fault or one.argument.partition("[")[0] != other.argument.partition("[")[0]:
        return False
    return not one.fault.endswith("_fails") or _gist(one.message) == _gist(other.message)


def _gist(message: str) -> str:
    """Return how a message begins, with no numbers: its end may list the arguments."""
    return re.sub(r"[\d.]+", "#", message.partition("\n")[0])[:GIST]
