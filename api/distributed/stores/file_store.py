"""FileStore: a log in a file that several processes share."""

from __future__ import annotations

import copy
import os
import struct
import time
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from threading import RLock
from typing import Any, Final, Self

from tt.distributed.errors import DistStoreError
from tt.distributed.stores.hash_store import timed_out
from tt.distributed.stores.store import Store, key_bytes, pairs, seconds_of, value_bytes
from tt.distributed.stores.table import Table
from tt.distributed.stores.wills import WILL, Will, ended, fulfilled
from tt.library import Carried

__all__ = ["FileStore"]

# Note [Records of a FileStore]
# -----------------------------
# A file is a sequence of records: checksum, sizes, key, value.  A later record replaces an earlier one.  A writer that
# is killed leaves a torn record at the end; its checksum or size is wrong, readers stop there, and the next writer,
# who has the lock alone, cuts it off.  Users' keys begin with "/", the store's own do not.
RECORD = struct.Struct(">III")
DELETED = 0xFFFFFFFF
USERS = b"refcount/"
FINISHED = b"cleanup/"
LOOK: Final = 0.2  # seconds between two looks for processes that have ended


class Held(Carried):
    """The files that a thread has locked, and the users that are to leave them afterwards.

    The collector of garbage may run `leave` while its thread has the file of another store locked; it would wait for
    itself.
    """

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.late: list[tuple[Log, int, int, Will]] = []


HELD: Final = Held()


