"""join: how the ranks of a group find and trust each other, and agree on whether they share memory."""

from __future__ import annotations

import json
import logging
import os
import secrets
import selectors
import socket
import struct
import time
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Final

from tt.distributed.engines.gloo.addresses import INTERFACE, addresses
from tt.distributed.engines.gloo.links import Links
from tt.distributed.engines.gloo.memory import SHARES_MEMORY, SIZE, Memory, new_segment
from tt.distributed.errors import (
    DistBackendError,
    DistError,
    DistNetworkError,
    DistStoreError,
    DistTimeoutError,
)
from tt.distributed.stores import Store
from tt.multiprocessing.segments import Segment

__all__ = ["SHARED_MEMORY", "VERSION", "join"]

# Note [Joining a group]
# ----------------------
# Each rank listens at a socket of its machine (in the abstract namespace: no file is left) and at a TCP port that the
# system chooses, and puts both in the store, with a secret.  Then it connects to all lower ranks: at the socket of the
# machine, and where that does not exist here, by TCP.  Whether two ranks share a machine is not looked up: they do if
# the connection works, whatever containers, host names and boot numbers say.  Who connects shows the secret of whom it
# connects to and gets its own back, so both know that the other belongs to the group.  All others are dropped, and
# listeners are closed when all ranks have come.
#
# The descriptors of segments travel over the machine's sockets.  Every rank tells every other whether it could make and
# map them; memory is used if all could.  So all ranks decide alike.
VERSION: Final = 1
"""Of the records in the store, of greetings and of frames."""
SHARED_MEMORY: Final = "TT_DISTRIBUTED_SHARED_MEMORY"
"""The variable that turns shared memory off, with 0: all ranks are connected by TCP."""
_GREETING: Final = struct.Struct("<8sIII16s")
"""Magic number, version, number of ranks, rank, secret of the one who reads it."""
_MAGIC: Final = b"tt-gloo\n"
_PATIENCE: Final = 60.0
"""Seconds that a connection to a rank that listens may take; a firewall that drops packets does not say so."""
_LOOK: Final = 0.3
"""Seconds between two looks at the store while other ranks are missing."""
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Member:
    """The record of a rank in the store."""

    version: int
    size: int
    secret: str
    hosts: list[str]
    ports: list[int]
    local: str


def join(store: Store, rank: int, size: int, timeout: timedelta) -> tuple[Links, Memory | None]:
    """Connect the ranks of a group; return their connections and, where all share a machine, their memory.

    Raises
    ------
    DistBackendError, DistNetworkError, DistTimeoutError
        See `Gloo.create`.
    """
    limit = time.monotonic() + timeout.total_seconds()
    if size == 1:
        return Links(rank, {}), None
    with ExitStack() as stack:
        own, listeners = _listen(store, size, stack)
        store.set(f"member/{rank}", json.dumps(asdict(own)))
        members = _members(store, rank, size, limit, timeout)
        sockets: dict[int, socket.socket] = {}
        try:
            for peer in range(rank):
                sockets[peer] = _connect(members[peer], peer, rank, size, limit)
            _accept(listeners, store, members, sockets, rank, limit, timeout)
            for peer in range(rank):
                _greeted(sockets[peer], peer, members, rank, limit)
            memory = _share(sockets, rank, size, limit)
        except BaseException as error:
            for sock in sockets.values():
                sock.close()
            if isinstance(error, DistError) and not isinstance(error, DistTimeoutError):
                with suppress(DistError, OSError):
                    store.set("failure", f"rank {rank}: {error}")
            raise
    _log.info("gloo: rank %d of %d, %s", rank, size, "by sockets" if memory is None else "in shared memory")
    return Links(rank, sockets), memory


# --- the store --------------------------------------------------------------------------------------------------------


