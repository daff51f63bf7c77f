"""Decides whether the native kernels are used, and loads them.

They are all used or none: `building` leaves a record of the sources from which each library was made, and where one
has changed since or a library is missing, NumPy's kernels serve.  Extensions are loaded when the CPU backend is.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

from tt.backends.cpu.native.building import RECORD, digest, library_of, read_record, source_of

__all__ = ["SWITCH", "Status", "examine", "load", "status"]

SWITCH: Final = "TT_NATIVE"
"""The environment variable that switches native kernels off when it is 0."""

PACKAGE: Final = Path(__file__).absolute().parents[3]


class Status(NamedTuple):
    """Whether the native kernels are in use, why or why not, and which extensions were compiled."""

    active: bool
    reason: str
    modules: tuple[str, ...]


def examine(package: Path = PACKAGE) -> Status:
    """Compare the record of the build with what is there now.

    Parameters
    ----------
    package : Path
        The root of the package, which holds the record.

    Returns
    -------
    Status
        Inactive, with the first reason found, unless every library is there and current.
    """
    record = read_record(package)
    if not record:
        found = "is not readable" if (package / RECORD).exists() else "is not there"
        return Status(False, f"the record of native kernels, {RECORD}, {found}", ())
    digests: dict[str, str] = record["modules"]
    modules = tuple(digests)
    if "reason" in record:
        return Status(False, record["reason"], modules)
    if os.environ.get(SWITCH) == "0":
        return Status(False, f"switched off by {SWITCH}=0", modules)
    if record["suffix"] != EXTENSION_SUFFIXES[0]:
        return Status(False, f"compiled for another Python ({record['suffix']})", modules)
    for module, expected in digests.items():
        source = source_of(module, package)
        if not source.is_file() or digest(source) != expected:
            return Status(False, f"stale: {source.name} has changed since it was compiled", modules)
        if not library_of(module, package).is_file():
            return Status(False, f"incomplete: the library of {module} is missing", modules)
    return Status(True, f"compiled against NumPy {record['numpy']}", modules)


@cache
def _loaded() -> tuple[Status, dict[str, ModuleType]]:
    """Load all extensions, or none."""
    found = examine()
    if not found.active:
        return found, {}
    extensions = {}
    for module in found.modules:
        try:
            extensions[module.rpartition("._")[2]] = import_module(module)
        except ImportError as error:  # made for another NumPy, or another processor's library
            first = (str(error).splitlines() or [""])[0]
            return Status(False, f"{module} cannot be loaded: {first}", found.modules), {}
    level = extensions["threads"].cpu_level()
    return found._replace(reason=f"{found.reason}, running as {level}"), extensions


def load(family: str) -> Any:
    """Return the extension of a family, or None where NumPy's kernels serve.

    Examples
    --------
    >>> from tt.backends.cpu.native.loading import load
    >>> pointwise = load("pointwise")
    >>> pointwise is None or callable(pointwise.exp)
    True
    """
    return _loaded()[1].get(family)


def status() -> Status:
    """Return whether the native kernels are in use; loads them if they can be.

    Examples
    --------
    >>> from tt.backends.cpu.native.loading import status
    >>> isinstance(status().active, bool), isinstance(status().reason, str)
    (True, True)
    """
    return _loaded()[0]
