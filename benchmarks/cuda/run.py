"""Measures tt on a GPU: `python -m benchmarks.cuda.run`.

Against PyTorch's plain calls, torch.compile and CUDA graphs on the same GPU, in turns, with the hardware's floor for
each case.  Results are compared before they are timed.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
from importlib import util
from pathlib import Path
from typing import Any

from benchmarks.cuda.cases import Case, read_cases
from benchmarks.cuda.machine import NO_GPU

__all__ = ["main"]

FAILED = 1


def arguments(words: list[str] | None, cases: list[Case]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.cuda.run",
        description=(__doc__ or "").split("\n\n")[1],
        epilog=f"Exit status: {FAILED} if tt fails in a case or differs from PyTorch; {NO_GPU} without a GPU.",
    )
    parser.add_argument(
        "--cases",
        action="append",
        metavar="PATTERN",
        help="only the cases whose name matches, such as '*softmax*'",
    )
    parser.add_argument("--list", action="store_true", help="list the cases, and run nothing")
    parser.add_argument("--rounds", type=int, default=15, help="turns of each way (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.02, help="length of a turn (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report here")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table in Markdown here")
    parser.add_argument(
        "--dry",
        action="store_true",
        help="tiny sizes, everything once, no times: shows that the program works",
    )
    options = parser.parse_args(words)
    if options.rounds < 1 or options.seconds <= 0:
        parser.error("--rounds and --seconds must be positive")
    patterns = [pattern.lower() for pattern in options.cases or ["*"]]
    options.cases = [c for c in cases if any(fnmatch.fnmatchcase(c.name.lower(), p) for p in patterns)]
    if not options.cases:
        parser.error(f"no case matches {', '.join(patterns)}; --list shows them")
    return options


def main(words: list[str] | None = None) -> int:
    """Run the command line."""
    options = arguments(words, read_cases())
    if options.list:
        print("\n".join(case.name for case in options.cases))
        return 0
    from benchmarks.cuda import machine, report

    reason = machine.problem()
    if reason is not None:
        print(f"nothing is measured: {reason}", file=sys.stderr)
        return NO_GPU
    environment = machine.facts()
    print("\n".join(f"{name}: {value}" for name, value in environment.items()))
    names, devices = found_runners(dry=options.dry)
    floors = None
    if "torch" in names and not options.dry:
        import torch

        from benchmarks.cuda.floors import measure_floors

        floors = measure_floors(torch, devices["torch"])
        print(report.floors_text(floors))
    measurements = measured(options, names, devices, floors)
    print("\n" + (report.dry_text if options.dry else report.text)(measurements), flush=True)
    if options.json:
        data = report.as_data(measurements, floors, environment, dry=options.dry)
        options.json.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    if options.markdown and not options.dry:
        options.markdown.write_text(report.markdown(measurements) + "\n", encoding="utf-8")
    differ = "the value is not that of tt"
    failed = any("tt" in m.failures or differ in m.failures.values() for m in measurements)
    return FAILED if failed else 0


def found_runners(*, dry: bool) -> tuple[list[str], dict[str, str]]:
    """Return the ways of running a case that are there, tt's first, and the device of each library."""
    names, devices = ["tt", "tt, replayed"], {"tt": "cuda"}
    if util.find_spec("torch") is None:
        print("PyTorch is not installed: tt is measured alone, without floors")
        return names, devices
    import torch

    if torch.cuda.is_available():
        return [*names, "torch", "torch.compile", "torch, replayed"], devices | {"torch": "cuda"}
    if dry:  # values can be compared all the same
        return [*names, "torch"], devices | {"torch": "cpu"}
    print("PyTorch has no CUDA here: tt is measured alone, without floors")
    return names, devices


def measured(
    options: argparse.Namespace, names: list[str], devices: dict[str, str], floors: Any
) -> list[Any]:
    """Measure the cases, and show the progress."""
    from benchmarks.cuda.measure import measure_case
    from tt.cli.output import progress

    measurements = []
    with progress("CUDA", len(options.cases)) as step:
        for done, case in enumerate(options.cases):
            step(done, case.name)
            measurements.append(
                measure_case(
                    case,
                    names,
                    floors,
                    devices=devices,
                    rounds=options.rounds,
                    seconds=options.seconds,
                    dry=options.dry,
                    free=free_memory,
                )
            )
        step(len(options.cases), "")
    return measurements


def free_memory() -> None:
    """Give the memory that both libraries keep back, so that the next case finds all of it."""
    import gc

    import tt

    gc.collect()
    tt.cuda.empty_cache()
    if "torch" in sys.modules:
        sys.modules["torch"].cuda.empty_cache()


if __name__ == "__main__":
    sys.exit(main())
