"""Backend: what an engine (MPI, NCCL, threads) has to do, and Pending, an operation that it has started."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, Protocol, Self

from tt import Tensor
from tt.distributed.reduce_op import ReduceOp
from tt.distributed.stores.store import Store

__all__ = ["ANY_RANK", "RESERVED_TAG", "Awaited", "Backend", "Capabilities", "Pending", "Queued"]

ANY_RANK = -1
"""The source of a message that may come from every rank."""


RESERVED_TAG = 32767
"""The tag of messages inside of derived collectives: the largest that MPI guarantees.  Users' tags are smaller."""


_TOGETHER = 1 << 14
"""Bytes of the room in all records of an exchange."""


class Pending(Protocol):
    """An operation that an engine has started.

    Note [Starting and testing]
    ---------------------------
    An engine starts operations and says when they are done; it neither waits nor has a thread.  The group's progress
    loop calls `test` of everything that was started: in the caller's thread while a synchronous operation runs, in a
    background thread while only asynchronous ones do, never in two threads at once.  So timeouts, the order of
    collectives, Work handles and the guard are written once, and an engine is a page of code.  (An engine with
    blocking calls and a thread for each was rejected: a receive would hold up the send that answers it.)
    """

    def test(self) -> bool:
        """Make progress, and return whether it is done; raise DistBackendError or DistNetworkError where it failed."""
        ...

    def cancel(self) -> None:
        """Give up; its tensors are not touched afterwards.  Errors are not reported."""
        ...

    @property
    def source(self) -> int | None:
        """The rank that a received message came from; None for everything else, and before it is done."""
        ...


class Awaited(ABC):
    """A `Pending` whose thread may sleep until another rank has done something for it."""

    source: int | None = None

    @abstractmethod
    def test(self) -> bool:
        """See `Pending`."""

    @abstractmethod
    def cancel(self) -> None:
        """See `Pending`."""

    @abstractmethod
    def linger(self, seconds: float) -> None:
        """Sleep until a `test` may make progress, at most for some seconds; called without the lock of the loop."""


class Queued(ABC):
    """The last `Pending` of an operation whose device has been given all of it, and will do it."""

    source: int | None = None

    @abstractmethod
    def test(self) -> bool:
        """See `Pending`."""

    @abstractmethod
    def cancel(self) -> None:
        """See `Pending`."""

    @abstractmethod
    def join(self) -> None:
        """Make later work of the calling thread on the device wait for it."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The abilities of an engine; others are derived, or refused before the engine is called.

    Attributes
    ----------
    devices : frozenset of str
        The device types whose tensors it takes.
    operations : frozenset of str
        Methods of `Backend` that it has besides the required ones.
    dtypes : frozenset of str
        Names of dtypes (``float32``) that it combines in reductions; others are gathered and combined by tt.
    reductions : frozenset of str
        Names of `ReduceOp` that it combines.
    carried : int
        How many bytes of a small tensor each record of `exchange` may carry at little cost.
    """

    devices: frozenset[str]
    operations: frozenset[str] = frozenset()
    dtypes: frozenset[str] = frozenset()
    reductions: frozenset[str] = frozenset()
    carried: int = 0


