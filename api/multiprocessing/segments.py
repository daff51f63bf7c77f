"""Objects that one process sends to another, whose tensors and arrays lie in memory that both have mapped.

A `Sender` and a `Receiver` hold the two ends of a connection.  The receiver's tensors lie in the memory that the
sender filled; nothing is copied there.

Note [Segments]
---------------
A segment is a file without a name (`memfd_create`).  Its descriptor travels with the first message that needs it and is
closed as soon as both processes have mapped the file, so nothing is left over, whichever process is killed when.

The receiver lends a segment to the tensors of a message by a `Lease`, an object on which their arrays depend.  When the
last of them dies, the number of the segment is reported back (`Receiver.returned`, `Sender.recycle`), and the sender
uses the segment for a later message: pages are zeroed and mapped once, not for each message.  The sender has a lease
too, so it never overwrites memory that it has kept itself.

A process that is forked from the receiver shares these pages and may keep tensors that the receiver gives up.  So a
segment that was lent out during a fork is not used again.
"""

from __future__ import annotations

import ctypes
import io
import itertools
import os
import pickle
import socket
import tempfile
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, ClassVar, Final, Self

import numpy as np

import tt
from tt.errors import GradientError

__all__ = ["OwnedConnection", "Receiver", "Segment", "Sender", "new_file", "owned"]

SHARES: Final = os.name == "posix" and hasattr(socket, "send_fds") and hasattr(socket, "AF_UNIX")
"""Whether this system can pass open files between processes; if not, everything is copied."""

SMALL: Final = 1
"""Arrays with fewer bytes travel in the message itself.  Of short ones a copy would be faster (two tensors of 32
numbers take 60 instead of 43 us), but then a process that is forked from the receiver would not share them."""

MOST_MAPPED: Final = 1024
"""Segments of one sender that a receiver lends out at most.  A program that keeps more messages than that gets copies:
a process has a limited number of mappings."""

MOST_IDLE: Final = 64
"""Segments that are kept for later messages, so that a program that kept many messages once gets its memory back."""

_ALIGNMENT: Final = 64
_SMALLEST: Final = 1 << 16
_FDS_IN_ONE_MESSAGE: Final = 128

_forks = itertools.count(1)
_fork = 0


def _count_fork() -> None:
    global _fork
    _fork = next(_forks)


if SHARES:
    os.register_at_fork(after_in_parent=_count_fork)
    _LIBC: Final = ctypes.CDLL(None, use_errno=True)
    _LIBC.mmap.restype = ctypes.c_void_p
    _LIBC.mmap.argtypes = [
        ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
    ]  # fmt: skip
    _LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class Segment:
    """Memory that two processes have mapped; unmapped when the last array over it dies.

    Parameters
    ----------
    number : int
        Its name in both processes.
    size : int
        Its size in bytes.
    fd : int
        The open file; the caller closes it.

    Raises
    ------
    OSError
        If the file cannot be mapped.
    """

    __slots__ = ("_unmap", "address", "lease", "number", "size")

    def __init__(self, number: int, size: int, fd: int) -> None:
        self._unmap: Any = None
        self.number = number
        self.size = size
        # `mmap.mmap` would keep a descriptor open as long as the mapping lives.
        read_write, shared = 1 | 2, 1
        address = _LIBC.mmap(None, size, read_write, shared, fd, 0)
        if address in (None, ctypes.c_void_p(-1).value):
            code = ctypes.get_errno()
            raise OSError(code, f"a segment of {size} bytes cannot be mapped: {os.strerror(code)}")
        self.address: int = address
        self._unmap = _LIBC.munmap  # at the end of the process the name of the module may be gone
        self.lease: Any = None

    def __del__(self) -> None:
        if self._unmap is not None:
            self._unmap(self.address, self.size)

    def lend(self, ended: deque[Ended] | None = None) -> np.ndarray[Any, Any]:
        """Return the bytes as an array; when nothing uses it any more, the end of its lease is added to `ended`."""
        lease = Lease(self)
        # `Ended` carries the number, because the lease is gone when it is called.
        self.lease = weakref.ref(lease) if ended is None else Ended(lease, ended.append, self.number)
        return np.asarray(lease)

    def is_lent(self) -> bool:
        """Return whether an array of this process uses the memory."""
        return self.lease is not None and self.lease() is not None


