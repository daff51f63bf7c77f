"""The modules of a package that each operator needs, so that its first call imports only these.

Families of composites and formulas are modules that fill a table when they are imported.  The index of a package is
made by importing all of them, and written where Python keeps the package's compiled modules; later processes read it.

Note [Stale indices]
--------------------
The index holds the time (in nanoseconds) and size of every source in the package and of the snapshot of ops.yaml, whose
operators some families go through.  Where one differs, also by being older, the index is made again.  Where it cannot
be written (`PYTHONDONTWRITEBYTECODE`, a folder without permission), every process imports all families.
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

__all__ = ["family_index"]

_SNAPSHOT = os.path.join(os.path.dirname(__file__), "schema", "_snapshot.py")


def family_index(
    package: str, families: Sequence[str], operators: Callable[[ModuleType], Iterable[str]]
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

    Examples
    --------
    >>> from tt.core.family_index import family_index
    >>> from tt.core.composites.tables import FAMILIES
    >>> index = family_index("tt.core.composites", FAMILIES, lambda module: module.composites.functions)
    >>> index["fft_fft"]
    ['tt.core.composites.fft']
    """
    folder = module_named(package).__path__[0]
    stamp = [list(families), *_stamps(folder)]
    path = _path(folder, families)
    try:
        with open(path, encoding="utf-8") as file:
            found_stamp, found = json.load(file)
        if found_stamp == stamp and isinstance(found, dict):
            return found
    except (OSError, ValueError, TypeError):
        pass
    index: dict[str, list[str]] = {}
    for family in families:
        module = f"{package}.{family}"
        for op in operators(module_named(module)):
            index.setdefault(op, []).append(module)
    if not sys.dont_write_bytecode and stamp == [list(families), *_stamps(folder)]:
        with suppress(OSError):
            _write(path, json.dumps([stamp, index], separators=(",", ":")))
    return index


def _stamps(folder: str) -> list[list[object]]:
    """Return name, time and size of all that determines an index, in a form that JSON gives back."""
    found: list[list[object]] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                facts = entry.stat()
                found.append([entry.name, facts.st_mtime_ns, facts.st_size])
    found.sort(key=str)
    with suppress(OSError):
        facts = os.stat(_SNAPSHOT)
        found.append(["_snapshot.py", facts.st_mtime_ns, facts.st_size])
    return found


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
