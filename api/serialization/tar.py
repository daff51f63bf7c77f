"""The format of PyTorch before 0.1.10: a tar file of three members."""

from __future__ import annotations

import struct
import tarfile
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from tt.errors import CorruptFileError
from tt.serialization.storages import LoadedStorage, StorageType, array_of_bytes

if TYPE_CHECKING:
    from tt.serialization.loading import _Session

__all__ = ["load_tar"]


def load_tar(file: IO[bytes], path: str, session: _Session) -> Any:
    """Return the object in a tar file: storages, tensors in them, and a pickle that refers to these."""
    members = {}
    try:
        with tarfile.open(fileobj=file, mode="r:") as archive:
            for name in ("storages", "tensors", "pickle"):
                member = archive.extractfile(name)
                members[name] = b"" if member is None else member.read()
    except (tarfile.TarError, KeyError, OSError, ValueError) as error:
        raise CorruptFileError(
            path, f"it is a tar file without what old files of tensors have: {error}"
        ) from error
    try:
        objects = _storages(members["storages"], path, session)
        _tensors(members["tensors"], path, session, objects)
    except (struct.error, TypeError, ValueError, KeyError) as error:
        raise CorruptFileError(path, f"its storages or tensors are damaged: {error}") from error

    def persistent_load(id: Any) -> Any:
        if isinstance(id, tuple) and id:
            return id[0]  # a class, which was found like any other
        if id not in objects and str(id).isdigit():
            id = int(id)
        if id not in objects:
            raise CorruptFileError(path, f"its pickle refers to {id!r}, which is not there")
        return objects[id]

    return session.unpickle(members["pickle"], 0, persistent_load)[0]


def _storages(data: bytes, path: str, session: _Session) -> dict[Any, Any]:
    def plain(id: object) -> Any:
        raise CorruptFileError(path, "its storages refer to others")

    objects: dict[Any, Any] = {}
    count, position = session.unpickle(data, 0, plain)
    for _ in range(count):
        (key, location, kind), position = session.unpickle(data, position, plain)
        if not isinstance(kind, StorageType) or kind.dtype is None:
            raise CorruptFileError(path, "a storage has no type")
        numel = struct.unpack_from("<q", data, position)[0]
        position += 8
        size = numel * kind.itemsize
        if not 0 <= size <= len(data) - position:
            raise CorruptFileError(path, f"a storage of {size} bytes is cut off")
        memory = np.frombuffer(data, np.uint8, size, position).copy()
        position += size
        objects[key] = session.restore(LoadedStorage(array_of_bytes(memory), kind.dtype), str(location))
    views, position = session.unpickle(data, position, plain)
    for target, root, offset, numel in views:
        objects[target] = session.part_of(objects[root], offset, numel)
    return objects


def _tensors(data: bytes, path: str, session: _Session, objects: dict[Any, Any]) -> None:
    count, position = session.unpickle(data, 0, lambda id: None)
    for _ in range(count):
        (key, storage_id, _kind), position = session.unpickle(data, position, lambda id: None)
        ndim = struct.unpack_from("<i", data, position)[0]
        if not 0 <= ndim <= 64:
            raise CorruptFileError(path, f"a tensor has {ndim} dimensions")
        size = struct.unpack_from(f"<{ndim}q", data, position + 8)
        stride = struct.unpack_from(f"<{ndim}q", data, position + 8 + 8 * ndim)
        offset = struct.unpack_from("<q", data, position + 8 + 16 * ndim)[0]
        position += 16 + 16 * ndim
        storage = objects[storage_id]
        objects[key] = storage.placed(storage.dtype, size, stride, offset)
