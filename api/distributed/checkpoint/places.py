"""Where checkpoints lie: folders, and object stores that fsspec reaches.

Note [Checkpoints in object stores]
-----------------------------------
An object store has no folders that could be renamed.  Ranks write into ``data-...`` with a new name for each writing,
and the index, a single object, comes last: it names the files, so it replaces an earlier checkpoint at once.  What
a killed job has left is removed when the next checkpoint is complete.
"""

from __future__ import annotations

import io
import os
import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import tt
from tt import Tensor
from tt.distributed.checkpoint import layout
from tt.distributed.checkpoint.layout import INDEX, CheckpointError, Index
from tt.utils import safetensors

__all__ = ["FolderPlace", "ObjectPlace", "Place", "place_of"]


class Place(Protocol):
    """Where a checkpoint is written and read; one rank begins and ends its writing, all of them write files."""

    def begin(self) -> str:
        """Make room for a new checkpoint, and return its name for the other ranks."""

    def save_tensors(self, started: str, file: str, tensors: Mapping[str, Tensor]) -> str:
        """Write a file of tensors; return its name in the index."""

    def save_objects(self, started: str, file: str, values: object) -> str:
        """Write the values that are not tensors; return the file's name in the index."""

    def complete(self, started: str, index: Index) -> None:
        """Let the new checkpoint take the place of an earlier one."""

    def give_up(self, started: str) -> None:
        """Remove what was written."""

    def index(self) -> Index:
        """Return the index of the complete checkpoint; raise CheckpointError where there is none."""

    def load_tensors(self, file: str) -> dict[str, Tensor]:
        """Return the tensors of a file."""

    def load_objects(self, file: str) -> Any:
        """Return the values that are not tensors."""


def place_of(checkpoint_id: str | os.PathLike[str]) -> Place:
    """Return a folder, or for a URL (``s3://bucket/name``) a place in an object store.

    Raises
    ------
    CheckpointError
        fsspec, or its package for this kind of store, is not installed.
    """
    if isinstance(checkpoint_id, str) and "://" in checkpoint_id:
        return ObjectPlace(checkpoint_id)
    return FolderPlace(Path(checkpoint_id))


class FolderPlace:
    """A folder on a file system that all ranks see."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._found: Path | None = None

    def __str__(self) -> str:
        return str(self._folder)

    def begin(self) -> str:
        """Make a folder next to this one, and remove the leftovers of killed jobs."""
        layout.discard(self._folder)
        return str(layout.staging(self._folder))

    def save_tensors(self, started: str, file: str, tensors: Mapping[str, Tensor]) -> str:
        """Write a file of tensors."""
        safetensors.save_file(dict(tensors), Path(started) / file)
        return file

    def save_objects(self, started: str, file: str, values: object) -> str:
        """Write the values that are not tensors."""
        tt.save(values, Path(started) / file)
        return file

    def complete(self, started: str, index: Index) -> None:
        """Write the index, and give the folder its name."""
        index.write(Path(started))
        layout.complete(Path(started), self._folder)

    def give_up(self, started: str) -> None:
        """Remove what was written."""
        shutil.rmtree(started, ignore_errors=True)

    def index(self) -> Index:
        """Return the index of the complete checkpoint."""
        self._found = layout.find(self._folder)
        return Index.read(self._found)

    def load_tensors(self, file: str) -> dict[str, Tensor]:
        """Return the tensors of a file, which are read when they are used."""
        # Mapped: a rank reads the rows that it needs, not the files of all ranks.
        return safetensors.load_file((self._found or self._folder) / file, mmap=True)

    def load_objects(self, file: str) -> Any:
        """Return the values that are not tensors."""
        return tt.load((self._found or self._folder) / file, weights_only=True)


class ObjectPlace:
    """A prefix in an object store, see Note [Checkpoints in object stores]."""

    def __init__(self, url: str) -> None:
        try:
            import fsspec
        except ImportError as error:
            raise CheckpointError(f"{url}: URLs need fsspec: pip install fsspec") from error
        try:
            self._files, path = fsspec.core.url_to_fs(url)
        except (ImportError, ValueError) as error:  # no package for this kind of store, or no such kind
            raise CheckpointError(f"{url}: {error}") from error
        self._url, self._prefix = url, str(path).rstrip("/")

    def __str__(self) -> str:
        return self._url

    def _path(self, name: str) -> str:
        return f"{self._prefix}/{name}"

    def _write(self, name: str, data: bytes) -> str:
        path = self._path(name)
        self._files.makedirs(path.rpartition("/")[0], exist_ok=True)  # stores without folders do nothing
        self._files.pipe_file(path, data)
        return name

    def begin(self) -> str:
        """Return a new prefix for the files of a checkpoint."""
        return f"data-{uuid.uuid4().hex[:12]}"

    def save_tensors(self, started: str, file: str, tensors: Mapping[str, Tensor]) -> str:
        """Write a file of tensors."""
        return self._write(f"{started}/{file}", safetensors.save(dict(tensors)))

    def save_objects(self, started: str, file: str, values: object) -> str:
        """Write the values that are not tensors."""
        memory = io.BytesIO()
        tt.save(values, memory)
        return self._write(f"{started}/{file}", memory.getvalue())

    def complete(self, started: str, index: Index) -> None:
        """Write the index, and remove the files that it does not name."""
        self._write(INDEX, index.text().encode())
        # fsspec keeps listings, which do not have what other ranks have written.
        self._files.invalidate_cache()
        for path in self._files.ls(self._prefix, detail=False):
            name = str(path).rstrip("/").rpartition("/")[2]
            if name.startswith("data-") and name != started:
                self._files.rm(str(path), recursive=True)

    def give_up(self, started: str) -> None:
        """Remove what was written."""
        if self._files.exists(self._path(started)):
            self._files.rm(self._path(started), recursive=True)

    def index(self) -> Index:
        """Return the index of the complete checkpoint."""
        self._files.invalidate_cache()
        try:
            data = self._files.cat_file(self._path(INDEX))
        except FileNotFoundError as error:
            raise CheckpointError(
                f"{self._url}: there is no complete checkpoint: it has no {INDEX}"
            ) from error
        return Index.parse(data, f"{self._url}/{INDEX}")

    def load_tensors(self, file: str) -> dict[str, Tensor]:
        """Return the tensors of a file."""
        return safetensors.load(self._files.cat_file(self._path(file)))

    def load_objects(self, file: str) -> Any:
        """Return the values that are not tensors."""
        return tt.load(io.BytesIO(self._files.cat_file(self._path(file))), weights_only=True)
