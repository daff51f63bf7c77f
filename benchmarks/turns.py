"""Processes that run a case: this one, or one for each library.

Note [A process of its own]
---------------------------
In one process libraries disturb each other: they share the allocator and its free pages, the threads of one look for
work while the next computes, and whichever is imported first chooses the OpenMP runtime.  So `benchmarks.run` starts
a process for each library.  They still take turns: one computes, the others wait for a request.  A turn is timed where
it happens, so that the way of a request is not counted.
"""

from __future__ import annotations

import gc
import multiprocessing
import time
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, Protocol

from benchmarks.cases import Case, make_loop, make_once
from benchmarks.libraries import to_arrays, unusable

if TYPE_CHECKING:
    from types import TracebackType

    import numpy as np

__all__ = ["Here", "Runner", "StatementError", "Worker", "Workers"]


class StatementError(Exception):
    """A statement raised: the name of its exception, and the first line of the message."""


class Runner(Protocol):
    """A runner for the statements of one library."""

    def once(self, case: Case, built_in: bool) -> list[np.ndarray[Any, Any]]:
        """Return the value of a case's statement, or raise `StatementError`."""

    def prepare(self, case: Case, built_in: bool, busy: bool, seconds: float) -> int:
        """Get a case ready to be timed; return how many repetitions take about so many seconds."""

    def turn(self, built_in: bool, count: int) -> float:
        """Return the seconds that so many repetitions of the case that is ready take."""

    def collect(self) -> None:
        """Collect garbage, which is not done during turns."""

    def rest(self) -> None:
        """Wait until the threads of the process have stopped looking for work (measure.py, Note [Quiet])."""


class Here:
    """Runs a library's statements in this process."""

    def __init__(self, library: str) -> None:
        self.library = library
        self.loops: dict[bool, Callable[[int], float]] = {}

    def once(self, case: Case, built_in: bool) -> list[np.ndarray[Any, Any]]:
        """Return the value of a case's statement."""
        try:
            return to_arrays(make_once(case, self.library, built_in=built_in)())
        except Exception as error:  # whatever a library raises, the others are still measured
            raise _failed(error) from error

    def prepare(self, case: Case, built_in: bool, busy: bool, seconds: float) -> int:
        """Compile the loop, and run it until every cache is warm."""
        clock = time.thread_time if busy else time.perf_counter
        try:
            self.loops[built_in] = loop = make_loop(case, self.library, built_in=built_in, clock=clock)
            loop(2)
            count = 1
            while (elapsed := loop(count)) < seconds / 4:
                count *= 4
        except Exception as error:  # of a statement that can run once only
            raise _failed(error) from error
        return max(1, round(count * seconds / elapsed))

    def turn(self, built_in: bool, count: int) -> float:
        """Time the loop, without collections of garbage in it."""
        collecting = gc.isenabled()
        gc.disable()
        try:
            return self.loops[built_in](count)
        finally:
            if collecting:
                gc.enable()

    def usable(self) -> str:
        """Return why the library computes nothing here; empty if it does."""
        return unusable(self.library)

    def collect(self) -> None:
        """Collect garbage, which is not done during turns."""
        gc.collect()

    def rest(self) -> None:
        """Wait until the process uses next to no processor time, for a tenth of a second at most."""
        for _ in range(8):  # the system may count the time of other threads every ten milliseconds only
            before = time.process_time()
            time.sleep(0.012)
            if time.process_time() - before < 0.001:
                return


def _failed(error: Exception) -> StatementError:
    first = str(error).strip().splitlines()
    return StatementError(f"{type(error).__name__}: {first[0] if first else ''}")


# --- a process of its own ---


class Worker:
    """Runs a library's statements in a process of its own (Note [A process of its own])."""

    def __init__(self, library: str) -> None:
        # Not forked: a library that is imported here would be there, too, without its threads.
        context = multiprocessing.get_context("spawn")
        self.library = library
        self._connection, theirs = context.Pipe()
        # Not a daemon: loaders have workers of their own.  It ends when the connection does.
        self._process = context.Process(target=_serve, args=(library, theirs))
        self._process.start()
        theirs.close()

    def once(self, case: Case, built_in: bool) -> list[np.ndarray[Any, Any]]:
        """Return the value of a case's statement."""
        arrays: list[np.ndarray[Any, Any]] = self._ask("once", case, built_in)
        return arrays

    def prepare(self, case: Case, built_in: bool, busy: bool, seconds: float) -> int:
        """Get a case ready to be timed there."""
        return int(self._ask("prepare", case, built_in, busy, seconds))

    def turn(self, built_in: bool, count: int) -> float:
        """Return the seconds that so many repetitions take there."""
        return float(self._ask("turn", built_in, count))

    def usable(self) -> str:
        """Return why the library computes nothing there; empty if it does."""
        return str(self._ask("usable"))

    def collect(self) -> None:
        """Collect garbage there."""
        self._ask("collect")

    def rest(self) -> None:
        """Wait there until the process uses next to no processor time."""
        self._ask("rest")

    def close(self) -> None:
        """End the process."""
        self._connection.close()  # which it notices
        self._process.join(timeout=5)
        if self._process.is_alive():
            self._process.terminate()
            self._process.join()

    def _ask(self, method: str, *args: Any) -> Any:
        try:
            self._connection.send((method, args))
            problem, result = self._connection.recv()
        except (EOFError, OSError) as error:
            self._process.join(timeout=5)
            raise StatementError(
                f"the process of {self.library} ended with exit status {self._process.exitcode}"
            ) from error
        if problem:
            raise StatementError(problem)
        return result


def _serve(library: str, connection: Connection) -> None:
    """Answer requests until the connection is closed."""
    here = Here(library)
    while True:
        try:
            method, args = connection.recv()
        except (EOFError, KeyboardInterrupt):
            return
        try:
            answer = ("", getattr(here, method)(*args))
        except StatementError as error:
            answer = (str(error), None)
        except Exception as error:  # in a turn
            answer = (str(_failed(error)), None)
        connection.send(answer)


class Workers:
    """The processes of some libraries, for the time of a block."""

    def __init__(self, libraries: Iterable[str]) -> None:
        self.runners = {library: Worker(library) for library in libraries}

    def __enter__(self) -> dict[str, Worker]:
        return self.runners

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for worker in self.runners.values():
            worker.close()