def _members(store: Store, rank: int, size: int, limit: float, timeout: timedelta) -> list[_Member]:
    """Return the records of all ranks; refuse those that do not fit."""
    members: list[_Member] = []
    while len(members) < size:
        key = f"member/{len(members)}"
        remaining = limit - time.monotonic()
        try:
            store.wait([key], timedelta(seconds=max(0.0, min(remaining, _LOOK * 4))))
        except DistStoreError:
            _look_for_failure(store)
            missing = _missing(store, rank, size)
            if time.monotonic() > limit:
                raise DistTimeoutError(
                    f"gloo: rank {rank} waited {timeout.total_seconds():g} s for rank{'s' * (len(missing) > 1)} "
                    f"{', '.join(map(str, missing))} of {size} to start"
                ) from None
            continue
        members.append(_checked(store.get(key), len(members), rank, size))
    return members


def _missing(store: Store, rank: int, size: int) -> list[int]:
    """Return the ranks that have not come; raise where one that has does not fit."""
    missing = []
    for other in range(size):
        if store.check([f"member/{other}"]):
            _checked(store.get(f"member/{other}"), other, rank, size)
        else:
            missing.append(other)
    return missing


def _checked(record: bytes, peer: int, rank: int, size: int) -> _Member:
    try:
        fields = json.loads(record)
        if fields["version"] == VERSION:
            member = _Member(**fields)
        else:
            raise DistBackendError(
                f"gloo: rank {peer} speaks version {fields['version']} of the protocol, and rank {rank} version"
                f" {VERSION}\n  try: the same version of tt on all machines"
            )
    except (ValueError, TypeError, KeyError) as error:
        raise DistBackendError(
            f"gloo: rank {peer} left no record of this engine in the store, but {record[:40]!r}"
            "\n  try: the same backend and the same version of tt on all ranks"
        ) from error
    if member.size != size:
        raise DistBackendError(
            f"gloo: rank {peer} was started with world_size {member.size}, and rank {rank} with {size}"
            "\n  try: the same world_size on all ranks"
        )
    return member


def _look_for_failure(store: Store) -> None:
    if store.check(["failure"]):
        raise DistBackendError(f"gloo: the group was not connected: {store.get('failure').decode()}")


# --- connections ------------------------------------------------------------------------------------------------------


def _listen(store: Store, size: int, stack: ExitStack) -> tuple[_Member, list[socket.socket]]:
    """Return this rank's record, and where it listens."""
    secret = secrets.token_hex(16)
    listeners: list[socket.socket] = []
    local = ""
    if SHARES_MEMORY and os.environ.get(SHARED_MEMORY, "1") != "0":
        name = f"tt-{secrets.token_hex(16)}"
        sock = stack.enter_context(socket.socket(socket.AF_UNIX))
        with suppress(OSError):
            sock.bind(f"\0{name}")
            listeners.append(sock)
            local = name
    hosts, ports, errors = [], [], []
    for host in addresses(store):
        sock = stack.enter_context(socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET))
        try:
            sock.bind((host, 0))
        except OSError as error:
            errors.append(f"{host}: {error.strerror}")
            continue
        listeners.append(sock)
        hosts.append(host)
        ports.append(sock.getsockname()[1])
    if not hosts:
        raise DistBackendError(
            f"gloo: this rank cannot listen at its address ({'; '.join(errors)})\n  try: {INTERFACE[0]}=eth0, or"
            " another interface of this machine"
        )
    for sock in listeners:
        sock.listen(max(128, size))
        sock.setblocking(False)
    return _Member(VERSION, size, secret, hosts, ports, local), listeners


