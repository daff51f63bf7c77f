"""python -m tests.fuzz --seconds 60 --seed N [--only PATTERN] [--jobs 2]: random programs, and what goes wrong."""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
from pathlib import Path

from tests.fuzz.known import KNOWN
from tests.fuzz.records import FUZZERS
from tests.fuzz.runs import Run, replay
from tests.fuzz.workers import ROOT


def main(arguments: list[str] | None = None) -> int:
    """Run fuzzers, and print what fails as short programs."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument(
        "fuzzers", nargs="*", metavar="FUZZER", help=f"of {', '.join(FUZZERS)}; all by default"
    )
    parser.add_argument("--seconds", type=float, default=60, help="how long new programs are drawn")
    parser.add_argument("--programs", type=int, help="how many programs are drawn, whatever the time")
    parser.add_argument("--first", type=int, default=0, help="the number of the first program")
    parser.add_argument("--seed", type=int, help="of the programs; drawn and printed where it is left out")
    parser.add_argument(
        "--only", default="*", metavar="PATTERN", help="names of operators, for example 'index_*'"
    )
    parser.add_argument(
        "--without", default="", metavar="NAMES", help="mutations that are left out, for example unaligned"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes that run programs at once")
    parser.add_argument("--limit", type=float, default=20, help="seconds that a program may take")
    parser.add_argument(
        "--megabytes", type=int, default=4096, help="of memory for a process; 0 for all there is"
    )
    parser.add_argument("--guard", action="store_true", help="look for damage of the heap after each program")
    parser.add_argument(
        "--replay", metavar="FILE", help="run the programs that a process had run when it crashed"
    )
    parser.add_argument(
        "--apart",
        action="store_true",
        help="with --replay: make comparisons in processes of their own; a crash that is left is none of PyTorch's",
    )
    parser.add_argument(
        "--lenient", action="store_true", help="report what differs from PyTorch without failing"
    )
    parser.add_argument("--show-known", action="store_true", help="count known faults as new ones")
    options = parser.parse_args(arguments)
    for name in options.fuzzers:
        if name not in FUZZERS:
            parser.error(f"unknown fuzzer {name!r}; known: {', '.join(FUZZERS)}")
    if options.guard:
        guard()
    if options.replay:
        verdict, count = replay(Path(options.replay), options.limit, options.megabytes, options.apart)
        print(f"{count} programs, then {verdict.kind}: {verdict.where}\n{verdict.text}")
        return 1 if verdict.failed else 0
    seed = random.SystemRandom().randrange(1 << 31) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    run = Run(
        fuzzers=tuple(options.fuzzers or FUZZERS), seed=seed, pattern=options.only, excluded=options.without,
        jobs=options.jobs, limit=options.limit,
        megabytes=options.megabytes, known=() if options.show_known else KNOWN, lenient=options.lenient,
    )  # fmt: skip
    run.draw(options.seconds, options.programs, options.first)
    print(run.report(), flush=True)
    return 1 if run.failed else 0


def guard() -> None:
    """Have workers start with the guarded heap of guard.c."""
    library = ROOT / "build" / "fuzz" / "guard.so"
    library.parent.mkdir(parents=True, exist_ok=True)
    source = Path(__file__).with_name("guard.c")
    flags = ("-O2", "-shared", "-fPIC", "-fno-builtin-malloc", "-pthread")
    subprocess.run([os.environ.get("CC", "gcc"), *flags, "-o", str(library), str(source)], check=True)
    os.environ["LD_PRELOAD"] = str(library)


if __name__ == "__main__":
    sys.exit(main())
