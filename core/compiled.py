"""The choice between the compiled and the interpreted forms of the hot modules.

They are all used or none.  The build writes a record, `tt/_compiled.json`, with a digest of each source that it
compiled; where a source has changed since, or a library is missing, every hot module is imported from its .py.
Without this check, an edited .py would silently not run, and a compiled module would meet a class laid out otherwise.

`tt/__init__.py` calls `install` before anything else, and the build hook loads this module by its path: it imports
nothing of tt.  It is part of every `import tt`, so it does without pathlib, hashlib and importlib.abc, which would
take longer than the check itself.
"""

from __future__ import annotations

import json
import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec, SourceFileLoader
from importlib.util import source_hash, spec_from_file_location
from typing import Any, NamedTuple

__all__ = ["RECORD", "SWITCH", "Status", "digest", "examine", "install", "source_of", "status"]

RECORD = "_compiled.json"
"""Name of the record in the root of the package."""

SWITCH = "TT_COMPILED"
"""The environment variable that switches compiled modules off when it is 0."""

PACKAGE_ROOT = os.path.dirname(os.path.dirname(__file__))

SHARED = os.path.join(os.path.dirname(__file__), "tensor", "blank.pxd")
"""C functions that several hot modules include."""

BESIDE = ("codes.pxd", "guard.pxd")
"""Constants and functions that the hot modules of a folder include."""


class Status(NamedTuple):
    """Whether the compiled modules are in use, why or why not, and which modules were compiled."""

    active: bool
    reason: str
    modules: tuple[str, ...]


class SourceFinder:
    """Finds the sources of the hot modules where the import system would prefer their compiled forms."""

    def __init__(self, sources: dict[str, str]) -> None:
        self.sources = sources

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return the spec of a hot module's source; None for every other module."""
        source = self.sources.get(fullname)
        if source is None:
            return None
        return spec_from_file_location(fullname, source, loader=SourceFileLoader(fullname, source))


def digest(source: str) -> str:
    """Return a digest of a hot module's source, its .pxd and its includes."""
    with open(source, "rb") as file:
        content = file.read()
    beside = [os.path.join(os.path.dirname(source), name) for name in BESIDE]
    for types in (f"{source.removesuffix('.py')}.pxd", *beside, SHARED):
        try:
            with open(types, "rb") as file:
                content += b"\0" + file.read()
        except FileNotFoundError:
            pass  # the types in a .pxd are optional
    return source_hash(content).hex()


def source_of(module: str, root: str) -> str:
    """Return where the source of `tt.<path>` lies under the root of the package."""
    return os.path.join(root, *module.split(".")[1:]) + ".py"


def examine(root: str = PACKAGE_ROOT) -> Status:
    """Compare the record of the build with the present files; the result of `install`, without its effect.

    Parameters
    ----------
    root : str
        The root of the package, which holds the record.

    Returns
    -------
    Status
        Inactive, with the first reason found, unless every library is there and current.
    """
    try:
        with open(os.path.join(root, RECORD), encoding="utf-8") as file:
            record: dict[str, Any] = json.load(file)
    except FileNotFoundError:
        return Status(False, "the build left no record of compiled modules", ())
    except ValueError:
        return Status(False, f"the record of compiled modules, {RECORD}, is not readable", ())
    digests: dict[str, str] = record["modules"]
    modules = tuple(digests)
    if "reason" in record:
        return Status(False, record["reason"], modules)
    if os.environ.get(SWITCH) == "0":
        return Status(False, f"switched off by {SWITCH}=0", modules)
    # A record may come from another Python that shares the folder.
    if record["suffix"] != EXTENSION_SUFFIXES[0]:
        return Status(False, f"compiled for another Python ({record['suffix']})", modules)
    for module, expected in digests.items():
        source = source_of(module, root)
        # One stale module switches off all, since compiled modules rely on each other's layout of objects.
        if not os.path.exists(source) or digest(source) != expected:
            return Status(False, f"stale: {module} has changed since it was compiled", modules)
        if not os.path.exists(source.removesuffix(".py") + record["suffix"]):
            return Status(False, f"incomplete: the library of {module} is missing", modules)
    return Status(True, f"compiled by Cython {record['cython']}", modules)


_installed: Status | None = None


def install() -> Status:
    """Make imports load all hot modules compiled or all from source; called once, before any of them is imported.

    Raises
    ------
    ImportError
        A compiled module that must not be used has been imported already.
    """
    global _installed
    if _installed is not None:
        return _installed
    status = examine()
    if not status.active and status.modules:
        for module in status.modules:
            loaded = sys.modules.get(module)
            if loaded is not None and isinstance(
                getattr(loaded.__spec__, "loader", None), ExtensionFileLoader
            ):
                raise ImportError(
                    f"{module} was imported before tt.core.compiled.install() was called", name=module
                )
        # In front: the import system's own finder prefers a library to the source beside it.
        sys.meta_path.insert(
            0, SourceFinder({module: source_of(module, PACKAGE_ROOT) for module in status.modules})
        )
    _installed = status
    return status


def status() -> Status:
    """Return the decision of `install` (or the one it would make now, if it has not been called)."""
    return _installed if _installed is not None else examine()
