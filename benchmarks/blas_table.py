"""Products by another BLAS and by native kernels, in turns: `python -m benchmarks.blas_table mkl`.

Shows where the library that a value of TT_PRODUCTS names is faster by a tenth or more.  Both are called in one process,
through the same kernels, so the difference is that of their code.  With one thread the processor's time counts, which
other programs disturb less, with several threads the clock.  `--isa` holds both to an instruction set.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from benchmarks.cases import Case, make_loop, read_suite
from benchmarks.levels import LEVELS, hold_to
from benchmarks.libraries import set_threads

__all__ = ["FASTER", "Row", "compare", "main", "table"]

FASTER = 0.9
"""The ratio of times below which a library counts as faster."""


class Row(NamedTuple):
    """A case: microseconds of the native kernels, and the median of the ratios of the library's time to theirs."""

    case: str
    native: float
    ratio: float
    error: float


def cases(pattern: str) -> list[Case]:
    """Return the frozen products of float32 and float64 that match."""
    every = read_suite("products").cases
    return [
        case
        for case in every
        if fnmatchcase(case.name, pattern) and case.name.endswith(("float32", "float64"))
    ]


def compare(
    case: Case, serve: Callable[[bool], None], clock: Callable[[], float], turns: int, seconds: float
) -> Row:
    """Time a case with native kernels and with the library, by turns.

    Parameters
    ----------
    case : Case
        The case.
    serve : callable
        Called with whether the library serves from now on.
    clock : callable
        The clock.
    turns : int
        How many of each.
    seconds : float
        About how long a turn lasts.
    """
    loop = make_loop(case, "tt", clock=clock)
    for library in (True, False):
        serve(library)
        loop(2)
    count = max(1, int(seconds / max(loop(3) / 3, 1e-7)))
    times: dict[bool, list[float]] = {True: [], False: []}
    for turn in range(turns):
        for library in (True, False) if turn % 2 else (False, True):
            serve(library)
            loop(1)  # so that its code and the operands are in the caches
            times[library].append(loop(count) / count)
    ratios = [other / own for other, own in zip(times[True], times[False], strict=True)]
    error = statistics.stdev(ratios) / len(ratios) ** 0.5 if len(ratios) > 1 else 0.0
    return Row(case.name, min(times[False]) * 1e6, statistics.median(ratios), error)


def table(rows: Sequence[Row], name: str) -> str:
    """Return the rows as a table, and which of them the library wins."""
    width = max(len(row.case) for row in rows)
    lines = [f"{'':{width}}  native, us  {name} / native"]
    for row in rows:
        mark = "  *" if row.ratio < FASTER else ""
        lines.append(f"{row.case:{width}}  {row.native:10,.1f}  {row.ratio:.2f} +-{row.error:.2f}{mark}")
    won = sum(row.ratio < FASTER for row in rows)
    mean = statistics.geometric_mean(row.ratio for row in rows)
    return "\n".join(
        [*lines, f"geometric mean {mean:.2f}; below {FASTER}, marked with *: {won} of {len(rows)}"]
    )


def main(words: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.blas_table", description=(__doc__ or "").split("\n\n")[1]
    )
    parser.add_argument("library", help="what TT_PRODUCTS may name: mkl, scipy, or a path")
    parser.add_argument("--cases", default="*", help="a pattern of names of cases in cases/products.toml")
    parser.add_argument("--threads", type=int, default=1, help="(default: %(default)s)")
    parser.add_argument("--isa", choices=tuple(LEVELS), help="the instruction set (default: the best)")
    parser.add_argument("--turns", type=int, default=15, help="of each (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.02, help="length of a turn (default: %(default)s)")
    options = parser.parse_args(words)
    chosen = cases(options.cases)
    if not chosen:
        parser.error(f"no case matches {options.cases}")
    set_threads(options.threads)
    if options.isa:
        hold_to(options.isa)
    print(table(measured(chosen, options), options.library))
    return 0


def measured(chosen: Sequence[Case], options: Any) -> list[Row]:
    """Measure cases, with the environment as it is now."""
    import tt
    from tt.backends.cpu import blas
    from tt.backends.cpu.native.linalg import products

    tt.set_num_threads(options.threads)
    library = blas.named(options.library)

    def serve(whether: bool) -> None:
        products.NATIVE._serve_by(
            library.single * whether, library.double * whether, library.fortran, library.whole
        )

    clock = time.thread_time if options.threads == 1 else time.perf_counter
    return [compare(case, serve, clock, options.turns, options.seconds) for case in chosen]


if __name__ == "__main__":
    sys.exit(main())
