"""The engine nccl: collectives of tensors on GPUs by NCCL.

Note [Streams of the engine]
----------------------------
A group's collectives run in a stream of its own, in the order in which they were called, each after what the calling
thread had given the device before.  `wait` lets the current stream wait for an event at the end of the collective, not
the host, unless it is called with a timeout or ``TT_DISTRIBUTED_BLOCKING_WAIT`` is set.  An operation is done when the
device has done it: the progress loop asks the event, so the host finds out about ranks that do not come.

A message must wait for no collective and for no message in the other direction, or ranks that send to each other would
hang.  So each direction between two ranks has a communicator and a stream, which are made in a thread at the first
message: NCCL connects two ranks only when both are there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, ClassVar, Self

import tt
from tt import Tensor
from tt.distributed.backend import ANY_RANK, Backend, Capabilities, Pending, Queued
from tt.distributed.engines.meeting import meet
from tt.distributed.engines.nccl_libraries import DTYPES, Communicator, Library, library
from tt.distributed.errors import DistBackendError, DistError
from tt.distributed.reduce_op import ReduceOp
from tt.distributed.stores import PrefixStore, Store

__all__ = ["Nccl"]

_REDUCTIONS = frozenset({"SUM", "PRODUCT", "MIN", "MAX", "AVG"})


class Nccl(Backend):
    """Collectives by NCCL on the CUDA device that is the current one when the group is made."""

    name: ClassVar[str] = "nccl"
    capabilities: ClassVar[Capabilities] = Capabilities(
        devices=frozenset({"cuda"}),
        operations=frozenset(
            {"all_reduce", "reduce", "gather_into", "scatter_from", "reduce_scatter", "all_to_all"}
        ),
        dtypes=frozenset(DTYPES),
        reductions=_REDUCTIONS,
    )

    def __init__(self, rank: int, size: int, nccl: Library, communicator: Communicator, store: Store) -> None:
        super().__init__(rank, size)
        self.device = tt.device("cuda", tt.cuda.current_device())
        self._nccl = nccl
        self._communicator = communicator
        self._store = store
        self._stream = tt.cuda.Stream(self.device)
        self._copies = tt.cuda.Stream(self.device)  # before and after messages
        self._links: dict[tuple[int, int], _Link] = {}
        self._ended = False
        if nccl.factors:
            capabilities = type(self).capabilities
            self.capabilities = Capabilities(  # type: ignore[misc]  # of this binding
                capabilities.devices,
                capabilities.operations,
                capabilities.dtypes,
                capabilities.reductions | {"PREMUL_SUM"},
            )

    @classmethod
    def create(cls, store: Store, rank: int, size: int, timeout: timedelta, options: object = None) -> Self:
        """Connect the ranks of a group; see `Backend.create`.

        Raises
        ------
        DistBackendError
            There is no NCCL or no GPU, or NCCL cannot connect the ranks.
        DistTimeoutError
            Not all ranks came within the timeout.
        """
        nccl = library()
        if not tt.cuda.is_available():
            raise DistBackendError("the nccl engine needs a CUDA device, and there is none")
        meet(PrefixStore("before", store), rank, size, timeout, "nccl")  # NCCL waits without a limit
        return cls(rank, size, nccl, _connected(nccl, store, rank, size), store)

    # --- the device ------------------------------------------------------------------------------------------------

    def mark(self) -> object:
        """Record the calling thread's work on the device so far."""
        return tt.cuda.current_stream(self.device).record_event()

    def after(self, mark: object, steps: Generator[Pending, None, Any], ordered: bool) -> Any:
        """Run steps in the engine's stream, after what was noted; they end when the device has done all of it."""
        stream = self._stream if ordered else self._copies
        # What the caller has given the device so far comes first.
        stream.wait_event(mark)
        error: BaseException | None = None
        kept: list[Any] = []
        while True:
            try:
                with self._within(stream):
                    pending = next(steps) if error is None else steps.throw(error)
                    while (
                        ordered and type(pending) is _Done
                    ):  # what follows runs after it, in the same stream
                        # Keeps its tensors: NCCL uses their memory until the last event, and the steps
                        # may let go of them.
                        kept.append(pending)
                        pending = next(steps)
            except StopIteration as stop:
                yield _Last(self, self._communicator, stream.record_event(), *kept)
                return stop.value
            error = None
            try:
                yield pending
            # The operation is given up: closing the steps runs their `finally`.
            except GeneratorExit:
                steps.close()
                raise
            except BaseException as raised:
                error = raised

    @contextmanager
    def _within(self, stream: Any) -> Iterator[None]:
        with tt.cuda.device(self.device), tt.cuda.stream(stream):
            yield

    def _run(self, call: Callable[[Communicator, int], None], *tensors: Tensor) -> Pending:
        """Call NCCL in the engine's stream."""
        return self._called(self._communicator, self._stream, call, *tensors)

    def _called(
        self,
        communicator: Communicator,
        stream: Any,
        call: Callable[[Communicator, int], None],
        *tensors: Tensor,
    ) -> Pending:
        self._check(*tensors)
        try:
            with self._within(stream):
                call(communicator, stream.stream_id)
        except self._nccl.errors as error:
            raise DistBackendError(f"nccl: {error}") from error
        return _Done(self, communicator, stream.record_event(), *tensors)

    def _check(self, *tensors: Tensor) -> None:
        if self._ended:
            raise DistBackendError("nccl: the communicator was ended by an earlier error")
        for tensor in tensors:
            if tensor.device != self.device:
                raise DistBackendError(
                    f"nccl: this group's device is {self.device}, and the tensor is on {tensor.device}\n"
                    "  try: tt.cuda.set_device() before init_process_group(), or its device_id"
                )

    # --- collectives ----------------------------------------------------------------------------------------------

    def exchange(self, record: bytes, records: bytearray) -> Pending:
        """Gather a short record of each rank."""
        with self._within(self._stream):
            own = tt.frombuffer(bytearray(record), dtype=tt.uint8).to(self.device)
            gathered = tt.empty(self.size * len(record), dtype=tt.uint8, device=self.device)

        def fetch() -> None:
            with self._within(self._stream):
                # The device has done the gathering, so this copy does not wait for another rank.
                records[:] = gathered.cpu().numpy().tobytes()

        pending = self._run(lambda nccl, stream: nccl.all_gather(gathered, own, stream), own, gathered)
        return _Fetched(pending, fetch)

    def broadcast(self, tensor: Tensor, root: int) -> Pending:
        """Send root's tensor to all ranks."""
        return self._run(lambda nccl, stream: nccl.broadcast(_bytes(tensor), root, stream), tensor)

    def all_gather_into(self, output: Tensor, input: Tensor) -> Pending:
        """Gather all ranks' inputs into every rank's output."""
        return self._run(
            lambda nccl, stream: nccl.all_gather(_bytes(output), _bytes(input), stream), output, input
        )

    def all_reduce(self, tensor: Tensor, op: ReduceOp) -> Pending:
        """Combine all ranks' tensors into each of them."""
        return self._run(
            lambda nccl, stream: nccl.all_reduce(tensor, op.kind.name, op.factor, stream), tensor
        )

    def reduce(self, tensor: Tensor, root: int, op: ReduceOp) -> Pending:
        """Combine all ranks' tensors into root's."""
        return self._run(
            lambda nccl, stream: nccl.reduce(tensor, op.kind.name, op.factor, root, stream), tensor
        )

    def reduce_scatter(self, output: Tensor, input: Tensor, op: ReduceOp) -> Pending:
        """Combine all ranks' inputs, and give each rank its part."""
        return self._run(
            lambda nccl, stream: nccl.reduce_scatter(output, input, op.kind.name, op.factor, stream),
            output,
            input,
        )

    def gather_into(self, output: Tensor | None, input: Tensor, root: int) -> Pending:
        """Gather all ranks' inputs into root's output."""
        sent = _bytes(input)
        here = self.rank == root
        return self._parts(
            [sent if rank == root else None for rank in range(self.size)],
            list(_bytes(output).chunk(self.size)) if here and output is not None else [None] * self.size,
        )

    def scatter_from(self, output: Tensor, input: Tensor | None, root: int) -> Pending:
        """Give each rank its part of root's input."""
        to = _bytes(output)
        here = self.rank == root
        return self._parts(
            list(_bytes(input).chunk(self.size)) if here and input is not None else [None] * self.size,
            [to if rank == root else None for rank in range(self.size)],
        )

    def all_to_all(
        self, output: Tensor, input: Tensor, output_sizes: Sequence[int], input_sizes: Sequence[int]
    ) -> Pending:
        """Send part i of the input to rank i, and gather what comes."""
        item = input.element_size()
        sent = _bytes(input).split([size * item for size in input_sizes])
        received = _bytes(output).split([size * item for size in output_sizes])
        return self._parts(
            [part if part.numel() else None for part in sent],
            [part if part.numel() else None for part in received],
        )

    def _parts(self, sent: Sequence[Tensor | None], received: Sequence[Tensor | None]) -> Pending:
        """Send a part to each rank and receive one from each, all at once; None for nothing."""

        def call(nccl: Communicator, stream: int) -> None:
            # As one group: a send may wait for its receive, so calls one after the other could wait for
            # each other.
            with self._nccl.together():
                for rank, (out, back) in enumerate(zip(sent, received, strict=True)):
                    if out is not None:
                        nccl.send(out, rank, stream)
                    if back is not None:
                        nccl.recv(back, rank, stream)

        return self._run(call, *(part for part in (*sent, *received) if part is not None))

    # --- messages -------------------------------------------------------------------------------------------------

    def send(self, tensor: Tensor, to: int, tag: int) -> Pending:
        """Send a tensor to a rank; tags are ignored, messages come in the order in which they are sent."""
        data = _bytes(tensor)
        return self._link(self.rank, to).add(data, lambda nccl, stream: nccl.send(data, 1, stream))

    def recv(self, tensor: Tensor, source: int, tag: int) -> Pending:
        """Receive a tensor from a rank, as many bytes as it sends."""
        if source == ANY_RANK:
            raise DistBackendError("nccl: recv needs the rank that sends; NCCL does not receive from any")
        data = _bytes(tensor)
        return self._link(source, self.rank).add(data, lambda nccl, stream: nccl.recv(data, 0, stream))

    def _link(self, source: int, to: int) -> _Link:
        if (source, to) not in self._links:
            self._links[source, to] = _Link(self, source, to)
        return self._links[source, to]

    # --- the end --------------------------------------------------------------------------------------------------

    def split(self, ranks: Sequence[int], store: Store, timeout: timedelta) -> Self | None:
        """Connect some of the ranks; None on the others."""
        position = list(ranks).index(self.rank) if self.rank in ranks else None
        self._check()
        try:
            with self._within(self._stream):
                communicator = self._communicator.split(position)
                if communicator is None or position is None:
                    return None
                return type(self)(position, len(ranks), self._nccl, communicator, store)
        except self._nccl.errors as error:
            raise DistBackendError(f"nccl: {error}") from error

    def abort(self) -> None:
        """End all operations at once, those that the device has begun too."""
        self._end(lambda communicator: communicator.abort())

    def shutdown(self) -> None:
        """End when the device has done everything."""
        if not self._ended:
            # `destroy` does not wait for what the stream still has to do.
            self._stream.synchronize()
        self._end(lambda communicator: communicator.destroy())

    def _end(self, how: Callable[[Communicator], None]) -> None:
        if self._ended:
            return
        self._ended = True
        for link in self._links.values():
            if link.communicator is not None:
                with suppress(*self._nccl.errors):  # the group's own is what counts
                    how(link.communicator)
        try:
            how(self._communicator)
        except self._nccl.errors as error:
            raise DistBackendError(f"nccl: {error}") from error


