"""python -m tests.fuzz --seconds 60 --seed N [--only PATTERN] [--jobs 2]: random programs, and what goes wrong with them."""

from __future__ import annotations

import argparse
import random
import sys

from tests.fuzz.known import KNOWN
from tests.fuzz.records import FUZZERS
from tests.fuzz.runs import Run


def main(arguments: list[str] | None = None) -> int:
    """Run fuzzers, and print what fails as short programs."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("fuzzers", nargs="*", metavar="FUZZER", help=f"of {', '.join(FUZZERS)}; all by default")
    parser.add_argument("--seconds", type=float, default=60, help="how long new programs are drawn")
    parser.add_argument("--programs", type=int, help="how many programs are drawn, whatever the time")
    parser.add_argument("--first", type=int, default=0, help="the number of the first program")
    parser.add_argument("--seed", type=int, help="of the programs; drawn and printed where it is left out")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="names of operators, for example 'index_*'")
    parser.add_argument("--without", default="", metavar="NAMES", help="mutations that are left out, for example unaligned")
    parser.add_argument("--jobs", type=int, default=2, help="processes that run programs at once")
    parser.add_argument("--limit", type=float, default=20, help="seconds that a program may take")
    parser.add_argument("--megabytes", type=int, default=4096, help="of memory for a process; 0 for all there is")
    parser.add_argument("--show-known", action="store_true", help="count known faults as new ones")
    options = parser.parse_args(arguments)
    for name in options.fuzzers:
        if name not in FUZZERS:
            parser.error(f"there is no fuzzer {name!r}; there are {', '.join(FUZZERS)}")
    seed = random.SystemRandom().randrange(1 << 31) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    run = Run(
        fuzzers=tuple(options.fuzzers or FUZZERS), seed=seed, pattern=options.only, excluded=options.without, jobs=options.jobs, limit=options.limit,
        megabytes=options.megabytes, known=() if options.show_known else KNOWN,
    )  # fmt: skip
    run.draw(options.seconds, options.programs, options.first)
    print(run.report(), flush=True)
    return 1 if run.failed else 0


if __name__ == "__main__":
    sys.exit(main())