class Backend(ABC):
    """An engine's connection between the ranks of one group.

    Ranks are those of the group.  Tensors are contiguous, on one of the engine's devices, of one dtype and of fitting
    sizes on all ranks: the group and its guard see to that.  An engine may read and write a tensor until its `Pending`
    is done or cancelled.  Collectives are started in the same order on all ranks.

    Required are `create`, `exchange`, `broadcast`, `all_gather_into`, `send` and `recv`.
    """

    GLOO: ClassVar[str] = "gloo"
    MPI: ClassVar[str] = "mpi"
    NCCL: ClassVar[str] = "nccl"
    UNDEFINED: ClassVar[str] = "undefined"

    name: ClassVar[str]
    capabilities: ClassVar[Capabilities]

    def __init__(self, rank: int, size: int) -> None:
        self.rank = rank
        self.size = size
        # Records of all ranks have a bounded size together; multiples of 8 keep the arrays in them
        # aligned.
        self.room = min(self.capabilities.carried, _TOGETHER // size // 8 * 8)
        """How many bytes of a tensor each record of the guard has room for; the same on all ranks."""

    @staticmethod
    def register_backend(name: str, engine: type[Backend]) -> None:
        """Make an engine known by a name, without an entry point.

        Raises
        ------
        RuntimeError
            The name is taken.
        """
        from tt.distributed.engines.names import register  # which imports this module

        register(name, engine)

    @classmethod
    @abstractmethod
    def create(cls, store: Store, rank: int, size: int, timeout: timedelta, options: object = None) -> Self:
        """Connect the ranks of a group; each of them calls it, with a store that no other group uses.

        Raises
        ------
        DistBackendError
            The engine cannot be used here; the message says what to install or to start.
        DistTimeoutError
            Not all ranks came within the timeout.
        """

    # --- required -------------------------------------------------------------------------------------------------

    @abstractmethod
    def exchange(self, record: bytes, records: bytearray) -> Pending:
        """Gather a short record of each rank, all of one length, into ``records`` (size * len(record) bytes)."""

    @abstractmethod
    def broadcast(self, tensor: Tensor, root: int) -> Pending:
        """Send root's tensor to all ranks."""

    @abstractmethod
    def all_gather_into(self, output: Tensor, input: Tensor) -> Pending:
        """Gather all ranks' inputs, one after the other, into every rank's output."""

    @abstractmethod
    def send(self, tensor: Tensor, to: int, tag: int) -> Pending:
        """Send a tensor to a rank, which may be this one."""

    @abstractmethod
    def recv(self, tensor: Tensor, source: int, tag: int) -> Pending:
        """Receive a tensor from a rank, or from whoever sends first (`ANY_RANK`).

        A message of another size is an error of this receive.
        """

    # --- where capabilities.operations names them -----------------------------------------------------------------

    def all_reduce(self, tensor: Tensor, op: ReduceOp) -> Pending:
        """Combine all ranks' tensors into each of them."""
        raise NotImplementedError

    def reduce(self, tensor: Tensor, root: int, op: ReduceOp) -> Pending:
        """Combine all ranks' tensors into root's; those of the others are left as they are."""
        raise NotImplementedError

    def gather_into(self, output: Tensor | None, input: Tensor, root: int) -> Pending:
        """Gather all ranks' inputs into root's output."""
        raise NotImplementedError

    def scatter_from(self, output: Tensor, input: Tensor | None, root: int) -> Pending:
        """Give each rank its part of root's input."""
        raise NotImplementedError

    def reduce_scatter(self, output: Tensor, input: Tensor, op: ReduceOp) -> Pending:
        """Combine all ranks' inputs, and give each rank its part."""
        raise NotImplementedError

    def all_to_all(
        self, output: Tensor, input: Tensor, output_sizes: Sequence[int], input_sizes: Sequence[int]
    ) -> Pending:
        """Send part i of the input to rank i, and gather what comes; sizes are in elements, for each rank."""
        raise NotImplementedError

    def barrier(self) -> Pending:
        """Be done when all ranks have started it."""
        raise NotImplementedError

    def split(self, ranks: Sequence[int], store: Store, timeout: timedelta) -> Self | None:
        """Connect some of the ranks; None on the others.  All ranks of this group call it."""
        if self.rank not in ranks:
            return None
        return type(self).create(store, list(ranks).index(self.rank), len(ranks), timeout)

    # --- devices whose work is queued -----------------------------------------------------------------------------

    def mark(self) -> object:
        """Record the calling thread's work on its device so far; called in the thread that calls the operation."""
        return None

    def after(self, mark: object, steps: Generator[Pending, None, Any], ordered: bool) -> Any:
        """Return steps that run after what was noted; ``ordered`` says whether they are those of a collective."""
        return steps

    # --- the end --------------------------------------------------------------------------------------------------

    def abort(self) -> None:  # noqa: B027 - most engines have nothing to do
        """End at once, whatever the other ranks do."""

    def shutdown(self) -> None:  # noqa: B027 - most engines have nothing to do
        """End in good order, after the last operation; the other ranks do the same."""
