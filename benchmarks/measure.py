"""Times the same case in several libraries, in turns.

Note [Interleaved]
------------------
A machine changes its speed from second to second.  A round therefore times every library once, one directly after
the other, in a random order.  A ratio is the median of the ratios of the rounds, each of two turns that
were milliseconds apart.  A ratio of two different runs means little.

Note [Quiet]
------------
The threads of a library look for work for some milliseconds after its last call: OpenMP's do, five to eleven of them,
at full speed.  On a machine with as many cores as threads they would take this time from the library whose turn is
next, and only from those that come after such a library.  So a turn with several threads ends when its process has
come to rest (`Runner.rest`).  After the rest some systems keep all threads on one processor for milliseconds, so a turn
begins with twice as many calls that are not timed.  A pause of ten milliseconds and a quarter of the calls were not
enough: tt then took many turns with one thread (Note [Busy processors] of threads.c), and so did PyTorch.

Note [Noise]
------------
How far a median of ratios is from what another run would find is estimated from the rounds themselves: from their
spread about it (the median deviation, which a few interrupted rounds do not move), divided by the root of their
number.  Rounds are added until that is below two in a hundred, at most three times as many as requested.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from benchmarks.cases import Case, statement_of
from benchmarks.libraries import LIBRARIES, PEERS
from benchmarks.turns import Here, Runner, StatementError

__all__ = ["BUILT_IN", "Measurement", "Ratio", "check_case", "geometric_mean", "measure_case", "ratio_of"]

BUILT_IN = ", built in"
QUIET = 0.02
MOST_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of times, and its relative standard error."""

    value: float
    noise: float


@dataclass
class Measurement:
    """The turns of one case in each library, in microseconds a call, and why a library has none.

    The time of the built-in statement stands under the library's name and `BUILT_IN`.
    """

    case: str
    samples: dict[str, list[float]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    group: str = ""

    @property
    def microseconds(self) -> dict[str, float]:
        """The median time of each library."""
        return {name: statistics.median(samples) for name, samples in self.samples.items()}

    def to_built_in(self, library: str) -> float | None:
        """Return the time of a case in units of that of the built-in statement, or None if one of them has none."""
        ratio = self.between(library, library + BUILT_IN)
        return ratio.value if ratio else None

    def ratio(self, peer: str) -> Ratio | None:
        """Return the time of tt in units of the peer's, or None if one of them has none."""
        return self.between("tt", peer)

    def between(self, left: str, right: str) -> Ratio | None:
        """Return the time of one statement in units of another's."""
        if left not in self.samples or right not in self.samples:
            return None
        return ratio_of(self.samples[left], self.samples[right])

    @property
    def noise(self) -> float:
        """The largest relative error of a ratio."""
        return max((r.noise for peer in PEERS if (r := self.ratio(peer)) is not None), default=0.0)


def ratio_of(left: Sequence[float], right: Sequence[float]) -> Ratio:
    """Return the median ratio of the turns of two statements in the same rounds, with its relative error."""
    ratios = [one / other for one, other in zip(left, right, strict=True)]
    middle = statistics.median(ratios)
    spread = 1.4826 * statistics.median(abs(ratio - middle) for ratio in ratios)
    return Ratio(middle, 1.2533 * spread / middle / math.sqrt(len(ratios)))


def geometric_mean(ratios: Sequence[float]) -> float:
    """Return the mean that treats twice as fast and twice as slow alike."""
    return math.exp(statistics.fmean(math.log(ratio) for ratio in ratios))


# --- the same values ---


def check_values(case: Case, values: dict[str, list[np.ndarray[Any, Any]]]) -> str:
    """Return how tt's value differs from another library's, or an empty string."""
    for library in values:
        if library != "tt" and "tt" in values and not agree(case, values["tt"], values[library]):
            return f"the value is not that of {library}"
    return ""


def agree(case: Case, left: list[np.ndarray[Any, Any]], right: list[np.ndarray[Any, Any]]) -> bool:
    """Return whether two results are equal but for rounding, or of the same distribution."""
    if len(left) != len(right):
        return False
    same = same_distribution if case.check == "distribution" else same_values
    return all(
        one.shape == other.shape and one.dtype == other.dtype and same(one, other, case.tolerance)
        for one, other in zip(left, right, strict=True)
    )


def same_values(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any], tolerance: float) -> bool:
    """Return whether values differ by no more than the tolerance, in units of the largest, or in 10,000 of each."""
    if left.dtype.kind in "biu":
        return bool((left == right).all())
    wide = np.complex128 if np.iscomplexobj(left) or np.iscomplexobj(right) else np.float64
    left, right = left.astype(wide), right.astype(wide)
    size = max(1.0, float(np.abs(right).max(initial=0)))
    return bool(np.allclose(left, right, rtol=1e-4, atol=tolerance * size))


