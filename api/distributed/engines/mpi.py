"""The engine mpi: collectives of CPU tensors by an MPI library, through mpi4py."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from datetime import timedelta
from itertools import accumulate
from typing import Any, ClassVar, Self, cast

import numpy as np

import tt
from tt import Tensor
from tt.distributed.backend import ANY_RANK, RESERVED_TAG, Backend, Capabilities, Pending
from tt.distributed.engines.mpi_shares import LARGE, Shares
from tt.distributed.engines.mpi_world import MPIWorld
from tt.distributed.errors import DistBackendError
from tt.distributed.reduce_op import ReduceOp
from tt.distributed.stores import Store

__all__ = ["Mpi"]

_DTYPES = {
    "float64": "DOUBLE",
    "float32": "FLOAT",
    "complex128": "C_DOUBLE_COMPLEX",
    "complex64": "C_FLOAT_COMPLEX",
    "int64": "INT64_T",
    "int32": "INT32_T",
    "int16": "INT16_T",
    "int8": "INT8_T",
    "uint64": "UINT64_T",
    "uint32": "UINT32_T",
    "uint16": "UINT16_T",
    "uint8": "UINT8_T",
}
_OPERATIONS = {
    "SUM": "SUM",
    "PRODUCT": "PROD",
    "MIN": "MIN",
    "MAX": "MAX",
    "BAND": "BAND",
    "BOR": "BOR",
    "BXOR": "BXOR",
}
_FEW = 4
"""Ranks that send records, and pieces of large tensors, to each other directly."""
_FAREWELL = 3.0
"""Seconds that `shutdown` waits for the other ranks."""


class Mpi(Backend):
    """Collectives by MPI: MPICH or Intel MPI with or without mpiexec, every other MPI library with it."""

    name: ClassVar[str] = "mpi"
    capabilities: ClassVar[Capabilities] = Capabilities(
        devices=frozenset({"cpu"}),
        operations=frozenset(
            {"all_reduce", "reduce", "gather_into", "scatter_from", "reduce_scatter", "all_to_all", "barrier"}
        ),
        dtypes=frozenset(_DTYPES),
        reductions=frozenset(_OPERATIONS),
        carried=1024,
    )

    def __init__(self, rank: int, size: int, world: MPIWorld, communicator: Any) -> None:
        super().__init__(rank, size)
        self._mpi = world.mpi
        self._communicator = communicator
        # By dtype, which saves a look-up by name for each collective.
        self._datatypes = {getattr(tt, name): getattr(world.mpi, symbol) for name, symbol in _DTYPES.items()}
        self._operations = {
            ReduceOp.RedOpType[name]: getattr(world.mpi, symbol) for name, symbol in _OPERATIONS.items()
        }
        self._exchanges: dict[int, _Exchange] = {}
        self._abandoned: list[object] = []
        """What MPI may still read or write: operations that were cancelled, which MPI cannot do."""

    @classmethod
    def create(cls, store: Store, rank: int, size: int, timeout: timedelta, options: object = None) -> Self:
        """Connect the ranks of a group; see `Backend.create`.

        Raises
        ------
        DistBackendError
            MPI is not installed or does not start, or the ranks belong to different worlds of MPI.
        """
        world = MPIWorld.start(store, rank, size, timeout)
        own = f"{world.name} {world.mpi.COMM_WORLD.Get_rank()}"
        store.set(f"member/{rank}", own)
        members = [f"member/{other}" for other in range(size)]
        store.wait(members, timeout)  # what follows waits without a limit
        addresses = [store.get(member).decode("ascii").split() for member in members]
        strangers = [str(other) for other, (name, _) in enumerate(addresses) if name != world.name]
        if strangers:
            raise DistBackendError(
                f"mpi: rank {rank} and rank{'s' * (len(strangers) > 1)} {', '.join(strangers)} were started in "
                "different worlds of MPI. MPI connects processes once; start the program anew, with all its ranks"
            )
        if rank == 0:
            # Two groups may be made at the same time by different threads, and their messages must not
            # mix.
            store.set("tag", str(secrets.randbelow(1 << 14)))  # of all tags, MPI promises 32,768
        everyone = world.mpi.COMM_WORLD.Get_group()
        group = everyone.Incl([int(number) for _, number in addresses])
        communicator = world.mpi.COMM_WORLD.Create_group(group, int(store.get("tag")))
        # MPI's own handler would end the process.
        communicator.Set_errhandler(world.mpi.ERRORS_RETURN)
        return cls(rank, size, world, communicator)

    # --- collectives ----------------------------------------------------------------------------------------------

    def exchange(self, record: bytes, records: bytearray) -> Pending:
        """Gather a short record of each rank; see Note [Exchanges of few ranks]."""
        if 1 < self.size <= _FEW:
            if len(record) not in self._exchanges:
                self._exchanges[len(record)] = _Exchange(self, len(record))
            return self._exchanges[len(record)].start(record, records)
        return self._pending(
            self._communicator.Iallgather(self._bytes(record), self._bytes(records, len(record))),
            record,
            records,
        )

    def broadcast(self, tensor: Tensor, root: int) -> Pending:
        """Send root's tensor to all ranks."""
        memory = _memory(tensor)
        return self._pending(self._communicator.Ibcast(self._bytes(memory), root), memory)

    def all_gather_into(self, output: Tensor, input: Tensor) -> Pending:
        """Gather all ranks' inputs into every rank's output."""
        to, source = _memory(output), _memory(input)
        return self._pending(
            self._communicator.Iallgather(self._bytes(source), self._bytes(to, len(source))), to, source
        )

    def gather_into(self, output: Tensor | None, input: Tensor, root: int) -> Pending:
        """Gather all ranks' inputs into root's output."""
        to, source = None if output is None else _memory(output), _memory(input)
        received = None if to is None else self._bytes(to, len(source))
        return self._pending(self._communicator.Igather(self._bytes(source), received, root), to, source)

    def scatter_from(self, output: Tensor, input: Tensor | None, root: int) -> Pending:
        """Give each rank its part of root's input."""
        to, source = _memory(output), None if input is None else _memory(input)
        sent = None if source is None else self._bytes(source, len(to))
        return self._pending(self._communicator.Iscatter(sent, self._bytes(to), root), to, source)

    def all_reduce(self, tensor: Tensor, op: ReduceOp) -> Pending:
        """Combine all ranks' tensors into each of them."""
        # Sums in shares are faster than MPICH's for few ranks and large tensors, see `Shares`.
        if (
            op.kind is ReduceOp.RedOpType.SUM
            and 1 < self.size <= _FEW
            and tensor.numel() * tensor.element_size() >= LARGE
        ):
            return _Steps(self, Shares(self._communicator, tensor.detach().numpy().reshape(-1)))
        source = self._numbers(tensor)
        return self._pending(
            self._communicator.Iallreduce(self._mpi.IN_PLACE, source, self._operation(op)), source
        )

    def reduce(self, tensor: Tensor, root: int, op: ReduceOp) -> Pending:
        """Combine all ranks' tensors into root's."""
        source = self._numbers(tensor)
        at_root = self.rank == root
        sent, received = (self._mpi.IN_PLACE, source) if at_root else (source, None)
        return self._pending(self._communicator.Ireduce(sent, received, self._operation(op), root), source)

    def reduce_scatter(self, output: Tensor, input: Tensor, op: ReduceOp) -> Pending:
        """Combine all ranks' inputs, and give each rank its part."""
        to, source = self._numbers(output), self._numbers(input)
        source[1] = to[1]  # mpi4py counts what each rank gets
        return self._pending(
            self._communicator.Ireduce_scatter_block(source, to, self._operation(op)), to, source
        )

    def all_to_all(
        self, output: Tensor, input: Tensor, output_sizes: Sequence[int], input_sizes: Sequence[int]
    ) -> Pending:
        """Send part i of the input to rank i, and gather what comes."""
        item = input.element_size()
        to, source = _memory(output), _memory(input)
        return self._pending(
            self._communicator.Ialltoallv(
                self._parts(source, input_sizes, item), self._parts(to, output_sizes, item)
            ),
            to,
            source,
        )

    def barrier(self) -> Pending:
        """Be done when all ranks have started it."""
        return self._pending(self._communicator.Ibarrier())

    # --- messages -------------------------------------------------------------------------------------------------

    def send(self, tensor: Tensor, to: int, tag: int) -> Pending:
        """Send a tensor to a rank."""
        memory = _memory(tensor)
        return self._pending(self._communicator.Isend(self._bytes(memory), to, tag), memory)

    def recv(self, tensor: Tensor, source: int, tag: int) -> Pending:
        """Receive a tensor from a rank, or from whoever sends first."""
        memory = _memory(tensor)
        sender = self._mpi.ANY_SOURCE if source == ANY_RANK else source
        return _Receive(self, self._communicator.Irecv(self._bytes(memory), sender, tag), memory)

    # --- the end --------------------------------------------------------------------------------------------------

    def abort(self) -> None:
        """Leave the communicator as it is: freeing it is a collective."""
        self._abandoned.append(self._communicator)

    def shutdown(self) -> None:
        """Wait a while for the other ranks, so that nothing that was sent is lost, and free the communicator."""
        # The barrier would wait for what was given up, and freeing as well.
        if self._abandoned:
            return
        farewell, limit = self.barrier(), time.monotonic() + _FAREWELL
        while not farewell.test():
            if time.monotonic() > limit:
                return farewell.cancel()
            # The last rank may still be computing: spinning would take its core.
            time.sleep(1e-4)
        for exchange in self._exchanges.values():
            exchange.free()
        self._communicator.Free()
        return None

    # --- buffers --------------------------------------------------------------------------------------------------

    def _bytes(self, memory: Any, count: int | None = None) -> list[Any]:
        return [memory, len(memory) if count is None else count, self._mpi.BYTE]

    def _parts(self, memory: Any, sizes: Sequence[int], item: int) -> list[Any]:
        counts = [size * item for size in sizes]
        return [memory, counts, [0, *accumulate(counts)][:-1], self._mpi.BYTE]

    def _numbers(self, tensor: Tensor) -> list[Any]:
        return [tensor.detach().numpy(), tensor.numel(), self._datatypes[tensor.dtype]]

    def _operation(self, op: ReduceOp) -> Any:
        return self._operations[op.kind]

    def _pending(self, request: Any, *buffers: Any) -> Pending:
        return _Request(self, request, *buffers)


