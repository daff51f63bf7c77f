"""The engine gloo: collectives of CPU tensors in shared memory and over sockets, without other packages."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any, ClassVar, Final, Self

import numpy as np

from tt import Tensor
from tt.distributed.backend import Awaited, Backend, Capabilities, Pending
from tt.distributed.engines.gloo import in_memory, over_links
from tt.distributed.engines.gloo.joining import join
from tt.distributed.engines.gloo.links import MESSAGE, Links, Receive, Send
from tt.distributed.engines.gloo.memory import SLOT, Memory
from tt.distributed.engines.gloo.over_links import Lanes, Requests, Talk
from tt.distributed.errors import DistBackendError
from tt.distributed.reduce_op import ReduceOp
from tt.distributed.reductions import UFUNCS
from tt.distributed.stores import Store

__all__ = ["Gloo"]

_SLICE: Final = 1e-3
"""Seconds that one `test` works at most, so that other operations and timeouts get their turn."""
_LOOK: Final = 5e-3
"""Seconds between two looks at the connections of ranks that share memory."""
_LANES: Final = 3
"""Parts of a collective over sockets that are under way at once: one is combined while others come."""
_FAREWELL: Final = 3.0
"""Seconds that `shutdown` waits for the other ranks."""


class Gloo(Backend):
    """Collectives between processes by what the system has: shared memory on one machine, sockets between machines.

    Note [What a collective goes through]
    -------------------------------------
    All ranks of a group are connected to each other, by sockets of the machine where they can, else by TCP.  Where all
    of them share memory, collectives are done there (`in_memory`), and the connections carry sends and receives and
    tell when a rank is gone.  Otherwise collectives are made of messages (`over_links`), also those of ranks that do
    share a machine.
    """

    name: ClassVar[str] = "gloo"
    capabilities: ClassVar[Capabilities] = Capabilities(
        devices=frozenset({"cpu"}),
        operations=frozenset(
            {"all_reduce", "reduce", "gather_into", "scatter_from", "reduce_scatter", "all_to_all", "barrier"}
        ),
        dtypes=frozenset(
            {"float64", "float32", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8"}
        ),
        reductions=frozenset(kind.name for kind in UFUNCS),
        carried=1024,
    )

    def __init__(self, rank: int, size: int, links: Links, memory: Memory | None) -> None:
        super().__init__(rank, size)
        self.links = links
        self.memory = memory
        self._number = 0
        self._broken = ""

    @classmethod
    def create(cls, store: Store, rank: int, size: int, timeout: timedelta, options: object = None) -> Self:
        """Connect the ranks of a group; see `Backend.create`.

        Raises
        ------
        DistBackendError
            A rank has another version of tt, or another number of ranks.
        DistNetworkError
            A rank cannot reach another's address.
        DistTimeoutError
            Not all ranks came in time.
        """
        return cls(rank, size, *join(store, rank, size, timeout))

    # --- collectives ----------------------------------------------------------------------------------------------

    def exchange(self, record: bytes, records: bytearray) -> Pending:
        """Gather a short record of each rank."""
        self._check()
        if self.memory is None:
            return self._talk(over_links.exchange, record, records)
        if len(record) > SLOT:
            return _InMemory(self, self.memory, in_memory.spread(self.memory, record, records))
        return _Exchange(self, self.memory, record, records)

    def broadcast(self, tensor: Tensor, root: int) -> Pending:
        """Send root's tensor to all ranks."""
        return self._start(in_memory.broadcast, over_links.broadcast, _memory(tensor), root)

    def all_gather_into(self, output: Tensor, input: Tensor) -> Pending:
        """Gather all ranks' inputs into every rank's output."""
        return self._start(in_memory.all_gather, over_links.all_gather, _memory(output), _memory(input))

    def gather_into(self, output: Tensor | None, input: Tensor, root: int) -> Pending:
        """Gather all ranks' inputs into root's output."""
        return self._start(
            in_memory.gather,
            over_links.gather,
            None if output is None else _memory(output),
            _memory(input),
            root,
        )

    def scatter_from(self, output: Tensor, input: Tensor | None, root: int) -> Pending:
        """Give each rank its part of root's input."""
        return self._start(
            in_memory.scatter,
            over_links.scatter,
            _memory(output),
            None if input is None else _memory(input),
            root,
        )

    def all_reduce(self, tensor: Tensor, op: ReduceOp) -> Pending:
        """Combine all ranks' tensors into each of them."""
        return self._start(in_memory.all_reduce, over_links.all_reduce, _numbers(tensor), UFUNCS[op.kind])

    def reduce(self, tensor: Tensor, root: int, op: ReduceOp) -> Pending:
        """Combine all ranks' tensors into root's."""
        return self._start(in_memory.reduce, over_links.reduce, _numbers(tensor), root, UFUNCS[op.kind])

    def reduce_scatter(self, output: Tensor, input: Tensor, op: ReduceOp) -> Pending:
        """Combine all ranks' inputs, and give each rank its part."""
        return self._start(
            in_memory.reduce_scatter,
            over_links.reduce_scatter,
            _numbers(output),
            _numbers(input),
            UFUNCS[op.kind],
        )

    def all_to_all(
        self, output: Tensor, input: Tensor, output_sizes: Sequence[int], input_sizes: Sequence[int]
    ) -> Pending:
        """Send part i of the input to rank i, and gather what comes."""
        item = input.element_size()
        received, sent = ([count * item for count in sizes] for sizes in (output_sizes, input_sizes))
        return self._start(
            in_memory.all_to_all, over_links.all_to_all, _memory(output), _memory(input), received, sent
        )

    def barrier(self) -> Pending:
        """Be done when all ranks have started it."""
        return self.exchange(b"\0", bytearray(self.size))

    def _start(
        self, with_memory: Callable[..., Iterator[bool]], with_links: Callable[..., Lanes], *args: Any
    ) -> Pending:
        self._check()
        if self.memory is not None:
            return _InMemory(self, self.memory, with_memory(self.memory, *args))
        return self._talk(with_links, *args)

    def _talk(self, collective: Callable[..., Lanes], *args: Any) -> Pending:
        self._number += 1
        return _OverLinks(self, collective(Talk(self.links, self.size, self._number), *args))

    def _check(self) -> None:
        """Raise where an earlier collective was given up: the other ranks are at another place."""
        if self._broken:
            raise DistBackendError(
                f"gloo: {self._broken}\n  try: destroy_process_group() and init_process_group() on all ranks"
            )

    def give_up(self) -> None:
        """Refuse later collectives: this rank has left one before its end."""
        self._broken = "this group cannot be used, since one of its collectives was given up"

    # --- messages -------------------------------------------------------------------------------------------------

    def send(self, tensor: Tensor, to: int, tag: int) -> Pending:
        """Send a tensor to a rank."""
        return self.links.send(to, MESSAGE, tag, _memory(tensor).data)

    def recv(self, tensor: Tensor, source: int, tag: int) -> Pending:
        """Receive a tensor from a rank, or from whoever sends first."""
        return self.links.receive(source, MESSAGE, tag, _memory(tensor).data)

    # --- the end --------------------------------------------------------------------------------------------------

    def abort(self) -> None:
        """Close the connections; the other ranks notice it."""
        self._broken = "the group was aborted"
        self.links.close()
        self.memory = None

    def shutdown(self) -> None:
        """Let everything that was sent arrive, and close the connections.

        Nothing is exchanged here: ranks that still wait for this one in a collective would take it for that collective.
        They see the end of the connection, and close it, which this rank waits a while for.
        """
        limit = time.monotonic() + _FAREWELL
        links = self.links
        while not links.is_flushed() and time.monotonic() < limit:
            links.poll()
            time.sleep(1e-4)
        if not self._broken:
            links.leave()
            while links.is_connected() and (left := limit - time.monotonic()) > 0:
                links.linger(left)
                links.poll()
        self.abort()


