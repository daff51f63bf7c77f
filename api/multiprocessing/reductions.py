"""Pickling of tensors and storages for other processes, and the messages that carry their descriptors.

Note [Descriptors in messages]
------------------------------
A queue, pipe or pool of this package sends the descriptors of shared memory with the message itself (`pack`, `unpack`):
the kernel keeps them until the message is read, so the sender may end before that.  Elsewhere (arguments of a process,
queues of `multiprocessing` or of a manager) they travel as `multiprocessing` sends files: the receiver fetches each one
from its sender, which must run until then.
"""

from __future__ import annotations

import contextlib
import errno
import os
from multiprocessing import reduction
from multiprocessing.reduction import ForkingPickler
from typing import Any

import tt
from tt.errors import SharedMemoryError
from tt.library import Carried, Storage, get_sharing_strategy, reduce_shared

__all__ = ["Incoming", "Message", "init_reductions", "pack", "unpack"]


class _Local(Carried):
    """The descriptors that this thread packs, sends and has received."""

    collecting: Message | None = None
    outgoing: Message | None = None
    incoming: Incoming | None = None


_local = _Local()


class Message:
    """A pickled object with the storages that it refers to.

    Attributes
    ----------
    data : bytes
        The pickle.
    fds : list of int
        Descriptors of shared memory, in the order in which the pickle numbers them.
    """

    __slots__ = ("_names", "_numbers", "_storages", "data", "fds", "is_sent")

    def __init__(self) -> None:
        self.data: Any = b""
        self.fds: list[int] = []
        self.is_sent = False
        self._numbers: dict[int, int] = {}
        self._storages: list[Any] = []
        self._names: list[tuple[bytes, int]] = []

    def add(self, fd: int, storage: Any) -> int:
        """Return the number of a descriptor in this message."""
        number = self._numbers.setdefault(fd, len(self.fds))
        if number == len(self.fds):
            self.fds.append(fd)
            self._storages.append(storage)  # keeps the descriptor open
        return number

    def add_name(self, name: bytes, nbytes: int) -> None:
        """Note that the message counts among those that need a file with a name."""
        self._names.append((name, nbytes))

    def __del__(self) -> None:
        if not self.is_sent:
            for name, nbytes in self._names:
                with contextlib.suppress(SharedMemoryError, TypeError):
                    Storage._new_shared_filename_cpu(b"", name, nbytes)  # takes the count, and drops it


class Incoming:
    """The descriptors of a received message.

    Parameters
    ----------
    fds : list of int
        Belong to this object, which closes those that nothing uses.
    """

    __slots__ = ("_fds", "_storages")

    def __init__(self, fds: list[int]) -> None:
        self._fds = list(fds)  # -1: used
        self._storages: dict[int, Any] = {}

    def storage(self, number: int, nbytes: int) -> Any:
        """Return the storage behind a descriptor."""
        result = self._storages.get(number)
        if result is None:
            if number >= len(self._fds):  # the kernel drops descriptors of a process that has too many
                raise SharedMemoryError(nbytes, errno.EMFILE)
            fd, self._fds[number] = self._fds[number], -1
            result = self._storages[number] = Storage._new_shared_fd_cpu(fd, nbytes)
        return result

    def __del__(self) -> None:
        for fd in self._fds:
            if fd >= 0:
                os.close(fd)


def pack(obj: object) -> Message:
    """Return an object as a message of this package's queues and pipes.

    Raises
    ------
    RuntimeError
        If it holds a tensor with a history, or the system has too little shared memory.
    """
    message = Message()
    # A `__reduce__` of an object may itself put something in a queue.
    before, _local.collecting = _local.collecting, message
    try:
        message.data = ForkingPickler.dumps(obj)
    finally:
        _local.collecting = before
    return message


def unpack(data: Any, incoming: Incoming | None) -> Any:
    """Return the object of a message."""
    before, _local.incoming = _local.incoming, incoming
    try:
        return ForkingPickler.loads(data)
    finally:
        _local.incoming = before


class Envelope:
    """A message in a queue of `multiprocessing`, whose own thread pickles and sends it."""

    __slots__ = ("message",)

    def __init__(self, message: Message) -> None:
        self.message = message

    def __reduce__(self) -> tuple[Any, ...]:
        # `multiprocessing` pickles and sends in one thread, one message after the other.
        _local.outgoing = self.message  # sent next by this thread
        return _open_envelope, (bytes(self.message.data),)


def _open_envelope(data: bytes) -> Any:
    incoming, _local.incoming = _local.incoming, None
    return unpack(data, incoming)


def take_outgoing() -> Message | None:
    """Return the message whose bytes this thread sends now."""
    message, _local.outgoing = _local.outgoing, None
    return message


def keep_incoming(incoming: Incoming) -> None:
    """Note the descriptors of the message that this thread reads now."""
    _local.incoming = incoming


# --- storages ------------------------------------------------------------------------------------------------------


def reduce_storage(storage: Any) -> tuple[Any, ...]:
    """Pickle a storage for another process: as a handle of its shared memory, not as bytes."""
    collecting = _local.collecting
    kind = get_sharing_strategy()
    try:
        # Memory that is shared by a descriptor already stays so, whatever the strategy is now.
        fd, nbytes = (
            (None, 0) if kind == "file_system" and not storage.is_shared() else storage._share_fd_cpu_()
        )
    except tt.errors.DeviceError:  # shared by a name before
        fd = None
    if fd is None:
        _, name, nbytes = storage._share_filename_cpu_()
        if collecting is not None:
            collecting.add_name(name, nbytes)
        return _storage_of_name, (name, nbytes)
    if collecting is not None:
        return _storage_of_message, (collecting.add(fd, storage), nbytes)
    return _storage_of_file, (reduction.DupFd(fd), nbytes)


def _storage_of_name(name: bytes, nbytes: int) -> Any:
    return Storage._new_shared_filename_cpu(b"", name, nbytes)


def _storage_of_message(number: int, nbytes: int) -> Any:
    incoming = _local.incoming
    return (Incoming([]) if incoming is None else incoming).storage(number, nbytes)


def _storage_of_file(file: Any, nbytes: int) -> Any:
    try:
        fd = file.detach()
    except (ConnectionError, EOFError, FileNotFoundError) as error:
        raise SharedMemoryError(nbytes, errno.ENOENT) from error
    return Storage._new_shared_fd_cpu(fd, nbytes)


def init_reductions() -> None:
    """Register the pickling of tensors and storages with `multiprocessing`; importing this package does it."""
    ForkingPickler.register(tt.Tensor, reduce_shared)
    ForkingPickler.register(tt.nn.Parameter, reduce_shared)
    storages: list[type] = [Storage, *Storage.__subclasses__()]
    for kind in storages:
        ForkingPickler.register(kind, reduce_storage)