def _memory(tensor: Tensor) -> Any:
    """Return the memory of a contiguous tensor as an array of bytes."""
    return tensor.detach().numpy().reshape(-1).view(np.uint8)


class _Request:
    """A request of MPI, and the memory that it uses."""

    __slots__ = ("_buffers", "_engine", "_request", "source")

    def __init__(self, engine: Mpi, request: Any, *buffers: Any) -> None:
        self._engine, self._request, self._buffers = engine, request, buffers
        self.source: int | None = None

    def test(self) -> bool:
        """Make progress, and return whether it is done."""
        try:
            return cast(bool, self._request.Test())
        except self._engine._mpi.Exception as error:
            raise DistBackendError(f"mpi: {error}") from error

    def cancel(self) -> None:
        """Keep the memory for as long as this process lives: MPI may still use it."""
        self._engine._abandoned.append((self._request, self._buffers))


class _Steps:
    """A sum by shares, step by step."""

    source = None

    def __init__(self, engine: Mpi, shares: Shares) -> None:
        self._engine, self._shares = engine, shares
        self._steps = shares.steps()
        self._requests: list[Any] = []

    def test(self) -> bool:
        """Make progress, and return whether it is done."""
        mpi = self._engine._mpi
        try:
            # The next step starts as soon as all requests of this one have ended.
            while all(request.Test() for request in self._requests):
                requests = next(self._steps, None)
                if requests is None:
                    return True
                self._requests = requests
        except mpi.Exception as error:
            raise DistBackendError(f"mpi: {error}") from error
        return False

    def cancel(self) -> None:
        """Keep the memory for as long as this process lives: MPI may still use it."""
        self._engine._abandoned.append(self._shares)


