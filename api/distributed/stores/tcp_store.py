"""TCPStore: keys and values in a server that other machines reach, and its client."""

from __future__ import annotations

import functools
import os
import re
import select
import socket
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from threading import Lock, RLock
from typing import Final, Self

from tt.distributed.errors import DistNetworkError, DistStoreError, QueueEmptyError
from tt.distributed.stores.hash_store import timed_out
from tt.distributed.stores.server import JOINED, StoreServer, listen
from tt.distributed.stores.store import DEFAULT_TIMEOUT, Store, key_bytes, pairs, seconds_of, value_bytes
from tt.distributed.stores.wire import GREETING, SIZE, FrameError, Op, Status, foreign, pack, size_of, unpack
from tt.library import Carried

__all__ = ["TCPStore"]

WAITING: Final = frozenset({Op.GET, Op.WAIT, Op.POP, Op.JOINED})
"""Requests whose answers may come late."""
GRACE: Final = 10.0
"""Seconds after a timeout in which the server must have said that it has passed."""
COUNTING: Final = (Op.ADD, Op.JOIN, Op.NUM_KEYS, Op.QUEUE_LEN)
"""Requests whose answer is a number."""
NUMBER: Final = re.compile(rb"-?\d{1,4300}")
FIELDS_OF: Final = {
    **dict.fromkeys((*COUNTING, Op.CHECK, Op.COMPARE_SET, Op.DELETE, Op.POP), 1),
    **dict.fromkeys((Op.SET, Op.MULTI_SET, Op.APPEND, Op.PUSH, Op.WAIT, Op.JOINED), 0),
}
"""How many fields an answer has, but for GET and LIST."""
SHARED: Final[dict[int, StoreServer]] = {}
"""Servers that several masters of this process share, by port."""
SHARING: Final = RLock()