class _Done:
    """Is done when the device has reached an event; its tensors live as long."""

    source: int | None = None

    def __init__(self, engine: Nccl, communicator: Communicator, event: Any, *tensors: object) -> None:
        self._engine, self._communicator, self._event, self._tensors = engine, communicator, event, tensors

    def test(self) -> bool:
        if self._event.query():
            return True
        error = self._communicator.error()
        if error is not None:
            # The kernels of a failed collective run on until the communicator is aborted.
            self._engine.abort()
            raise DistBackendError(f"nccl: {error}")
        return False

    def cancel(self) -> None:
        """End the whole communicator: NCCL takes back nothing that the device has begun."""
        with suppress(DistBackendError):
            self._engine.abort()


class _Last(_Done, Queued):
    """Ends when the device has done an operation; later work on the device can wait for it there."""

    def join(self) -> None:
        tt.cuda.current_stream(self._engine.device).wait_event(self._event)


class _Fetched:
    """Ends when another operation has ended and its result was fetched."""

    source = None

    def __init__(self, pending: Pending, fetch: Callable[[], None]) -> None:
        self._pending, self._fetch = pending, fetch

    def test(self) -> bool:
        if not self._pending.test():
            return False
        self._fetch()
        return True

    def cancel(self) -> None:
        self._pending.cancel()


