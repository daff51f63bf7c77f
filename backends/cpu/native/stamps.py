"""Stamps of the sources: sizes and times, so that a process of a checkout reads them only where one has changed.

Digests decide whether libraries are current, as `loading` says.  They need the contents of 150 files.
Sources whose sizes and times (in nanoseconds) are those of the last process that found them current, are current.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from contextlib import suppress

from tt.backends.cpu.native import extensions

__all__ = ["STAMP", "read_stamp", "stamp", "write_stamp"]

STAMP = os.path.join("__pycache__", f"native.{sys.implementation.cache_tag}.json")
"""Where the stamp lies below the root of the package: where Python keeps what can be made again."""


def stamp(files: Iterable[str]) -> list[list[object]]:
    """Return name, size and time of files, of all other files in the folders of sources, and of what makes digests."""
    found: list[list[object]] = []
    folders: dict[str, None] = {}
    for file in (*files, extensions.__file__):
        folder, name = os.path.split(file)
        if os.path.basename(folder) == extensions.SOURCES:
            folders |= dict.fromkeys((folder, os.path.join(os.path.dirname(folder), extensions.HEADERS)))
            if not os.path.isfile(file):
                found.append([name])
        else:
            facts = os.stat(file)
            found.append([name, facts.st_size, facts.st_mtime_ns])
    for folder in folders:
        with suppress(OSError), os.scandir(folder) as entries:
            facts_of = {entry.name: entry.stat() for entry in entries if entry.is_file()}
            found += [[name, facts_of[name].st_size, facts_of[name].st_mtime_ns] for name in sorted(facts_of)]
    return found


def read_stamp(path: str) -> object:
    """Return the stamp that a file holds, or None."""
    with suppress(OSError, ValueError), open(path, encoding="utf-8") as file:
        found: object = json.load(file)
        return found
    return None


def write_stamp(path: str, state: list[list[object]]) -> None:
    """Write a stamp in one step, unless Python may not write compiled files either."""
    if sys.dont_write_bytecode:
        return
    partial = f"{path}.{os.getpid()}.partial"
    with suppress(OSError):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(partial, "w", encoding="utf-8") as file:
            json.dump(state, file)
        os.replace(partial, path)
