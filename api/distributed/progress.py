"""The progress loop, which runs everything that a rank has started until it has ended."""

from __future__ import annotations

import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Hashable
from datetime import timedelta
from typing import Any, Final
from weakref import WeakSet

import tt
from tt.distributed.backend import Awaited, Pending, Queued
from tt.distributed.errors import DistTimeoutError
from tt.distributed.work import Work

__all__ = ["Expired", "Operation", "Progress", "Steps", "attempt", "let_others_run"]

Steps = Generator[Pending, None, int | None]
"""The steps of an operation: a generator of its requests that returns the rank of a received message, if any."""

_SPIN: Final = (
    5e-4  # seconds without an end before the first sleep: most operations end within, and sleeping costs more
)
_BLOCKING: Final = "TT_DISTRIBUTED_BLOCKING_WAIT"
_AT_ONCE: Final = 4  # tests before others may run: an answer of a rank that is running takes a few µs
_BRIEFLY: Final = (
    2e-4  # seconds of the first sleep on what another rank does: its end does not wait for a clock
)
_SHORTEST, _LONGEST = 20e-6, 2e-3  # seconds of sleep between two tests
_SHARE: Final = 0.02  # of the time that it has waited: the larger that is, the less a late look costs
_WATCH: Final = 0.4  # seconds between two looks at the store, for ranks that have failed


class Expired(Exception):  # noqa: N818 - thrown into an operation that has run out of time, which reports its own error
    """The operation's time is over."""


class Operation(Work):
    """A running operation; waiting for it runs the progress loop.

    Parameters
    ----------
    operation : str
        Its description, for messages.
    steps : generator
        Its steps.
    timeout : float
        How many seconds it may take.
    owner : object, optional
        The group it belongs to.
    ordered : bool
        Whether it runs after the earlier ordered operations of its owner.
    watch : callable, optional
        Called from time to time while it waits; an exception that it returns is raised in the operation.
    result : list of Tensor, optional
        The tensors that it fills.
    """

    __slots__ = (
        "_deadline", "_inference", "_next_watch", "_progress", "_started", "_steps", "_waits_for", "_watch",
        "lane", "owner", "seconds",
    )  # fmt: skip

    def __init__(
        self,
        operation: str,
        steps: Steps,
        timeout: float,
        owner: Hashable = None,
        ordered: bool = False,
        watch: Callable[[], BaseException | None] | None = None,
        result: list[Any] | None = None,
    ) -> None:
        super().__init__(operation, result)
        self.owner = owner
        self.lane: Hashable = owner if ordered else self
        self.seconds = timeout
        self._steps = steps
        self._deadline = time.monotonic() + timeout
        self._watch = watch
        self._next_watch = 0.0
        self._waits_for: Pending | None = None
        self._started = False
        self._progress: Progress | None = None
        # Whoever waits runs the steps, perhaps outside of the mode in which the tensors were made.
        self._inference = tt.is_inference_mode_enabled()

    def resume(self, waits_for: Pending) -> None:
        """Go on with steps that `attempt` has left waiting."""
        self._started, self._waits_for = True, waits_for
        self._next_watch = time.monotonic() + _WATCH

    def wait(self, timeout: timedelta | float | None = None) -> bool:
        """Return True when it has ended; raise what went wrong.

        Parameters
        ----------
        timeout : timedelta or float (seconds), optional
            By default the group's timeout, which runs since the operation started.  Without a timeout, work on a device
            is waited for there: by the calling thread's later work on it.

        Raises
        ------
        DistTimeoutError
            It did not end in time.  It goes on running.
        """
        seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
        if self._progress is not None and seconds is None and os.environ.get(_BLOCKING, "0") == "0":
            queued = self._progress.run_until_queued(self)
            if queued is not None:
                # The device orders later work behind it, so the host need not wait.
                queued.join()
                return True
        if self._progress is not None and not self.is_completed():
            # Zero is PyTorch's `kNoTimeout`.
            seconds = seconds if seconds is None or seconds > 0 else None
            self._progress.run_until(self, seconds)
            if seconds is not None and not self.is_completed():
                raise DistTimeoutError(f"{self.operation} did not end within {seconds:g} s")
        return super().wait()

    def queued(self) -> Queued | None:
        """Return the operation's last work on the device, once all of it has been submitted."""
        waits_for = self._waits_for
        return waits_for if isinstance(waits_for, Queued) else None

    def awaited(self) -> Awaited | None:
        """Return what it waits for, if a thread can sleep on that."""
        waits_for = self._waits_for
        return waits_for if isinstance(waits_for, Awaited) else None

    def step(self, now: float) -> bool:
        """Go on as far as possible; return whether it has ended.  Only the progress loop calls this."""
        if self.is_completed():
            return True
        if tt.is_inference_mode_enabled() is self._inference:
            return self._go_on(now)
        with tt.inference_mode(self._inference):
            return self._go_on(now)

    def _go_on(self, now: float) -> bool:
        try:
            if not self._started:
                self._started = True
                self._next_watch = now + _WATCH
                self._waits_for = next(self._steps)
            while True:
                waits_for = self._waits_for
                assert waits_for is not None
                try:
                    done = waits_for.test()
                except Exception as error:
                    # The steps may handle it: the guard then collects reports.
                    self._waits_for = self._steps.throw(error)
                    continue
                if done:
                    self._waits_for = self._steps.send(None)
                    continue
                trouble = self._trouble(now)
                if trouble is None:
                    return False
                waits_for.cancel()
                self._waits_for = self._steps.throw(trouble)
        except StopIteration as stop:
            self.finish(source=stop.value)
        except Expired:
            self.finish(DistTimeoutError(f"{self.operation} did not end within {self.seconds:g} s"))
        except Exception as error:
            self.finish(error)
        except BaseException as error:  # Ctrl-C: the program ends, if it does not catch it
            self.finish(error)
            raise
        self._waits_for = None
        return True

    def _trouble(self, now: float) -> BaseException | None:
        """Return the error that ends it while it still waits: once, for it may wait for reports then."""
        if now > self._deadline:
            # Neither may come twice: the steps that report it wait themselves.
            self._deadline, self._watch = float("inf"), None
            return Expired()
        if self._watch is None or now < self._next_watch:
            return None
        self._next_watch = now + _WATCH
        trouble = self._watch()
        if trouble is not None:
            self._deadline, self._watch = float("inf"), None
        return trouble

    def give_up(self, error: BaseException) -> None:
        """End it with an error, whatever it waits for."""
        if not self.is_completed():
            if self._waits_for is not None:
                # Before the steps are closed, which lets go of the memory that the engine may write to.
                self._waits_for.cancel()
            self._steps.close()
            self.finish(error)


