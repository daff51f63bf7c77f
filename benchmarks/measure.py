"""Times the same case in several libraries, in turns.

Note [Interleaved]
------------------
A machine changes its speed from second to second.  A round therefore times every library once, one directly after
the other, in an order that turns; what is reported is the median over the rounds, and the ratio of two medians of
the same run.  A ratio of two different runs means little.
"""

from __future__ import annotations

import gc
import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.cases import LIBRARIES, Case, Suite, make_loop, make_once, statement_of

__all__ = ["BUILT_IN", "Measurement", "geometric_mean", "measure_case", "measure_suite"]


BUILT_IN = ", built in"


@dataclass
class Measurement:
    """The median time of one case in each library, in microseconds, and why a library has none.

    The time of the built-in statement stands under the library's name and `BUILT_IN`.
    """

    case: str
    microseconds: dict[str, float] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def to_built_in(self, library: str) -> float | None:
        """Return the time of a case in units of that of the built-in statement, or None if one of them has none."""
        own, other = self.microseconds.get(library), self.microseconds.get(library + BUILT_IN)
        return own / other if own is not None and other is not None else None

    def ratio(self, peer: str) -> float | None:
        """Return the time of tt in units of the peer's, or None if one of them has none."""
        own, other = self.microseconds.get("tt"), self.microseconds.get(peer)
        return own / other if own is not None and other is not None else None


def geometric_mean(ratios: list[float]) -> float:
    """Return the mean that treats twice as fast and twice as slow alike."""
    return math.exp(statistics.fmean(math.log(ratio) for ratio in ratios))


def check_values(case: Case, libraries: list[str]) -> str:
    """Run the case once everywhere; return how tt's value differs from another library's, or an empty string."""
    values = {library: np.asarray(detached(make_once(case, library)())) for library in libraries}
    for library in libraries:
        if library != "tt" and "tt" in values and not agree(values["tt"], values[library]):
            return f"the value is not that of {library}"
    return ""


def detached(value: Any) -> Any:
    """Return a value that NumPy can read: without gradient."""
    return value.detach().numpy() if hasattr(value, "detach") else value


def agree(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> bool:
    """Tell whether two results are equal but for the rounding of float32."""
    return left.shape == right.shape and bool(np.allclose(left, right, rtol=1e-4, atol=1e-5))


def measure_case(
    case: Case, libraries: list[str], *, rounds: int, seconds: float, fastest: bool = False
) -> Measurement:
    """Time a case.

    Parameters
    ----------
    case : Case
        What is timed.
    libraries : list of str
        Those of `LIBRARIES` that are installed.
    rounds : int
        How many times each library has its turn.
    seconds : float
        About how long a turn lasts.
    fastest : bool
        Report the fastest turn in the place of the median: where other programs keep the machine busy.
    """
    result = Measurement(case.name)
    loops = {}
    for library in libraries:
        if not statement_of(case, library):
            continue
        try:
            make_once(case, library)()
            loops[library] = make_loop(case, library)
        except Exception as error:  # whatever a library raises, the others are still measured
            result.failures[library] = (
                f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            )
    problem = check_values(case, list(loops))
    if problem:
        result.failures["tt"] = problem
        del loops["tt"]
    for library in [name for name in loops if statement_of(case, name, built_in=True)]:
        own = np.asarray(detached(make_once(case, library)()))
        if agree(own, np.asarray(detached(make_once(case, library, built_in=True)()))):
            loops[library + BUILT_IN] = make_loop(case, library, built_in=True)
        else:
            result.failures[library] = "the value is not that of the built-in operator"
    counts = {library: calibrate(loop, seconds) for library, loop in loops.items()}
    samples: dict[str, list[float]] = {library: [] for library in loops}
    order = list(loops)
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for library in order:
                samples[library].append(loops[library](counts[library]) / counts[library])
            order.append(order.pop(0))
    finally:
        if collecting:
            gc.enable()
    report = min if fastest else statistics.median
    result.microseconds = {library: report(found) * 1e6 for library, found in samples.items()}
    return result


def calibrate(loop: Callable[[int], float], seconds: float) -> int:
    """Return how many repetitions take about so many seconds; the calls also warm up every cache."""
    count = 1
    while (elapsed := loop(count)) < seconds / 4:
        count *= 4
    return max(1, round(count * seconds / elapsed))


def measure_suite(
    suite: Suite, libraries: list[str], *, rounds: int, seconds: float, fastest: bool = False
) -> list[Measurement]:
    """Time every case of a suite."""
    unknown = set(libraries) - set(LIBRARIES)
    if unknown:
        raise ValueError(f"no cases are written for {', '.join(sorted(unknown))}")
    return [
        measure_case(case, libraries, rounds=rounds, seconds=seconds, fastest=fastest) for case in suite.cases
    ]
