"""Backward passes that run inside of many others: a new thread for every few of them, with the state of the old one.

Note [Interrupts of nested passes]
----------------------------------
Python runs the handlers of signals in the main thread, which waits while a pass runs in a new one.  What a handler
raises stops the innermost thread, by the same class, and leaves by all the passes between: a program sees it where it
computes, as without threads.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, Final

from tt.core.library import Carried, state_of_thread

__all__ = ["run"]

DEEP: Final = 20
"""So many passes run inside of each other in one thread."""


class _Nest(Carried):
    """What belongs to passes inside of each other.

    Attributes
    ----------
    passes : int
        How many of them run in this thread.
    threads : list of int or None
        The threads that were started for them, the innermost last.
    """

    passes: int = 0
    threads: list[int] | None = None


_NEST: Final = _Nest()


def run(function: Callable[[], list[Any]]) -> list[Any]:
    """Run a backward pass, in a new thread where this one has many.

    Parameters
    ----------
    function : callable
        Runs it.
    """
    before = _NEST.passes
    try:
        if before >= DEEP:
            return _run_in_thread(function)
        _NEST.passes = before + 1
        return function()
    finally:
        _NEST.passes = before


class _Call:
    """A call in a new thread, which begins when `gate` is open and is not made if it was called off."""

    def __init__(self, function: Callable[[], list[Any]], threads: list[int]) -> None:
        self.function, self.threads = function, threads
        self.context = copy_context()
        self.given = self.left = state_of_thread()
        self.called_off = False
        self.gate, self.done = threading.Lock(), threading.Event()
        self.result: list[Any] = []
        self.error: BaseException | None = None

    def __call__(self) -> None:
        # The caller opens the gate only when it is ready to wait: an interrupt before that calls the pass
        # off.
        with self.gate:
            if self.called_off:
                return
        self.threads.append(threading.get_ident())
        try:
            try:
                self.given()
                # The carried state has the count of the old thread; this one begins with an empty stack.
                _NEST.passes = 1
                self.result = self.context.run(self.function)
            except BaseException as error:
                self.error = error
            # Hooks may have switched modes and not switched back: the caller takes over what they left.
            self.left = state_of_thread()
        except BaseException as error:  # an interrupt that came late
            self.error = error
            self.left = state_of_thread()
        finally:
            self.threads.pop()
            self.done.set()


def _run_in_thread(function: Callable[[], list[Any]]) -> list[Any]:
    if _NEST.threads is None:
        _NEST.threads = []
    call = _Call(function, _NEST.threads)
    thread = threading.Thread(target=call, name="backward", daemon=True)
    call.gate.acquire()
    try:
        thread.start()
    except BaseException:
        call.called_off = True
        call.gate.release()
        raise
    stop: BaseException | None = None
    while True:
        try:
            # An interrupt may have come before the release, so each round tries again.
            if call.gate.locked():
                call.gate.release()
            call.done.wait()  # an interrupted `join` takes the thread for one that has ended
            thread.join()
            break
        except BaseException as error:
            stop = error
            _stop(call.threads, type(error))
    call.left()
    raised, call.error = call.error, None
    if stop is not None:
        # `_stop` can pass on only a class; the program gets the instance that its handler raised.
        raised = stop if raised is None else stop.with_traceback(raised.__traceback__)
    try:
        if raised is not None:
            raise raised
        return call.result
    finally:
        del raised, stop  # they hold this frame


def _stop(threads: list[int], kind: type[BaseException]) -> None:
    """Raise an exception of a class in the innermost thread, at its next step of Python."""
    if threads:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(threads[-1]), ctypes.py_object(kind))