class Log:
    """The file, and what has been read of it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.table = Table()
        self._read = 0
        self._file: tuple[int, int] | None = None
        self._looked = 0.0
        self._lock = RLock()  # threads share an open file's lock, so they need one of their own

    @contextmanager
    def opened(self, writing: bool = True) -> Iterator[int]:
        """Lock the file, and read its new part; yield its descriptor."""
        import fcntl  # here: Windows, which has no such locks, can import the other stores

        with self._lock:
            while True:
                descriptor = self._open()
                try:
                    # Readers share the lock; on a wait there are many of them.
                    fcntl.flock(descriptor, fcntl.LOCK_EX if writing else fcntl.LOCK_SH)
                    if not self._is_current(descriptor):
                        continue  # the last user removed it while this one waited for the lock
                    HELD.paths.append(self.path)
                    try:
                        self._refresh(descriptor)
                        yield descriptor
                        return
                    finally:
                        HELD.paths.remove(self.path)
                # Closing the descriptor frees its lock.
                finally:
                    os.close(descriptor)
                    # Finalizers that ran while this thread had a lock; see `leave`.
                    while HELD.late and not HELD.paths:
                        leave(*HELD.late.pop())

    def _is_current(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(descriptor))
        except FileNotFoundError:
            return False

    def _open(self) -> int:
        try:
            return os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise DistStoreError(f"FileStore: cannot open {self.path}: {error.strerror}") from error

    def _refresh(self, descriptor: int) -> None:
        status = os.fstat(descriptor)
        identity = (status.st_dev, status.st_ino)
        if identity != self._file or status.st_size < self._read:  # removed by the last user, and made again
            self.table, self._read, self._file = Table(), 0, identity
        left = status.st_size - self._read
        data = b""
        # A read may return less than it was asked for, on network file systems most of all.
        while len(data) < left:
            part = os.pread(descriptor, left - len(data), self._read + len(data))
            if not part:
                break
            data += part
        at = 0
        while at + RECORD.size <= len(data):
            checksum, key_size, value_size = RECORD.unpack_from(data, at)
            middle = at + RECORD.size + key_size
            end = middle + (0 if value_size == DELETED else value_size)
            # A torn record, see Note [Records of a FileStore].
            if end > len(data) or zlib.crc32(data[at + 4 : end]) != checksum:
                break
            key = data[at + RECORD.size : middle]
            if value_size == DELETED:
                self.table.delete(key)
            else:
                self.table.set(key, data[middle:end])
            at = end
        self._read += at

    def write(self, descriptor: int, *changes: tuple[bytes, bytes | None]) -> None:
        """Write records behind the last whole one; None removes a key."""
        data = b""
        for key, value in changes:
            sizes = struct.pack(">II", len(key), DELETED if value is None else len(value))
            body = sizes + key + (value or b"")
            data += struct.pack(">I", zlib.crc32(body)) + body
        try:
            # Cuts a torn record off; the exclusive lock says that nobody is writing it.
            os.ftruncate(descriptor, self._read)
            done = 0
            while done < len(data):
                done += os.pwrite(descriptor, data[done:], self._read + done)
        except OSError as error:  # the disk is full: what was written is torn, and as good as not there
            # Forces the table to be read anew from the start.
            self._file = None
            raise DistStoreError(f"FileStore: cannot write {self.path}: {error.strerror}") from error
        self._refresh(descriptor)

    def look_for_ended(self) -> None:
        """Set the keys that processes leave behind which have ended; see Note [Wills of a FileStore]."""
        now = time.monotonic()
        if now - self._looked < LOOK:
            return
        self._looked = now
        # Another thread may refresh the table in the meantime.
        records = [key for key in self.table.values.copy() if key.startswith(WILL)]
        gone = [record for record in records if ended(self.path, record)]
        if gone:
            with self.opened() as descriptor:
                for record in gone:
                    # Another process may have done it while this one waited for the lock.
                    if record in self.table.values:
                        self.write(descriptor, *fulfilled(self.path, record, self.table))


def leave(log: Log, world_size: int, pid: int, will: Will) -> None:
    """Take a user off the list; the last of a complete world removes the file."""
    # A forked child inherits the finalizer, but is no user of its own.
    if os.getpid() != pid:
        return
    # The collector of garbage may run this while the thread holds the lock: another descriptor of the
    # same file would wait for it for ever.
    if HELD.paths:
        HELD.late.append((log, world_size, pid, will))
        return
    try:
        # Opening would create the file again.
        if not os.path.exists(log.path):
            return will.close()
        with log.opened() as descriptor:
            record = WILL + will.name
            if record in log.table.values:
                log.write(descriptor, *fulfilled(log.path, record, log.table))
            users = log.table.add(USERS, -1)
            finished = log.table.add(FINISHED, 1)
            log.write(descriptor, (USERS, b"%d" % users), (FINISHED, b"%d" % finished))
            will.close()
            # Ranks that have not come yet must still find the file, so counting those that are there is
            # not enough.
            if users == 0 and 0 < world_size <= finished:
                os.unlink(log.path)
        return None
    except (DistStoreError, OSError):
        return None  # the folder is gone, or was made read-only: there is nothing left to do


class FileStore(Store):
    """A store in a file that all ranks reach: processes of a machine, or machines with a common file system.

    Parameters
    ----------
    file_name : str or path
        The file; it is made where it does not exist.  Its file system must have locks (``flock``).
    world_size : int
        How many processes use it; the last of them removes the file.  -1: the file stays.

    Raises
    ------
    DistStoreError
        The file cannot be opened or written.

    Notes
    -----
    A process that uses `leave_behind` locks a second file, whose name begins with the store's.  Waiting asks
    the file at intervals of up to 50 ms, since file systems send no messages.  A file of an earlier
    run that was killed must be removed by hand, or its keys are found again.

    Examples
    --------
    >>> import tempfile, os
    >>> import tt.distributed as dist
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = dist.FileStore(os.path.join(folder.name, "store"), world_size=1)
    >>> store.set("key", "value")
    >>> store.get("key")
    b'value'
    >>> del store
    >>> folder.cleanup()
    """

    def __init__(self, file_name: str | os.PathLike[str], world_size: int = -1) -> None:
        super().__init__()
        self._log = Log(os.fspath(Path(file_name)))
        self._world_size = int(world_size)
        with self._log.opened() as descriptor:
            users = self._log.table.add(USERS, 1)
            self._log.write(descriptor, (USERS, b"%d" % users))
        self._original: FileStore | None = None
        self._will = Will(self._log.path)
        weakref.finalize(self, leave, self._log, self._world_size, os.getpid(), self._will)

    @property
    def path(self) -> str:
        """The file."""
        return self._log.path

    def _change(self, key: str, new: Callable[[Table, bytes], Any]) -> Any:
        """Change a key's value by a method of the table, and write the new value."""
        name = b"/" + key_bytes(key)
        with self._log.opened() as descriptor:
            table = self._log.table
            before = table.values.get(name)
            result = new(table, name)
            after = table.values.get(name)
            if after != before:
                self._log.write(descriptor, (name, after))
            return result

    def set(self, key: str, value: str | bytes) -> None:
        """Set a key; its earlier value is replaced."""
        encoded = value_bytes(value)
        self._change(key, lambda table, name: table.set(name, encoded))

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Set several keys at once."""
        changes = [(b"/" + key_bytes(key), value_bytes(value)) for key, value in pairs(keys, values)]
        with self._log.opened() as descriptor:
            self._log.write(descriptor, *changes)

    def get(self, key: str) -> bytes:
        """Return a key's value, and wait for it where it is not there."""
        return self.multi_get([key])[0]

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """Return the values of several keys, and wait for them where they are not there."""
        return self._wait([b"/" + key_bytes(key) for key in keys], self.timeout)

    def add(self, key: str, amount: int) -> int:
        """Add to a counter (0 where the key is new), at once for all ranks; return its new value."""
        number = int(amount)
        total: int = self._change(key, lambda table, name: table.add(name, number))
        return total

    def append(self, key: str, value: str | bytes) -> None:
        """Add to the end of a key's value; a new key gets the value."""
        encoded = value_bytes(value)
        self._change(key, lambda table, name: table.append(name, encoded))

    def check(self, keys: Sequence[str]) -> bool:
        """Return whether all these keys are there, without waiting."""
        self._log.look_for_ended()
        names = [b"/" + key_bytes(key) for key in keys]
        with self._log.opened(writing=False):
            return not self._log.table.missing(names)

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        """Set a key if its value is as expected (empty: if it is not there); return the value that it has then."""
        old, new = value_bytes(expected), value_bytes(desired)
        result: bytes = self._change(key, lambda table, name: table.compare_set(name, old, new))
        return result

    def delete_key(self, key: str) -> bool:
        """Remove a key; return whether it was there."""
        was_there: bool = self._change(key, lambda table, name: table.delete(name))
        return was_there

    def num_keys(self) -> int:
        """Return how many keys the file has; one of them counts its users."""
        with self._log.opened(writing=False):
            return sum(not key.startswith(WILL) for key in self._log.table.values)

    def list_keys(self) -> list[str]:
        """Return all keys that were set."""
        with self._log.opened(writing=False):
            return [key[1:].decode() for key in self._log.table.values if key.startswith(b"/")]

    def wait(self, keys: Iterable[str], timeout: timedelta | None = None) -> None:
        """Wait until all these keys are there."""
        self._wait([b"/" + key_bytes(key) for key in keys], self.timeout if timeout is None else timeout)

    def leave_behind(self, values: Mapping[str, str | bytes]) -> bool:
        """Let keys be set that are not there yet when this process, or this store, has ended."""
        with self._log.opened() as descriptor:
            try:
                record = self._will.add({b"/" + key_bytes(key): value_bytes(v) for key, v in values.items()})
            except OSError as error:
                raise DistStoreError(
                    f"FileStore: cannot lock a file next to {self.path}: {error.strerror}"
                ) from error
            self._log.write(descriptor, record)
        return True

    def clone(self) -> Self:
        """Return another object for the same file; it has a timeout of its own."""
        other = copy.copy(self)
        other._original = self  # which is one user of the file, and leaves when all its clones are gone
        return other

    def _wait(self, keys: Sequence[bytes], timeout: timedelta) -> list[bytes]:
        seconds = seconds_of(timeout)
        deadline = time.monotonic() + seconds
        pause = 0.001
        while True:
            self._log.look_for_ended()
            with self._log.opened(writing=False):
                values = self._log.table.values
                missing = [key for key in keys if key not in values]
                if not missing:
                    return [values[key] for key in keys]
            left = deadline - time.monotonic()
            if left <= 0:
                raise timed_out(f"FileStore {self.path}", [key[1:] for key in missing], seconds)
            # File systems that machines share report no changes, so waiting is looking again.
            time.sleep(min(pause, left))
            pause = min(2 * pause, 0.05)