class _Exchange:
    """Persistent requests by which this rank and the others send records of one length to each other.

    Note [Exchanges of few ranks]
    -----------------------------
    A small `Iallgather` of MPICH takes twice as long as messages, and most of these is setting them up.  So requests
    are set up once for each length.  Exchanges of a group run one after the other; messages between two ranks with one
    tag arrive in order, and no others have this tag: MPI has all collectives that would be derived from messages.
    """

    source = None

    def __init__(self, engine: Mpi, length: int) -> None:
        self._engine, self._length = engine, length
        self._own, self._all = bytearray(length), bytearray(length * engine.size)
        self._records = self._all
        communicator, parts = engine._communicator, memoryview(self._all)
        others = [rank for rank in range(engine.size) if rank != engine.rank]
        self._requests = [
            communicator.Recv_init(parts[rank * length : (rank + 1) * length], rank, RESERVED_TAG)
            for rank in others
        ] + [communicator.Send_init(self._own, rank, RESERVED_TAG) for rank in others]

    def start(self, record: bytes, records: bytearray) -> Pending:
        """Send a record, to gather those of all ranks."""
        self._own[:] = record
        self._records = records
        self._engine._mpi.Prequest.Startall(self._requests)
        return self

    def test(self) -> bool:
        """Make progress, and return whether it is done."""
        try:
            for request in self._requests:  # one that has ended ends at once when it is tested again
                if not request.Test():
                    return False
        except self._engine._mpi.Exception as error:
            raise DistBackendError(f"mpi: {error}") from error
        begin = self._engine.rank * self._length
        self._records[:] = self._all
        self._records[begin : begin + self._length] = self._own
        return True

    def cancel(self) -> None:
        """Keep the memory for as long as this process lives: MPI may still use it."""
        self._engine._abandoned.append(self)
        self._engine._exchanges.pop(self._length, None)

    def free(self) -> None:
        """Give back what was set up."""
        for request in self._requests:
            request.Free()


class _Receive(_Request):
    """A receive: its source and its size are known when it is done."""

    __slots__ = ()

    def test(self) -> bool:
        """Make progress, and return whether it is done."""
        mpi = self._engine._mpi
        status = mpi.Status()
        try:
            if not self._request.Test(status):
                return False
        except mpi.Exception as error:
            if error.Get_error_class() == mpi.ERR_TRUNCATE:
                raise DistBackendError(
                    f"mpi: a message is larger than the tensor of {len(self._buffers[0])} bytes"
                ) from error
            raise DistBackendError(f"mpi: {error}") from error
        self.source = status.Get_source()
        received = status.Get_count(mpi.BYTE)
        if received != len(self._buffers[0]):
            raise DistBackendError(
                f"mpi: rank {self.source} sent {received} bytes, and the tensor has {len(self._buffers[0])}"
            )
        return True

    def cancel(self) -> None:
        """Take the receive back; where its message is coming already, wait for it."""
        self._request.Cancel()
        self._request.Wait()
