"""The log of one opcheck: what the tests share, and what they could not look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tt.core.tensor.base import TensorBase
from tt.core.testing.compare import assert_close
from tt.core.testing.opcheck.call import CheckedCall
from tt.core.testing.opcheck.memory import copied, plain
from tt.core.testing.opcheck.report import Finding

__all__ = ["Log", "Probe", "same_seed", "unlike"]


@dataclass
class Log:
    """What the tests of one opcheck share.

    Attributes
    ----------
    rtol, atol : float or None
        How far values may differ; None: as far as their dtypes say.
    notes : list of str
        What the present test could not look at.
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
        args = copied(call.args, requires_grad=requires_grad)
        return CheckedCall(call.caller, args, call.on)

    def run(self, call: CheckedCall) -> Any:
        """Make the call, and count it."""
        self.calls += 1
        return call.run()

    def result(self, call: CheckedCall) -> Any:
        """Return what the call gives, made on copies of its arguments."""
        return self.run(self.copy(call))

    def note(self, text: str) -> None:
        """Note what was not looked at."""
        if text not in self.notes:
            self.notes.append(text)

    def unlike(self, actual: Any, expected: Any) -> str:
        """Return how two results differ, or an empty string."""
        return unlike(actual, expected, self.rtol, self.atol)


Probe = Callable[[CheckedCall, Log], Iterator[Finding]]
"""Looks for findings in one call."""


def unlike(actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None) -> str:
    """Return how two results differ, or an empty string; tolerances of None are those of the dtypes."""
    if isinstance(actual, list | tuple) and isinstance(expected, list | tuple):
        if len(actual) != len(expected):
            return f"{len(actual)} results instead of {len(expected)}"
        pairs = zip(actual, expected, strict=True)
        return next((text for one, two in pairs if (text := unlike(one, two, rtol, atol))), "")
    if isinstance(actual, TensorBase) and isinstance(expected, TensorBase):
        try:
            assert_close(
                _dense(actual), _dense(expected), rtol=rtol, atol=atol, equal_nan=True, check_device=False
            )
        except AssertionError as error:
            return str(error)
        return ""
    if isinstance(actual, TensorBase) or isinstance(expected, TensorBase):
        return f"{type(actual).__name__} instead of {type(expected).__name__}"
    if isinstance(actual, float | complex) and isinstance(expected, int | float | complex):
        same = bool(np.isclose(actual, expected, rtol=rtol or 1e-7, atol=atol or 1e-7, equal_nan=True))
    else:
        same = bool(actual == expected)
    return "" if same else f"{actual!r} instead of {expected!r}"


def _dense(tensor: Any) -> Any:
    found = plain(tensor)
    return found if found.layout.name == "strided" else found.to_dense()


class same_seed:  # noqa: N801 - a context manager used like a function
    """Start the generators from a seed, and let them go on afterwards from where they were."""

    def __init__(self, call: CheckedCall, seed: int = 0) -> None:
        from tt.core.tensor.generator import Generator

        self.seed = seed
        self.generators = [value for _, value in call.named() if isinstance(value, Generator)]

    def __enter__(self) -> None:
        from tt.core.tensor import generator as random

        self._state = random.get_rng_state()
        self._states = [g.get_state() for g in self.generators]
        random.manual_seed(self.seed)
        for generator in self.generators:
            generator.manual_seed(self.seed)

    def __exit__(self, *exception: object) -> None:
        from tt.core.tensor import generator as random

        for generator, state in zip(self.generators, self._states, strict=True):
            generator.set_state(state)
        random.set_rng_state(self._state)
