"""Links: the connections of a rank to the others of its group, and the messages that they carry."""

from __future__ import annotations

import os
import selectors
import socket
import struct
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from typing import Final
from weakref import WeakSet

from tt.distributed.backend import ANY_RANK, Awaited
from tt.distributed.errors import DistBackendError, DistNetworkError

__all__ = ["COLLECTIVE", "MESSAGE", "Links", "Receive", "Send"]

# Note [Messages over a stream]
# -----------------------------
# Two ranks share one stream.  It carries frames: a header of fixed length, then as many bytes as the header says.  A
# short message is one EAGER frame, which its receiver keeps until a receive asks for it.  A long one is first
# REQUESTed; its DATA follow when a receive has been posted and GRANTed, so they go straight into the tensor, and a
# rank never holds what nobody has asked for.  A receive of another size is an error there, and REFUSEs the data: the
# send is done.
# Requests and short messages of one channel and key are matched in the order in which they were sent.
#
# Nothing in a frame is trusted: a wrong magic number, kind, number or length ends the connection.  (Rejected: pickled
# frames, which run code; one stream for each tag, which needs a connection for each.)
_HEADER: Final = struct.Struct("<2sBBqqq")
"""Magic number, kind, channel, key, number of a request, length."""
_MAGIC: Final = b"tg"
_EAGER, _REQUEST, _GRANT, _REFUSE, _DATA = range(5)
MESSAGE: Final = 0
"""The channel of sends and receives of the program; their key is the tag."""
COLLECTIVE: Final = 1
"""The channel of messages inside collectives."""
_SHORT: Final = 16 << 10
"""Bytes up to which a message is sent at once."""
_SLICE: Final = 4 << 20
"""Bytes that one call of `poll` reads or writes at most, so that other operations get their turn."""
_LONGEST: Final = 1 << 48
_VIEWS: Final = 8
"""Parts that are written by one call of the system."""


class Send(Awaited):
    """A message to another rank; done when its bytes were handed to the system, or copied."""

    __slots__ = ("_links", "done", "memory", "peer")

    def __init__(self, links: Links, peer: int, memory: memoryview) -> None:
        self._links, self.peer, self.memory, self.done = links, peer, memory, False

    def test(self) -> bool:
        """Make progress, and return whether it is done."""
        if not self.done:
            self._links.poll()
            if not self.done:
                self._links.check(self.peer)
        return self.done

    def cancel(self) -> None:
        """Send what is left from a copy: the other rank may count on it."""
        if not self.done:
            self._links.copy(self)

    def linger(self, seconds: float) -> None:
        """Sleep until something can be read or written."""
        self._links.linger(seconds)


class Receive(Awaited):
    """A message from another rank, or from any."""

    __slots__ = ("_links", "_slot", "done", "error", "memory", "peer")

    def __init__(self, links: Links, slot: tuple[int, int], peer: int, memory: memoryview) -> None:
        self._links, self._slot, self.peer, self.memory = links, slot, peer, memory
        self.done = False
        self.error: str | None = None

    def test(self) -> bool:
        """Make progress, and return whether it is done."""
        if not self.done:
            self._links.poll()
            if not self.done:
                self._links.check(self.peer if self.source is None else self.source)
                return False
        if self.error is not None:
            raise DistBackendError(self.error)
        return True

    def cancel(self) -> None:
        """Take it back; where its message is coming already, that goes nowhere."""
        if self.source is None:
            self._links.withdraw(self, self._slot)
        elif not self.done:
            self.memory = memoryview(bytearray(len(self.memory)))

    def linger(self, seconds: float) -> None:
        """Sleep until something can be read or written."""
        self._links.linger(seconds)

    def match(self, peer: int, length: int) -> bool:
        """Note where its message comes from; return whether its size is right."""
        self.source = peer
        if length == len(self.memory):
            return True
        self.error = f"gloo: rank {peer} sent {length} bytes, and the tensor has {len(self.memory)}"
        self.done = True
        return False


class _Arrival:
    """A message, or the request of one, that no receive has asked for yet."""

    __slots__ = ("data", "length", "number", "peer")

    def __init__(self, peer: int, length: int, data: bytes | bytearray | None, number: int = -1) -> None:
        self.peer, self.length, self.data, self.number = peer, length, data, number


class _Link:
    """The connection to one rank: what is to be written to it, and what is being read."""

    def __init__(self, rank: int, sock: socket.socket) -> None:
        self.rank, self.sock = rank, sock
        self.out: deque[tuple[memoryview, Send | None]] = deque()
        self.requested: dict[int, Send] = {}
        self.granted: dict[int, Receive] = {}
        self.writing = False
        self.number = 0
        self.header = bytearray(_HEADER.size)
        self.at = 0
        """Bytes of the header, or of the body after it, that have been read."""
        self.body: bytearray | None = None
        self.receive: Receive | None = None
        self.slot = (0, 0)

    def in_body(self) -> bool:
        """Return whether a header was read whose bytes are still to come."""
        return self.body is not None or self.receive is not None


