"""Reader: the files of a checkpoint, each opened once and refused where it differs from the index."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tt import Tensor
from tt.distributed.checkpoint.layout import CheckpointError, Chunk, Entry
from tt.distributed.checkpoint.places import Place

__all__ = ["Reader"]


class Reader:
    """Reads the files of a checkpoint.

    Parameters
    ----------
    place : Place
        Where they are; an index has no names of files elsewhere.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self._files: dict[str, dict[str, Tensor]] = {}

    def objects(self, file: str) -> Mapping[str, Any]:
        """Return the values that are not tensors, by name.

        Raises
        ------
        CheckpointError
            The file is not there, or does not hold such a table.
        CorruptFileError
            It is damaged.
        """
        try:
            content = self.place.load_objects(file)
        except OSError as error:
            raise self._unreadable(file, error) from error
        if not isinstance(content, Mapping):
            raise CheckpointError(
                f"{self.place}/{file}: it holds {type(content).__name__}, not values by name"
            )
        return content

    def rows(self, chunk: Chunk, entry: Entry) -> Tensor:
        """Return some rows of a tensor, which are read from the file when they are used.

        Raises
        ------
        CheckpointError
            The file is not there, or has something else under this name.
        CorruptFileError
            It is damaged.
        """
        path = f"{self.place}/{chunk.file}"
        if chunk.file not in self._files:
            try:
                self._files[chunk.file] = self.place.load_tensors(chunk.file)
            except OSError as error:
                raise self._unreadable(chunk.file, error) from error
        stored = self._files[chunk.file].get(chunk.name)
        if stored is None:
            raise CheckpointError(
                f"{path}: it has no {chunk.name!r}, which the index of this checkpoint names"
            )
        shape = (chunk.end - chunk.first, *entry.shape[1:])
        # Both files may come from elsewhere, so nothing is copied by the index alone.
        kind = str(stored.dtype).rpartition(".")[2]
        if kind != entry.dtype or stored.numel() != math.prod(shape):
            raise CheckpointError(
                f"{path}: {chunk.name!r} is {kind} of shape {list(stored.shape)}, and by the index of this checkpoint"
                f" {entry.dtype} of shape {list(shape)}"
            )
        return stored.reshape(shape)

    def _unreadable(self, file: str, error: OSError) -> CheckpointError:
        return CheckpointError(
            f"{self.place}/{file}: a file of this checkpoint cannot be read: {error.strerror or error}"
        )
