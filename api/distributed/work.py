"""Work: the handle of an operation that runs in the background."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from threading import Event, Lock
from typing import Any, Final

from tt.distributed.errors import DistTimeoutError

__all__ = ["Work"]

_log: Final = logging.getLogger(__name__)


class Work:
    """An operation between ranks that was started, and may have ended; what ``async_op=True`` returns.

    Parameters
    ----------
    operation : str
        Its description, for messages: ``all_reduce of float32[4]``.
    result : list of Tensor, optional
        The tensors that it fills.

    Notes
    -----
    Whoever runs the operation calls `finish` once.  Objects of this class are not made by users.
    """

    __slots__ = ("_callbacks", "_done", "_error", "_lock", "_result", "_source", "operation")

    def __init__(self, operation: str, result: list[Any] | None = None) -> None:
        self.operation = operation
        self._result = result
        self._error: BaseException | None = None
        self._source: int | None = None
        self._done = Event()
        self._lock = Lock()
        self._callbacks: list[Callable[[Work], object]] = []

    def __repr__(self) -> str:
        state = "failed" if self._error else "completed" if self._done.is_set() else "running"
        return f"<Work: {self.operation}, {state}>"

    # --- what users call ------------------------------------------------------------------------------------------

    def wait(self, timeout: timedelta | float | None = None) -> bool:
        """Return True when it has ended; raise what went wrong.

        Parameters
        ----------
        timeout : timedelta or float (seconds), optional
            By default the group's timeout, which runs since the operation started.

        Raises
        ------
        DistTimeoutError
            It did not end in time.  It goes on running.
        """
        seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
        # Zero is PyTorch's `kNoTimeout`.
        if not self._done.wait(seconds if seconds is None or seconds > 0 else None):
            raise DistTimeoutError(f"{self.operation} did not end within {seconds:g} s")
        if self._error is not None:
            raise self._error
        return True

    def is_completed(self) -> bool:
        """Return whether it has ended, well or not."""
        return self._done.is_set()

    def is_success(self) -> bool:
        """Return whether it has ended well."""
        return self._done.is_set() and self._error is None

    def exception(self) -> BaseException | None:
        """Return what went wrong, or None."""
        return self._error

    def source_rank(self) -> int:
        """Return the rank that a received message came from.

        Raises
        ------
        RuntimeError
            It is not a receive, or has not ended.
        """
        if self._source is None:
            raise RuntimeError(f"source_rank: {self.operation} has received no message")
        return self._source

    def result(self) -> list[Any]:
        """Return the tensors that it fills; wait for it first.

        Raises
        ------
        RuntimeError
            It has no tensors.
        """
        if self._result is None:
            raise RuntimeError(f"result: {self.operation} has no tensors")
        return self._result

    def synchronize(self) -> None:
        """Wait, as `wait` does."""
        self.wait()

    def get_future(self) -> Any:
        """Return a `tt.futures.Future` of the tensors."""
        from tt.futures import Future  # when asked for: most works are only waited for

        future: Any = Future()

        def settle(work: Work) -> None:
            if work._error is not None:
                future.set_exception(work._error)
            else:
                future.set_result(work._result)

        self.when_done(settle)
        return future

    # --- what runs it ---------------------------------------------------------------------------------------------

    def when_done(self, callback: Callable[[Work], object]) -> None:
        """Call ``callback(self)`` when it has ended, or now."""
        with self._lock:
            if not self._done.is_set():
                self._callbacks.append(callback)
                return
        # Outside of the lock, for the callback may use this Work.
        callback(self)

    def finish(self, error: BaseException | None = None, source: int | None = None) -> None:
        """Say that it has ended; further calls have no effect."""
        with self._lock:
            if self._done.is_set():
                return
            self._error, self._source = error, source
            self._done.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            try:
                callback(self)
            except Exception:  # it must not end the thread that runs all operations
                _log.exception("a callback of %s failed", self.operation)
