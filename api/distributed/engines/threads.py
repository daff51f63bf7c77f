"""The engine whose ranks are threads of one process: for tests, notebooks and learning."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, ClassVar, Self, TypeVar
from uuid import uuid4

import tt
from tt import Tensor
from tt.distributed.backend import ANY_RANK, Backend, Capabilities, Pending
from tt.distributed.errors import DistBackendError, DistStoreError, DistTimeoutError
from tt.distributed.reduce_op import ReduceOp
from tt.distributed.reductions import combine
from tt.distributed.stores.store import Store

__all__ = ["Threads", "run_threads"]

Result = TypeVar("Result")


class _Meeting:
    """A collective: what each rank has brought."""

    def __init__(self, size: int) -> None:
        self.parts: list[Any] = [None] * size
        self.came = 0
        self.went = 0
        self.result: Any = None  # of a reduction, which the first rank that leaves computes for all


class _Hub:
    """The state that the ranks of one group share."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.lock = threading.Lock()
        self.meetings: dict[int, _Meeting] = {}
        self.mail: list[list[tuple[int, int, Tensor]]] = [[] for _ in range(size)]
        self.fetched = 0


_HUBS: dict[str, _Hub] = {}
_HUBS_LOCK = threading.Lock()


class _Collective:
    """A rank's part of a meeting; it is done when all ranks came, and this one has taken its result."""

    source = None

    def __init__(
        self, hub: _Hub, number: int, rank: int, part: Any, take: Callable[[_Meeting], object]
    ) -> None:
        self._hub, self._number, self._take = hub, number, take
        with hub.lock:
            self._meeting = hub.meetings.setdefault(number, _Meeting(hub.size))
            # Before the count, which other threads read without the lock.
            self._meeting.parts[rank] = part
            self._meeting.came += 1

    def test(self) -> bool:
        if self._meeting.came < self._hub.size:
            return False
        with self._hub.lock:
            # Under the lock: the first one that takes computes a reduction for all.
            self._take(self._meeting)
            self._meeting.went += 1
            # Nobody looks for it any more, and it holds the tensors of all ranks.
            if self._meeting.went == self._hub.size:
                del self._hub.meetings[self._number]
        return True

    def cancel(self) -> None:
        """Leave the part there: what another rank copies is not the caller's tensor."""


class _Sent:
    """A message that has been copied, and so is done."""

    source = None

    def test(self) -> bool:
        return True

    def cancel(self) -> None:
        pass


class _Receive:
    def __init__(self, hub: _Hub, rank: int, tensor: Tensor, source: int, tag: int) -> None:
        self._hub, self._rank, self._tensor, self._wanted, self._tag = hub, rank, tensor, source, tag
        self.source: int | None = None

    def test(self) -> bool:
        box = self._hub.mail[self._rank]
        with self._hub.lock:
            fits = (
                at
                for at, (source, tag, _) in enumerate(box)
                if tag == self._tag and self._wanted in (ANY_RANK, source)
            )
            first = next(fits, None)
            if first is None:
                return False
            source, _, message = box.pop(first)
        # Bytes count, not dtypes, as between processes by MPI.
        if message.nbytes != self._tensor.nbytes:
            raise DistBackendError(
                f"recv: rank {source} sent {message.nbytes} bytes ({message.dtype}, {message.numel()} elements), and"
                f" the tensor has {self._tensor.nbytes} ({self._tensor.dtype}, {self._tensor.numel()} elements)"
            )
        self._tensor.view(-1).copy_(message.view(-1).view(self._tensor.dtype))
        self.source = source
        return True

    def cancel(self) -> None:
        pass