class Lease:
    """A lease of a segment, which arrays over the segment keep alive."""

    __slots__ = ("__array_interface__", "__weakref__", "segment")

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.__array_interface__ = {
            "version": 3, "shape": (segment.size,), "typestr": "|u1", "data": (segment.address, False),
        }  # fmt: skip


class Part:
    """The memory of one tensor in a segment: its storage has the tensor's size, not that of the segment."""

    __slots__ = ("__array_interface__", "leased")

    maps_shared_memory: ClassVar[bool] = True

    def __init__(self, leased: np.ndarray[Any, Any]) -> None:
        self.leased = leased
        self.__array_interface__ = leased.__array_interface__


class Ended(weakref.ref[Lease]):
    """The end of a lease.

    The callback is a method in C, not a `__del__`: an interrupt in a Python finalizer would be printed and
    forgotten, and the program would continue.
    """

    __slots__ = ("fork", "number")

    fork: int
    number: int

    def __new__(cls, lease: Lease, callback: Callable[[Ended], None], number: int) -> Self:
        self = super().__new__(cls, lease, callback)
        self.fork, self.number = _fork, number
        return self

    def __init__(self, lease: Lease, callback: Callable[[Ended], None], number: int) -> None:
        """Take what `__new__` takes: the base would refuse a third argument."""


