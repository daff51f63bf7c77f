"""The workers of a loader: starting, talking to, watching and ending them."""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import time
from collections.abc import Iterator
from multiprocessing import connection as mp_connection
from typing import TYPE_CHECKING, Any, Final

from tt.errors import WorkerExitError
from tt.library import warn_user
from tt.multiprocessing.segments import Receiver, owned
from tt.multiprocessing.spawn import missing_main
from tt.utils.data.worker import WorkerArguments, run_worker

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

__all__ = ["WorkerPool"]

CHECK_INTERVAL: Final = 1.0
"""Seconds within which a dead worker is noticed even if another process holds its connection open."""

PATIENCE: Final = 5.0
"""For how many seconds ending workers may finish their work."""


class WorkerPool:
    """Worker processes, each with a connection in both directions.

    Parameters
    ----------
    context : multiprocessing.context.BaseContext
        How processes are started.
    arguments : WorkerArguments
        What workers do; the number of each is filled in.
    """

    def __init__(self, context: Any, arguments: WorkerArguments) -> None:
        self._pid = os.getpid()
        self.processes: list[Any] = []
        self._receivers: list[Receiver] = []
        self._ready: list[int] = []
        self._closed = False
        self._forks = forks = context.get_start_method() == "fork"
        try:
            for worker in range(arguments.workers):
                here, there = context.Pipe(duplex=True)
                self._receivers.append(Receiver(owned(here)))
                # A forked child inherits the connections of the workers before it, and would keep them
                # open.
                not_ours = [receiver.connection for receiver in self._receivers] if forks else []
                process = context.Process(
                    target=run_worker, args=(arguments._replace(worker=worker), there, not_ours), daemon=True
                )
                try:
                    # A child that Ctrl-C meets before it handles it would show a traceback of its start.
                    with _interrupts_later() if forks else contextlib.nullcontext():
                        _start(process)
                finally:
                    # Only the worker may hold this end, or its death would not be seen.
                    there.close()
                self.processes.append(process)
        except BaseException:
            self.close()
            raise
        self._poll, self._by_fd = self._registered()

    def _registered(self) -> tuple[Any, dict[int, int]]:
        """Return what waits for the workers, and the worker of each descriptor."""
        senders = {receiver.connection.fileno(): i for i, receiver in enumerate(self._receivers)}
        senders |= {process.sentinel: i for i, process in enumerate(self.processes)}
        if not hasattr(select, "poll"):
            return None, senders
        poll = select.poll()
        for fd in senders:
            poll.register(fd, select.POLLIN)
        return poll, senders

    @property
    def closed(self) -> bool:
        """Whether the workers have been stopped."""
        return self._closed

    def send(self, worker: int, number: int | None, index: object = None) -> None:
        """Give a worker a task, or with None as its number tell it to begin again.

        Raises
        ------
        WorkerExitError
            If the worker has died.
        """
        receiver = self._receivers[worker]
        try:
            receiver.connection.send((number, index, *receiver.returned()))
        except (BrokenPipeError, ConnectionResetError) as error:
            self._expect_alive(worker, error)
            raise

    def retire(self, worker: int) -> None:
        """Tell a worker that there is nothing more to do."""
        with contextlib.suppress(OSError):  # it has ended by itself
            self._receivers[worker].connection.send(None)
        self._forget(worker)

    def _forget(self, worker: int) -> None:
        """Watch a worker no more."""
        for fd in [fd for fd, of in self._by_fd.items() if of == worker]:
            del self._by_fd[fd]
            if self._poll is not None:
                self._poll.unregister(fd)

    def receive(self, timeout: float | None) -> Any:
        """Return the next message of any worker.

        Raises
        ------
        TimeoutError
            If none comes in `timeout` seconds.
        WorkerExitError
            If a worker has died.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            while self._ready:
                worker = self._ready.pop()
                if self._receivers[worker].connection.poll():
                    try:
                        return self._receivers[worker].receive()
                    except (EOFError, ConnectionResetError) as error:
                        self._expect_alive(worker, error)
                        raise
                self._expect_alive(worker)  # its sentinel was ready
            wait = CHECK_INTERVAL
            if deadline is not None:
                wait = min(wait, deadline - time.monotonic())
                if wait < 0:
                    raise TimeoutError
            self._ready = self._wait(wait)
            if not self._ready:
                for worker in set(self._by_fd.values()):
                    self._expect_alive(worker, wait=0)

    def _wait(self, seconds: float) -> list[int]:
        """Return the workers that have something to say, the one that comes first last."""
        if self._poll is not None:
            fds = [fd for fd, _ in self._poll.poll(seconds * 1000)]
        else:
            watched = [*(receiver.connection for receiver in self._receivers)]
            watched += [process.sentinel for process in self.processes]
            ready = mp_connection.wait(watched, seconds)
            fds = [fd if isinstance(fd, int) else fd.fileno() for fd in ready]
        return sorted({self._by_fd[fd] for fd in fds if fd in self._by_fd}, reverse=True)

    def _expect_alive(self, worker: int, cause: BaseException | None = None, wait: float = 2.0) -> None:
        """Raise an exception for a worker that has ended.

        The connection of a process closes before the process is gone: where one has, the other follows.
        """
        process = self.processes[worker]
        process.join(wait if cause is not None else 0)
        if process.exitcode is None or (cause is None and self._receivers[worker].connection.poll()):
            return
        self._forget(worker)
        reason = "" if self._forks else missing_main()
        raise WorkerExitError(worker, process.pid, process.exitcode, reason) from cause

    def close(self) -> None:
        """End all workers and wait for them; in another process than theirs, do nothing."""
        if self._closed:
            return
        self._closed = True
        # A forked process inherits the pool, but the workers are its parent's.
        if self._pid != os.getpid():
            return
        for receiver in self._receivers:
            with contextlib.suppress(OSError):
                receiver.connection.send(None)
            # Wakes a worker that waits until somebody takes its batch.
            receiver.close()
        try:
            deadline = time.monotonic() + PATIENCE
            for process in self.processes:
                process.join(max(0.0, deadline - time.monotonic()))
        finally:
            for end in ("terminate", "kill"):
                left = [process for process in self.processes if process.is_alive()]
                for process in left:
                    getattr(process, end)()
                for process in left:
                    process.join(PATIENCE)


@contextlib.contextmanager
def _interrupts_later() -> Iterator[None]:
    """Hold interrupts back; a process that is forked meanwhile gets none before it is ready for one."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start(process: BaseProcess) -> None:
    try:
        process.start()
    except (TypeError, AttributeError, pickle.PicklingError):
        warn_user(
            "Got pickle error when attempting to start a worker Process. This might be because the worker Process "
            "arguments are not picklable: the dataset, collate_fn and worker_init_fn must be, unless processes are "
            "started by multiprocessing_context='fork'.",
        )
        raise
