"""The job as a rank sees it: its groups, its progress loop, its start and its end."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from datetime import timedelta
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

import tt
from tt.distributed.engines.names import by_device
from tt.distributed.errors import DistError
from tt.distributed.guard import leave, leave_behind, reason_of
from tt.distributed.process_group import ProcessGroup
from tt.distributed.progress import Progress
from tt.distributed.recorder import FlightRecord, FlightRecorder
from tt.distributed.stores import HashStore, PrefixStore, Store
from tt.errors import AssertedError
from tt.library import Carried

__all__ = [
    "GroupMember", "World", "current_world", "default_group", "default_pg_timeout", "destroy_process_group",
    "flight_recorder", "group", "init_process_group", "is_initialized",
]  # fmt: skip

default_pg_timeout: Final = timedelta(minutes=30)
_GUARD: Final = "TT_DISTRIBUTED_GUARD"
_thread = Carried()


class World:
    """What one rank has: a process has one, and each thread that `run_threads` starts."""

    def __init__(self) -> None:
        self.progress = Progress()
        self.recorder: FlightRecorder | None = None
        self.store: Store = HashStore()
        self.rank = 0
        self.guarded = True
        self.default: ProcessGroup | None = None
        self.backend: str | None = None
        self.groups: dict[str, ProcessGroup] = {}
        self.local: dict[str, int] = {}  # how often groups of certain ranks were made by these ranks alone
        self.count = 0  # groups that this rank has helped to make
        self.made = 0  # groups that were made in the job: their names are numbers

    @classmethod
    def of_thread(cls) -> World:
        """Make a world for this thread alone."""
        _thread.world = cls()
        world: World = _thread.world
        return world

    def forget_thread(self) -> None:
        """Let this thread see the world of the process again."""
        del _thread.world

    def run(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function in a thread that works for this rank."""
        before = getattr(_thread, "world", None)
        _thread.world = self
        try:
            return function(*args)
        finally:
            if before is None:
                del _thread.world
            else:
                _thread.world = before

    def leave(self, reason: str) -> None:
        """Tell the other ranks that this one ends."""
        if self.default is not None and self.default.size() > 1:
            leave(self.store, self.rank, reason, {name: g.guard.ended for name, g in self.groups.items()})

    def reset(self) -> None:
        """Forget all groups, and end the progress loop."""
        self.progress.stop(DistError("the process group was destroyed before this operation ended"))
        self.progress = Progress(self.progress.name)
        self.default, self.groups, self.local, self.backend = None, {}, {}, None
        self.made = self.count = 0


_PROCESS: Final = World()


def current_world() -> World:
    """Return the world of this thread, or of the process."""
    # A thread of `run_threads` is a rank of its own; every other one works for the rank of the process.
    return getattr(_thread, "world", _PROCESS)


def is_initialized() -> bool:
    """Return whether `init_process_group` was called.

    Examples
    --------
    >>> import tt.distributed as dist
    >>> dist.is_initialized()
    False
    """
    return current_world().default is not None


def default_group() -> ProcessGroup:
    """Return the group of all ranks.

    Raises
    ------
    ValueError
        `init_process_group` was not called.
    """
    process_group = current_world().default
    if process_group is None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call init_process_group."
        )
    return process_group


