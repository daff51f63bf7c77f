"""tt.futures: values that are there later, with functions that are called when they are."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import Any, Final, Generic, TypeVar, cast

import tt
from tt.errors import ArgumentError, AssertedError, UnsupportedError, ValueRangeError

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")
S = TypeVar("S")

_log: Final = logging.getLogger(__name__)


class Future(Generic[T]):
    """A value that some thread sets later, or an exception.

    Parameters
    ----------
    devices : list of Device, int or str, optional
        Devices that the value may use; they must have indices.

    Examples
    --------
    >>> import tt
    >>> future = tt.futures.Future()
    >>> doubled = future.then(lambda done: done.wait() * 2)
    >>> future.set_result(tt.tensor([1, 2]))
    >>> doubled.wait()
    tensor([2, 4])
    """

    def __init__(self, *, devices: Iterable[Any] | None = None) -> None:
        self.devices = [_device(each) for each in devices or ()]
        self._changed = threading.Condition()
        self._is_done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Any], object]] = []

    def done(self) -> bool:
        """Return whether the value or an exception is there.

        Examples
        --------
        >>> import tt
        >>> tt.futures.Future().done()
        False
        """
        return self._is_done

    def wait(self) -> T:
        """Return the value; blocks until it is there, and raises the exception if it is one.

        Examples
        --------
        >>> import tt
        >>> future = tt.futures.Future()
        >>> future.set_exception(ValueError("no data"))
        >>> future.wait()
        Traceback (most recent call last):
            ...
        ValueError: no data
        """
        with self._changed:
            # A condition may wake without a reason.
            while not self._is_done:
                self._changed.wait()
        return self.value()

    def value(self) -> T:
        """Return the value, or raise the exception, without waiting.

        Raises
        ------
        RuntimeError
            If neither is there yet.

        Examples
        --------
        >>> import tt
        >>> future = tt.futures.Future()
        >>> future.set_result(1)
        >>> future.value()
        1
        """
        if not self._is_done:
            raise ValueRangeError(
                "value(): the Future is not completed yet\n  try: wait(), or ask done() first"
            )
        if self._error is not None:
            raise self._error
        return cast(T, self._value)

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """Return a future for the result of a function, which is called with this one when it is done.

        Parameters
        ----------
        callback : callable
            Called with this future, at once if it is done.  An exception that it raises becomes that of the result.

        Raises
        ------
        TypeError
            If it cannot be called.

        Examples
        --------
        >>> import tt
        >>> future = tt.futures.Future()
        >>> text = future.then(lambda done: f"got {done.value()}")
        >>> future.set_result(7)
        >>> text.value()
        'got 7'
        """
        _check_callable("then", callback)
        result: Future[S] = Future(devices=self.devices)

        def call(done: Future[T]) -> None:
            try:
                value = callback(done)
            # Exits, too: whoever waits for the result must not wait for ever.
            except BaseException as error:
                result._complete(None, error)
            else:
                result._complete(value, None)

        self._call_when_done(call)
        return result

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Call a function with this future when it is done; an exception in it is only logged.

        Functions are called in the order in which they were added, by the thread that sets the value.

        Raises
        ------
        TypeError
            If it cannot be called.

        Examples
        --------
        >>> import tt
        >>> future = tt.futures.Future()
        >>> future.add_done_callback(lambda done: print("done:", done.value()))
        >>> future.set_result(3)
        done: 3
        """
        _check_callable("add_done_callback", callback)

        def call(done: Future[T]) -> None:
            try:
                callback(done)
            except Exception:
                _log.exception("a function that was called for a Future failed")

        self._call_when_done(call)

    def set_result(self, result: T) -> None:
        """Complete the future with a value.

        Raises
        ------
        RuntimeError
            If it is complete.

        Examples
        --------
        >>> import tt
        >>> future = tt.futures.Future()
        >>> future.set_result(1)
        >>> future.done()
        True
        """
        self._complete(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Complete the future with an exception, which `wait` and `value` raise.

        Raises
        ------
        AssertionError
            If it is not an exception.
        RuntimeError
            If the future is complete.
        """
        if not isinstance(result, Exception):
            raise AssertedError(f"{result!r} is of type {type(result).__name__}, not an Exception")
        self._complete(None, result)

    def _complete(self, value: object, error: BaseException | None) -> None:
        with self._changed:
            if self._is_done:
                raise ValueRangeError("a Future that is completed cannot be completed again")
            self._value, self._error, self._is_done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._changed.notify_all()
        # Outside of the lock, for a callback may ask this future.
        for call in callbacks:
            call(self)

    def _call_when_done(self, call: Callable[[Any], object]) -> None:
        with self._changed:
            if not self._is_done:
                self._callbacks.append(call)
                return
        call(self)

    def __reduce__(self) -> Any:
        raise UnsupportedError(
            "Can not pickle tt.futures.Future: it belongs to its process\n  try: its value()"
        )


def _check_callable(name: str, callback: object) -> None:
    if not callable(callback):
        raise ArgumentError(name, f"argument 'callback' must be callable, not {type(callback).__name__}")


def _device(given: int | str | tt.device) -> Any:
    device = tt.device("cuda", given) if isinstance(given, int) else tt.device(given)
    if device.index is None:
        raise ValueRangeError(f"Future(): devices must have indices, and {str(device)!r} has none")
    return device


def _futures(name: str, futures: Iterable[Future[Any]]) -> list[Future[Any]]:
    result = list(futures)
    for each in result:
        if not isinstance(each, Future):
            raise ArgumentError(
                name, f"argument 'futures' must be a list of Future, but has a {type(each).__name__}"
            )
    return result


def collect_all(futures: Iterable[Future[Any]]) -> Future[list[Future[Any]]]:
    """Return a future of a list of futures, done when all of them are.

    If some have exceptions, the result has the one of the first in the list.

    Raises
    ------
    TypeError
        If something else is among them.

    Examples
    --------
    >>> import tt
    >>> first, second = tt.futures.Future(), tt.futures.Future()
    >>> both = tt.futures.collect_all([first, second])
    >>> first.set_result(1)
    >>> both.done()
    False
    >>> second.set_result(2)
    >>> [each.value() for each in both.wait()]
    [1, 2]
    """
    members = _futures("collect_all", futures)
    result: Future[list[Future[Any]]] = Future()
    left = len(members)
    lock = threading.Lock()

    def count(_: object) -> None:
        nonlocal left
        with lock:
            left -= 1
            if left:
                return
        # The first in the order of the list, not in time: the same in every run.
        error = next((each._error for each in members if each._error is not None), None)
        result._complete(None if error is not None else members, error)

    if not members:
        result.set_result([])
    for each in members:
        each._call_when_done(count)
    return result


def wait_all(futures: Iterable[Future[Any]]) -> list[Any]:
    """Return the values of futures; blocks until all are there, and raises an exception if one has it.

    Raises
    ------
    TypeError
        If something else is among them.

    Examples
    --------
    >>> import tt
    >>> futures = [tt.futures.Future() for _ in range(2)]
    >>> for number, future in enumerate(futures):
    ...     future.set_result(number)
    >>> tt.futures.wait_all(futures)
    [0, 1]
    """
    return [each.value() for each in collect_all(_futures("wait_all", futures)).wait()]