class Progress:
    """Runs the operations of one rank.

    Note [One loop, in one thread at a time]
    ----------------------------------------
    All calls of engines are made under `lock`.  A synchronous call steps all operations in its own thread until its own
    has ended.  A background thread steps them while no caller does; it starts at the first asynchronous operation,
    sleeps while nothing runs, and ends with `stop`.  The operations of a lane (the collectives of a group) run one
    after the other: each starts when the one before it has ended.  Overlapping the next one's guard with the running
    one was not worth its rules: an error would have to undo what has already been agreed.

    A synchronous call that finds nothing under way needs no `Operation` unless it lasts: `attempt` runs its steps, and
    most small collectives end within.
    """

    def __init__(self, name: str = "tt.distributed") -> None:
        self.name = name
        self.lock = threading.RLock()
        self._work = threading.Condition(self.lock)
        self._lanes: dict[Hashable, deque[Operation]] = {}
        self._callers = 0
        self._thread: threading.Thread | None = None
        self._stopped = False
        _LOOPS.add(self)

    def is_idle(self) -> bool:
        """Return whether nothing is under way."""
        return not self._lanes

    def submit(self, operation: Operation, background: bool) -> None:
        """Start an operation, or queue it behind the others of its lane.

        With ``background`` a thread runs it; otherwise the caller must call `run_until`.
        """
        operation._progress = self
        lane = operation.lane
        with self.lock:
            queue = self._lanes.setdefault(lane, deque())
            queue.append(operation)
            if len(queue) == 1:
                # Behind another one of its lane it starts when that one has ended.
                self._advance(lane, queue)
            if background and not operation.is_completed():
                self._start_thread()

    def _start_thread(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=f"{self.name} progress", daemon=True)
            self._thread.start()
        self._work.notify()

    def run_until_queued(self, operation: Operation) -> Queued | None:
        """Run everything until an operation has ended, or until a device will end it; return its request then."""
        self.run_until(operation, queued=True)
        with self.lock:
            queued = None if operation.is_completed() else operation.queued()
            if queued is not None:
                # Somebody must see that it ends, or that it does not.
                self._start_thread()
        return queued

    def run_until(self, operation: Operation, seconds: float | None = None, queued: bool = False) -> None:
        """Run everything in this thread until an operation has ended (or a device will end it), or for some seconds."""
        until = None if seconds is None else time.monotonic() + seconds
        with self.lock:
            # Keeps the background thread asleep: two threads would only take turns with the lock.
            self._callers += 1
        try:
            pause = _Pause()
            while not operation.is_completed() and (until is None or time.monotonic() < until):
                # Free between two rounds, so that other threads can submit.
                with self.lock:
                    ended = self._step()
                    awaited = self._awaited()
                if operation.is_completed() or (queued and operation.queued() is not None):
                    break
                pause.after(ended, awaited)
        except BaseException as error:
            with self.lock:
                operation.give_up(error)
            raise
        finally:
            with self.lock:
                self._callers -= 1
                self._work.notify()

    def drop(self, owner: Hashable, error: BaseException) -> None:
        """End all operations of an owner with an error."""
        with self.lock:
            for lane, queue in list(self._lanes.items()):
                if queue[0].owner is owner:
                    # Before they end, for a callback of one may submit the next.
                    del self._lanes[lane]
                    for operation in queue:
                        operation.give_up(error)

    def stop(self, error: BaseException) -> None:
        """End the background thread, and what still runs with an error."""
        with self.lock:
            self._stopped = True
            for owner in [queue[0].owner for queue in self._lanes.values()]:
                self.drop(owner, error)
            self._work.notify_all()
            thread, self._thread = self._thread, None
        # Outside of the lock, which the thread needs in order to end.
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _step(self) -> bool:
        """Step the first operation of each lane; return whether one has ended."""
        ended = False
        # A copy, for steps and callbacks may submit.
        for lane, queue in list(self._lanes.items()):
            ended |= self._advance(lane, queue)
        return ended

    def _awaited(self) -> Awaited | None:
        """Return a request that this thread can sleep on, until another rank does something for it."""
        for queue in self._lanes.values():
            awaited = queue[0].awaited()
            if awaited is not None:
                return awaited
        return None

    def _advance(self, lane: Hashable, queue: deque[Operation]) -> bool:
        now = time.monotonic()
        ended = False
        # The next one of the lane starts at once, not in the next round.
        while queue and (first := queue[0]).step(now):
            if (
                queue and queue[0] is first
            ):  # a callback that waits for another operation has been here already
                queue.popleft()
            ended = True
        if not queue and self._lanes.get(lane) is queue:
            del self._lanes[lane]
        return ended

    def _run(self) -> None:
        pause = _Pause()
        while True:
            with self.lock:
                # A caller steps everything by itself.
                while not self._stopped and (self._callers or not self._lanes):
                    self._work.wait()
                    # What has just come is likely to end soon, so it begins without sleep.
                    pause = _Pause()
                if self._stopped:
                    return
                ended = self._step()
                awaited = self._awaited()
            pause.after(ended, awaited)

    def _forget(self) -> None:
        """Start from nothing in a process that was forked: threads and connections are the parent's."""
        self.lock = threading.RLock()
        self._work = threading.Condition(self.lock)
        self._lanes = {}
        self._callers = 0
        self._thread = None