class _WithWorld(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:  # noqa: N802 - PyTorch's name
        """The group of all ranks, or None before `init_process_group`."""
        return current_world().default


class group(metaclass=_WithWorld):  # noqa: N801 - PyTorch's name
    """Names the group of all ranks: ``group.WORLD``.

    Examples
    --------
    >>> import tt.distributed as dist
    >>> print(dist.group.WORLD)
    None
    """


class GroupMember(metaclass=_WithWorld):
    """Names the group of all ranks, ``WORLD``, and the value for ranks outside of a group, ``NON_GROUP_MEMBER``."""

    NON_GROUP_MEMBER: Final = -100


def flight_recorder() -> list[FlightRecord]:
    """Return what this rank did last, the oldest first.

    ``TT_DISTRIBUTED_RECORDS`` says how many operations are kept (1000).  If ``TT_DISTRIBUTED_RECORD_FILE`` is set, a
    failed operation writes them as JSON to that file, with ``.RANK`` appended to its name.

    Returns
    -------
    list of FlightRecord

    Examples
    --------
    >>> import tt, tt.distributed as dist
    >>> def program():
    ...     dist.all_reduce(tt.ones(2))
    ...     return dist.flight_recorder()[-1]
    >>> last = dist.run_threads(program, 2)[0]
    >>> last.sequence, last.operation, last.state
    (1, 'all_reduce of float32[2]', 'completed')
    """
    recorder = current_world().recorder
    return [] if recorder is None else recorder.records()


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Store | None = None,
    group_name: str = "",
    pg_options: object = None,
    device_id: tt.device | None = None,
    *,
    guard: bool | None = None,
) -> None:
    """Connect the ranks of a job, and make the group of all of them.

    Parameters
    ----------
    backend : str, optional
        The engine: ``gloo`` or ``mpi`` (CPU), ``nccl`` (CUDA), ``threads`` (see `run_threads`), or one for each device
        type: ``cpu:gloo,cuda:nccl``.  By default the installed ones, ``mpi`` before ``gloo``; the log says which.
    init_method : str, optional
        Where the ranks meet: ``env://`` (default), ``tcp://host:port``, ``file:///path``.
    timeout : timedelta, optional
        How long an operation may take: by default 30 minutes.
    world_size, rank : int, optional
        The number of ranks, and which this one is; required with ``store``.
    store : Store, optional
        Where the ranks meet, in place of ``init_method``.
    group_name : str, optional
        Deprecated, and not used.
    pg_options : object, optional
        Options of the engine.
    device_id : Device or int, optional
        The device that this rank uses.
    guard : bool, optional
        Whether ranks agree on each collective before it starts, so that different ones are an error and no hang: by
        default yes, unless ``TT_DISTRIBUTED_GUARD=0``.

    Raises
    ------
    ValueError
        There is a group of all ranks already; the backend is unknown.
    TypeError
        An argument has the wrong type.
    DistTimeoutError, DistStoreError
        Not all ranks came within the timeout.
    RuntimeError
        A requirement of the backend is not installed.

    Examples
    --------
    >>> import tt, tt.distributed as dist
    >>> dist.init_process_group("threads", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_rank(), dist.get_world_size()
    (0, 1)
    >>> dist.destroy_process_group()
    """
    world = current_world()
    if world.default is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if timeout is not None and not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")
    if backend is not None and not isinstance(backend, str):
        raise TypeError(f"init_process_group: backend must be a name, got {type(backend).__name__}")
    if store is not None:
        if init_method is not None:
            raise AssertedError("Cannot specify both init_method and store.")
        if world_size <= 0:
            raise AssertedError("world_size must be positive if using store")
        if rank < 0:
            raise AssertedError("rank must be non-negative if using store")
        if rank >= world_size:
            raise ValueError(f"init_process_group: rank {rank} is not below world_size {world_size}")
    engines = by_device(backend)
    timeout = default_pg_timeout if timeout is None else timeout
    if store is None:
        store, rank, world_size = _met(init_method or "env://", rank, world_size, timeout)
    store = PrefixStore("default_pg", store)
    store.set_timeout(timeout)

    world.recorder = FlightRecorder(rank)
    world.store, world.rank = store, rank
    world.guarded = os.environ.get(_GUARD, "1") != "0" if guard is None else guard
    world.progress.name = f"rank {rank}"
    world.backend = backend
    # Before the engine connects: the others hear of a rank that is killed while they wait for it.
    if world_size > 1:
        leave_behind(store, rank)
    process_group = ProcessGroup(
        "0", list(range(world_size)), world, engines, timeout, "default_pg", options=pg_options
    )
    process_group.bind(device_id)
    process_group.engine(process_group.first_device)
    world.default = world.groups["0"] = process_group
    world.made = world.count = 1
    # Threads of `run_threads` leave by themselves.
    if world is _PROCESS:
        atexit.register(_at_exit)


def _met(init_method: str, rank: int, world_size: int, timeout: timedelta) -> tuple[Store, int, int]:
    if find_spec("tt.distributed.rendezvous") is None:
        raise DistError(
            f"init_process_group: there is no handler for {init_method!r}\n  try: store=, rank= and world_size="
        )
    rendezvous: Any = import_module("tt.distributed.rendezvous").rendezvous
    # The first world only: further ones are for launchers that restart ranks.
    store, rank, world_size = next(iter(rendezvous(init_method, rank, world_size, timeout=timeout)))
    return store, rank, world_size


def destroy_process_group(group: ProcessGroup | int | None = None) -> None:
    """End a group, or all of them and the progress loop.

    Parameters
    ----------
    group : ProcessGroup, optional
        By default all groups.

    Raises
    ------
    ValueError
        It is not a group, or was destroyed before.
    """
    world = current_world()
    if group == GroupMember.NON_GROUP_MEMBER:
        return
    if group is None and world.default is None:
        default_group()  # raises
    if group is not None and not (
        isinstance(group, ProcessGroup) and world.groups.get(group.group_name) is group
    ):
        raise ValueError("Invalid process group specified")
    if isinstance(group, ProcessGroup) and group is not world.default:
        del world.groups[group.group_name]
        group.shutdown()
        return
    # Before the groups end, so that ranks that wait for this one fail at once.
    world.leave("called destroy_process_group")
    try:
        # The latest first: the group of all ranks, from which others were split, ends last.
        for each in reversed(list(world.groups.values())):
            each.shutdown()
    finally:
        world.reset()
        if world is _PROCESS:
            atexit.unregister(_at_exit)


def _at_exit() -> None:
    # Python sets it before exit handlers run, if an exception has ended the program.
    error = getattr(sys, "last_value", None)
    _PROCESS.leave("ended" if error is None else reason_of(error))
