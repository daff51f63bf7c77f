"""Times a case in all ways, in turns, and compares with the hardware's floor.

Note [Interleaved] and Note [Noise] of `benchmarks.measure` apply here too: turns are taken one directly after the
other, and the reported times are medians, and medians of the ratios of a round.  A turn is timed by events on the
device; the time to submit its calls is reported separately.

Note [Floors]
-------------
No kernel is faster than the memory or the arithmetic that it needs.  The bandwidth is that of a large copy, measured in
the same run; the arithmetic that of the fastest of some large products, by PyTorch.  The floor of a case is the longer
of the two times, given the bytes and operations that it needs at least.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from benchmarks.cuda.cases import Case, evaluated
from benchmarks.cuda.runners import KINDS, NAMES, Runner, make_runner, to_array
from benchmarks.measure import Ratio, ratio_of, same_distribution, same_values

__all__ = ["Floors", "Measurement", "Turn", "floor_of", "measure_case", "verdict_of"]

SHARE = 0.9
"""Of the floor, for cases bound by memory bandwidth."""
PARITY = 1.05
"""The ratio to PyTorch's time that still counts as equal, because runs of the same program differ."""


@dataclass(frozen=True)
class Floors:
    """The measured limits of the hardware.

    Attributes
    ----------
    bandwidth : float
        Bytes a second of a large copy, those read and those written.
    flops : dict
        The dtype of a product -> operations a second.
    """

    bandwidth: float
    flops: dict[str, float]


@dataclass(frozen=True, slots=True)
class Turn:
    """The microseconds of a call in one turn: on the device, and to submit it."""

    device: float
    submit: float


@dataclass
class Measurement:
    """The measurements of a case.

    Attributes
    ----------
    turns : dict
        The name of a runner -> its turns; empty in a dry run.
    failures : dict
        The name of a runner -> why it has none.
    floor : float or None
        Microseconds; None where none is known.
    """

    case: Case
    turns: dict[str, list[Turn]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    agreed: list[str] = field(default_factory=list)
    floor: float | None = None

    def microseconds(self, runner: str) -> float | None:
        """Return the median time on the device."""
        turns = self.turns.get(runner)
        return statistics.median(turn.device for turn in turns) if turns else None

    def submit(self, runner: str) -> float | None:
        """Return the median time to submit a call."""
        turns = self.turns.get(runner)
        return statistics.median(turn.submit for turn in turns) if turns else None

    def ratio(self, runner: str, peer: str, what: str = "device") -> Ratio | None:
        """Return the time of a runner in units of another's."""
        one, other = self.turns.get(runner), self.turns.get(peer)
        if not one or not other:
            return None
        return ratio_of([getattr(turn, what) for turn in one], [getattr(turn, what) for turn in other])


def floor_of(case: Case, floors: Floors, *, dry: bool = False) -> float | None:
    """Return the microseconds below which no kernel gets."""
    numbers, limits = case.numbers(dry=dry), []
    if case.bytes:
        limits.append(evaluated(case.bytes, numbers) / floors.bandwidth)
    if case.flops and case.ceiling in floors.flops:
        limits.append(evaluated(case.flops, numbers) / floors.flops[case.ceiling])
    return max(limits) * 1e6 if limits else None


def verdict_of(measured: Measurement) -> str:
    """Return whether a case reaches its aim: met, missed, or unknown where a time that it needs is missing."""
    aim, own = measured.case.aim, measured.microseconds("tt")
    to_torch = measured.ratio("tt", "torch", "submit" if aim == "submit" else "device")
    if own is None:
        return "unknown"
    if aim == "bandwidth" and measured.floor is not None and measured.floor / own >= SHARE:
        return "met"
    if to_torch is None:
        return "unknown"
    return "met" if to_torch.value <= (PARITY if aim == "parity" else 1.0) else "missed"


def runners_of(case: Case, names: Sequence[str]) -> list[str]:
    """Return which of the wanted runners a case has."""
    return [name for name in names if name not in KINDS or KINDS[name] in case.runners]


def agree(case: Case, left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> bool:
    """Return whether two libraries computed the same, but for rounding."""
    if left.shape != right.shape or left.dtype.kind != right.dtype.kind:
        return False
    if left.dtype.kind == "c":
        left, right = (np.ascontiguousarray(part).view(part.real.dtype) for part in (left, right))
    same = same_distribution if case.check == "distribution" else same_values
    return same(left, right, case.tolerance)


def prepared(
    case: Case, names: Sequence[str], *, devices: dict[str, str], dry: bool
) -> tuple[Measurement, list[Runner]]:
    """Return the runners of a case that work and compute the same as tt, and the reasons why others do not."""
    result, runners = Measurement(case), []
    reference: np.ndarray[Any, Any] | None = None
    for name in runners_of(case, names):
        try:
            runner = make_runner(name, case, device=devices[NAMES[name]], dry=dry)
            output = to_array(runner.call())
        except Exception as error:  # whatever a library raises, the others are still measured
            first = str(error).strip().splitlines()
            result.failures[name] = f"{type(error).__name__}: {first[0] if first else ''}"
            continue
        if reference is not None and not agree(case, reference, output):
            result.failures[name] = "the value is not that of tt"
            continue
        reference = output if reference is None else reference
        runners.append(runner)
        result.agreed.append(name)
    return result, runners


def measure_case(
    case: Case,
    names: Sequence[str],
    floors: Floors | None,
    *,
    devices: dict[str, str],
    rounds: int,
    seconds: float,
    dry: bool = False,
    free: Callable[[], None] = lambda: None,
) -> Measurement:
    """Time a case.

    Parameters
    ----------
    case : Case
        The case to time.
    names : sequence of str
        Of the runners; tt's come first, with whose value the others are compared.
    floors : Floors or None
        The limits of the hardware.
    devices : dict
        The name of a library -> its device.
    rounds : int
        How many times each runner has its turn.
    seconds : float
        About how long a turn lasts.
    dry : bool
        Run everything once with tiny sizes, compare, and keep no time.
    free : callable
        Gives memory back before the next case.
    """
    result, runners = prepared(case, names, devices=devices, dry=dry)
    if dry:
        for runner in runners:
            runner.clock.time(runner.call, 2)
        free()
        return result
    result.floor = floor_of(case, floors) if floors is not None else None
    counts = {runner.name: calibrated(runner, seconds) for runner in runners}
    result.turns = {runner.name: [] for runner in runners}
    order, random = list(runners), Random(0)
    for _ in range(rounds):
        for runner in order:
            count = counts[runner.name]
            device, submit = runner.clock.time(runner.call, count)
            result.turns[runner.name].append(Turn(device / count * 1e6, submit / count * 1e6))
        order = random.sample(order, len(order))
    free()
    return result


def calibrated(runner: Runner, seconds: float) -> int:
    """Return how many calls take about so many seconds; the calls also warm up every cache."""
    runner.clock.time(runner.call, 3)
    device, submit = runner.clock.time(runner.call, 3)
    return max(1, min(10_000, round(3 * seconds / max(device, submit, 1e-9))))
