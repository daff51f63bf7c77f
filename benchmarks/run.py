"""Runs the benchmarks: `python -m benchmarks.run [small_calls] [programs] [import]`.

Prints microseconds a call and ratios to NumPy and, where it is installed, torch.  The libraries take turns within
one run (see measure.py, Note [Interleaved]).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

# One thread for every library, set before any of them is imported: the cases measure what a call costs, and threads
# that wait for a busy core would measure the other programs of the machine.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

from benchmarks.cases import read_suite, suite_names  # noqa: E402
from benchmarks.environment import environment, installed  # noqa: E402
from benchmarks.import_time import measure_import  # noqa: E402
from benchmarks.measure import measure_suite  # noqa: E402
from benchmarks.report import compare_text, import_text, suite_dict, suite_text  # noqa: E402

IMPORT = "import"


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.run", description=(__doc__ or "").split("\n\n")[1]
    )
    names = [*suite_names(), IMPORT]
    parser.add_argument(
        "suites", nargs="*", metavar="SUITE", help=f"which to run: {', '.join(names)} (default: all)"
    )
    parser.add_argument("--rounds", type=int, default=15, help="turns of each library (default: %(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=0.005, help="length of a turn (default: %(default)s)"
    )
    parser.add_argument(
        "--fastest", action="store_true", help="report the fastest turn, not the median: on a busy machine"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report here")
    parser.add_argument(
        "--compare", type=Path, metavar="FILE", help="show how the ratios changed since this report"
    )
    parsed = parser.parse_args(words)
    for name in parsed.suites:
        if name not in names:
            parser.error(f"no suite is named {name!r}; there are: {', '.join(names)}")
    if parsed.rounds < 1 or parsed.seconds <= 0:
        parser.error("--rounds and --seconds must be positive")
    if parsed.compare and not parsed.compare.exists():
        parser.error(f"there is no report {parsed.compare}")
    parsed.suites = parsed.suites or names
    return parsed


def main(words: list[str] | None = None) -> int:
    """Run what the command line asks for; return 1 if a case could not be measured with tt."""
    options = arguments(words)
    libraries = installed()
    report: dict[str, Any] = {"environment": environment(), "suites": {}}
    print("\n".join(f"{name}: {value}" for name, value in report["environment"].items()))
    failed = False
    for name in options.suites:
        if name == IMPORT:
            imported = measure_import()
            report[IMPORT] = imported.to_dict()
            print("\n" + import_text(imported))
            continue
        suite = read_suite(name)
        measurements = measure_suite(
            suite, libraries, rounds=options.rounds, seconds=options.seconds, fastest=options.fastest
        )
        failed = failed or any("tt" in m.failures for m in measurements)
        report["suites"][name] = suite_dict(suite.title, measurements)
        print("\n" + suite_text(suite.title, measurements))
    if options.compare:
        print("\n" + compare_text(json.loads(options.compare.read_text(encoding="utf-8")), report))
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
