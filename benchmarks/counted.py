"""The program that `benchmarks.instructions` runs under callgrind: each case N times, and then 2N times.

A call of `os.getppid` divides the run into parts: callgrind writes its counters before that function.  tt,
NumPy and Python never call it themselves, it does nothing, and it needs no module compiled for the purpose.
"""

from __future__ import annotations

import gc
import os
import sys

from benchmarks.cases import Case, find_case, make_loop

__all__ = ["DIVIDER", "LOOP", "PARTS_PER_CASE", "WARM_UP"]

LOOP = Case("the loop", tensor="pass", numpy="pass")
"""Runs nothing; its cost is subtracted."""

DIVIDER = "getppid"
PARTS_PER_CASE = 3
"""The part before the loops (building the case and warming up), N calls, and 2N calls."""

WARM_UP = 200
"""Calls before the count: the interpreter has specialised its code, and every cache of tt is filled, long before."""


def main(words: list[str]) -> None:
    """Run LIBRARY COUNT CASE...; the parts of a case are between calls of the divider."""
    library, count, *cases = words
    divide = getattr(os, DIVIDER)
    for name in cases:
        loop = make_loop(LOOP if name == LOOP.name else find_case(name), library)
        loop(WARM_UP)
        loop(
            2 * int(count)
        )  # lists of free objects, and the pools of the allocator, reach the size that they keep
        gc.collect()
        gc.disable()
        divide()
        loop(int(count))
        divide()
        loop(2 * int(count))
        divide()
        gc.enable()


if __name__ == "__main__":
    main(sys.argv[1:])
