"""Queues whose messages carry the descriptors of shared memory.

`put` pickles at once: later changes do not affect the message, and an object that cannot be sent raises there, not in a
thread that only prints.
"""

from __future__ import annotations

from multiprocessing import queues
from typing import TYPE_CHECKING, Any

from tt.multiprocessing.connections import Pipe
from tt.multiprocessing.reductions import Envelope, pack, unpack

__all__ = ["JoinableQueue", "Queue", "SimpleQueue"]


if TYPE_CHECKING:
    _Queue = queues.Queue[Any]
    _JoinableQueue = queues.JoinableQueue[Any]
    _SimpleQueue = queues.SimpleQueue[Any]
else:  # not all of them take an index
    _Queue, _JoinableQueue, _SimpleQueue = queues.Queue, queues.JoinableQueue, queues.SimpleQueue


class Queue(_Queue):
    """A queue between processes; see `multiprocessing.Queue`."""

    def __init__(self, maxsize: int = 0, *, ctx: Any) -> None:
        super().__init__(maxsize, ctx=ctx)
        _exchange_pipe(self)
        # It keeps methods of the pipe that has just been closed.
        _own(self)._reset()

    def put(self, obj: object, block: bool = True, timeout: float | None = None) -> None:
        """Add an object, whose tensors are shared from then on."""
        # Packed here and not in the queue's thread: what is put may change afterwards.
        super().put(Envelope(pack(obj)), block, timeout)


class JoinableQueue(_JoinableQueue):
    """A queue that tracks when all items are processed; see `multiprocessing.JoinableQueue`."""

    def __init__(self, maxsize: int = 0, *, ctx: Any) -> None:
        super().__init__(maxsize, ctx=ctx)
        _exchange_pipe(self)
        _own(self)._reset()

    def put(self, obj: object, block: bool = True, timeout: float | None = None) -> None:
        """Add an object, whose tensors are shared from then on."""
        super().put(Envelope(pack(obj)), block, timeout)


class SimpleQueue(_SimpleQueue):
    """A queue that is little more than a pipe with locks; see `multiprocessing.SimpleQueue`."""

    def __init__(self, *, ctx: Any) -> None:
        super().__init__(ctx=ctx)
        _exchange_pipe(self)
        # The base keeps this method of the pipe that has just been closed.
        self._poll = _own(self)._reader.poll

    def put(self, obj: object) -> None:
        """Add an object, whose tensors are shared from then on."""
        message, own = pack(obj), _own(self)
        with own._wlock:
            own._writer.post(message)

    def get(self) -> Any:
        """Return the next object; waits for it."""
        own = _own(self)
        with own._rlock:
            received = own._reader.take()
        # After the lock is free: unpickling runs code of the objects.
        return unpack(*received)


def _own(queue: Any) -> Any:
    """Return a queue with the attributes that its type stubs lack."""
    return queue


def _exchange_pipe(queue: Any) -> None:
    queue._reader.close()
    queue._writer.close()
    queue._reader, queue._writer = Pipe(duplex=False)
