"""ProcessGroup: ranks that work together, and how each of their operations runs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import tt
from tt.autograd._refusal import refusal
from tt.distributed.backend import Backend
from tt.distributed.call import Call
from tt.distributed.carried import Carried
from tt.distributed.debug_level import DebugLevel, get_debug_level
from tt.distributed.engines.names import engine_class
from tt.distributed.errors import DistBackendError, DistError, DistNetworkError
from tt.distributed.guard import Guard, Left, Trouble
from tt.distributed.progress import Expired, Operation, Steps, attempt
from tt.distributed.recorder import FlightRecord, FlightRecorder
from tt.distributed.stores import PrefixStore, Store
from tt.distributed.work import Work
from tt.types import Device

if TYPE_CHECKING:
    from tt.distributed.world import World

__all__ = ["ProcessGroup"]

_log: Final = logging.getLogger(__name__)
_DETAIL: Final = DebugLevel.DETAIL


class ProcessGroup:
    """Ranks that work together; made by `init_process_group`, `new_group` and `split_group`.

    Parameters
    ----------
    name : str
        A name that no other group of the job has had.
    ranks : list of int
        The ranks in the job, in the order of the group.
    world : World
        The job, as this rank sees it.
    engines : dict
        Device type -> name of the engine.
    timeout : timedelta
        How long an operation may take.
    description : str
        Its purpose.
    started : dict, optional
        Engines that are connected already, by device type.
    options : object, optional
        Options of the engine.
    """

    def __init__(
        self,
        name: str,
        ranks: list[int],
        world: World,
        engines: dict[str, str],
        timeout: timedelta,
        description: str = "undefined",
        started: dict[str, Backend] | None = None,
        options: object = None,
    ) -> None:
        self._name = name
        self._world = world
        self._recorder = world.recorder or FlightRecorder(world.rank)
        self._options = options
        self._engines: dict[str, Backend] = dict(started or {})
        self._creating = threading.Lock()
        self._failure: BaseException | None = None
        self.ranks = ranks
        self._rank = ranks.index(world.rank)
        self.engine_names = engines
        self.timeout = timeout
        self.group_desc = description
        self.bound_device_id: Any = None
        self.store: Store = PrefixStore(f"group/{name}", world.store)
        self.guard = Guard(name, self.rank(), ranks, self.store, world.store, world.guarded)
        self.coalescing: list[Work] | None = None  # operations that `_coalescing_manager` waits for
        self.splits = 0  # groups that were split off, which are numbered

    def __repr__(self) -> str:
        return f"<ProcessGroup {self._name}: rank {self.rank()} of {self.size()}>"

    def rank(self) -> int:
        """Return this rank in the group."""
        return self._rank

    def size(self) -> int:
        """Return the number of ranks."""
        return len(self.ranks)

    def name(self) -> str:
        """Return the names of its engines: ``mpi``, ``cpu:mpi,cuda:nccl``."""
        names = list(dict.fromkeys(self.engine_names.values()))
        if len(names) == 1:
            return names[0]
        return ",".join(f"{device}:{name}" for device, name in self.engine_names.items())

    @property
    def group_name(self) -> str:
        """The name that identifies the group in the job."""
        return self._name

    @property
    def first_device(self) -> str:
        """The device type for operations without a tensor."""
        return next(iter(self.engine_names))

    # --- engines ---------------------------------------------------------------------------------------------------

    def engine(self, device: str) -> Backend:
        """Return the engine for a device type; it is connected at its first use, by all ranks.

        Raises
        ------
        RuntimeError
            The group has none for this device type.
        """
        known = self._engines.get(device)
        if known is not None:
            return known
        name = self.engine_names.get(device)
        if name is None:
            raise RuntimeError(
                f"No backend type associated with device type {device}; group {self._name} has"
                f" {', '.join(f'{device}:{name}' for device, name in self.engine_names.items())}"
            )
        with self._creating:
            # Once more, under the lock: another thread may have connected it.
            if device not in self._engines:
                # One connection serves all device types that are given the same engine.
                shared = next((d for d in self._engines if self.engine_names[d] == name), None)
                self._engines[device] = self._engines[shared] if shared else self._connected(name, device)
        return self._engines[device]

    def _connected(self, name: str, device: str) -> Backend:
        store = PrefixStore(f"engine/{name}", self.store)
        bound = self.bound_device_id
        indexed = bound is not None and bound.type == device and bound.index is not None
        # An engine takes the device that is the current one when it is connected.
        with tt.get_device_module(bound).device(bound) if indexed else nullcontext():
            return engine_class(name).create(store, self.rank(), self.size(), self.timeout, self._options)

    def bind(self, device: Device) -> None:
        """Let engines that are connected later use a device: one, its name, or a number of CUDA's."""
        if device is not None:
            self.bound_device_id = tt.device("cuda", device) if isinstance(device, int) else tt.device(device)

    def split_engine(self, ranks: list[int], name: str, timeout: timedelta) -> Backend | None:
        """Connect some ranks of this group by its first engine; all ranks call it, and the others get None."""
        store = PrefixStore(f"group/{name}/split", self._world.store)
        engine = self.engine(self.first_device)
        # See Note [One loop, in one thread at a time].
        with self._world.progress.lock:
            return engine.split(ranks, store, timeout)

    # --- operations ------------------------------------------------------------------------------------------------

    def collective(
        self,
        call: Call,
        device: str,
        body: Callable[[Backend], Steps],
        async_op: bool,
        result: list[Any] | None = None,
        timeout: timedelta | None = None,
        carried: Carried | None = None,
        fills: bool = True,
    ) -> Operation | None:
        """Run a collective after the earlier ones of this group; return its Work where it is asynchronous.

        A small tensor may be ``carried`` by what ranks exchange to agree, and ``body`` does not run.
        ``result`` is refused where it cannot be written, on all ranks, unless this rank ``fills`` none of it.
        """
        if result and fills:
            call.refused = refusal(call.name, result)
            # With a guard the refusal travels in the record, so all ranks raise it and the group stays
            # usable.
            if call.refused is not None and not self.guard.enabled:
                raise call.refused
        operation = self._started(
            call, device, body, async_op or self.coalescing is not None, True, result, timeout, carried
        )
        if operation is None:
            return None
        if self.coalescing is not None:
            self.coalescing.append(operation)
        if async_op:
            return operation
        if self.coalescing is not None:
            return None
        operation.wait()
        return None

    def message(
        self,
        call: Call,
        device: str,
        body: Callable[[Backend], Steps],
        async_op: bool,
        result: list[Any] | None = None,
    ) -> Operation:
        """Run a send or a receive, which waits for no other operation; return its Work."""
        operation = self._started(call, device, body, async_op, False, result, None)
        assert operation is not None
        if not async_op:
            operation.wait()
        return operation

    def _started(
        self,
        call: Call,
        device: str,
        body: Callable[[Backend], Steps],
        async_op: bool,
        ordered: bool,
        result: list[Any] | None,
        timeout: timedelta | None,
        carried: Carried | None = None,
    ) -> Operation | None:
        """Start an operation; None where it has ended at once and has no Work."""
        self._check_usable()
        engine = self.engine(device)
        world = self._world
        seconds = (self.timeout if timeout is None else timeout).total_seconds()
        with (
            world.progress.lock
        ):  # two threads of a rank may call at once; their numbers are in the order of the lane
            if ordered:
                self.guard.sequence += 1
                call.sequence = self.guard.sequence
            record = self._recorder.start(self._name, self._rank, call)
            if get_debug_level() is _DETAIL:
                _log.info("rank %s, group %s: %s at %s", self._world.rank, self._name, call, call.place)
            # `mark` is called in this thread: the operation comes after what it has given the device so
            # far.
            steps = self._steps(call, engine, body, seconds, record, engine.mark(), carried)
            waits_for = None
            # With nothing under way the steps may run right here, and most small collectives end before
            # an `Operation` is worth its cost.
            if ordered and not async_op and world.progress.is_idle():
                waits_for = attempt(steps)
                if waits_for is None:
                    return None
            watch = partial(self.guard.watch, call) if self.size() > 1 else None
            operation = Operation(str(call), steps, seconds, self, ordered, watch, result)
            if waits_for is not None:
                operation.resume(waits_for)
            world.progress.submit(operation, async_op)
        return operation

    def _check_usable(self) -> None:
        if self._failure is not None:
            raise DistBackendError(
                f"group {self._name} cannot be used after an error: {self._failure}\n"
                "  try: destroy_process_group() and init_process_group() on all ranks"
            )

    def _steps(
        self,
        call: Call,
        engine: Backend,
        body: Callable[[Backend], Steps],
        seconds: float,
        record: FlightRecord,
        mark: object,
        carried: Carried | None,
    ) -> Steps:
        """Agree, run the operation, and turn what goes wrong into an error that says where all ranks are."""
        try:
            self._check_usable()  # an earlier operation may have failed while this one was waiting for it
            source: int | None = None
            if carried is not None and (
                # A refused tensor must not be written, and one rank alone has nobody to combine with.
                call.refused is not None or engine.size == 1 or not carried.fits(engine)
            ):
                carried = None
            if call.sequence is not None and self.guard.enabled:
                yield from self.guard.agree(engine, call, carried)
            elif carried is not None:
                yield from carried.alone(engine)
            if carried is None:
                source = yield from engine.after(mark, body(engine), call.sequence is not None)
        except (Expired, Trouble, Left) as cause:
            error = yield from self.guard.failed(call, cause, seconds)
            self._failed(record, error)
            raise error from None
        except (DistBackendError, DistNetworkError) as error:
            lost = isinstance(error, DistNetworkError)
            if (
                call.sequence is None and not lost
            ) or self._failure is not None:  # a message of another size, say: the others do not wait for it
                self._recorder.end(record, error)
            else:
                left = yield from self.guard.broken(call, error)
                self._failed(record, left or error)
                if left is not None:
                    raise left from error
            raise
        except BaseException as error:
            self._recorder.end(record, error)
            raise
        if call.sequence is not None:
            self.guard.ended = call.sequence
        self._recorder.end(record)
        return source

    def _failed(self, record: FlightRecord, error: BaseException) -> None:
        self._failure = error
        self._recorder.end(record, error)

    # --- the end ---------------------------------------------------------------------------------------------------

    def abort(self) -> None:
        """End all operations of this group with an error, whatever the other ranks do."""
        self._end(DistError(f"group {self._name} was aborted"), orderly=False)

    def shutdown(self) -> None:
        """End the group in good order; the other ranks do the same."""
        self._end(DistError(f"group {self._name} was shut down"), orderly=self._failure is None)

    def _end(self, error: DistError, orderly: bool) -> None:
        # First, so that nothing runs in the engines when they end.
        self._world.progress.drop(self, error)
        with self._world.progress.lock:
            # Once each: several device types may share one.
            for engine in dict.fromkeys(self._engines.values()):
                if orderly:
                    engine.shutdown()
                else:
                    engine.abort()
            self._engines = {}
        self._failure = error
