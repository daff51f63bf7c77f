"""Areas of continuous integration that are slow and seldom touched: they take turns.

    python -m tests.areas --turn 12 --since COMMIT

prints what one landing runs, a line for each area, its name and its command with a tab between them: the area whose
turn it is, and each one of whose paths something has changed.  The standard error says why, and how to run the others.

A new area is a row here, and takes at most three minutes on two cores.  What it needs besides Python is in its row:
where that is missing its turn passes, so that the others do not run more often.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Collection, Sequence
from shutil import which
from typing import Final, NamedTuple

from tests.tiers import ROOT, is_under

__all__ = ["AREAS", "Area", "Plan", "changed_since", "main", "plan"]


class Area(NamedTuple):
    """Checks with a command of their own, the paths that they are about, and programs one of which they need."""

    name: str
    command: str
    paths: tuple[str, ...]
    programs: tuple[str, ...] = ()

    def missing(self, find: Callable[[str], object] = which) -> str:
        """Return which programs the machine would need, or nothing."""
        return "" if not self.programs or any(map(find, self.programs)) else " or ".join(self.programs)


AREAS: Final = (
    # That everything compiles from nothing, and that a wheel works, is checked in each landing: by `make demo` and by
    # the last step.  What is left are the links of a wheel, and a machine without a compiler.
    Area(
        "wheel compiled from scratch",
        "PYTHONS=${PYTHON:-python3} .ci/wheels && rm -r dist",
        (".ci/wheels", ".github/workflows/release.yml"),
    ),
    Area(
        "kernels compiled for ARM",
        "make test-sweep PYTEST_OPTIONS='--quiet tests/backends/cpu/native/test_arm.py -k without_a_warning'",
        ("backends/cpu/native/src", "tests/backends/cpu/native/arm.py"),
        ("aarch64-linux-gnu-gcc",),
    ),
    Area(
        "packages",
        ".ci/packages",
        (".ci/packages", "packages"),
        ("g++", "clang++"),
    ),
    Area(
        "PyTorch's libraries from wheels",
        "${PYTHON:-python3} -m tests.ecosystem"
        " --only einops torchmetrics timm lightning transformers transformers_generation",
        ("tests/ecosystem", "api/as_torch", "api/_compat/torch"),
    ),
    Area(
        "browser",
        "make browser",
        ("docs/conf.py", "docs/site", "cli/pages", "tests/docs/test_browser.py"),
        ("google-chrome", "chromium", "chromium-browser"),
    ),
)


class Plan(NamedTuple):
    """The areas that a landing runs, with the reason, and those that it does not run."""

    runs: dict[Area, str]
    others: dict[Area, str]


def plan(
    turn: int, changed: Collection[str], areas: Sequence[Area] = AREAS, find: Callable[[str], object] = which
) -> Plan:
    """Return which areas run at a turn, when some paths have changed.

    Examples
    --------
    >>> from tests.areas import Area, plan
    >>> areas = [Area("site", "make site", ("docs",)), Area("wheels", "make wheels", ("build.py",))]
    >>> {area.name: reason for area, reason in plan(0, ["build.py"], areas).runs.items()}
    {'site': 'its turn', 'wheels': 'build.py has changed'}
    """
    drawn = areas[turn % len(areas)]
    runs, others = {}, {}
    for area in areas:
        touched = next((path for path in sorted(changed) if is_under(path, area.paths)), None)
        if missing := area.missing(find):
            others[area] = f"NOT RUN: needs {missing}"
        elif touched is not None:
            runs[area] = f"{touched} has changed"
        elif area is drawn:
            runs[area] = "its turn"
        else:
            others[area] = "another one's turn"
    return Plan(runs, others)


def changed_since(commit: str) -> set[str]:
    """Return the paths that differ from a commit.

    Raises
    ------
    ValueError
        When git does not know the commit.
    """
    command = ["git", "diff", "--name-only", commit, "--"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"--since {commit}: {done.stderr.strip()}")
    return set(done.stdout.splitlines())


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the commands of the areas that run, and what becomes of the others."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.areas", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--turn", type=int, required=True, help="a number that grows with each landing")
    parser.add_argument(
        "--since", metavar="COMMIT", help="areas whose paths have changed since then run, too"
    )
    options = parser.parse_args(arguments)
    try:
        changed = changed_since(options.since) if options.since else set()
    except ValueError as error:
        parser.error(str(error))
    runs, others = plan(options.turn, changed)
    for area, reason in runs.items():
        print(area.name, area.command, sep="\t")
        print(f"{area.name}: runs, {reason}", file=sys.stderr)
    for area, reason in others.items():
        print(f"{area.name}: {reason}; {area.command}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
