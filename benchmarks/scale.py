"""Time by the number of cores: `python -m benchmarks.scale`.  Measured as far as there are cores, else modelled.

The model of a program has three parts.  Its operators cost time in the calling thread, however many cores there are:
their number times the cost of an operator on little data.  The rest of the time of one thread is divided among the
cores.  Operands that do not fit into the last cache take at least their bytes divided by the bandwidth of memory, which
is taken to be that of the measured cores: servers have more, laptops do not.  Waking threads and uneven parts are
not in the model, so it is a bound, and its value for the measured cores shows how good a one.
"""

from __future__ import annotations

import argparse
import functools
import os
import re
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.cases import Case, find_case, make_loop, make_once
from benchmarks.libraries import set_threads

__all__ = ["MODELLED", "Work", "last_cache", "main", "modelled", "scale", "scale_text", "work_of"]

MODELLED = (2, 4, 8, 16)
FROZEN = (
    "exp(x)",
    "MLP 64-64-10, batch 32, forward and backward",
    "MLP 784-256-10, batch 64, forward and backward",
    "LeNet, batch 32, forward and backward",
    "attention block 8x64x128, forward and backward",
)
LARGE = 2**24
STEP = 100
CASES = (
    Case(f"x + y, {LARGE:,} elements", "x + y", inputs={"x": f"float32[{LARGE}]", "y": f"float32[{LARGE}]"}),
    Case("m @ n, 1024x1024", "m @ n", inputs={"m": "float32[1024,1024]", "n": "float32[1024,1024]"}),
)
"""Programs that are bound by memory and by arithmetic; the frozen ones are between them."""


@dataclass(frozen=True)
class Work:
    """The work of a program: its operators, and the bytes that they read and write outside of the caches."""

    operators: int
    memory_bytes: int


def work_of(run: Callable[[], Any], cache: int) -> Work:
    """Count the operators of a program, those of its backward pass too, and the bytes of the ones beyond a cache."""
    import tt

    class Count(tt.library.TTDispatchMode):
        operators = memory_bytes = 0

        def __tt_dispatch__(
            self, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: Any = None
        ) -> Any:
            result = func(*args, **(kwargs or {}))
            operands = [value for value in (*args, *(kwargs or {}).values()) if isinstance(value, tt.Tensor)]
            results = [value for value in flat(result) if isinstance(value, tt.Tensor)]
            known = {value.untyped_storage().data_ptr() for value in operands}
            self.operators += 1
            moved = sum(value.numel() * value.element_size() for value in (*operands, *results))
            is_view = any(value.untyped_storage().data_ptr() in known for value in results)
            if moved > cache and not is_view:
                self.memory_bytes += moved
            return result

    run()
    with Count() as count:
        run()
    return Work(count.operators, count.memory_bytes)


def flat(value: Any) -> list[Any]:
    """Return the members of a result."""
    return list(value) if isinstance(value, list | tuple) else [value]


def last_cache() -> int:
    """Return the bytes of the largest cache of a core; 32 MB where the system does not list it."""
    files = Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")
    sizes = [re.fullmatch(r"(\d+)([KM]?)", file.read_text().strip()) for file in files]
    units = {"": 1, "K": 2**10, "M": 2**20}
    return max((int(size[1]) * units[size[2]] for size in sizes if size), default=32 * 2**20)


def modelled(one: float, work: Work, cores: int, *, operator: float, bandwidth: float) -> float:
    """Return the time of a program on so many cores.

    Parameters
    ----------
    one : float
        The microseconds with one thread.
    work : Work
        A description of the program.
    cores : int
        How many cores share the arithmetic.
    operator : float
        The microseconds of an operator on one element.
    bandwidth : float
        Bytes in a microsecond, from and to memory.

    Examples
    --------
    >>> from benchmarks.scale import Work, modelled
    >>> modelled(100.0, Work(operators=10, memory_bytes=0), 4, operator=1.0, bandwidth=1.0)
    32.5
    """
    alone = min(one, work.operators * operator)
    return alone + max((one - alone) / cores, work.memory_bytes / bandwidth)


def scale(cores: int, *, rounds: int = 9, seconds: float = 0.05, short: bool = False) -> dict[str, Any]:
    """Measure the programs with one thread and with more, and model what is not there.

    Returns
    -------
    dict
        `operator` (microseconds), `gigabytes_a_second`, and for each program its work, the microseconds by threads
        and the modelled ones by cores.
    """
    import tt
    from benchmarks.growth import ceilings, step_cost, training_step

    before = tt.get_num_threads()
    # Of a step of small operators, as many of its backward pass and of its optimizer among them as in others.
    step = step_cost(["tt"], [STEP], rounds=rounds)["tt"][0]["microseconds"] * STEP
    operator = step / work_of(functools.partial(training_step("tt"), STEP), 0).operators
    bandwidth = ceilings(cores)["memory_gigabytes_a_second"]
    cache, programs = last_cache(), []
    cases = [*CASES[1:], find_case(FROZEN[0])] if short else [*CASES, *map(find_case, FROZEN)]
    measured = [count for count in (1, *MODELLED) if count <= cores]
    for case in cases:
        work, loop = work_of(make_once(case, "tt"), cache), make_loop(case, "tt")
        count = max(1, round(seconds / max(loop(1), 1e-6)))
        times: dict[int, list[float]] = {threads: [] for threads in measured}
        for _ in range(rounds):
            for threads, samples in times.items():
                tt.set_num_threads(threads)
                loop(1)
                samples.append(loop(count) / count * 1e6)
        micro = {threads: statistics.median(samples) for threads, samples in times.items()}
        model = {
            number: modelled(micro[1], work, number, operator=operator, bandwidth=bandwidth * 1e3)
            for number in MODELLED
        }
        programs.append(
            {
                "case": case.name,
                "operators": work.operators,
                "memory_bytes": work.memory_bytes,
                "measured": {str(number): value for number, value in micro.items()},
                "modelled": {str(number): value for number, value in model.items()},
            }
        )
    tt.set_num_threads(before)
    return {"operator": operator, "gigabytes_a_second": bandwidth, "programs": programs}


def scale_text(found: dict[str, Any]) -> str:
    """Return the times as a table."""
    from benchmarks.report import aligned

    measured = list(found["programs"][0]["measured"])
    models = list(found["programs"][0]["modelled"])
    head = ["us", "operators", "MB", *(f"{n} thread{'s' if n != '1' else ''}" for n in measured)]
    rows = [[*head, *(f"model, {n} cores" for n in models)]]
    for program in found["programs"]:
        times = [f"{program['measured'][n]:,.0f}" for n in measured]
        times += [f"{program['modelled'][n]:,.0f}" for n in models]
        rows.append(
            [program["case"], f"{program['operators']:,}", f"{program['memory_bytes'] / 1e6:.0f}", *times]
        )
    return (
        f"time by cores; the model: {found['operator']:.2f} us an operator, {found['gigabytes_a_second']:.1f} GB/s\n"
        f"{aligned(rows)}"
    )


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale", description=(__doc__ or "").split("\n\n")[1]
    )
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    parser.add_argument(
        "--threads", type=int, default=cores, help="how many are measured (default: %(default)s)"
    )
    parser.add_argument("--rounds", type=int, default=9, help="turns of each (default: %(default)s)")
    options = parser.parse_args(words)
    set_threads(options.threads)
    print(scale_text(scale(options.threads, rounds=options.rounds)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