def _memory(tensor: Tensor) -> Any:
    """Return the memory of a contiguous tensor as an array of bytes."""
    return tensor.detach().numpy().reshape(-1).view(np.uint8)


def _numbers(tensor: Tensor) -> Any:
    """Return a contiguous tensor as an array of one dimension."""
    return tensor.detach().numpy().reshape(-1)


class _Exchange(Awaited):
    """A record of each rank, in one step in shared memory."""

    __slots__ = ("_engine", "_left", "_look", "_memory", "_records", "_step", "_which")

    def __init__(self, engine: Gloo, memory: Memory, record: bytes, records: bytearray) -> None:
        self._engine, self._memory, self._records = engine, memory, records
        self._which = which = memory.begin()
        self._step, self._look = memory.step, 0.0
        length, rank = len(record), memory.rank
        memory.views[rank][which][:length] = record
        memory.publish()
        records[rank * length : (rank + 1) * length] = record
        self._left = memory.others[:]

    def test(self) -> bool:
        """Make progress, and return whether it is done."""
        left, step = self._left, self._step
        while left:
            if left[-1][1][0] < step:
                now = time.perf_counter()
                if now > self._look:
                    self._look = now + _LOOK
                    _look_at_ranks(self._engine.links, self._memory)
                return False
            left.pop()
        memory, records, which = self._memory, self._records, self._which
        memory.enter()
        length = len(records) // memory.size
        for rank, _ in memory.others:
            records[rank * length : (rank + 1) * length] = memory.views[rank][which][:length]
        return True

    def cancel(self) -> None:
        """Give up, and the group with it."""
        self._engine.give_up()

    def linger(self, seconds: float) -> None:
        """Sleep until another rank comes."""
        self._memory.linger(seconds)


