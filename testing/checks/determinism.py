"""The checks of repetition: the same call gives the same, random numbers too, and leaves the first result alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import tt
from tt.core.tensor import generator as random
from tt.core.tensor.generator import Generator, get_rng_state
from tt.testing.checks.aliasing import overlap
from tt.testing.checks.call import UNDEFINED, CheckedCall, map_tensors, plain, tensors_in, undefined
from tt.testing.checks.case import SKIPPED, Case
from tt.testing.checks.mutation import declared
from tt.testing.checks.values import compared, differences, unlike
from tt.testing.findings.log import Finding, Log
from tt.testing.references import as_array, cpu_reference

__all__ = ["check_repeat", "check_seed", "probe_determinism", "same_seed"]


class same_seed:  # noqa: N801 - a context manager used like a function
    """Start the generators from a seed in a block, and restore their states afterwards."""

    def __init__(self, call: CheckedCall, seed: int = 0) -> None:
        self.seed = seed
        self.generators = [value for _, value in call.named() if isinstance(value, Generator)]

    def __enter__(self) -> None:
        self._state = random.get_rng_state()
        self._states = [g.get_state() for g in self.generators]
        random.manual_seed(self.seed)
        # Generators that are arguments do not follow the seed of the default one.
        for generator in self.generators:
            generator.manual_seed(self.seed)

    def __exit__(self, *exception: object) -> None:
        for generator, state in zip(self.generators, self._states, strict=True):
            generator.set_state(state)
        random.set_rng_state(self._state)


# --- the same again --------------------------------------------------------------------------------------------

TIMES: Final = 3


def probe_determinism(call: CheckedCall, log: Log) -> Iterator[Finding]:
    """Make the same call several times, and compare the results bit by bit."""
    if undefined(call):
        log.note("the values are undefined")
        return
    random = "random" in call.tags
    first: Any = None
    for number in range(TIMES):
        with same_seed(call):
            # Read after the seed is set: what differs then was drawn by the call.
            before = get_rng_state()
            copy = log.copy(call)
            result = _kept(log.run(copy), copy)
            drawn = bool(unlike(get_rng_state(), before, 0.0, 0.0))
        if drawn and not random:
            yield Finding(
                "untagged_random", "the call draws from tt's generator, and has no tag that says so", call
            )
            return
        if number == 0:
            first = result
            continue
        # Tolerances of zero: two runs of one kernel have to agree in every bit.
        text = unlike(result, first, 0.0, 0.0)
        if text:
            fault = "seed_ignored" if random else "nondeterministic"
            again = "the same seed gave other numbers" if random else "the same call gave another result"
            yield Finding(fault, f"{again}: {text}", call, "twice")
            return


def _kept(result: Any, call: CheckedCall) -> list[Any]:
    """Return copies of a result and of the arguments that were changed."""
    changed = declared(call)
    kept = [result, [value for a, value in call.named() if a.name in changed]]
    copies: list[Any] = map_tensors(kept, lambda t: plain(t).clone())
    return copies


def check_repeat(case: Case) -> Iterator[str]:
    """Call twice with the same arguments."""
    if case.random or case.definition.name in UNDEFINED or case.definition.kind == "view":
        yield SKIPPED
        return
    first = _content(case.result)
    again = case.run()
    pairs = zip(tensors_in(case.result), tensors_in(again), strict=False)
    arguments = case.tensors  # sharing their memory is for another check to judge
    if any(overlap(one, other) and not any(overlap(one, t) for t in arguments) for one, other in pairs):
        yield "the same call, made again, returned the memory of the first result"
    elif _content(case.result) != first:
        yield "the same call, made again, changed the first result"
    elif _content(again) != first:
        yield "the same call gave other values when it was made again"


def _content(result: Any) -> list[Any]:
    """Return all of a result, to the last bit."""
    arrays = [as_array(t) for t in tensors_in(result)]
    return [(a.shape, a.dtype.name, a.tobytes()) for a in arrays] or [repr(result)]


# --- seeds -----------------------------------------------------------------------------------------------------

SEED, OTHER = 7, 8


def check_seed(case: Case) -> Iterator[str]:
    """Repeat a random call with the same seed and with another one, and on the CPU with the same.

    A sample may leave no choice (`dropout` with p=0), so another seed must change at least one of all samples.
    """
    if not case.random:
        yield SKIPPED
        return

    tt.manual_seed(SEED)
    result = case.run()
    first, content = as_array(result), _content(result)
    tt.manual_seed(SEED)
    for message in differences(case.run(), first):
        yield f"the same seed gave other numbers: {message}"
    tt.manual_seed(OTHER)
    if not case.shared.get("varied") and _content(case.run()) != content:
        case.shared["varied"] = True
    if case.last and not case.shared.get("varied"):
        yield "another seed gave the same numbers, for every sample"
    if case.device_type != "cpu" and not case.inplace_only:
        tt.manual_seed(SEED)
        for message in compared(case, result, cpu_reference(case.definition, case.bound)):
            yield f"the seed gives other numbers than on the CPU: {message}"
