"""StoreServer: the thread that serves the keys of a TCPStore."""

from __future__ import annotations

import contextlib
import errno
import functools
import heapq
import math
import os
import selectors
import socket
import time
import weakref
from collections.abc import Callable, Sequence
from threading import Thread, current_thread
from typing import Any, Final

from tt.distributed.errors import DistNetworkError
from tt.distributed.stores.table import Table, Waiting
from tt.distributed.stores.wire import (
    FIELDS,
    GREETING,
    SIZE,
    FrameError,
    Op,
    Status,
    foreign,
    pack,
    size_of,
    unpack,
)

__all__ = ["JOINED", "StoreServer", "listen"]

JOINED = b"init/"
"""Counts the clients that have joined; users' keys begin with "/"."""
PATIENCE: Final = 30.0
"""Seconds for a greeting, for the rest of a message, and for taking an answer; an idle client may stay."""
CHUNK: Final = 1 << 18
AGAIN: Final = 0.05
"""Seconds until a server accepts again that had no file descriptor for a connection: others may hold them, too."""
SERVERS: Final[weakref.WeakSet[StoreServer]] = weakref.WeakSet()


class Connection:
    """A client: the received part of its message, and the unsent part of the answer.

    It has one request at a time, so it holds one message and one answer at most.
    """

    __slots__ = ("deadline", "greeted", "incoming", "outgoing", "socket", "waiting", "waits_until", "will")

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self.incoming = bytearray()
        self.outgoing = memoryview(b"")
        self.greeted = False
        self.waiting: Waiting | None = None
        self.waits_until = 0.0
        self.deadline: float | None = time.monotonic() + PATIENCE
        self.will: Sequence[bytes] = ()  # keys and values to be set when it ends