class _InMemory(Awaited):
    """A collective in shared memory, which goes on in slices of time."""

    __slots__ = ("_engine", "_look", "_memory", "_steps")

    def __init__(self, engine: Gloo, memory: Memory, steps: Iterator[bool]) -> None:
        self._engine, self._memory, self._steps = engine, memory, steps
        self._look = 0.0

    def test(self) -> bool:
        """Go on until another rank is missing, or the slice is over; return whether it is done."""
        steps = self._steps
        limit = time.perf_counter() + _SLICE
        while (moved := next(steps, None)) is not None:
            now = time.perf_counter()
            if not moved and now > self._look:
                self._look = now + _LOOK
                _look_at_ranks(self._engine.links, self._memory)
            if not moved or now > limit:
                return False
        return True

    def cancel(self) -> None:
        """Give up, and the group with it."""
        self._engine.give_up()

    def linger(self, seconds: float) -> None:
        """Sleep until another rank goes on."""
        self._memory.linger(seconds)


class _OverLinks(Awaited):
    """A collective that is made of messages, in several lanes."""

    __slots__ = ("_active", "_engine", "_lanes")

    def __init__(self, engine: Gloo, lanes: Lanes) -> None:
        self._engine, self._lanes = engine, lanes
        self._active: list[tuple[Requests, list[Send | Receive]]] = []
        for _ in range(_LANES):
            self._open()

    def _open(self) -> None:
        """Begin the next lane that needs messages."""
        for lane in self._lanes:
            requests = next(lane, None)
            if requests is not None:
                self._active.append((lane, requests))
                return

    def test(self) -> bool:
        """Go on until messages are missing, or the slice is over; return whether it is done."""
        links = self._engine.links
        limit = time.perf_counter() + _SLICE
        while True:
            links.poll()
            moved = self._advance()
            if not self._active:
                return True
            if not moved:
                for rank in links.lost:  # the first that was lost is the cause
                    self._check(rank)
            if not moved or time.perf_counter() > limit:
                return False

    def _advance(self) -> bool:
        """Go on with all lanes whose messages have come; return whether there are any."""
        moved = False
        for at in reversed(range(len(self._active))):
            lane, requests = self._active[at]
            if all(request.done for request in requests):
                for request in requests:
                    request.test()  # raises where it has failed
                moved = True
                following = next(lane, None)
                if following is None:
                    del self._active[at]
                    self._open()
                else:
                    self._active[at] = lane, following
        return moved

    def _check(self, rank: int) -> None:
        """Raise where this waits for a rank that is gone."""
        for _, requests in self._active:
            for request in requests:
                if request.peer == rank:
                    request.test()

    def cancel(self) -> None:
        """Give up, and the group with it."""
        self._engine.give_up()
        for _, requests in self._active:
            for request in requests:
                request.cancel()

    def linger(self, seconds: float) -> None:
        """Sleep until something can be read or written."""
        self._engine.links.linger(seconds)


def _look_at_ranks(links: Links, memory: Memory) -> None:
    """Raise where a rank is gone whose step is missing; let messages move."""
    links.poll()
    for rank in links.lost:  # the first that was lost is the cause
        if rank in memory.behind():
            links.check(rank)