class _Link:
    """One direction between two ranks: rank 0 of its communicator sends, rank 1 receives."""

    def __init__(self, engine: Nccl, source: int, to: int) -> None:
        self.engine = engine
        self.stream = tt.cuda.Stream(engine.device)
        self.communicator: Communicator | None = None
        self.failure: BaseException | None = None
        self.waiting: list[_Message] = []
        self._store = PrefixStore(f"link/{source}/{to}", engine._store)
        self._rank = 0 if engine.rank == source else 1
        self._thread = threading.Thread(target=self._connect, name=f"nccl {source} to {to}", daemon=True)
        self._thread.start()

    def _connect(self) -> None:
        try:
            # The current device belongs to a thread.
            with tt.cuda.device(self.engine.device):
                self.communicator = _connected(self.engine._nccl, self._store, self._rank, 2)
        except (DistError, OSError) as error:
            self.failure = error

    def add(self, tensor: Tensor, call: Callable[[Communicator, int], None]) -> Pending:
        """Start a message after those before it, when the ranks are connected."""
        self.engine._check(tensor)
        message = _Message(self, tensor, call, self.engine._copies.record_event())
        self.waiting.append(message)
        message.test()
        return message


class _Message:
    """A send or a receive of a link; it starts when the link is there and those before it have started."""

    source = None

    def __init__(
        self, link: _Link, tensor: Tensor, call: Callable[[Communicator, int], None], ready: Any
    ) -> None:
        self._link, self._tensor, self._call, self._ready = link, tensor, call, ready
        self._running: Pending | None = None

    def test(self) -> bool:
        link = self._link
        if link.failure is not None:
            raise DistBackendError(f"nccl: two ranks were not connected: {link.failure}") from link.failure
        if link.communicator is None:
            return False
        # Starts those before it as well: NCCL has no tags, so both sides must call in one order.
        while self._running is None:
            link.waiting.pop(0)._start(link.communicator)
        return self._running.test()

    def _start(self, communicator: Communicator) -> None:
        link = self._link
        # The copy before the message runs in another stream.
        link.stream.wait_event(self._ready)
        self._running = link.engine._called(communicator, link.stream, self._call, self._tensor)

    def cancel(self) -> None:
        """Take it back where it has not started."""
        if self in self._link.waiting:
            self._link.waiting.remove(self)
        elif self._running is not None:
            self._running.cancel()


def _connected(nccl: Library, store: Store, rank: int, size: int) -> Communicator:
    """Return a communicator whose name its first rank leaves in a store."""
    try:
        if rank == 0:
            store.set("name", nccl.unique_id())
        return nccl.connect(size, store.get("name"), rank)
    except nccl.errors as error:
        raise DistBackendError(f"nccl: {error}") from error


def _bytes(tensor: Tensor) -> Tensor:
    """Return a contiguous tensor's memory as a vector of bytes: moving needs no dtype of NCCL."""
    return tensor.detach().view(-1).view(tt.uint8)
