"""Runs the benchmarks: `python -m benchmarks.run [small_calls] [training] [large] ...`.

Prints microseconds a call and tt's ratios to NumPy, torch, JAX, autograd and tinygrad, as far as they are installed,
and compares the means of the ratios with the targets.  The libraries take turns within one run (see measure.py, Note
[Interleaved]); their results are compared before they are timed.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import sys
from pathlib import Path
from typing import Any

from benchmarks.cases import Case, Suite, read_suite, suite_names
from benchmarks.levels import LEVELS, hold_numpy_to, hold_to
from benchmarks.libraries import PEERS, installed, set_threads
from benchmarks.records import has_report, read_report, write_report

__all__ = ["FAILED", "WORSE", "main"]

FAILED = 1
WORSE = 3
FORMS = ("compiled", "hot", "native", "interpreted")


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.run",
        description=(__doc__ or "").split("\n\n")[1],
        epilog=f"Exit status: {FAILED} if tt fails in a case or differs from a peer; {WORSE} if --compare finds a "
        "case that is worse than before by more than noise.",
    )
    names = suite_names()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    parser.add_argument(
        "suites", nargs="*", metavar="SUITE", help=f"which to run: {', '.join(names)} (default: all)"
    )
    parser.add_argument(
        "--cases",
        action="append",
        metavar="PATTERN",
        help="only the cases whose name matches, such as '*softmax*'",
    )
    parser.add_argument(
        "--peers", metavar="LIST", help=f"comma-separated, of {', '.join(PEERS)} (default: those installed)"
    )
    parser.add_argument(
        "--threads", type=int, default=cores, help="of every library (default: the cores, here %(default)s)"
    )
    parser.add_argument(
        "--isa",
        choices=LEVELS,
        help="hold every library to this instruction set (default: the best of the processor)",
    )
    parser.add_argument("--rounds", type=int, default=15, help="turns of each library (default: %(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=0.005, help="length of a turn (default: %(default)s)"
    )
    parser.add_argument(
        "--busy", action="store_true", help="one thread, and the processor's time of it: on a busy machine"
    )
    parser.add_argument(
        "--short", action="store_true", help="run every case once and compare the results, without timing"
    )
    parser.add_argument(
        "--form",
        nargs="?",
        const="show",
        choices=("show", *FORMS),
        metavar="FORM",
        help=f"show which form of tt is installed, or refuse to measure another than {', '.join(FORMS)}",
    )
    parser.add_argument(
        "--each",
        action="store_true",
        help="in a pipe, report on standard error every case, not every fourth part",
    )
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="write the report here, as tables (CSV)")
    parser.add_argument(
        "--compare", type=Path, metavar="FOLDER", help="show how the ratios changed since this report"
    )
    parsed = parser.parse_args(words)
    for name in parsed.suites:
        if name not in names:
            parser.error(f"no suite is named {name!r}; there are: {', '.join(names)}")
    if parsed.rounds < 1 or parsed.seconds <= 0 or parsed.threads < 1:
        parser.error("--rounds, --seconds and --threads must be positive")
    if parsed.busy:
        parsed.threads = 1
    if parsed.compare and not has_report(parsed.compare):
        parser.error(f"no report at {parsed.compare}")
    parsed.peers = parsed.peers.split(",") if parsed.peers is not None else list(PEERS)
    for name in parsed.peers:
        if name and name not in PEERS:
            parser.error(f"no cases are written for {name!r}; the peers are: {', '.join(PEERS)}")
    parsed.suites = [chosen(read_suite(name), parsed.cases) for name in parsed.suites or names]
    if not any(suite.cases for suite in parsed.suites):
        parser.error(f"no case matches {', '.join(parsed.cases)}")
    return parsed


def chosen(suite: Suite, patterns: list[str] | None) -> Suite:
    """Return a suite with the cases whose names match one of the patterns."""
    if patterns is None:
        return suite
    cases = [case for case in suite.cases if any(matches(case, pattern) for pattern in patterns)]
    return Suite(suite.name, suite.title, suite.groups, cases)


def matches(case: Case, pattern: str) -> bool:
    """Return whether a name matches: brackets, of which names have many, stand for themselves."""
    return fnmatch.fnmatchcase(case.name.lower(), pattern.lower().replace("[", "[[]"))


def main(words: list[str] | None = None) -> int:
    """Run the command line."""
    options = arguments(words)
    set_threads(options.threads)
    if options.isa:
        hold_to(options.isa)
    # The libraries, and what imports them, are imported when the number of threads is set.
    from benchmarks.compare import changes, compare_text
    from benchmarks.environment import environment, form_of_tt
    from benchmarks.report import suite_dict, suite_text
    from benchmarks.turns import Workers

    form, detail = form_of_tt()
    if options.form == "show":
        print(f"{form} ({detail})")
        return 0
    if options.form not in (None, form):
        print(f"this is not the {options.form} form: {form} ({detail})", file=sys.stderr)
        return 2
    if options.isa and (missing := missing_level(options.isa)):
        print(f"nothing is measured at {options.isa}: {missing}", file=sys.stderr)
        return 2
    hold_numpy_to(options.isa)
    present = installed(("tt", *options.peers))
    failed = False
    with Workers(present) as workers:
        problems = {library: why for library in present if (why := workers[library].usable())}
        if options.busy:
            problems["jax"] = "--busy counts the time of the calling thread, and JAX computes in others"
        libraries = [library for library in present if library not in problems]
        report: dict[str, Any] = {
            "environment": environment(libraries, options.threads, busy=options.busy, level=options.isa),
            "suites": {},
        }
        print("\n".join(f"{name}: {value}" for name, value in report["environment"].items()))
        print("".join(f"{library} is not measured: {why}\n" for library, why in problems.items()), end="")
        for suite in options.suites:
            if not suite.cases:
                continue
            measurements = measured(suite, libraries, options, workers)
            failed = failed or any("tt" in m.failures for m in measurements)
            if options.short:
                print(f"\n{suite.title}: {len(suite.cases)} cases")
                failures = [(m.case, name, why) for m in measurements for name, why in m.failures.items()]
                print("".join(f"{case}: {name}: {why}\n" for case, name, why in failures), end="")
                continue
            report["suites"][suite.name] = suite_dict(suite, measurements, form)
            print("\n" + suite_text(suite, measurements, form), flush=True)
    if options.save:
        write_report(options.save, report)
    worse = False
    if options.compare:
        differences = changes(read_report(options.compare), report)
        worse = any(c.worse for c in differences)
        print("\n" + compare_text(differences))
    return FAILED if failed else WORSE if worse else 0


def missing_level(level: str) -> str:
    """Return why the native kernels of tt do not run at an instruction set; empty if they do."""
    from tt.backends.cpu.native import loading

    known = loading.levels()
    return "" if level in known.usable else known.missing.get(level, "no native kernels were built")


def measured(
    suite: Suite, libraries: list[str], options: argparse.Namespace, workers: dict[str, Any]
) -> list[Any]:
    """Measure the cases of a suite, or with --short run them once, and show the progress."""
    from benchmarks.measure import check_case, measure_case
    from tt.cli.output import progress

    measurements = []
    with progress(suite.title, len(suite.cases), lines=len(suite.cases) if options.each else 4) as step:
        for done, case in enumerate(suite.cases):
            step(done, case.name)
            if options.short:
                measurements.append(check_case(case, libraries, workers)[0])
            else:
                measurements.append(
                    measure_case(
                        case,
                        libraries,
                        rounds=options.rounds,
                        seconds=options.seconds,
                        busy=options.busy,
                        runners=workers,
                    )
                )
        step(len(suite.cases), "")
    return measurements


if __name__ == "__main__":
    sys.exit(main())