def _connect(member: _Member, peer: int, rank: int, size: int, limit: float) -> socket.socket:
    """Connect to a rank, and greet it."""
    greeting = _GREETING.pack(_MAGIC, VERSION, size, rank, bytes.fromhex(member.secret))
    errors = []
    if member.local and SHARES_MEMORY and os.environ.get(SHARED_MEMORY, "1") != "0":
        sock = socket.socket(socket.AF_UNIX)
        try:
            sock.settimeout(max(0.1, min(limit - time.monotonic(), _PATIENCE)))
            sock.connect(f"\0{member.local}")
            sock.sendall(greeting)
            return sock
        except OSError:
            sock.close()  # another machine, or another network namespace of this one
    for host, port in zip(member.hosts, member.ports, strict=True):
        try:
            seconds = max(0.1, min(limit - time.monotonic(), _PATIENCE))
            sock = socket.create_connection((host, port), timeout=seconds)
        except OSError as error:
            errors.append(f"{host}:{port}: {error.strerror or error}")
            continue
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            sock.sendall(greeting)
            return sock
        except OSError as error:
            sock.close()
            errors.append(f"{host}:{port}: {error.strerror or error}")
    raise DistNetworkError(
        f"gloo: rank {rank} cannot reach rank {peer} at {'; '.join(errors)}\n  try: {INTERFACE[0]} with the name of the"
        f" network interface that rank {peer} shares with the others, and open ports between the machines"
    )


def _accept(
    listeners: list[socket.socket],
    store: Store,
    members: list[_Member],
    sockets: dict[int, socket.socket],
    rank: int,
    limit: float,
    timeout: timedelta,
) -> None:
    """Wait for the connections of all higher ranks; drop all others."""
    size = len(members)
    expected = _GREETING.pack(_MAGIC, VERSION, size, 0, bytes.fromhex(members[rank].secret))
    strangers = 0
    next_look = time.monotonic() + _LOOK
    with selectors.DefaultSelector() as selector, ExitStack() as stack:
        for listener in listeners:
            selector.register(listener, selectors.EVENT_READ)
        while len(sockets) < size - 1:
            now = time.monotonic()
            if now > limit:
                missing = [str(peer) for peer in range(rank + 1, size) if peer not in sockets]
                raise DistTimeoutError(
                    f"gloo: rank {rank} waited {timeout.total_seconds():g} s for a connection of rank"
                    f"{'s' * (len(missing) > 1)} {', '.join(missing)}\n  try: {INTERFACE[0]} with the name of the"
                    " network interface that the machines share"
                )
            if now > next_look:
                next_look = now + _LOOK
                _look_for_failure(store)
            for key, _ in selector.select(min(_LOOK, limit - now)):
                sock = key.fileobj
                assert isinstance(sock, socket.socket)
                if key.data is None:
                    with suppress(OSError):
                        guest, _ = sock.accept()
                        stack.callback(guest.close)
                        guest.setblocking(False)
                        selector.register(guest, selectors.EVENT_READ, bytearray())
                    continue
                greeting = key.data
                try:
                    data = sock.recv(_GREETING.size - len(greeting))
                except OSError:
                    data = b""
                greeting += data
                if data and len(greeting) < _GREETING.size and greeting.startswith(_MAGIC[: len(greeting)]):
                    continue
                selector.unregister(sock)
                peer = _peer_of(bytes(greeting), expected)
                if peer is None or peer in sockets or not rank < peer < size:
                    sock.close()
                    if not strangers:
                        _log.warning("gloo: rank %d dropped a connection of a stranger", rank)
                    strangers += 1
                    continue
                sock.setblocking(True)
                if sock.family != socket.AF_UNIX:
                    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                # A descriptor of its own: the stack closes the guests that are left.
                sockets[peer] = sock.dup()
                secret = bytes.fromhex(members[peer].secret)
                _send(sockets[peer], _GREETING.pack(_MAGIC, VERSION, size, rank, secret), peer)


def _peer_of(greeting: bytes, expected: bytes) -> int | None:
    """Return the rank that a greeting comes from; None where it is not one of this group."""
    if len(greeting) != _GREETING.size:
        return None
    magic, version, size, peer, secret = _GREETING.unpack(greeting)
    shown = _GREETING.pack(magic, version, size, 0, secret)
    return int(peer) if secrets.compare_digest(shown, expected) else None