def same_distribution(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any], tolerance: float) -> bool:
    """Return whether random numbers have the same mean and spread, by six standard errors."""
    error = 6 * float(right.std()) * math.sqrt(2 / right.size)
    same_mean = abs(float(left.mean()) - float(right.mean())) <= error
    return same_mean and abs(float(left.std()) - float(right.std())) <= 2 * error


# --- timing ---


def check_case(
    case: Case, libraries: Sequence[str], runners: Mapping[str, Runner] | None = None
) -> tuple[Measurement, list[str]]:
    """Run a case once in each library; return what failed, and the libraries whose value is right.

    The statement with the built-in operator is among the latter, under the library's name and `BUILT_IN`.
    """
    runners = runners or {library: Here(library) for library in libraries}
    result = Measurement(case.name, group=case.group)
    values: dict[str, list[np.ndarray[Any, Any]]] = {}
    for library in libraries:
        for built_in in (False, True):
            if not statement_of(case, library, built_in=built_in):
                continue
            try:
                values[library + BUILT_IN * built_in] = runners[library].once(case, built_in)
            except StatementError as error:
                result.failures[library] = str(error)
    for library in [name for name in libraries if name + BUILT_IN in values and name in values]:
        if not agree(case, values[library], values.pop(library + BUILT_IN)):
            result.failures[library] = "the value is not that of the built-in operator"
    problem = check_values(case, {name: value for name, value in values.items() if BUILT_IN not in name})
    if problem:
        result.failures["tt"] = problem
        values.pop("tt")
    sound = [name for name in values if name not in result.failures]
    sound += [name + BUILT_IN for name in sound if statement_of(case, name, built_in=True)]
    return result, sound


def measure_case(
    case: Case,
    libraries: Sequence[str],
    *,
    rounds: int,
    seconds: float,
    busy: bool = False,
    runners: Mapping[str, Runner] | None = None,
) -> Measurement:
    """Time a case.

    Parameters
    ----------
    case : Case
        The case to time.
    libraries : sequence of str
        Those of `LIBRARIES` that are installed.
    rounds : int
        How many times each library has its turn, at least.
    seconds : float
        About how long a turn lasts.
    busy : bool
        Count the processor's time of this thread, not the time that passes: where other programs keep the machine
        busy.  For libraries with one thread only.
    runners : mapping, optional
        Who runs each library's statements, by default this process (turns.py, Note [A process of its own]).
    """
    if unknown := set(libraries) - set(LIBRARIES):
        raise ValueError(f"no cases are written for {', '.join(sorted(unknown))}")
    runners = runners or {library: Here(library) for library in libraries}
    result, sound = check_case(case, libraries, runners)
    turns = {name: (runners[name.removesuffix(BUILT_IN)], name.endswith(BUILT_IN)) for name in sound}
    counts = {}
    for name, (runner, built_in) in list(turns.items()):
        try:
            counts[name] = runner.prepare(case, built_in, busy, seconds)
        except StatementError as error:
            result.failures[name] = str(error)
            del turns[name]
    result.samples = {name: [] for name in turns}
    order, random = list(turns), Random(0)
    for runner, _ in turns.values():
        runner.collect()
        runner.rest()
    for number in range(MOST_ROUNDS * rounds):
        if number >= rounds and result.noise < QUIET:
            break
        for name in order:
            runner, built_in = turns[name]
            if not busy:  # else there is one thread; see Note [Quiet]
                runner.turn(built_in, 2 * counts[name])
            result.samples[name].append(runner.turn(built_in, counts[name]) / counts[name] * 1e6)
            if not busy:
                runner.rest()
        order = random.sample(order, len(order))
    return result
