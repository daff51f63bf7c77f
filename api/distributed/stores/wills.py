"""Wills: keys that a `FileStore` sets when a process has ended, seen by a lock that the system frees."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress
from uuid import uuid4
from weakref import WeakSet

from tt.distributed.stores.table import Table

__all__ = ["WILL", "Will", "ended", "fulfilled"]

# Note [Wills of a FileStore]
# ---------------------------
# A process that leaves keys behind makes a file of its own next to the store's, and holds its lock for as long as it
# lives.  Its record in the store, "will/" and the name of that file, holds the keys.  Others that wait try the locks
# from time to time; where one is free, they set the keys and remove record and file.  (A heartbeat in the store was
# rejected: a process that computes for long without calling tt looks like one that is dead.)
WILL = b"will/"
_SIZE = struct.Struct(">I")


class Will:
    """The keys that a process leaves behind, and the lock that says that it lives."""

    def __init__(self, store: str) -> None:
        self._store = store
        self.values: dict[bytes, bytes] = {}
        self.name = b""
        self._descriptor: int | None = None

    def add(self, values: Mapping[bytes, bytes]) -> tuple[bytes, bytes]:
        """Add keys; return the record for the store."""
        if self._descriptor is None:
            self._live()
        self.values.update(values)
        fields = (field for pair in self.values.items() for field in pair)
        return WILL + self.name, b"".join(_SIZE.pack(len(field)) + field for field in fields)

    def _live(self) -> None:
        import fcntl  # here: Windows has no such locks

        name = f"{self._store}.{uuid4().hex[:12]}"
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        try:
            # Locked before the store has the name, so nobody finds the lock free while the process lives.
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:
            os.close(descriptor)
            os.unlink(name)
            raise
        self.name, self._descriptor = os.fsencode(os.path.basename(name)), descriptor
        _LIVING.add(self)

    def close(self) -> None:
        """Free the lock and remove its file."""
        if self._descriptor is not None:
            with suppress(OSError):  # the one who fulfilled it has removed the file
                os.unlink(_path(self._store, self.name))
            os.close(self._descriptor)
            self._descriptor = None

    def forked(self) -> None:
        """Close a child's share of the lock, which would hold it when the process is dead that it belongs to."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def ended(store: str, record: bytes) -> bool:
    """Return whether the process of a record has ended."""
    import fcntl

    try:
        descriptor = os.open(_path(store, record.removeprefix(WILL)), os.O_RDWR | os.O_CLOEXEC)
    # Another process has fulfilled it, and removed the file.
    except FileNotFoundError:
        return True
    except OSError:
        return False  # not allowed to look, or too many open files
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: several may look at once
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def fulfilled(store: str, record: bytes, table: Table) -> list[tuple[bytes, bytes | None]]:
    """Remove the file of a process that has ended; return what to write: its keys that are not there, and no record."""
    changes: list[tuple[bytes, bytes | None]] = []
    fields = list(_fields(table.values[record]))
    for key, value in zip(fields[::2], fields[1::2], strict=True):
        if key not in table.values:
            changes.append((key, value))
    changes.append((record, None))
    with suppress(OSError):  # another has removed it, or the folder is gone
        os.unlink(_path(store, record.removeprefix(WILL)))
    return changes


def _fields(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        (size,) = _SIZE.unpack_from(data, at)
        at += _SIZE.size + size
        yield data[at - size : at]


def _path(store: str, name: bytes) -> str:
    return os.path.join(os.path.dirname(store), os.fsdecode(name))


_LIVING: WeakSet[Will] = WeakSet()


def _forked() -> None:
    for will in list(_LIVING):
        will.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