def attempt(steps: Steps) -> Pending | None:
    """Run steps for a short while; return their next request, or None where they have ended.

    The caller holds the lock of the progress loop, in which nothing is under way.
    """
    until = time.perf_counter() + _SPIN
    waits_for: Pending | None = None
    at_once = _AT_ONCE
    try:
        waits_for = next(steps)
        while True:
            try:
                done = waits_for.test()
            except Exception as error:
                waits_for = steps.throw(error)
                continue
            if done:
                waits_for = steps.send(None)
                at_once = _AT_ONCE
            # The device ends it by itself; testing it here would only hold up the host.
            elif isinstance(waits_for, Queued):
                return waits_for
            # An answer that is already there costs no system call.
            elif at_once:
                at_once -= 1
            elif time.perf_counter() > until:
                return waits_for
            elif isinstance(waits_for, Awaited):
                waits_for.linger(_BRIEFLY)
            # Ranks that share a core must run in order to answer.
            else:
                let_others_run()
    except StopIteration:
        return None
    except Exception:
        raise
    except BaseException:  # Ctrl-C
        if waits_for is not None:
            waits_for.cancel()
        steps.close()
        raise


def let_others_run() -> None:
    """Let other threads of this process run, and other processes; time.sleep(0) takes 70 µs."""
    select.select((), (), (), 0)
    if _YIELD is not None:
        _YIELD()


class _Pause:
    """Waits between two rounds: first it only lets others run, then it sleeps longer and longer."""

    def __init__(self) -> None:
        self._since = time.perf_counter()

    def after(self, ended: bool, awaited: Awaited | None = None) -> None:
        """Wait after a round, in which an operation has ended or not; where one can be slept on, until it goes on."""
        if ended:
            self._since = time.perf_counter()
            return
        waited = time.perf_counter() - self._since
        if awaited is not None:
            awaited.linger(min(max(_BRIEFLY, waited * _SHARE), _LONGEST))
            return
        if waited < _SPIN:
            let_others_run()
            return
        time.sleep(min(max(_SHORTEST, waited * _SHARE), _LONGEST))


_YIELD: Final = getattr(os, "sched_yield", None)
_LOOPS: Final[WeakSet[Progress]] = WeakSet()


def _forked() -> None:
    for loop in list(_LOOPS):
        loop._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
