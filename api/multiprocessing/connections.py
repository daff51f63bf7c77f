"""Pipes whose messages carry the descriptors of shared memory: see Note [Descriptors in messages].

Each message begins with one byte: `_FILES` with descriptors, of a message that follows, `_DROPPED` for those that were
in vain, `_BODY` before the bytes themselves.
"""

from __future__ import annotations

import array
import errno
import os
import socket
import struct
import time
from multiprocessing import reduction
from multiprocessing.connection import Connection as StandardConnection
from typing import TYPE_CHECKING, Any, Final

from tt.errors import SharedMemoryError
from tt.multiprocessing.reductions import Incoming, Message, keep_incoming, pack, take_outgoing, unpack
from tt.multiprocessing.segments import _as_socket

__all__ = ["Connection", "Pipe"]

_FILES: Final = b"F"
_DROPPED: Final = b"D"
_BODY: Final = b"B"
_FILES_AT_ONCE: Final = 128
_SMALL: Final = 16384
_LENGTH: Final = struct.Struct("!i")
"""The format in which `multiprocessing` writes the length of a message."""

_PATIENCE: Final = 10.0
"""Seconds that a sender waits while too many descriptors of this user are on their way."""


if TYPE_CHECKING:

    class _Standard(StandardConnection):
        """The methods that `Connection` calls, which typeshed leaves out."""

        def _check_closed(self) -> None: ...
        def _check_readable(self) -> None: ...
        def _check_writable(self) -> None: ...
        def _recv_bytes(self, maxsize: int | None = None) -> Any: ...
        def _send_bytes(self, buf: Any) -> None: ...

else:
    _Standard = StandardConnection


class Connection(_Standard):
    """One end of a pipe between processes."""

    def send(self, obj: object) -> None:
        """Send an object; its tensors are shared from then on."""
        self._check_closed()
        self._check_writable()
        self.post(pack(obj))

    def recv(self) -> Any:
        """Return the next object."""
        return unpack(*self.take())

    def post(self, message: Message) -> None:
        """Send a message that `pack` made."""
        self._send_files(message)
        self._send_body(message.data)

    def take(self) -> tuple[Any, Incoming]:
        """Return bytes and descriptors of the next message."""
        self._check_closed()
        self._check_readable()
        incoming = self._receive_files()
        return super()._recv_bytes().getbuffer(), incoming

    def __del__(self) -> None:
        self.close()  # and not only its descriptor: see `OwnedConnection`

    # --- what `multiprocessing` calls for bytes ------------------------------------------------------------------

    def _send_bytes(self, buf: Any) -> None:
        message = take_outgoing()
        if message is not None:
            self._send_files(message)
        self._send_body(buf)

    def _recv_bytes(self, maxsize: int | None = None) -> Any:
        keep_incoming(self._receive_files())
        return super()._recv_bytes(maxsize)

    # --- the protocol --------------------------------------------------------------------------------------------

    def _send_body(self, data: Any) -> None:
        if len(data) <= _SMALL:
            # In one piece: a receiver that waits wakes up once.
            self._send(_BODY + _LENGTH.pack(len(data)) + bytes(data))  # type: ignore[attr-defined]
            return
        # Not joined with the body, which would copy a large one.
        os.write(self.fileno(), _BODY)
        super()._send_bytes(data)

    def _send_files(self, message: Message) -> None:
        fds = message.fds
        sent = 0
        deadline = 0.0
        while sent < len(fds):
            part = array.array("i", fds[sent : sent + _FILES_AT_ONCE])
            with _as_socket(self) as sock:
                try:
                    # Descriptors travel with a byte at least, and the kernel takes 253 of them at most.
                    sock.sendmsg([_FILES], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, part)])
                    sent += len(part)
                    continue
                except OSError as error:
                    now = time.monotonic()
                    deadline = deadline or now + _PATIENCE
                    # Linux limits the descriptors of a user that are sent and not yet received.
                    if error.errno != errno.ETOOMANYREFS or now > deadline:
                        if sent:
                            # The receiver closes the ones that came, and takes the next message.
                            sock.send(_DROPPED)
                        if error.errno != errno.ETOOMANYREFS:
                            raise
                        raise SharedMemoryError(len(fds), error.errno) from error
            time.sleep(0.01)  # until receivers have read some
        message.is_sent = True

    def _receive_files(self) -> Incoming:
        fds: list[int] = []
        with _as_socket(self) as sock:
            room = socket.CMSG_SPACE(_FILES_AT_ONCE * array.array("i").itemsize)
            while True:
                # Programs that another thread starts must not inherit the descriptors.
                kind, ancillary, _, _ = sock.recvmsg(1, room, getattr(socket, "MSG_CMSG_CLOEXEC", 0))
                if kind == _BODY:
                    return Incoming(fds)
                for _, _, data in ancillary:
                    descriptors = array.array("i")
                    # The kernel cuts the list off where it does not fit.
                    descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
                    fds += descriptors
                if kind != _FILES:
                    Incoming(fds)  # closes them
                    fds = []
                if not kind:
                    raise EOFError


def Pipe(duplex: bool = True) -> tuple[Connection, Connection]:
    """Return the two ends of a pipe; see `multiprocessing.Pipe`.

    Parameters
    ----------
    duplex : bool
        Whether both ends send and receive; if not, the first one receives and the second one sends.

    Examples
    --------
    >>> import tt
    >>> import tt.multiprocessing as mp
    >>> here, there = mp.Pipe()
    >>> here.send(tt.ones(2))
    >>> there.recv()
    tensor([1., 1.])
    """
    first, second = socket.socketpair()
    one = Connection(first.detach(), writable=duplex)
    return one, Connection(second.detach(), readable=duplex)


def _reduce(connection: Connection) -> tuple[Any, ...]:
    file = reduction.DupFd(connection.fileno())
    return _rebuild, (file, connection.readable, connection.writable)


def _rebuild(file: Any, readable: bool, writable: bool) -> Connection:
    return Connection(file.detach(), readable, writable)


reduction.register(Connection, _reduce)
