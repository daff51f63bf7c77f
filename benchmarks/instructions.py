"""Counts the instructions of a call: `python -m benchmarks.instructions [CASE...]`.

Times on a machine that others use differ by a tenth from run to run; the number of instructions does not.  Each case
runs under callgrind N times and 2N times in one process; the difference of the two parts, divided by N, is the cost of
a call without start-up, warm-up and whatever else happens once.  The cost of the loop is subtracted, and the work of
the allocator is left out.

`--check` compares with the committed figures (instructions.json) and fails where a case costs more than the tolerance
allows; `--update` rewrites them; `--functions` shows where the instructions of a case go.  Without valgrind, or on a
system whose figures are not the committed ones, `--check` says so and succeeds.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.cases import read_suite, suite_names
from benchmarks.counted import DIVIDER, LOOP, PARTS_PER_CASE

__all__ = ["CASES", "FIGURES", "Count", "compare", "conditions", "count_instructions", "main", "read_part"]

CASES = (
    "add(a, b)",
    "a + b",
    "a + b, with gradient",
    "a.view(3, 2)",
    "v[3]",
    "a.sum()",
    "conv2d(x, w, b), 1x3x8x8",
)
"""The default cases; the names are those of cases/*.toml."""

FIGURES = Path(__file__).parent / "instructions.json"

TOLERANCE = 0.03
"""The tolerance of a case above the committed figure.

Note [The tolerance of instruction counts]
------------------------------------------
Runs of one build from one folder differ by less than 0.1 %; from two folders, whose paths change which dictionaries
collide, the views differed by 1.3 % and the others by 0.5 %.  The rest of the tolerance is for variations that the
conditions do not include: another release of the C compiler, or of Python's and NumPy's bug fixes.  A relevant change
is above it: an attribute that is looked up through a dictionary costs about 100 instructions, 3 % of an addition.
"""

ALLOCATOR = re.compile(
    r"(__libc_)?(malloc|free|calloc|realloc|memalign|posix_memalign|aligned_alloc)|_int_(malloc|free|realloc|memalign)"
    r"|_mid_memalign|malloc_consolidate|unlink_chunk|sysmalloc|systrim|tcache_\w+"
)
"""Functions of the C library whose work depends on what earlier cases freed: it varied by a twentieth of a conv2d."""

EXECUTABLE = "valgrind"


@dataclass(frozen=True)
class Count:
    """The instructions of one call, and of the functions of the C code that they belong to."""

    case: str
    instructions: float
    functions: Counter[str]


class UnavailableError(Exception):
    """Why instructions cannot be counted or compared here."""


# --- counting ---


def count_instructions(
    cases: Sequence[str], *, library: str = "tt", calls: int = 500, python: str = sys.executable
) -> list[Count]:
    """Run cases under callgrind.

    Parameters
    ----------
    cases : sequence of str
        Names of cases.
    library : str
        Which library runs them.
    calls : int
        N: a case runs N times, and 2N times.
    python : str
        The interpreter.

    Raises
    ------
    UnavailableError
        Valgrind is not installed, or the run failed in it.
    """
    if shutil.which(EXECUTABLE) is None:
        raise UnavailableError(f"{EXECUTABLE} is not installed")
    with tempfile.TemporaryDirectory(prefix="tt-instructions-") as folder:
        output = Path(folder, "parts")
        command = [
            EXECUTABLE, "--tool=callgrind", f"--dump-before={DIVIDER}", f"--callgrind-out-file={output}",
            python, "-m", "benchmarks.counted", library, str(calls), LOOP.name, *cases,
        ]  # fmt: skip
        done = subprocess.run(
            command,
            cwd=Path(__file__).parents[1],
            env=os.environ
            | {
                "PYTHONHASHSEED": "0",
                "OPENBLAS_NUM_THREADS": "1",
                "OMP_NUM_THREADS": "1",
                "MKL_NUM_THREADS": "1",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise UnavailableError(f"the run under {EXECUTABLE} failed:\n{done.stderr.strip()[-2000:]}")
        parts = [
            read_part(Path(f"{output}.{number}"))
            for number in range(1, PARTS_PER_CASE * (len(cases) + 1) + 1)
        ]
    results = []
    for number, name in enumerate([LOOP.name, *cases]):
        once, twice = parts[PARTS_PER_CASE * number + 1], parts[PARTS_PER_CASE * number + 2]
        functions = Counter({f: (twice[f] - once[f]) / calls for f in twice if not is_allocator(f)})
        results.append(Count(name, sum(functions.values()), functions))
    loop, *counts = results
    return [Count(c.case, c.instructions - loop.instructions, c.functions) for c in counts]


def is_allocator(function: str) -> bool:
    """Return whether callgrind's name of a function is one of the allocator's, perhaps a part of it or a recursion."""
    return ALLOCATOR.fullmatch(re.split(r"[.']", function, maxsplit=1)[0]) is not None


COST = re.compile(r"^[+*-]?\d* ?(\d+)$")
NAMED = re.compile(r"^fn=\((\d+)\)(?: (.*))?$")
DEFINED = re.compile(r"^c?fn=\((\d+)\) (.+)$")


def read_part(path: Path) -> Counter[str]:
    """Return the instructions of each function in a part of callgrind's output, without those of its callees.

    The format gives a function a number and, once, a name; a line of cost holds a position and the instructions; the
    line after `calls=` holds those of the called function, which has its own lines elsewhere.
    """
    names: dict[str, str] = {}
    costs: Counter[str] = Counter()
    current, skip = "", False
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        if defined := DEFINED.match(line):
            names[defined[1]] = defined[2]
        if named := NAMED.match(line):
            current = named[1]
        elif line.startswith("calls="):
            skip = True
        elif current and (cost := COST.match(line)):
            if not skip:
                costs[current] += int(cost[1])
            skip = False
    return Counter({names.get(number, number): cost for number, cost in costs.items()})


# --- comparing ---


def conditions() -> dict[str, str]:
    """Return the conditions of the counts besides tt's sources."""
    import numpy as np

    from tt.backends.cpu.native import loading
    from tt.core import compiled

    status, native = compiled.status(), loading.status()
    return {
        "python": ".".join(platform.python_version_tuple()[:2]),
        "numpy": ".".join(np.__version__.split(".")[:2]),
        "machine": f"{platform.system()} {platform.machine()}",
        "form": status.reason if status.active else "interpreted",
        "kernels": "native" if native.active else "NumPy's",
    }


def compare(found: dict[str, float], committed: dict[str, Any], here: dict[str, str]) -> list[str]:
    """Return the regressions from the committed figures, one line per case.

    Raises
    ------
    UnavailableError
        The figures were taken with other versions or in another form.
    """
    there = committed["conditions"]
    for name, value in here.items():
        if there[name] != value:
            raise UnavailableError(
                f"the committed figures are of {name} {there[name]!r}, here it is {value!r}"
            )
    return [
        f"{case}: {found[case]:.0f} instructions, committed are {figure} ({found[case] / figure - 1:+.1%}; "
        f"allowed are {committed['tolerance']:+.0%})"
        for case, figure in committed["instructions"].items()
        if case in found and found[case] > figure * (1 + committed["tolerance"])
    ]


def table(counts: Sequence[Count], committed: dict[str, Any] | None) -> str:
    """Return the counts as a table, with the committed figures if there are any."""
    width = max(len("instructions"), *(len(count.case) for count in counts))
    lines = [f"{'instructions':{width}}  a call  committed  change"]
    for count in counts:
        figure = committed["instructions"].get(count.case) if committed else None
        change = (
            f"  {figure:9}  {count.instructions / figure - 1:+6.1%}" if figure else f"  {'-':>9}  {'-':>6}"
        )
        lines.append(f"{count.case:{width}}  {count.instructions:6.0f}{change}")
    return "\n".join(lines)


def functions_text(count: Count, most: int) -> str:
    """Return the functions that take most of a call."""
    lines = [f"{count.case}: where the instructions go (the loop included)"]
    lines += [f"  {cost:7.0f}  {name}" for name, cost in count.functions.most_common(most) if cost >= 0.5]
    return "\n".join(lines)


# --- the command ---


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.instructions",
        description="Count the instructions of a call under callgrind.",
    )
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"default: {'; '.join(CASES)}")
    parser.add_argument(
        "--library", default="tt", choices=["tt", "torch", "numpy"], help="default: %(default)s"
    )
    parser.add_argument(
        "--calls", type=int, default=500, help="N; a case runs N and 2N times (default: %(default)s)"
    )
    parser.add_argument(
        "--functions",
        type=int,
        default=0,
        metavar="N",
        help="show the N functions that take most of each case",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the counts here")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--check", action="store_true", help="fail where a case costs more than committed")
    action.add_argument("--update", action="store_true", help="rewrite the committed figures")
    parsed = parser.parse_args(words)
    if parsed.calls < 1:
        parser.error("--calls must be positive")
    if parsed.library != "tt" and (parsed.check or parsed.update):
        parser.error("the committed figures are those of tt")
    known = [case.name for suite in suite_names() for case in read_suite(suite).cases]
    for name in parsed.cases:
        if name not in known:
            parser.error(f"no case is named {name!r}; there are: {'; '.join(known)}")
    parsed.cases = parsed.cases or list(CASES)
    return parsed


def main(words: list[str] | None = None) -> int:
    """Count, print, and compare; return 1 if a case costs more than committed."""
    options = arguments(words)
    committed = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else None
    here = conditions()
    try:
        if options.check and committed is not None:
            compare(
                {}, committed, here
            )  # says before a minute of counting that there is nothing to compare with
        counts = count_instructions(options.cases, library=options.library, calls=options.calls)
    except UnavailableError as reason:
        print(f"instructions are not counted: {reason}")
        return 0 if options.check else 2
    figures = {count.case: count.instructions for count in counts}
    print("; ".join(f"{name}: {value}" for name, value in here.items()))
    print(table(counts, committed if options.library == "tt" else None))
    for count in counts if options.functions else ():
        print("\n" + functions_text(count, options.functions))
    report = {
        "conditions": here,
        "tolerance": TOLERANCE,
        "instructions": {case: round(value) for case, value in figures.items()},
    }
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    if options.update:
        FIGURES.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    worse = compare(figures, committed, here) if options.check and committed is not None else []
    for line in worse:
        print(line)
    return int(bool(worse))


if __name__ == "__main__":
    sys.exit(main())