class Links:
    """A rank's connections to all others of its group.

    Parameters
    ----------
    rank : int
        This rank.
    sockets : mapping
        A connected stream socket for each other rank.
    """

    def __init__(self, rank: int, sockets: Mapping[int, socket.socket]) -> None:
        self.rank = rank
        self.lost: dict[int, str] = {}
        """Ranks whose connections have ended, and how."""
        self._links = {peer: _Link(peer, sock) for peer, sock in sockets.items()}
        self._posted: dict[tuple[int, int], deque[Receive]] = {}
        self._arrived: dict[tuple[int, int], deque[_Arrival]] = {}
        self._selector = selectors.DefaultSelector()
        for link in self._links.values():
            link.sock.setblocking(False)
            self._selector.register(link.sock, selectors.EVENT_READ, link)
        self._closed = False
        _OPEN.add(self)

    # --- requests -------------------------------------------------------------------------------------------------

    def send(self, peer: int, channel: int, key: int, memory: memoryview) -> Send:
        """Start to send bytes."""
        request = Send(self, peer, memory)
        length = len(memory)
        if peer == self.rank:
            self._arrive((channel, key), _Arrival(peer, length, bytes(memory)))
            request.done = True
            return request
        self.check(peer)
        link = self._links[peer]
        if length <= _SHORT:
            frame = _HEADER.pack(_MAGIC, _EAGER, channel, key, 0, length) + memory
            request.done = True
        else:
            link.number += 1
            link.requested[link.number] = request
            frame = _HEADER.pack(_MAGIC, _REQUEST, channel, key, link.number, length)
        self._write(link, memoryview(frame))
        return request

    def receive(self, peer: int, channel: int, key: int, memory: memoryview) -> Receive:
        """Start to receive bytes, from a rank or from `ANY_RANK`."""
        slot = channel, key
        request = Receive(self, slot, peer, memory)
        arrived = self._arrived.get(slot)
        for at, arrival in enumerate(arrived or ()):
            if peer in (arrival.peer, ANY_RANK):
                assert arrived is not None
                del arrived[at]
                if not arrived:
                    del self._arrived[slot]
                self._deliver(request, arrival)
                return request
        self._posted.setdefault(slot, deque()).append(request)
        return request

    def withdraw(self, request: Receive, slot: tuple[int, int]) -> None:
        """Forget a receive that nothing has come for."""
        posted = self._posted.get(slot)
        if posted is not None and request in posted:
            posted.remove(request)

    def copy(self, send: Send) -> None:
        """Let what is left of a message be sent from a copy of its memory."""
        send.memory = memoryview(bytes(send.memory))
        out = self._links[send.peer].out if send.peer in self._links else None
        for at, (view, owner) in enumerate(out or ()):
            if owner is send and out is not None:
                out[at] = memoryview(bytes(view)), send

    def check(self, peer: int) -> None:
        """Raise where a rank is not connected any more; for `ANY_RANK` where none is."""
        if not self.lost and not self._closed:
            return
        if self._closed:
            raise DistBackendError("gloo: the group's connections were closed")
        if peer in self.lost:
            raise DistNetworkError(f"gloo: the connection to rank {peer} is lost: {self.lost[peer]}", peer)
        if peer == ANY_RANK and self._links and len(self.lost) == len(self._links):
            raise DistNetworkError("gloo: the connections to all other ranks are lost")

    # --- progress -------------------------------------------------------------------------------------------------

    def poll(self) -> None:
        """Read and write what is possible without waiting."""
        budget = _SLICE
        while budget > 0:
            events = self._selector.select(0) if self._links and not self._closed else ()
            if not events:
                return
            for key, mask in events:
                link: _Link = key.data
                try:
                    if mask & selectors.EVENT_READ:
                        budget -= self._read(link)
                    if mask & selectors.EVENT_WRITE and link.rank not in self.lost:
                        budget -= self._flush(link)
                except BlockingIOError:
                    pass
                except OSError as error:
                    self._lose(link, error.strerror or str(error))
                budget -= 4096  # of the call

    def linger(self, seconds: float) -> None:
        """Sleep until something can be read or written, at most for some seconds."""
        if self.is_connected():
            with suppress(OSError, ValueError):  # closed meanwhile, in another thread
                self._selector.select(seconds)
        elif seconds > 0:
            time.sleep(min(seconds, 1e-4))

    def _read(self, link: _Link) -> int:
        """Read a part of a frame, and what follows at once; return how many bytes came."""
        if not link.in_body():
            count = link.sock.recv_into(memoryview(link.header)[link.at :])
            if count == 0:
                self._lose(link, "it has ended, or closed it")
                return 0
            link.at += count
            if link.at == _HEADER.size:
                link.at = 0
                self._head(link)
            if not link.in_body():
                return count
        receive = link.receive
        body = memoryview(link.body) if receive is None else receive.memory  # type: ignore[arg-type]
        total = 0
        while link.at < len(body) and total < _SLICE:
            try:
                count = link.sock.recv_into(body[link.at :])
            except BlockingIOError:
                return total
            if count == 0:
                self._lose(link, "it has ended, or closed it")
                return total
            link.at += count
            total += count
        if link.at == len(body):
            link.at = 0
            data, link.body, link.receive = link.body, None, None
            if receive is not None:
                receive.done = True
            else:
                self._arrive(link.slot, _Arrival(link.rank, len(body), data))
        return total

    def _head(self, link: _Link) -> None:
        """Act on a header; where bytes follow, set where they go."""
        magic, kind, channel, key, number, length = _HEADER.unpack(link.header)
        link.slot = channel, key
        if magic == _MAGIC and kind == _EAGER and 0 <= length <= _SHORT:
            if length:
                link.body = bytearray(length)
            else:
                self._arrive(link.slot, _Arrival(link.rank, 0, b""))
        elif magic == _MAGIC and kind == _REQUEST and _SHORT < length <= _LONGEST:
            self._arrive(link.slot, _Arrival(link.rank, length, None, number))
        elif magic == _MAGIC and kind == _DATA and number in link.granted:
            receive = link.granted.pop(number)
            if length != len(receive.memory):
                self._lose(link, f"it sent {length} bytes instead of {len(receive.memory)}")
                return
            link.receive = receive
        elif magic == _MAGIC and kind in (_GRANT, _REFUSE) and number in link.requested:
            send = link.requested.pop(number)
            if kind == _REFUSE:
                send.done = True
                return
            head = _HEADER.pack(_MAGIC, _DATA, channel, key, number, len(send.memory))
            link.out.append((memoryview(head), None))
            self._write(link, send.memory, send)
        else:
            self._lose(link, "it sent something that is no message of this engine")

    def _arrive(self, slot: tuple[int, int], arrival: _Arrival) -> None:
        """Give a message to the first receive that waits for it, or keep it."""
        posted = self._posted.get(slot)
        for at, request in enumerate(posted or ()):
            if request.peer in (arrival.peer, ANY_RANK):
                assert posted is not None
                del posted[at]
                if not posted:
                    del self._posted[slot]
                self._deliver(request, arrival)
                return
        self._arrived.setdefault(slot, deque()).append(arrival)

    def _deliver(self, request: Receive, arrival: _Arrival) -> None:
        fits = request.match(arrival.peer, arrival.length)
        if arrival.data is not None:
            if fits:
                request.memory[:] = arrival.data
                request.done = True
            return
        link = self._links[arrival.peer]
        if fits:
            link.granted[arrival.number] = request
        kind = _GRANT if fits else _REFUSE
        self._write(link, memoryview(_HEADER.pack(_MAGIC, kind, 0, 0, arrival.number, 0)))

    def _write(self, link: _Link, view: memoryview, send: Send | None = None) -> None:
        link.out.append((view, send))
        if not link.writing:
            try:
                self._flush(link)
            except OSError as error:
                self._lose(link, error.strerror or str(error))

    def _flush(self, link: _Link) -> int:
        """Write what the system takes; return how many bytes."""
        total = 0
        out = link.out
        while out and total < _SLICE:
            try:
                if len(out) == 1:
                    count = link.sock.send(out[0][0])
                else:
                    count = link.sock.sendmsg([out[at][0] for at in range(min(len(out), _VIEWS))])
            except BlockingIOError:
                break
            total += count
            while out and count >= len(out[0][0]):
                view, send = out.popleft()
                count -= len(view)
                if send is not None:
                    send.done = True
            if count:
                out[0] = out[0][0][count:], out[0][1]
        if bool(out) is not link.writing:
            link.writing = bool(out)
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if out else 0)
            self._selector.modify(link.sock, events, link)
        return total

    def is_flushed(self) -> bool:
        """Return whether everything was handed to the system."""
        return not any(link.out for link in self._links.values() if link.rank not in self.lost)

    def is_connected(self) -> bool:
        """Return whether there is a rank that has not closed its connection."""
        return not self._closed and len(self.lost) < len(self._links)

    # --- the end --------------------------------------------------------------------------------------------------

    def leave(self) -> None:
        """Say that nothing follows.  To close at once could take from the other ranks what they have not read yet."""
        for link in self._links.values():
            if link.rank not in self.lost:
                with suppress(OSError):  # it has left, too
                    link.sock.shutdown(socket.SHUT_WR)

    def _lose(self, link: _Link, reason: str) -> None:
        if link.rank not in self.lost:
            self.lost[link.rank] = reason
            link.out.clear()
            link.body = link.receive = None
            self._selector.unregister(link.sock)
            link.sock.close()

    def close(self) -> None:
        """Close all connections; the other ranks notice at once."""
        if not self._closed:
            self._closed = True
            self._selector.close()
            for link in self._links.values():
                link.sock.close()


_OPEN: Final[WeakSet[Links]] = WeakSet()


def _forked() -> None:
    """Close a child's copies of its parent's connections, or nobody would notice that the parent was killed."""
    for links in list(_OPEN):
        links.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