def new_file(size: int) -> int:
    """Return a new file without a name."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("tt", os.MFD_CLOEXEC)
    else:
        with tempfile.TemporaryFile() as file:
            # Closes the file of `tempfile`, and keeps its memory.
            fd = os.dup(file.fileno())
    try:
        os.ftruncate(fd, size)
        return fd
    except BaseException:
        os.close(fd)
        raise


class OwnedConnection(Connection):
    """A connection that is closed once, whether its owner or the garbage collector comes first.

    Of objects in a cycle, such as those that the traceback of a worker's exception holds, the collector finalizes any
    first.  The finalizer of `multiprocessing` closes the descriptor and keeps its number, so that an owner that
    closes the connection after it would close another file that has got the number.
    """

    def __del__(self) -> None:
        self.close()


def owned(connection: Connection) -> Connection:
    """Return a connection in the place of another, which is closed; those of other systems stay as they are."""
    if type(connection) is not Connection or not SHARES:
        return connection
    try:
        return OwnedConnection(os.dup(connection.fileno()), connection.readable, connection.writable)
    finally:
        connection.close()


class Sender:
    """The end of a connection that sends objects.

    Parameters
    ----------
    connection : multiprocessing.connection.Connection
        An end of `Pipe(duplex=True)`.

    Examples
    --------
    >>> from multiprocessing import Pipe
    >>> import tt
    >>> from tt.multiprocessing.segments import Receiver, Sender
    >>> here, there = Pipe()
    >>> sender, receiver = Sender(here), Receiver(there)
    >>> sender.send({"x": tt.arange(2)})
    >>> receiver.receive()
    {'x': tensor([0, 1])}
    >>> sender.close()
    >>> receiver.close()
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._numbers = itertools.count()
        self._idle: dict[int, Segment] = {}
        self._lent: dict[int, Segment] = {}
        # Where the next message is written: segment, its array, how many bytes are taken.
        self._open: list[list[Any]] = []
        self._new: list[tuple[Segment, int]] = []

    def empty(self, shape: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray[Any, Any] | None:
        """Return a new array that the next message shares, or None where it would be copied anyway."""
        nbytes = dtype.itemsize
        for size in shape:
            nbytes *= size
        room = self._room(nbytes)
        return None if room is None else room.view(dtype).reshape(shape)

    def _room(self, nbytes: int) -> np.ndarray[Any, Any] | None:
        if nbytes < SMALL or not SHARES:
            return None
        # First fit, for a message opens few segments.
        for filling in self._open:
            if filling[0].size - filling[2] >= nbytes:
                break
        else:
            segment = self._segment(nbytes)
            filling = [segment, segment.lend(), 0]
            self._open.append(filling)
        start = filling[2]
        # Arrays begin at cache lines, so that two of them never share one.
        filling[2] = start + -(-nbytes // _ALIGNMENT) * _ALIGNMENT
        result: np.ndarray[Any, Any] = filling[1][start : start + nbytes]
        return result

    def _segment(self, nbytes: int) -> Segment:
        """Return a segment that is not in use and large enough, or a new one."""
        # Idle segments are taken first: their pages are mapped and zeroed already.
        for number, segment in self._idle.items():
            if segment.size >= nbytes and not segment.is_lent():
                return self._idle.pop(number)
        # Powers of two, so that segments fit to later messages of about the same size.
        size = max(_SMALLEST, 1 << (nbytes - 1).bit_length())
        fd = new_file(size)
        try:
            segment = Segment(next(self._numbers), size, fd)
        except BaseException:
            os.close(fd)
            raise
        self._new.append((segment, fd))
        return segment

    def send(self, value: object) -> None:
        """Send an object; the memory of its tensors and arrays is shared from then on.

        Raises
        ------
        GradientError
            If it holds a tensor with a history, which autograd cannot follow into another process.
        OSError
            If the other end is closed.
        """
        locations: list[tuple[int, int, int]] = []

        def keep(buffer: pickle.PickleBuffer) -> bool:
            location = self._place(np.frombuffer(buffer.raw(), np.uint8))
            if location is not None:
                locations.append(location)
            return location is None

        file = io.BytesIO()
        used: set[int] = set()
        try:
            _Pickler(file, protocol=5, buffer_callback=keep).dump(value)
            self._post(file.getbuffer(), locations)
            used.update(number for number, _, _ in locations)
        finally:
            # What the message did not use, because it failed say, is free at once.
            for segment, _, _ in self._open:
                (self._lent if segment.number in used else self._idle)[segment.number] = segment
            self._open.clear()

    def _place(self, array: np.ndarray[Any, Any]) -> tuple[int, int, int] | None:
        """Return the segment, offset and size of an array's bytes, which are copied unless they are there already."""
        nbytes = array.nbytes
        if nbytes < SMALL or not SHARES:
            return None
        address = array.__array_interface__["data"][0]
        # Arrays that `empty` has returned, and parts of them, lie in place.
        for segment, _, taken in self._open:
            offset = address - segment.address
            if offset >= 0 and offset + nbytes <= taken:
                return segment.number, offset, nbytes
        room = self._room(nbytes)
        if room is None:  # not reached: it is large enough
            return None
        room[:] = array
        segment = next(s for s, array, _ in self._open if array is room.base)
        return segment.number, room.__array_interface__["data"][0] - segment.address, nbytes

    def _post(self, body: Any, places: list[tuple[int, int, int]]) -> None:
        new, self._new = self._new, []
        try:
            described = [(segment.number, segment.size) for segment, _ in new]
            self.connection.send_bytes(pickle.dumps((bytes(body), places, described), protocol=5))
            # After the message: the receiver learns from it how many descriptors follow.
            for start in range(0, len(new), _FDS_IN_ONE_MESSAGE):
                fds = [fd for _, fd in new[start : start + _FDS_IN_ONE_MESSAGE]]
                with _as_socket(self.connection) as sock:
                    socket.send_fds(sock, [b"\0"], fds)
        finally:
            for _, fd in new:
                os.close(fd)

    def recycle(self, free: Sequence[int], dropped: Sequence[int]) -> None:
        """Take back segments that the receiver has returned: to use again, and to forget."""
        for number in free:
            self._idle[number] = self._lent.pop(number)
        for number in dropped:
            self._lent.pop(number)

    def close(self) -> None:
        """Close the connection, and what was prepared and not sent."""
        for _, fd in self._new:
            os.close(fd)
        self._new.clear()
        self.connection.close()


class Receiver:
    """The end of a connection that receives objects; see `Sender`.

    Parameters
    ----------
    connection : multiprocessing.connection.Connection
        An end of `Pipe(duplex=True)`.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._segments: dict[int, Segment] = {}
        self._lent = 0
        # Filled when arrays die, in any thread.
        self._ended: deque[Ended] = deque()

    def receive(self) -> Any:
        """Return the next object.

        Raises
        ------
        EOFError
            If the other end is closed.
        """
        body, locations, new = pickle.loads(self.connection.recv_bytes())
        if new:
            self._attach(new)
        return pickle.loads(body, buffers=self._buffers(locations) if locations else ())

    def _attach(self, new: list[tuple[int, int]]) -> None:
        fds: list[int] = []
        try:
            while len(fds) < len(new):
                count = min(len(new) - len(fds), _FDS_IN_ONE_MESSAGE)
                with _as_socket(self.connection) as sock:
                    data, descriptors, _, _ = socket.recv_fds(sock, 1, count)
                fds += descriptors
                if not data:
                    raise EOFError
                if len(descriptors) < count:
                    raise OSError(
                        "descriptors of shared memory were lost: too many files are open\n  try: ulimit -n"
                    )
            for (number, size), fd in zip(new, fds, strict=True):
                self._segments[number] = Segment(number, size, fd)
        finally:
            for fd in fds:
                os.close(fd)

    def _buffers(self, places: list[tuple[int, int, int]]) -> list[np.ndarray[Any, Any]]:
        lent: dict[int, np.ndarray[Any, Any]] = {}
        for number, _, _ in places:
            if number not in lent:
                lent[number] = self._segments[number].lend(self._ended)
        self._lent += len(lent)
        result = [lent[number][offset : offset + nbytes] for number, offset, nbytes in places]
        # The leases end with `result`, so the segments are free again at once.
        return [array.copy() for array in result] if self._lent > MOST_MAPPED else result

    def returned(self) -> tuple[list[int], list[int]]:
        """Return the numbers of segments that `Sender.recycle` takes: free ones, and ones to forget."""
        free: list[int] = []
        dropped: list[int] = []
        while self._ended:
            lease = self._ended.popleft()
            number = lease.number
            self._lent -= 1
            # See Note [Segments]: a child may still use the pages.
            if lease.fork == _fork and len(self._segments) - self._lent <= MOST_IDLE:
                free.append(number)
            else:
                dropped.append(number)
                del self._segments[number]
        return free, dropped

    def close(self) -> None:
        """Close the connection; received tensors stay as they are."""
        self._segments.clear()
        self.connection.close()


@contextmanager
def _as_socket(connection: Connection) -> Iterator[socket.socket]:
    """Give a connection for a moment as a socket, which passes open files."""
    # A descriptor of its own: an interrupt at any moment leaves the connection's open.
    with socket.fromfd(connection.fileno(), socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.setblocking(True)  # whatever `socket.setdefaulttimeout` says
        yield sock


# --- tensors as buffers ---------------------------------------------------------------------------------------------


class _Pickler(pickle.Pickler):
    """Pickles dense tensors of the CPU as buffers, everything else as ever."""

    def reducer_override(self, obj: object) -> Any:
        if type(obj) is not tt.Tensor or obj.device.type != "cpu" or obj.layout is not tt.strided:
            return NotImplemented
        if obj.requires_grad:
            if not obj.is_leaf:
                raise GradientError(
                    "a tensor that requires grad and is not a leaf cannot be sent to another process, "
                    "where autograd does not follow\n  try: tensor.detach()"
                )
            return _leaf, (obj.detach(),)
        try:
            array = obj.numpy()
        except (RuntimeError, TypeError):
            return NotImplemented
        order: list[int] | None = None
        if not array.flags.c_contiguous:
            order = sorted(range(array.ndim), key=lambda dim: -array.strides[dim])
            dense = array.transpose(order)
            array, order = (dense, order) if dense.flags.c_contiguous else (np.ascontiguousarray(array), None)
        data = pickle.PickleBuffer(array.reshape(-1).view(np.uint8))
        return _tensor, (data, array.dtype.name, array.shape, order)


def _tensor(data: Any, dtype: str, shape: tuple[int, ...], order: list[int] | None) -> Any:
    """Make a tensor over received bytes."""
    if not len(data):
        array = np.empty(shape, dtype)
    else:
        is_leased = isinstance(data, np.ndarray) and data.base is not None
        array = np.asarray(Part(data)) if is_leased else np.frombuffer(data, np.uint8)
        array = array.view(dtype).reshape(shape)
    new = tt.from_numpy(array)
    if order is None:
        return new
    return new.permute([order.index(dim) for dim in range(len(order))])


def _leaf(tensor: tt.Tensor) -> Any:
    return tensor.requires_grad_()
