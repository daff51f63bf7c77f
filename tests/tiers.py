"""Which tests run when: the tiers and the slices of `make test`, `make test-slice` and `.ci/run`.

Markers say the needs and costs of a test.  `exhaustive` takes it out of the base tier; `sampled(n)` leaves one in n of
its parameters there; `both_forms` is set here, by folder.  The exhaustive tier is also cut into slices, one for each
run of continuous integration.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple
from zlib import crc32

import pytest

__all__ = [
    "BOTH_FORMS",
    "LONG",
    "ROOT",
    "SLICES",
    "Slice",
    "changed_paths",
    "families",
    "family_of",
    "is_in_slice",
    "mark_tiers",
    "missing_paths",
    "scope_of",
]

ROOT: Final = Path(__file__).parents[1]

SLICES: Final = 16
"""Slices of the exhaustive tier: after as many landings everything has run."""

BOTH_FORMS: Final = (
    "tests/api/multiprocessing/test_reductions.py",
    "tests/api/nn/modules/test_module.py",
    "tests/core/custom_op",
    "tests/core/dispatch",
    "tests/core/extension/test_over_tensors.py",
    "tests/core/host/test_lazy_member.py",
    "tests/core/layers",
    "tests/core/methods",
    "tests/core/tensor",
    "tests/core/test_meta.py",
    "tests/core/types",
    "tests/plugins/autograd",
)
"""Tests of what runs compiled or interpreted (dispatch, tensors, autograd, custom operators): folders and files."""


MOST_CHANGED: Final = 20
"""Files of tests at changed paths that are added to a slice.  A landing that concerns more (a move, a new marker) is a
change of everything: its tests are those of the slices, and `make test-all`."""

DIVIDED: Final = (
    "tests/core/dispatch/mutate/test_out.py",
    "tests/opinfo/test_opinfo.py",
    "tests/plugins/autograd/formulas/test_formulas.py",
    "tests/plugins/autograd/transforms/test_dual.py",
)
"""Long files of tests that set up nothing in common: their parts may run in different processes."""

PARTS: Final = 8

LONG: Final = (
    "tests/backends/cuda/test_emulated.py",
    "tests/backends/cuda/test_sanitized.py",
    "tests/core/test_forks.py",
    "tests/testing/faults/test_faults.py",
    "tests/testing/test_conformance.py",
    "tests/thirdparty/test_strict_backend.py",
)
"""Files of few tests that take long: they begin first."""


class Slice(NamedTuple):
    """The slice `number` of `count`, counted from 1."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Slice:
        """Read "3/8".

        Raises
        ------
        pytest.UsageError
            When it is anything else.
        """
        number, _, count = text.partition("/")
        if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
            raise pytest.UsageError(f"--slice={text}: expected NUMBER/COUNT, for example 3/{SLICES}")
        return cls(int(number), int(count))


def missing_paths() -> list[str]:
    """Return the entries of BOTH_FORMS, DIVIDED and LONG that are not there."""
    return [path for path in BOTH_FORMS + DIVIDED + LONG if not (ROOT / path).exists()]


def path_of(item: pytest.Item) -> str:
    """Return the path of a test's file from the root of the repository."""
    return item.nodeid.partition("::")[0]


def is_under(path: str, folders: Iterable[str]) -> bool:
    """Return whether a path is one of some files or lies in one of some folders."""
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


@cache
def families() -> tuple[str, ...]:
    """Return the families of operators, in the order of their turns: the folders of `operators/`."""
    folders = (ROOT / "operators").iterdir()
    return tuple(sorted(path.name for path in folders if path.is_dir() and path.name[0].isalpha()))


def family_of(path: str, names: Sequence[str]) -> str:
    """Return the family with which the tests of a file run where the kernels are NumPy's.

    That is the family which the path names by a folder or by the end of the file's name.  Files that name none are
    divided among the families by checksums, so that each has its turn.
    """
    place = PurePosixPath(path)
    for part in (*place.parts[:-1], place.stem):
        for name in names:
            if part == name or part.endswith(f"_{name}"):
                return name
    return names[crc32(path.encode()) % len(names)]


def mark_tiers(items: Iterable[pytest.Item]) -> None:
    """Set the markers that follow from others and from paths.

    Of the parameters of a sampled test, the first stays in the base tier, and those whose checksum says so: a choice
    that is the same in each process and does not follow the order of dtypes or devices.
    """
    seen: set[str] = set()
    for item in items:
        if is_under(path_of(item), BOTH_FORMS):
            item.add_marker(pytest.mark.both_forms)
        sampled = item.get_closest_marker("sampled")
        if sampled is None:
            continue
        test = item.nodeid.partition("[")[0]
        if test in seen and crc32(item.nodeid.encode()) % sampled.args[0]:
            item.add_marker(pytest.mark.exhaustive)
        seen.add(test)


def scope_of(nodeid: str) -> str:
    """Return what stays in one process with a test: its file, or its part of one that is divided."""
    path = nodeid.partition("::")[0]
    return f"{path}:{crc32(nodeid.encode()) % PARTS}" if path in DIVIDED else path


def is_in_slice(item: pytest.Item, part: Slice, changed: frozenset[str]) -> bool:
    """Return whether a test belongs to a slice of the exhaustive tier.

    The tier holds tests marked so, and the tests of Hypothesis, which draw more examples there.  A test whose file,
    or the module at whose path it lies, has changed belongs to every slice.
    """
    drawn = hasattr(getattr(item, "obj", None), "hypothesis")
    if not drawn and item.get_closest_marker("exhaustive") is None:
        return False
    return path_of(item) in changed or crc32(item.nodeid.encode()) % part.count == part.number - 1


def changed_paths(since: str) -> frozenset[str]:
    """Return the files of tests that a change since a commit concerns.

    Those are the changed files themselves and, for a module `core/meta.py`, the files
    `tests/core/test_meta.py` and `tests/core/test_*_meta.py`; none if there are more than
    MOST_CHANGED.

    Raises
    ------
    pytest.UsageError
        When git does not know the commit.
    """
    command = ["git", "diff", "--name-only", "--diff-filter=d", since, "--"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise pytest.UsageError(f"--changed-since={since}: {done.stderr.strip()}")
    found = set()
    for path in map(PurePosixPath, done.stdout.splitlines()):
        found.add(str(path))
        folder = PurePosixPath("tests") / path.parent
        for name in (f"test_{path.stem}.py", f"test_*_{path.stem}.py"):
            found.update(str(test.relative_to(ROOT)) for test in (ROOT / folder).glob(name))
    tests = {path for path in found if path.startswith("tests/")}
    return frozenset() if len(tests) > MOST_CHANGED else frozenset(tests)