class Client:
    """Connections to a server: one for each request that is under way, so threads do not wait for each other."""

    def __init__(self, host: str, port: int, reach: str | None = None) -> None:
        self.host, self.port = host, port
        self._reach = reach or host
        self._idle: list[socket.socket] = []
        self._lock, self._leaving = Lock(), Lock()
        self._will: socket.socket | None = None  # a connection whose end says that this process has ended
        self._left: dict[bytes, bytes] = {}  # the keys that the server sets at its end
        self._thread = Carried()
        watch_forks()
        CLIENTS.add(self)

    @property
    def name(self) -> str:
        """Host and port."""
        return f"{self.host}:{self.port}"

    def close(self) -> None:
        """Close idle connections."""
        with self._lock:
            idle, self._idle = self._idle, []
            if self._will is not None:
                idle.append(self._will)
                self._will, self._left = None, {}
        for sock in idle:
            sock.close()

    def forked(self) -> None:
        """Close a child's share of the connections: the parent goes on with them, and must not seem alive when dead."""
        # Other threads of the parent may have held the locks.
        self._lock, self._leaving = Lock(), Lock()
        self.close()

    @contextmanager
    def promptly(self, seconds: float) -> Iterator[None]:
        """Let requests of this thread that need not wait fail after some seconds."""
        before = getattr(self._thread, "seconds", None)
        self._thread.seconds = seconds
        try:
            yield
        finally:
            self._thread.seconds = before

    def leave_behind(self, seconds: float, values: Mapping[bytes, bytes]) -> None:
        """Let the server set keys that are not there when a connection ends that is kept for this alone."""
        # One connection for all calls: the server takes its end for that of the process.
        with self._leaving:
            self._left.update(values)
            sock = self._will
            if sock is None or has_ended(sock):
                sock = self._connect(seconds)
            sock.settimeout(seconds + GRACE)
            try:
                sock.sendall(pack(Op.WILL, *(field for pair in self._left.items() for field in pair)))
                self._receive(sock, size_of(self._receive(sock, SIZE.size)))
            except OSError as error:
                self._will = None
                sock.close()
                raise DistNetworkError(
                    f"TCPStore: lost the connection to the server at {self.name}: {error}"
                ) from error
            self._will = sock

    def request(self, seconds: float, kind: Op, *fields: bytes) -> tuple[int, Sequence[bytes]]:
        """Send a request, and return its answer; raise DistNetworkError where none comes in time."""
        message = pack(kind, *fields)
        # The server itself says that the time is over, and which keys are missing; so the client waits a
        # little longer.
        limit = seconds + GRACE
        prompt = getattr(self._thread, "seconds", None)
        if prompt is not None and kind not in WAITING:
            seconds = limit = prompt
        sock = self._connection(seconds)
        sock.settimeout(limit)
        try:
            sock.sendall(message)
            head = self._receive(sock, SIZE.size)
            status, answer = unpack(self._receive(sock, size_of(head)))
            check(status, answer, kind, fields)
        except TimeoutError:
            sock.close()
            raise DistNetworkError(
                f"TCPStore: the server at {self.name} does not answer for {limit:g} s"
            ) from None
        except (OSError, FrameError) as error:
            sock.close()
            raise DistNetworkError(
                f"TCPStore: lost the connection to the server at {self.name}: {error}"
            ) from error
        except BaseException:  # Ctrl-C between a request and its answer: the connection is of no use
            sock.close()
            raise
        # Only a connection whose answer was read to the end may be used again.
        with self._lock:
            self._idle.append(sock)
        if status == Status.REFUSED:
            raise DistNetworkError(f"{self.name}: {answer[0].decode(errors='replace').strip()}")
        return status, answer

    def join(self, seconds: float) -> None:
        """Make the first connection; the server may start later, so try until the time is up."""
        self._idle.append(self._connect(seconds, tries=True))

    def _connect(self, seconds: float, tries: bool = False) -> socket.socket:
        deadline = time.monotonic() + seconds
        pause = 0.01
        while True:
            left = deadline - time.monotonic()
            try:
                # A timeout of zero would make the socket non-blocking.
                sock = socket.create_connection((self._reach, self.port), timeout=max(0.05, left))
            except OSError as error:
                left = deadline - time.monotonic()
                if left <= 0 or not tries:
                    within = f" within {seconds:g} s" if tries else ""
                    raise DistNetworkError(
                        f"TCPStore: cannot connect to the server at {self.name}{within}: {error.strerror or error}"
                    ) from error
                time.sleep(min(pause, left))
                # Ranks that start before the server should not flood its machine with attempts.
                pause = min(2 * pause, 1.0)
                continue
            try:
                self._greet(sock, max(1.0, left))
            except BaseException:
                sock.close()
                raise
            return sock

    def _greet(self, sock: socket.socket, seconds: float) -> None:
        sock.settimeout(seconds)
        # Requests are small: Nagle's algorithm with delayed acknowledgements costs 40 ms each.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # Finds out about a machine that has vanished without closing the connection.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        try:
            sock.sendall(GREETING)
            greeting = self._receive(sock, len(GREETING))
        except OSError as error:
            why = "it does not answer" if isinstance(error, TimeoutError) else str(error)
            raise DistNetworkError(f"TCPStore: no store of tt.distributed at {self.name}: {why}") from error
        if greeting != GREETING:
            raise DistNetworkError(f"TCPStore: cannot use the server at {self.name}: {foreign(greeting)}")

    def _connection(self, seconds: float) -> socket.socket:
        with self._lock:
            while self._idle:
                sock = self._idle.pop()
                if not has_ended(sock):
                    return sock
                sock.close()
        return self._connect(max(seconds, 1.0))

    @staticmethod
    def _receive(sock: socket.socket, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            # Memory grows with what has come, not with what a message announces.
            part = sock.recv(min(size - len(data), 1 << 20))
            if not part:
                raise ConnectionResetError("it closed the connection; its process has probably ended")
            data += part
        return bytes(data)


def has_ended(sock: socket.socket) -> bool:
    """Return whether an idle connection has ended: what can be read without a request is the end."""
    return bool(select.select([sock], [], [], 0)[0])


CLIENTS: Final[weakref.WeakSet[Client]] = weakref.WeakSet()


def forget_all() -> None:
    """Leave all connections to the parent, in a forked child."""
    for client in [*CLIENTS]:
        client.forked()


@functools.cache
def watch_forks() -> None:
    """See to forked children, once for all clients."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=forget_all)


def check(status: int, answer: Sequence[bytes], kind: Op, fields: Sequence[bytes]) -> None:
    """Raise FrameError for an answer that does not belong to a request."""
    if status not in tuple(Status):
        raise FrameError(f"it sent an answer of the unknown kind {status}")
    expected = 1 if status in (Status.REFUSED, Status.WRONG_VALUE) else None
    # What came over the network is checked before the store indexes or converts it.
    if status == Status.OK:
        expected = len(fields) - 1 if kind == Op.GET else FIELDS_OF.get(kind)
    if expected is not None and len(answer) != expected:
        raise FrameError(f"it answered {kind.name} with {len(answer)} fields, not {expected}")
    if status == Status.OK and kind in COUNTING and not NUMBER.fullmatch(answer[0]):
        raise FrameError(f"it answered {kind.name} with {answer[0][:20]!r}, which is no number")


class TCPStore(Store):
    """A store on a server: one process (the master) serves, all of them are clients.

    Parameters
    ----------
    host_name : str
        The machine of the master, as the others reach it.
    port : int
        Its port; 0 chooses one for the master (see `port`).
    world_size : int, optional
        How many clients there will be, the master's own included; None: it is not known.
    is_master : bool
        Whether this process serves.  It listens on all addresses of its machine, without a password: for networks
        whose machines trust each other.
    timeout : timedelta
        How long to wait for the server, for the other clients, and for keys by default.
    wait_for_workers : bool
        Whether the master waits here until ``world_size`` clients have joined.
    multi_tenant : bool
        Whether masters of one process on one port share a server.
    master_listen_fd : int, optional
        The descriptor of a socket that listens already; the master serves there.
    use_libuv : bool
        Accepted and without effect: there is one server.

    Raises
    ------
    DistNetworkError
        The port cannot be had, no store of tt answers there, or the server has gone.
    DistStoreError
        Not all clients came within the timeout.

    Notes
    -----
    The protocol is not PyTorch's; each side says so to the other.  A request may be made from any thread, and one that
    waits does not hold up the others.

    Examples
    --------
    >>> import tt.distributed as dist
    >>> server = dist.TCPStore("localhost", 0, is_master=True)
    >>> client = dist.TCPStore("localhost", server.port)
    >>> client.set("key", "value")
    >>> server.get("key")
    b'value'
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = DEFAULT_TIMEOUT,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        super().__init__()
        if not isinstance(host_name, str):
            raise TypeError(f"TCPStore: host_name must be str, not {type(host_name).__name__}")
        if not 0 <= port < 1 << 16:
            raise ValueError(f"TCPStore: port must be from 0 to 65535, got {port}")
        if not port and not is_master:
            raise ValueError("TCPStore: only the master may leave the choice of a port (0) open")
        self.set_timeout(timeout)
        self._server: StoreServer | None = None
        if is_master:
            self._server = serve(port, multi_tenant, master_listen_fd)
            port = self._server.port
        # The others may know the master by a name that this machine itself cannot reach.
        self._client = Client(host_name, port, self._server.address if self._server else None)
        # Not `__del__`: this runs at exit too, and holds no reference to the store itself.
        self._close = weakref.finalize(self, close, self._client, self._server)
        self._known = world_size
        try:
            self._client.join(seconds_of(timeout))
            self._ask(Op.JOIN)
            if is_master and wait_for_workers and world_size is not None and world_size > 0:
                self._wait_for_workers(world_size)
        except BaseException:
            self._close()
            raise

    def _wait_for_workers(self, world_size: int) -> None:
        try:
            self._ask(Op.JOINED, b"%d" % world_size)
        except DistStoreError:
            joined = int(self._ask(Op.ADD, JOINED, b"0")[0])
            raise DistStoreError(
                f"TCPStore at {self._client.name}: {joined} of {world_size} clients joined within "
                f"{seconds_of(self.timeout):g} s"
            ) from None

    def __repr__(self) -> str:
        role = "server and client" if self._server else "client"
        return f"<TCPStore: {role}, {self._client.name}>"

    @property
    def host(self) -> str:
        """The machine of the master."""
        return self._client.host

    @property
    def port(self) -> int:
        """The port of the server."""
        return self._client.port

    @property
    def libuvBackend(self) -> bool:  # noqa: N802 - PyTorch's name
        """False: there is one server, and it is tt's."""
        return False

    def _ask(self, kind: Op, *fields: bytes, timeout: timedelta | None = None) -> Sequence[bytes]:
        seconds = seconds_of(self.timeout if timeout is None else timeout)
        if kind in WAITING:
            # The server keeps the time of what waits, so it can forget the request.
            fields = (b"%d" % round(1000 * seconds), *fields)
        status, answer = self._client.request(seconds, kind, *fields)
        if status == Status.TIMEOUT:
            raise timed_out(
                f"TCPStore at {self._client.name}", [key.removeprefix(b"/") for key in answer], seconds
            )
        if status == Status.WRONG_VALUE:
            raise ValueError(answer[0].decode(errors="replace"))
        return answer

    def set(self, key: str, value: str | bytes) -> None:
        """Set a key; its earlier value is replaced."""
        self._ask(Op.SET, name(key), value_bytes(value))

    def get(self, key: str) -> bytes:
        """Return a key's value, and wait for it where it is not there."""
        return self._ask(Op.GET, name(key))[0]

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """Return the values of several keys, and wait for them where they are not there."""
        return [*self._ask(Op.GET, *map(name, keys))]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Set several keys at once."""
        fields = [field for key, value in pairs(keys, values) for field in (name(key), value_bytes(value))]
        self._ask(Op.MULTI_SET, *fields)

    def add(self, key: str, amount: int) -> int:
        """Add to a counter (0 where the key is new), at once for all ranks; return its new value."""
        return int(self._ask(Op.ADD, name(key), b"%d" % int(amount))[0])

    def append(self, key: str, value: str | bytes) -> None:
        """Add to the end of a key's value; a new key gets the value."""
        self._ask(Op.APPEND, name(key), value_bytes(value))

    def check(self, keys: Sequence[str]) -> bool:
        """Return whether all these keys are there, without waiting."""
        return bool(self._ask(Op.CHECK, *map(name, keys))[0])

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        """Set a key if its value is as expected (empty: if it is not there); return the value that it has then."""
        return self._ask(Op.COMPARE_SET, name(key), value_bytes(expected), value_bytes(desired))[0]

    def delete_key(self, key: str) -> bool:
        """Remove a key; return whether it was there."""
        return bool(self._ask(Op.DELETE, name(key))[0])

    def num_keys(self) -> int:
        """Return how many keys the server has; one of them counts its clients."""
        return int(self._ask(Op.NUM_KEYS)[0])

    def list_keys(self) -> list[str]:
        """Return all keys that were set, without those of queues."""
        return [key[1:].decode(errors="replace") for key in self._ask(Op.LIST) if key.startswith(b"/")]

    def wait(self, keys: Iterable[str], timeout: timedelta | None = None) -> None:
        """Wait until all these keys are there."""
        self._ask(Op.WAIT, *map(name, keys), timeout=timeout)

    def queue_push(self, key: str, value: str | bytes) -> None:
        """Put a value at the end of a queue."""
        self._ask(Op.PUSH, name(key), value_bytes(value))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the first value of a queue, and wait for one where it is empty."""
        if block:
            return self._ask(Op.POP, name(key))[0]
        try:
            return self._ask(Op.POP, name(key), timeout=timedelta(0))[0]
        except DistStoreError:
            raise QueueEmptyError(f"queue_pop: the queue {key!r} is empty") from None

    def queue_len(self, key: str) -> int:
        """Return how many values a queue has; 0 where it does not exist."""
        return int(self._ask(Op.QUEUE_LEN, name(key))[0])

    def leave_behind(self, values: Mapping[str, str | bytes]) -> bool:
        """Let keys be set that are not there yet when this process has ended, or its connection has."""
        fields = {name(key): value_bytes(value) for key, value in values.items()}
        self._client.leave_behind(seconds_of(self.timeout), fields)
        return True

    def promptly(self, seconds: float) -> AbstractContextManager[None]:
        """Return a context in which requests of this thread that need not wait fail after some seconds."""
        return self._client.promptly(seconds)

    def has_extended_api(self) -> bool:
        """Return True."""
        return True

    def clone(self) -> Self:
        """Return another client of the same server; it has a timeout of its own."""
        return type(self)(self.host, self.port, self._known, timeout=self.timeout)


def name(key: str) -> bytes:
    """Return a key as the server has it."""
    return b"/" + key_bytes(key)


# Note [Stores that are collected]
# --------------------------------
# The collector of garbage may run `close` in any thread between any two steps of a program, also of this module.  So
# the lock is one that its holder may take again, is held for a few steps only, and never while a thread begins or ends.


def serve(port: int, shared: bool, descriptor: int | None) -> StoreServer:
    """Return a server, where it is shared that of an earlier master on this port."""
    if shared:
        with SHARING:
            known = SHARED.get(port)
            if known is not None:
                known.users += 1
                if not known.closing:
                    return known
    server = StoreServer(listen(port, descriptor))
    server.users = 1
    if shared:
        with SHARING:
            SHARED[server.port] = server
    return server


def close(client: Client, server: StoreServer | None) -> None:
    """End the connections, and the server with the last store that serves there."""
    client.close()
    if server is not None:
        with SHARING:
            server.users -= 1
            if server.users > 0:
                return
            server.closing = True
            if SHARED.get(server.port) is server:
                del SHARED[server.port]
        server.close()
