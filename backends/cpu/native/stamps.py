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


def stamp(files: Iterable[str], folders: Iterable[str]) -> list[list[object]]:
    """Return path, size and time of files, of sources and headers in folders of extensions, and of `extensions`."""
    result = [_facts(file, os.stat(file)) for file in (*files, extensions.__file__)]
    for folder in folders:
        for name in (extensions.SOURCES, extensions.HEADERS):
            result += _facts_below(os.path.join(folder, name))
    return result


def _facts_below(folder: str) -> list[list[object]]:
    """Return path, size and time of all files in a folder and in its folders, in the order of their names."""
    result: list[list[object]] = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            result += _facts_below(entry.path) if entry.is_dir() else [_facts(entry.path, entry.stat())]
    return result


def _facts(path: str, facts: os.stat_result) -> list[object]:
    return [path, facts.st_size, facts.st_mtime_ns]


def read_stamp(path: str) -> object:
    """Return the stamp that a file holds, or None."""
    with suppress(OSError, ValueError), open(path, encoding="utf-8") as file:
        return json.load(file)
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