class StoreServer:
    """Serves a table of keys over TCP, in one thread.

    Parameters
    ----------
    listener : socket
        A socket that listens.
    """

    def __init__(self, listener: socket.socket) -> None:
        self._table = Table()
        self._listener = listener
        address, self.port = listener.getsockname()[:2]
        self.address: str = "localhost" if address in ("", "::", "0.0.0.0") else address
        self.users = 0
        self._connections: set[Connection] = set()
        # A heap whose entries are never taken out early: one counts only while its time is the
        # connection's deadline.
        self._timers: list[tuple[float, int, Connection]] = []
        self._number = 0
        self.closing = False
        self._forgotten = False
        # A byte in this pair wakes `select`, for `close` comes from another thread.
        self._bell, self._ear = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        for sock in (listener, self._ear):
            sock.setblocking(False)
            self._selector.register(sock, selectors.EVENT_READ)
        self._accepts = True
        self._accepts_again = 0.0
        watch_forks()
        SERVERS.add(self)
        self._thread = Thread(target=self._serve, name="tt-store", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread and all connections; clients that wait get an error at once."""
        self.closing = True
        if self._forgotten:
            return
        with contextlib.suppress(OSError):  # it has ended
            self._bell.send(b"x")
        if current_thread() is not self._thread:  # where garbage may be collected, too
            self._thread.join()

    def forget(self) -> None:
        """Close the sockets of a forked child: its parent serves, and must not seem alive when it has ended."""
        self.closing = self._forgotten = True
        for sock in (self._listener, self._bell, self._ear, *(one.socket for one in self._connections)):
            sock.close()
        self._selector.close()

    # --- the thread -----------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        try:
            while not self.closing:
                for key, events in self._selector.select(self._pause()):
                    if key.data is not None:
                        self._attend(key.data, events)
                    elif key.fileobj is self._listener:
                        self._accept()
                self._expire()
                if not self._accepts and time.monotonic() >= self._accepts_again:
                    self._listen(True)
        finally:
            for connection in [*self._connections]:
                self._drop(connection)
            self._selector.close()
            for sock in (self._listener, self._bell, self._ear):
                sock.close()

    def _pause(self) -> float | None:
        if not self._timers and self._accepts:
            return None
        until = self._timers[0][0] if self._timers else math.inf
        if not self._accepts:
            until = min(until, self._accepts_again)
        return min(max(0.0, until - time.monotonic()), 3600.0)  # the system takes no years

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                # The listener would stay readable, and the loop would spin until a descriptor is free.
                self._listen(False)
                self._accepts_again = time.monotonic() + AGAIN
            return
        try:
            sock.setblocking(False)
            for level, option in (
                (socket.IPPROTO_TCP, socket.TCP_NODELAY),
                (socket.SOL_SOCKET, socket.SO_KEEPALIVE),
            ):
                sock.setsockopt(level, option, 1)
        except OSError:  # it has gone already
            sock.close()
            return
        connection = Connection(sock)
        self._connections.add(connection)
        self._selector.register(sock, selectors.EVENT_READ, connection)
        # A client that never greets must not keep its connection.
        self._alarm(connection, PATIENCE)

    def _listen(self, wanted: bool) -> None:
        if wanted != self._accepts:
            self._accepts = wanted
            if wanted:
                self._selector.register(self._listener, selectors.EVENT_READ)
            else:
                self._selector.unregister(self._listener)

    def _drop(self, connection: Connection) -> None:
        # An event and an alarm of one round may both end it.
        if connection not in self._connections:
            return
        self._connections.discard(connection)
        if connection.waiting is not None:
            self._table.forget(connection.waiting)
            connection.waiting = None
        self._selector.unregister(connection.socket)
        connection.socket.close()
        # A descriptor has become free.
        self._listen(True)
        # A server that ends says nothing about its clients.
        if not self.closing:
            for key, value in zip(connection.will[::2], connection.will[1::2], strict=True):
                # Expecting nothing sets a key only where it is missing.
                self._table.compare_set(key, b"", value)

    def _attend(self, connection: Connection, events: int) -> None:
        if connection not in self._connections:
            return  # an earlier event of this round closed it
        try:
            if events & selectors.EVENT_WRITE:
                self._flush(connection)
            if events & selectors.EVENT_READ:
                data = connection.socket.recv(CHUNK)
                # None of our clients sends while it waits; the bytes would pile up.
                if not data or connection.waiting is not None:
                    self._drop(connection)
                    return
                connection.incoming += data
                self._read(connection)
        except (BlockingIOError, InterruptedError):
            return
        except FrameError as error:
            self._refuse(connection, str(error))
        except (OSError, MemoryError):
            self._drop(connection)

    def _read(self, connection: Connection) -> None:
        """Serve the received request, if it is whole and the last answer was sent."""
        incoming = connection.incoming
        if not connection.greeted:
            # A foreign client is refused at its first wrong byte, since it may never send as many as a
            # greeting has.
            if not GREETING.startswith(bytes(incoming[: len(GREETING)])):
                self._refuse(connection, foreign(bytes(incoming[: len(GREETING)]).ljust(len(GREETING))))
                return
            if len(incoming) < len(GREETING):
                return
            del incoming[: len(GREETING)]
            connection.greeted = True
            self._send(connection, GREETING)
        # One answer at a time: requests that came behind it stay in `incoming` until it has been taken.
        while connection in self._connections and not connection.outgoing and connection.waiting is None:
            if len(incoming) < SIZE.size or len(incoming) < SIZE.size + size_of(incoming):
                break
            end = SIZE.size + size_of(incoming)
            kind, fields = unpack(bytes(incoming[SIZE.size : end]), FIELDS)
            del incoming[:end]
            self._answer(connection, kind, fields)
        if connection.waiting is None and not connection.outgoing:
            if not incoming:
                # An idle client may stay for ever; one that has begun a message must end it.
                connection.deadline = None
            elif connection.deadline is None:
                self._alarm(connection, PATIENCE)

    def _send(self, connection: Connection, data: bytes) -> None:
        connection.outgoing = memoryview(bytes(connection.outgoing) + data)
        self._flush(connection)

    def _flush(self, connection: Connection) -> None:
        had = len(connection.outgoing)
        try:
            while connection.outgoing:
                connection.outgoing = connection.outgoing[connection.socket.send(connection.outgoing) :]
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            self._drop(connection)
            return
        if connection.outgoing:
            # Nothing is read before the answer is taken, so a slow client cannot make answers pile up.
            self._selector.modify(connection.socket, selectors.EVENT_WRITE, connection)
            # Time is given anew with each byte that is taken: a slow client is served, a stuck one is
            # not.
            if len(connection.outgoing) < had or connection.deadline is None:
                self._alarm(connection, PATIENCE)
            return
        connection.outgoing = memoryview(b"")
        connection.deadline = None
        if self._selector.get_key(connection.socket).events != selectors.EVENT_READ:
            self._selector.modify(connection.socket, selectors.EVENT_READ, connection)
            self._read(connection)

    def _refuse(self, connection: Connection, why: str) -> None:
        """Send the error as text, for a human reader, and close."""
        with contextlib.suppress(OSError):
            connection.socket.send(pack(Status.REFUSED, f"TCPStore of tt.distributed: {why}\n".encode()))
        self._drop(connection)

    # --- waiting --------------------------------------------------------------------------------------------------

    def _alarm(self, connection: Connection, seconds: float) -> None:
        connection.deadline = time.monotonic() + seconds
        # Rebuilding at twice the size costs O(1) for each alarm on average.
        if len(self._timers) > 2 * len(self._connections) + 64:  # most are of waits that have long ended
            self._timers = [one for one in self._timers if one[2].deadline == one[0]]
            heapq.heapify(self._timers)
        # The number orders timers of the same time, for connections cannot be compared.
        self._number += 1
        heapq.heappush(self._timers, (connection.deadline, self._number, connection))

    def _expire(self) -> None:
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            at, _, connection = heapq.heappop(self._timers)
            if connection not in self._connections or connection.deadline != at:
                continue
            if connection.waiting is None:
                # It neither ended its message nor took its answer in time.
                self._drop(connection)
                continue
            missing = connection.waiting.keys
            self._table.forget(connection.waiting)
            connection.waiting, connection.deadline = None, None
            # Sorted, so that the error of the client is the same each time.
            self._send(connection, pack(Status.TIMEOUT, *sorted(missing)))

    def _when_there(
        self,
        connection: Connection,
        keys: Sequence[bytes],
        milliseconds: int,
        answer: Callable[[], bytes],
        is_there: Callable[[bytes], bool],
    ) -> None:
        """Answer when all keys are there, or that they did not come in time."""

        def attempt() -> None:
            # All keys are looked up again: one that had come may have been deleted since.
            missing = [key for key in keys if not is_there(key)]
            if not missing:
                connection.waiting, connection.deadline = None, None
                self._reply(connection, answer)
            elif connection.deadline is None and milliseconds <= 0:
                self._send(connection, pack(Status.TIMEOUT, *missing))
            else:
                if connection.waiting is None:
                    self._alarm(connection, milliseconds / 1000)
                # For what is missing only: `attempt` looks at all keys again when that has come.
                connection.waiting = self._table.wait(missing, woken)

        def woken() -> None:
            try:
                attempt()
            except (FrameError, MemoryError):  # of this connection, and not of the one whose request woke it
                self._drop(connection)

        # The request is whole, so the alarm of its arrival is over.
        connection.deadline = None
        attempt()

    # --- requests -------------------------------------------------------------------------------------------------

    def _reply(self, connection: Connection, answer: Callable[[], bytes]) -> None:
        try:
            message = answer()
        except FrameError:
            raise
        except ValueError as error:
            message = pack(Status.WRONG_VALUE, str(error).encode())
        self._send(connection, message)

    def _answer(self, connection: Connection, kind: int, fields: Sequence[bytes]) -> None:
        table = self._table
        request: tuple[Any, ...] = (kind, *fields)
        match request:
            case Op.GET, milliseconds, *keys:
                values = table.values
                self._when_there(
                    connection,
                    keys,
                    number(milliseconds),
                    lambda: pack(Status.OK, *(values[key] for key in keys)),
                    values.__contains__,
                )
            case Op.WAIT, milliseconds, *keys:
                self._when_there(
                    connection, keys, number(milliseconds), lambda: pack(Status.OK), table.__contains__
                )
            case Op.JOINED, milliseconds, count:
                self._when_there(
                    connection,
                    [JOINED],
                    number(milliseconds),
                    lambda: pack(Status.OK),
                    lambda key: int(table.values.get(key, b"0")) >= number(count),
                )
            case Op.POP, milliseconds, key:
                self._when_there(
                    connection,
                    [key],
                    number(milliseconds),
                    lambda: pack(Status.OK, table.pop(key) or b""),
                    table.queues.__contains__,
                )
            case Op.WILL, *several if len(several) % 2 == 0:
                connection.will = several
                self._send(connection, pack(Status.OK))
            case _:
                self._reply(connection, lambda: pack(Status.OK, *self._now(kind, fields)))

    def _now(self, kind: int, fields: Sequence[bytes]) -> Sequence[bytes]:
        """Do what needs no waiting, and return the fields of its answer."""
        table = self._table
        if JOINED in written(kind, fields):
            # A client that sets it could let the master start before the others are there.
            raise FrameError("the count of clients is the server's")
        request: tuple[Any, ...] = (kind, *fields)
        match request:
            case Op.SET, key, value:
                table.set(key, value)
            case Op.MULTI_SET, *several if len(several) % 2 == 0:
                for key, value in zip(several[::2], several[1::2], strict=True):
                    table.set(key, value)
            case Op.ADD, key, amount:
                return [b"%d" % table.add(key, number(amount))]
            case Op.APPEND, key, value:
                table.append(key, value)
            case Op.CHECK, *keys:
                return [b"" if table.missing(keys) else b"1"]
            case Op.COMPARE_SET, key, expected, desired:
                return [table.compare_set(key, expected, desired)]
            case Op.DELETE, key:
                return [b"1" if table.delete(key) else b""]
            case Op.NUM_KEYS, *_:
                return [b"%d" % len(table.values)]
            case Op.LIST, *_:
                return [*table.values]
            case Op.PUSH, key, value:
                table.push(key, value)
            case Op.QUEUE_LEN, key:
                return [b"%d" % len(table.queues.get(key, ()))]
            case Op.JOIN, *_:
                return [b"%d" % table.add(JOINED, 1)]
            case _:
                raise FrameError(f"there is no request {kind} with {len(fields)} fields")
        return []


def written(kind: int, fields: Sequence[bytes]) -> Sequence[bytes]:
    """Return the keys whose values a request replaces by others."""
    if kind == Op.MULTI_SET:
        return fields[::2]
    return fields[:1] if kind in (Op.SET, Op.APPEND, Op.COMPARE_SET, Op.DELETE) else ()


def number(field: bytes) -> int:
    """Return the whole number of a field."""
    if len(field) > 20:
        raise FrameError("a number has more than 20 digits")
    try:
        return int(field)
    except ValueError:
        raise FrameError("a field is not the number that it should be") from None


def listen(port: int, descriptor: int | None = None) -> socket.socket:
    """Return a socket that listens on all addresses of this machine, or the given one.

    Raises
    ------
    DistNetworkError
        The port is in use, or must not be used.
    """
    if descriptor is not None:
        return socket.socket(fileno=descriptor)
    dual = socket.has_dualstack_ipv6()
    try:
        return socket.create_server(
            ("", port), family=socket.AF_INET6 if dual else socket.AF_INET, backlog=1024, dualstack_ipv6=dual
        )
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise DistNetworkError(
            f"TCPStore: cannot listen on port {port}: {why}; choose another, or 0 for any that is free"
        ) from error


def forget_all() -> None:
    """Leave serving to the parent, in a forked child."""
    for server in [*SERVERS]:
        server.forget()


@functools.cache
def watch_forks() -> None:
    """See to forked children, once for all servers."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=forget_all)