def _greeted(sock: socket.socket, peer: int, members: list[_Member], rank: int, limit: float) -> None:
    """Wait for the greeting of a rank that this one has connected to."""
    answer = _receive(sock, _GREETING.size, peer, limit)
    expected = _GREETING.pack(_MAGIC, VERSION, len(members), 0, bytes.fromhex(members[rank].secret))
    if _peer_of(answer, expected) != peer:
        raise DistNetworkError(
            f"gloo: what answers rank {rank} at the address of rank {peer} is not a rank of this group"
            f"\n  try: {INTERFACE[0]} with the name of the network interface that the machines share"
        )


def _send(sock: socket.socket, data: bytes, peer: int, fd: int | None = None) -> None:
    """Send bytes to a rank, and an open file with them."""
    try:
        if fd is None:
            sock.sendall(data)
        else:
            socket.send_fds(sock, [data], [fd])
    except OSError as error:
        raise _lost(peer, error) from error


def _lost(peer: int, error: OSError) -> DistNetworkError:
    return DistNetworkError(
        f"gloo: the connection to rank {peer} was lost while the group was connected: {error.strerror}", peer
    )


def _receive(sock: socket.socket, count: int, peer: int, limit: float) -> bytes:
    data = bytearray()
    try:
        while len(data) < count:
            sock.settimeout(max(0.05, limit - time.monotonic()))
            part = sock.recv(count - len(data))
            if not part:
                raise DistNetworkError(
                    f"gloo: rank {peer} has closed its connection while the group was connected"
                )
            data += part
    except TimeoutError:
        raise DistTimeoutError(f"gloo: rank {peer} did not answer while the group was connected") from None
    except OSError as error:
        if isinstance(error, DistError):
            raise
        raise _lost(peer, error) from error
    return bytes(data)


# --- memory -----------------------------------------------------------------------------------------------------------


def _share(sockets: dict[int, socket.socket], rank: int, size: int, limit: float) -> Memory | None:
    """Exchange segments; return the memory, or None where some rank cannot."""
    segments: dict[int, Segment] = {}
    fd = None
    if all(sock.family == getattr(socket, "AF_UNIX", None) for sock in sockets.values()):
        try:
            segments[rank], fd = new_segment()
        except OSError as error:
            _log.warning(
                "gloo: rank %d has no memory to share, so messages go through sockets: %s", rank, error
            )
    try:
        for peer, sock in sockets.items():
            _send(sock, b"\0" if fd is None else b"\1", peer, fd)
    finally:
        if fd is not None:
            os.close(fd)
    for peer, sock in sockets.items():
        segment = _segment_of(sock, peer, limit)
        if segment is not None:
            segments[peer] = segment
    complete = len(segments) == size
    for peer, sock in sockets.items():
        _send(sock, b"\1" if complete else b"\0", peer)
    for peer, sock in sockets.items():
        complete &= _receive(sock, 1, peer, limit) == b"\1"
    return Memory(rank, [segments[peer] for peer in range(size)]) if complete else None


def _segment_of(sock: socket.socket, peer: int, limit: float) -> Segment | None:
    """Return the segment that a rank has sent, or None."""
    if sock.family != getattr(socket, "AF_UNIX", None):
        _receive(sock, 1, peer, limit)
        return None
    sock.settimeout(max(0.05, limit - time.monotonic()))
    try:
        data, fds, _, _ = socket.recv_fds(sock, 1, 1)
    except TimeoutError:
        raise DistTimeoutError(f"gloo: rank {peer} did not answer while the group was connected") from None
    except OSError as error:
        raise _lost(peer, error) from error
    if not data:
        raise DistNetworkError(f"gloo: rank {peer} has closed its connection while the group was connected")
    try:
        if fds and os.fstat(fds[0]).st_size >= SIZE:
            return Segment(peer, SIZE, fds[0])
    except OSError as error:
        _log.warning("gloo: the memory of rank %d cannot be mapped: %s", peer, error)
    finally:
        for fd in fds:
            os.close(fd)
    return None
