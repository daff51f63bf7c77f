"""The files of a checkpoint: safetensors files, an index of them, and a name that appears when all is there."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["INDEX", "CheckpointError", "Chunk", "Entry", "Index", "complete", "discard", "find", "staging"]

INDEX = "index.json"
VERSION = 1


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
    """All tensors of a checkpoint by name, and the file of what are no tensors."""

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
        """Read it."""
        return cls.parse((folder / INDEX).read_text(encoding="utf-8", errors="replace"), str(folder / INDEX))

    @classmethod
    def parse(cls, text: str, path: str) -> Index:
        """Read it from its text.

        Raises
        ------
        CheckpointError
            It is damaged, or of a later version.
        """
        try:
            found: Any = json.loads(text)
            if found["version"] != VERSION:
                raise CheckpointError(
                    f"{path}: this checkpoint has version {found['version']}, tt reads {VERSION}"
                )
            tensors = {
                name: Entry(entry["dtype"], entry["shape"], [Chunk(*chunk) for chunk in entry["chunks"]])
                for name, entry in found["tensors"].items()
            }
            return cls(tensors, found["objects"])
        except (ValueError, KeyError, TypeError) as error:
            raise CheckpointError(f"{path}: the index of this checkpoint is damaged: {error}") from error


def staging(folder: Path) -> Path:
    """Return a new folder beside a checkpoint's, in which it is written."""
    made = folder.with_name(f"{folder.name}.writing-{uuid.uuid4().hex[:12]}")
    made.mkdir(parents=True)
    return made


def complete(written: Path, folder: Path) -> None:
    """Give a folder that is complete its name; an earlier checkpoint of the name goes.

    Between the two renames only the earlier one's second name is there: `find` knows it.
    """
    replaced = folder.with_name(f"{folder.name}.replaced")
    _sync(written)
    if folder.exists():
        if replaced.exists():
            shutil.rmtree(replaced)
        folder.rename(replaced)
    written.rename(folder)
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
    for found in (folder, folder.with_name(f"{folder.name}.replaced")):
        if (found / INDEX).is_file():
            return found
    if folder.is_dir():
        raise CheckpointError(f"{folder}: this folder is no checkpoint: it has no {INDEX}")
    raise CheckpointError(f"{folder}: there is no such checkpoint")


def _sync(folder: Path) -> None:
    """Make the names in a folder survive a crash of the machine."""
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