class Threads(Backend):
    """Connects the threads of one process; `run_threads` starts them."""

    name: ClassVar[str] = "threads"
    capabilities: ClassVar[Capabilities] = Capabilities(
        devices=frozenset({"cpu", "cuda"}),
        operations=frozenset(
            {"all_reduce", "reduce", "gather_into", "scatter_from", "reduce_scatter", "all_to_all", "barrier"}
        ),
        dtypes=frozenset(
            {"float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
        ),
        reductions=frozenset({"SUM", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR"}),
        carried=1024,
    )

    def __init__(self, rank: int, size: int, hub: _Hub) -> None:
        super().__init__(rank, size)
        self._hub = hub
        self._number = 0

    @classmethod
    def create(cls, store: Store, rank: int, size: int, timeout: timedelta, options: object = None) -> Self:
        """Connect the ranks of a group; they find each other through the store."""
        if rank == 0:
            key = uuid4().hex
            # Before the store has the key, by which the others find it.
            _HUBS[key] = _Hub(size)
            store.set("threads", key)
        try:
            store.wait(["threads"], timeout)
        except DistStoreError as error:
            raise DistTimeoutError(f"rank 0 did not come within {timeout.total_seconds():g} s") from error
        key = store.get("threads").decode()
        # The last rank removes the hub, or it would live as long as the process.
        with _HUBS_LOCK:
            hub = _HUBS.get(key)
            if hub is None:
                raise DistBackendError(
                    "the engine 'threads' is for ranks that are threads of one process; use 'mpi' between processes"
                )
            hub.fetched += 1
            if hub.fetched == size:
                del _HUBS[key]
        return cls(rank, size, hub)

    def _meet(self, part: Any, take: Callable[[_Meeting], object]) -> Pending:
        self._number += 1
        return _Collective(self._hub, self._number, self.rank, part, take)

    # --- required -------------------------------------------------------------------------------------------------

    def exchange(self, record: bytes, records: bytearray) -> Pending:
        """Gather a short record of each rank."""

        def take(meeting: _Meeting) -> None:
            records[:] = b"".join(meeting.parts)

        return self._meet(record, take)

    def broadcast(self, tensor: Tensor, root: int) -> Pending:
        """Send root's tensor to all ranks."""
        if self.rank == root:
            # A copy: the root may go on and change its tensor before the others have come.
            return self._meet(tensor.clone(), lambda meeting: None)
        return self._meet(None, lambda meeting: tensor.copy_(meeting.parts[root].view(tensor.shape)))

    def all_gather_into(self, output: Tensor, input: Tensor) -> Pending:
        """Gather all ranks' inputs into every rank's output."""
        return self._meet(input.clone(), lambda meeting: _fill(output, meeting.parts))

    def send(self, tensor: Tensor, to: int, tag: int) -> Pending:
        """Send a tensor to a rank; its box takes any number of messages."""
        with self._hub.lock:
            self._hub.mail[to].append((self.rank, tag, tensor.clone()))
        return _Sent()

    def recv(self, tensor: Tensor, source: int, tag: int) -> Pending:
        """Receive a tensor from a rank, or from whoever sends first."""
        return _Receive(self._hub, self.rank, tensor, source, tag)

    # --- the others -----------------------------------------------------------------------------------------------

    def all_reduce(self, tensor: Tensor, op: ReduceOp) -> Pending:
        """Combine all ranks' tensors into each of them."""
        return self._meet(tensor.clone(), lambda meeting: tensor.copy_(_combined(meeting, op)))

    def reduce(self, tensor: Tensor, root: int, op: ReduceOp) -> Pending:
        """Combine all ranks' tensors into root's."""

        def take(meeting: _Meeting) -> None:
            if self.rank == root:
                tensor.copy_(_combined(meeting, op))

        return self._meet(tensor.clone(), take)

    def gather_into(self, output: Tensor | None, input: Tensor, root: int) -> Pending:
        """Gather all ranks' inputs into root's output."""

        def take(meeting: _Meeting) -> None:
            if output is not None:
                _fill(output, meeting.parts)

        return self._meet(input.clone(), take)

    def scatter_from(self, output: Tensor, input: Tensor | None, root: int) -> Pending:
        """Give each rank its part of root's input."""

        def take(meeting: _Meeting) -> None:
            output.view(-1).copy_(meeting.parts[root].view(self.size, -1)[self.rank])

        return self._meet(None if input is None else input.clone(), take)

    def reduce_scatter(self, output: Tensor, input: Tensor, op: ReduceOp) -> Pending:
        """Combine all ranks' inputs, and give each rank its part."""

        def take(meeting: _Meeting) -> None:
            output.view(-1).copy_(_combined(meeting, op).view(self.size, -1)[self.rank])

        return self._meet(input.clone(), take)

    def all_to_all(
        self, output: Tensor, input: Tensor, output_sizes: Sequence[int], input_sizes: Sequence[int]
    ) -> Pending:
        """Send part i of the input to rank i, and gather what comes."""
        parts = [part.clone() for part in input.view(-1).split(list(input_sizes))]
        return self._meet(
            parts, lambda meeting: output.view(-1).copy_(tt.cat([row[self.rank] for row in meeting.parts]))
        )

    def barrier(self) -> Pending:
        """Be done when all ranks have started it."""
        return self._meet(None, lambda meeting: None)


def _fill(output: Tensor, parts: list[Tensor]) -> None:
    rows = output.view(len(parts), -1)
    for row, part in zip(rows, parts, strict=True):
        row.copy_(part.view(-1))


def _combined(meeting: _Meeting, op: ReduceOp) -> Tensor:
    if meeting.result is None:
        meeting.result = combine(tt.stack(meeting.parts), op.kind)
    result: Tensor = meeting.result
    return result


def run_threads(
    function: Callable[..., Result],
    size: int,
    *args: Any,
    timeout: timedelta | None = None,
    backend: str = "threads",
) -> list[Result]:
    """Call a function in several threads, each of them a rank, and return their results.

    In each thread a default group is there, as after `init_process_group`.  Threads that a rank starts
    itself have none.

    Parameters
    ----------
    function : callable
        Called with ``args`` in each thread.
    size : int
        The number of ranks.
    *args : Any
        Arguments of the function.
    timeout : timedelta, optional
        How long an operation may take; by default 30 minutes.
    backend : str
        The engine.

    Raises
    ------
    Exception
        The exception that a rank raised, the first if several did.

    Examples
    --------
    >>> import tt, tt.distributed as dist
    >>> def program():
    ...     x = tt.full((2,), float(dist.get_rank()))
    ...     dist.all_reduce(x)
    ...     return x
    >>> dist.run_threads(program, 4)[3]
    tensor([6., 6.])
    """
    from tt.distributed.guard import reason_of
    from tt.distributed.stores.hash_store import HashStore  # and the world: both know this module's folder
    from tt.distributed.world import World, destroy_process_group, init_process_group, is_initialized

    if size < 1:
        raise ValueError(f"run_threads: size must be positive, got {size}")
    store = HashStore()
    results: list[Any] = [None] * size
    errors: list[tuple[float, BaseException]] = []

    def run(rank: int) -> None:
        world = World.of_thread()
        try:
            init_process_group(backend, store=store, rank=rank, world_size=size, timeout=timeout)
            results[rank] = function(*args)
            reason = "ended: its function returned"
        except BaseException as error:
            errors.append((time.monotonic(), error))
            reason = reason_of(error)
        try:
            if is_initialized():
                world.leave(reason)
                destroy_process_group()
        except BaseException as error:
            errors.append((time.monotonic(), error))
        finally:
            world.forget_thread()

    threads = [
        threading.Thread(target=run, args=(rank,), name=f"rank {rank}", daemon=True) for rank in range(size)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        # The earliest error is the cause; the others were raised because a rank had left.
        raise min(errors, key=lambda pair: pair[0])[1]
    return results
