"""The files of a checkpoint: safetensors files, an index of them, and a name that appears when all is there."""

from __future__ import annotations

import json
import os
import re
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["INDEX", "CheckpointError", "Chunk", "Entry", "Index", "complete", "discard", "find", "staging"]

INDEX = "index.json"
VERSION = 1
WRITING = re.compile(r"data-[0-9a-f]{12}/")
_DIMENSIONS = 64
_LARGEST = 1 << 62


class CheckpointError(RuntimeError):
    """A checkpoint is not there, not complete, or not of the state that is to be loaded."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows of a tensor in one file."""

    file: str
    name: str
    first: int
    end: int


@dataclass(slots=True)
class Entry:
    """A tensor of the state: its shape and dtype as a whole, and where its rows are."""

    dtype: str
    shape: list[int]
    chunks: list[Chunk] = field(default_factory=list)


@dataclass(slots=True)
class Index:
    """All tensors of a checkpoint by name, and the file of its other values."""

    tensors: dict[str, Entry]
    objects: str

    def text(self) -> str:
        """Return it as JSON."""
        tensors = {
            name: {
                "dtype": entry.dtype,
                "shape": entry.shape,
                "chunks": [[chunk.file, chunk.name, chunk.first, chunk.end] for chunk in entry.chunks],
            }
            for name, entry in self.tensors.items()
        }
        return json.dumps({"version": VERSION, "objects": self.objects, "tensors": tensors}, indent=1)

    def write(self, folder: Path) -> None:
        """Write it, so that it survives a crash of the machine."""
        with open(folder / INDEX, "w", encoding="utf-8") as file:
            file.write(self.text())
            file.flush()
            os.fsync(file.fileno())

    @classmethod
    def read(cls, folder: Path) -> Index:
        """Read it from a folder; raise what `parse` raises."""
        path = folder / INDEX
        try:
            data = path.read_bytes()
        except OSError as error:
            raise CheckpointError(f"{path}: the index of this checkpoint cannot be read: {error}") from error
        return cls.parse(data, str(path))

    @classmethod
    def parse(cls, data: bytes, path: str) -> Index:
        """Read it from its bytes.

        Raises
        ------
        CheckpointError
            It is damaged, of a later version, or names a file that is not in its folder.
        """
        try:
            content: Any = json.loads(data)
            if content["version"] != VERSION:
                raise CheckpointError(
                    f"{path}: this checkpoint has version {str(content['version'])[:40]}, tt reads {VERSION}"
                )
            tensors = {name: _entry(name, entry) for name, entry in content["tensors"].items()}
            return cls(tensors, _file_name(content["objects"]))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise CheckpointError(
                f"{path}: the index of this checkpoint is damaged: {type(error).__name__}: {str(error)[:200]}"
            ) from error


# --- what an index may say ----------------------------------------------------------------------------------------


def _entry(name: str, entry: Mapping[str, Any]) -> Entry:
    """Return the tensor that an index describes; raise ValueError for rows that it cannot have, or has twice."""
    dtype, shape = entry["dtype"], entry["shape"]
    if not isinstance(dtype, str):
        raise ValueError(f"the dtype of {name!r} is no name")
    if not isinstance(shape, list) or len(shape) > _DIMENSIONS:
        raise ValueError(f"the shape of {name!r} is none")
    sizes = [_number(name, size) for size in shape]
    rows = sizes[0] if sizes else 1
    chunks = [
        Chunk(_file_name(file), _text(name, key), _number(name, first), _number(name, end))
        for file, key, first, end in entry["chunks"]
    ]
    last = 0
    # Sorted rows that begin before the end of the ones before them overlap.
    for chunk in sorted(chunks, key=lambda chunk: (chunk.first, chunk.end)):
        if not last <= chunk.first <= chunk.end <= rows:
            raise ValueError(
                f"{name!r} has {rows} rows, and {chunk.first} to {chunk.end} are not theirs, or twice there"
            )
        last = chunk.end
    return Entry(dtype, sizes, chunks)


def _file_name(name: object) -> str:
    """Return the name of a file; raise ValueError unless it is in the folder of the checkpoint.

    In an object store, it is in the folder ``data-...`` of one writing.
    """
    if not isinstance(name, str):
        raise ValueError(f"{str(name)[:80]!r} is not the name of a file in its folder")
    last = name.removeprefix(prefix.group()) if (prefix := WRITING.match(name)) else name
    if last in ("", ".", "..") or not {"/", "\\", "\0"}.isdisjoint(last):
        raise ValueError(f"{str(name)[:80]!r} is not the name of a file in its folder")
    os.fsencode(name)  # a name that no file can have is a UnicodeEncodeError, which is a ValueError
    return name


def _number(name: str, value: object) -> int:
    if type(value) is not int or not 0 <= value < _LARGEST:  # bool is an int
        raise ValueError(f"{name!r} has {str(value)[:40]} for a size or a row")
    return value


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"a part of {name!r} has no name")
    return value


def staging(folder: Path) -> Path:
    """Return a new folder next to a checkpoint's, in which it is written."""
    staged = folder.with_name(f"{folder.name}.writing-{uuid.uuid4().hex[:12]}")
    staged.mkdir(parents=True)
    return staged


def complete(written: Path, folder: Path) -> None:
    """Give a folder that is complete its name; an earlier checkpoint of the name goes.

    Between the two renames only the earlier one's second name is there: `find` knows it.
    """
    # A folder with files cannot be replaced by renaming: `find` looks for this name if the job ends in
    # between.
    replaced = folder.with_name(f"{folder.name}.replaced")
    # The names of its files must be on the disk before the folder has its own.
    _sync(written)
    if folder.exists():
        if replaced.exists():
            shutil.rmtree(replaced)
        folder.rename(replaced)
    written.rename(folder)
    # Before the earlier checkpoint goes, for then this is the only one.
    _sync(folder.parent)
    if replaced.exists():
        shutil.rmtree(replaced)


def discard(folder: Path) -> None:
    """Remove what killed jobs left of the writing of this checkpoint."""
    for left in folder.parent.glob(f"{folder.name}.writing-*"):
        shutil.rmtree(left, ignore_errors=True)


def find(folder: Path) -> Path:
    """Return the folder of the newest complete checkpoint of a name.

    Raises
    ------
    CheckpointError
        There is none.
    """
    for candidate in (folder, folder.with_name(f"{folder.name}.replaced")):
        if (candidate / INDEX).is_file():
            return candidate
    if folder.is_dir():
        raise CheckpointError(f"{folder}: this folder is no checkpoint: it has no {INDEX}")
    raise CheckpointError(f"{folder}: there is no such checkpoint")


def _sync(folder: Path) -> None:
    """Make the names in a folder survive a crash of the machine."""
    # POSIX keeps names in the folder, so writing a file to disk does not write its name.
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
