"""The modules of a package that each operator needs, so that its first call imports only these.

Families of composites and formulas are modules that fill a table when they are imported.  The index of a package is
made by importing all of them.  The build puts one into a wheel, in the package's folder.  Elsewhere the first process
writes it where Python keeps the package's compiled modules, and later processes read it.

Note [Stale indices]
--------------------
The index of a process holds the time (in nanoseconds) and size of every source in the package and of the snapshot of
ops.yaml, whose operators some families go through.  Where one differs, also by being older, the index is made again.
Where it cannot be written (`PYTHONDONTWRITEBYTECODE`, a folder without permission), every process imports all families.

Where families differ by what else is installed (compiled libraries, say), the caller names a file that tells, and its
time and size count, too.

The index of the build holds sizes only, because installing changes the times.  Where a size differs, somebody has
edited the installed package, and its processes make an index of their own.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from importlib.util import cache_from_source
from types import ModuleType

from tt.core.by_name import module_named

__all__ = ["INDEX", "build_index", "family_index"]

INDEX = "_families.json"
"""The index of the build, in the folder of the package."""

_SNAPSHOT = os.path.join(os.path.dirname(__file__), "schema", "_snapshot.py")


def family_index(
    package: str,
    families: Sequence[str],
    operators: Callable[[ModuleType], Iterable[str]],
    also: Sequence[str] = (),
) -> Mapping[str, Sequence[str]]:
    """Return the import names of the modules that have something for an operator: operator -> modules in order.

    Parameters
    ----------
    package : str
        The import name of the package.
    families : sequence of str
        The names of its modules that have tables.
    operators : callable
        Returns the operators in the tables of such a module.
    also : sequence of str
        The paths of further files on which the tables depend.

    Examples
    --------
    >>> from tt.core.family_index import family_index
    >>> from tt.core.composites.tables import FAMILIES
    >>> index = family_index("tt.core.composites", FAMILIES, lambda module: module.composites.functions)
    >>> index["fft_fft"]
    ['tt.core.composites.fft']
    """
    folder = module_named(package).__path__[0]
    stamp = _stamp(folder, families, also)
    path = _path(folder, families)
    found = _read(os.path.join(folder, INDEX), _without_times(stamp)) or _read(path, stamp)
    if found is not None:
        return found
    index = _made(package, families, operators)
    if not sys.dont_write_bytecode and stamp == _stamp(folder, families, also):
        with suppress(OSError):
            _write(path, _text(stamp, index))
    return index


def build_index(
    root: str, package: str, families: Sequence[str], operators: Callable[[ModuleType], Iterable[str]]
) -> None:
    """Write the index that a wheel holds: `INDEX`, in the folder of the package below `root`.

    Takes the folder that holds the files of tt in the wheel, and the parameters of `family_index`.
    """
    stamp = _without_times(_stamp(module_named(package).__path__[0], families))
    path = os.path.join(root, *package.split(".")[1:], INDEX)
    _write(path, _text(stamp, _made(package, families, operators)))


def _made(
    package: str, families: Sequence[str], operators: Callable[[ModuleType], Iterable[str]]
) -> dict[str, list[str]]:
    """Import all families, and return the index."""
    index: dict[str, list[str]] = {}
    for family in families:
        module = f"{package}.{family}"
        for op in operators(module_named(module)):
            index.setdefault(op, []).append(module)
    return index


def _read(path: str, stamp: list[list[object]]) -> dict[str, list[str]] | None:
    """Return the index in a file; None where there is none, or one with another stamp."""
    try:
        with open(path, encoding="utf-8") as file:
            found_stamp, found = json.load(file)
    except (OSError, ValueError, TypeError):
        return None
    return found if found_stamp == stamp and isinstance(found, dict) else None


def _text(stamp: list[list[object]], index: dict[str, list[str]]) -> str:
    return json.dumps([stamp, index], separators=(",", ":"))


def _stamp(folder: str, families: Sequence[str], also: Sequence[str] = ()) -> list[list[object]]:
    """Return the families, and name, size and time of all that determines an index, in a form that JSON gives back."""
    found: list[list[object]] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                facts = entry.stat()
                found.append([entry.name, facts.st_size, facts.st_mtime_ns])
    found.sort(key=str)
    for file in (_SNAPSHOT, *also):
        with suppress(OSError):
            facts = os.stat(file)
            found.append([os.path.basename(file), facts.st_size, facts.st_mtime_ns])
    return [list(families), *found]


def _without_times(stamp: list[list[object]]) -> list[list[object]]:
    families, *files = stamp
    return [families, *(file[:2] for file in files)]


def _path(folder: str, families: Sequence[str]) -> str:
    """Return the file of an index: next to the compiled modules, for this version of Python."""
    compiled = cache_from_source(os.path.join(folder, "__init__.py"), optimization="")
    return os.path.join(
        os.path.dirname(compiled), f"families.{len(families)}.{sys.implementation.cache_tag}.json"
    )


def _write(path: str, text: str) -> None:
    """Write a file in one step, so that no process reads half of it."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    partial = f"{path}.{os.getpid()}.partial"
    try:
        with open(partial, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(partial, path)
    except OSError:
        with suppress(OSError):
            os.unlink(partial)
        raise
