"""The format of PyTorch 1.5 and before: five pickles in a row, and then the bytes of the storages."""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from tt.errors import CorruptFileError
from tt.library import empty_bytes, read_into
from tt.serialization.options import OPTIONS
from tt.serialization.unpickler import ScanningUnpickler, WeightsUnpickler

if TYPE_CHECKING:
    from tt.serialization.loading import _Session

__all__ = ["MAGIC_NUMBER", "PROTOCOL_VERSION", "is_legacy", "load_legacy"]

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001

_HEAD = 1 << 22
"""Bytes in which the pickles of most files end; where they do not, the whole file is read to find their end."""


@dataclass(slots=True)
class _Pickles:
    """The contents of a file's pickles.

    `data` holds them, `body` is where that of the object begins, and `end` where the bytes of the storages do; `sizes`
    are the bytes of an element and of all of each storage that the object refers to.
    """

    data: bytes
    body: int
    end: int
    info: Any
    keys: Any
    sizes: dict[str, tuple[int, int]]


def is_legacy(start: bytes) -> bool:
    """Return whether a file begins as the old format does: with a pickle of the magic number."""
    # Its place in the first pickle depends on the protocol.
    return MAGIC_NUMBER.to_bytes(10, "little") in start[:40]


def load_legacy(file: IO[bytes], path: str, session: _Session) -> Any:
    """Return the object in a file, which is left at the end of the object.

    Parameters
    ----------
    file : IO[bytes]
        The file, at the beginning of the object.
    path : str
        Its name in messages.
    session : object
        What makes tensors; its `read` and `swap` are set.
    """
    begin = file.tell()
    pickles = _pickles(file, begin, path, session)
    size = file.seek(0, os.SEEK_END) - begin
    offsets, end = _locate_storages(file, begin, size, pickles, path)
    if isinstance(pickles.info, dict):
        session.swap = bool(pickles.info.get("little_endian", True)) != (sys.byteorder == "little")

    def read(key: str, nbytes: int) -> np.ndarray[Any, Any]:
        if OPTIONS.skip or not nbytes:
            return np.zeros(nbytes, np.uint8)
        memory = empty_bytes(nbytes)
        if read_into(file, begin + offsets[key], memory)[0] != nbytes:
            raise CorruptFileError(path, f"the storage {key} is cut off")
        return memory

    def persistent_load(id: Any) -> Any:
        if _is_class(id):
            return id[1]  # which was found like any other
        if isinstance(id, tuple) and len(id) > 5 and id[5] is not None:
            return _part(id, id[5], path, session)
        return session.persistent_load(id)

    session.read = read
    result, _ = session.unpickle(pickles.data, pickles.body, persistent_load)
    file.seek(begin + end)
    return result


# --- the pickles ---------------------------------------------------------------------------------------------------


def _pickles(file: IO[bytes], begin: int, path: str, session: _Session) -> _Pickles:
    """Return the contents of a file's pickles; their bytes alone are kept, not those of the storages."""
    data = file.read(_HEAD)
    try:
        # Pickles are small; the storages behind them may not fit in memory.
        return _parsed(data, path, session)
    except CorruptFileError:
        more = file.read()
        if not more:
            raise
        return _parsed(data + more, path, session)


def _parsed(data: bytes, path: str, session: _Session) -> _Pickles:
    position, values = 0, []
    for _ in range(3):
        value, position = _plain(data, position, path, session)
        values.append(value)
    magic, version, info = values
    if magic != MAGIC_NUMBER or version != PROTOCOL_VERSION:
        raise CorruptFileError(path, f"it is of version {version!r} of the old format, not of 1001")
    # The bytes of storages come after the pickle, and sparse tensors are checked as they are made.
    sizes: dict[str, tuple[int, int]] = {}
    # The list of storages comes after the pickle and without sizes, so the pickle is gone through twice:
    # first for the sizes, then for the object.
    scanner = ScanningUnpickler(
        data, position, path, session.rebuilder(), _noting(sizes, path, session), "latin1"
    )
    scanner.load()
    keys, end = _plain(data, scanner.position, path, session)
    return _Pickles(data, position, end, info, keys, sizes)


def _plain(data: bytes, position: int, path: str, session: _Session) -> tuple[Any, int]:
    """Return the object in a pickle without tensors, and where it ends."""

    def refuse(id: object) -> Any:
        raise CorruptFileError(path, "its pickle is damaged: it has a storage where none can be")

    unpickler = WeightsUnpickler(data, position, path, session.rebuilder(), refuse)
    return unpickler.load(), unpickler.position


def _noting(sizes: dict[str, tuple[int, int]], path: str, session: _Session) -> Callable[[Any], Any]:
    def note(id: object) -> Any:
        if not _is_class(id):
            kind, key, _, count = session.checked(id)
            if sizes.setdefault(key, (kind.itemsize, kind.itemsize * count))[1] != kind.itemsize * count:
                raise CorruptFileError(path, f"tensors disagree on the size of the storage {key}")
        return None

    return note


def _is_class(id: object) -> bool:
    """Return whether an id is that of a class of modules, with its source."""
    return isinstance(id, tuple) and len(id) > 1 and id[0] in ("module", b"module")


# --- the storages --------------------------------------------------------------------------------------------------


def _locate_storages(
    file: IO[bytes], begin: int, size: int, pickles: _Pickles, path: str
) -> tuple[dict[str, int], int]:
    """Return where the bytes of each storage begin, and where the object ends; all must be there."""
    keys, sizes, position = pickles.keys, pickles.sizes, pickles.end
    if not isinstance(keys, list) or sorted(map(str, keys)) != sorted(sizes):
        raise CorruptFileError(path, "the storages that it lists are not those that its tensors need")
    offsets = {}
    for key in map(str, keys):
        file.seek(begin + position)
        header = file.read(8)
        position += 8
        width, nbytes = sizes[key]
        # The number of elements, in whatever dtype the storage has.
        if len(header) != 8 or struct.unpack("<q", header)[0] * width != nbytes or nbytes > size - position:
            raise CorruptFileError(
                path, f"the storage {key} is cut off, or of another size than its tensors say"
            )
        offsets[key] = position
        position += nbytes
    return offsets, position


def _part(id: Any, view: Any, path: str, session: _Session) -> Any:
    """Return a part of a storage, which very old files have."""
    whole = session.find_storage(session.persistent_load(id[:5]))
    if not isinstance(view, tuple) or len(view) != 3:
        raise CorruptFileError(path, "its pickle is damaged: the id of a part of a storage is none")
    return session.part_of(whole, view[1], view[2])
