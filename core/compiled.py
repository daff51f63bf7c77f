"""Decides whether the compiled forms of the hot modules are used.

They are all used or none.  The build writes a record, `tt/_compiled.json`, with a digest of each source that it
compiled; where a source has changed since, or a library is missing, every hot module is imported from its .py.
Without this check, an edited .py would silently not run, and a compiled module would meet a class laid out otherwise.

This module imports nothing of tt: `tt/__init__.py` calls `install` before anything else, and the build hook loads it
by its path.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

__all__ = ["RECORD", "SWITCH", "Status", "digest", "examine", "install", "status"]

RECORD = "_compiled.json"
"""Name of the record in the root of the package."""

SWITCH = "TT_COMPILED"
"""The environment variable that switches compiled modules off when it is 0."""

PACKAGE_ROOT = Path(__file__).parent.parent


class Status(NamedTuple):
    """Whether the compiled modules are in use, why or why not, and which modules were compiled."""

    active: bool
    reason: str
    modules: tuple[str, ...]


class SourceFinder(MetaPathFinder):
    """Finds the sources of the hot modules where the import system would prefer their compiled forms."""

    def __init__(self, sources: dict[str, Path]) -> None:
        self.sources = sources

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a hot module's source; None for every other module."""
        source = self.sources.get(fullname)
        if source is None:
            return None
        return spec_from_file_location(fullname, source, loader=SourceFileLoader(fullname, str(source)))


def digest(source: Path) -> str:
    """Return the SHA-256 of a hot module's source and of the .pxd beside it."""
    found = hashlib.sha256(source.read_bytes())
    types = source.with_suffix(".pxd")
    if types.exists():
        found.update(b"\0" + types.read_bytes())
    return found.hexdigest()


def source_of(module: str, root: Path) -> Path:
    """Return where the source of `tt.<path>` lies under the root of the package."""
    return root.joinpath(*module.split(".")[1:]).with_suffix(".py")


def examine(root: Path = PACKAGE_ROOT) -> Status:
    """Compare the record of the build with what is there now; the answer of `install`, without its effect.

    Parameters
    ----------
    root : Path
        The root of the package, which holds the record.
    """
    try:
        record: dict[str, Any] = json.loads((root / RECORD).read_bytes())
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
    if record["suffix"] != EXTENSION_SUFFIXES[0]:
        return Status(False, f"compiled for another Python ({record['suffix']})", modules)
    for module, expected in digests.items():
        source = source_of(module, root)
        if not source.exists() or digest(source) != expected:
            return Status(False, f"stale: {module} has changed since it was compiled", modules)
        if not source.with_suffix(record["suffix"]).exists():
            return Status(False, f"incomplete: the library of {module} is missing", modules)
    return Status(True, f"compiled by Cython {record['cython']}", modules)


_installed: Status | None = None


def install() -> Status:
    """Have the hot modules imported all compiled or all from source; called once, before any of them is imported.

    Raises
    ------
    ImportError
        A compiled module that must not be used has been imported already.
    """
    global _installed
    if _installed is not None:
        return _installed
    found = examine()
    if not found.active and found.modules:
        for module in found.modules:
            loaded = sys.modules.get(module)
            if loaded is not None and isinstance(
                getattr(loaded.__spec__, "loader", None), ExtensionFileLoader
            ):
                raise ImportError(
                    f"{module} was imported before tt.core.compiled.install() was called", name=module
                )
        sys.meta_path.insert(
            0, SourceFinder({module: source_of(module, PACKAGE_ROOT) for module in found.modules})
        )
    _installed = found
    return found


def status() -> Status:
    """Return what `install` decided (or would decide now, if it has not been called)."""
    return _installed if _installed is not None else examine()
