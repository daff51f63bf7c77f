"""`Timer`: runs a statement often enough to say how long it takes."""

from __future__ import annotations

import textwrap
import timeit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any

import tt
from tt.errors import ArgumentError, UnsupportedError, ValueRangeError
from tt.utils.benchmark.measurement import Measurement, TaskSpec

__all__ = ["Language", "Timer", "set_threads", "timer"]

# Statements that take no time by their clock end here.
_MOST = 10**9


class Language(Enum):
    """The language of a statement: Python; C++ is built by `tt.utils.cpp_extension`."""

    PYTHON = 0
    CPP = 1


def timer() -> float:
    """Return the seconds of a clock; it waits for CUDA first, where that is used.

    Examples
    --------
    >>> from tt.utils.benchmark import timer
    >>> timer() <= timer()
    True
    """
    if tt.cuda.is_initialized():
        tt.cuda.synchronize()
    return timeit.default_timer()


@contextmanager
def set_threads(n: int) -> Iterator[None]:
    """Let kernels use so many threads in a block of code.

    Examples
    --------
    >>> import tt
    >>> with tt.utils.benchmark.set_threads(1):
    ...     tt.get_num_threads()
    1
    """
    before = tt.get_num_threads()
    try:
        tt.set_num_threads(n)
        yield
    finally:
        tt.set_num_threads(before)


def _is(kind: type, *values: Any) -> bool:
    return all(isinstance(value, kind) for value in values)


class Timer:
    """Measures how long a statement takes, with `tt` imported for it and one thread unless more are requested.

    Parameters
    ----------
    stmt, setup : str
        The statement, and what runs once before each measurement of it.
    global_setup : str
        Only for C++.
    timer : callable
        Returns seconds.
    globals : dict, optional
        The names that the statement uses.
    label, sub_label, description, env : str, optional
        The names of the table, the row and the column of the measurement, and where it ran.
    num_threads : int
        How many threads kernels use.

    Raises
    ------
    UnsupportedError
        For C++.

    Examples
    --------
    >>> import tt
    >>> from tt.utils.benchmark import Timer
    >>> found = Timer("x + y", "x, y = tt.ones(8), tt.ones(8)").timeit(100)
    >>> found.number_per_run, 0 < found.median < 1
    (100, True)
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:
        if str(language).lower() not in ("language.python", "python", "py"):
            raise UnsupportedError(
                f"Timer() measures Python, not {language}\n  try: a function of tt.utils.cpp_extension.load_inline"
            )
        if global_setup:
            raise ValueRangeError("Timer(): global_setup belongs to C++; Python's is setup")
        if not _is(str, stmt, setup):
            raise ArgumentError(
                "Timer", f"stmt and setup are str, not {type(stmt).__name__}, {type(setup).__name__}"
            )
        if not _is(int, num_threads) or num_threads < 1:
            raise ValueRangeError(f"Timer(): at least one thread runs, not {num_threads!r}")
        self._stmt, self._setup = (textwrap.dedent(text).strip("\n") for text in (stmt, setup))
        self._globals = {"tt": tt, **(globals or {})}
        self._clock = timer
        self._timer = timeit.Timer(self._stmt, self._setup, timer, self._globals)
        self._task = TaskSpec(
            self._stmt, self._setup, global_setup, label, sub_label, description, env, num_threads
        )

    def _times(self, number: int, count: int = 1) -> list[float]:
        with set_threads(self._task.num_threads):
            # A clock may not move during a short statement, and rates divide by the time.
            return [max(self._timer.timeit(number), 1e-9) for _ in range(count)]

    def timeit(self, number: int = 1000000) -> Measurement:
        """Return the time of a number of runs; a hundredth as many, and at least two, warm up."""
        if not _is(int, number) or number < 1:
            raise ValueRangeError(f"timeit(): a statement runs at least once, not {number!r} times")
        self._times(max(number // 100, 2))
        return Measurement(number, self._times(number), self._task)

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Raise, because an arbitrary number of runs says little.

        Raises
        ------
        NotImplementedError
            Always, as in PyTorch.
        """
        raise NotImplementedError("see Timer.blocked_autorange, which chooses the number of runs")

    autorange = repeat

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Measure blocks of runs, long enough for the clock, for a time.

        Parameters
        ----------
        callback : callable, optional
            Called with the number of runs and the seconds of each block.
        min_run_time : float
            For how many seconds at least.

        Examples
        --------
        >>> from tt.utils.benchmark import Timer
        >>> len(Timer("sum(range(10))").blocked_autorange(min_run_time=0.001).times) > 0
        True
        """
        # Long blocks: what reading the clock costs is lost in them.
        number = self._block(min_run_time)
        times: list[float] = []
        with set_threads(self._task.num_threads):
            while sum(times) < min_run_time or not times:
                times.append(max(self._timer.timeit(number), 1e-9))
                if callback is not None:
                    callback(number, times[-1])
        return Measurement(number, times, self._task)

    def _block(self, min_run_time: float) -> int:
        """Return how many runs take so long that reading the clock does not count."""
        # The smallest of several, for interruptions only add time.
        cost = min(timeit.repeat(self._clock, number=10, repeat=5)) / 10
        self._times(1)
        number = 1
        while True:
            (elapsed,) = self._times(number)
            if (
                # Reading the clock is to cost less than a ten-thousandth of what is measured.
                (cost / elapsed <= 1e-4 and elapsed >= min_run_time / 1000)
                or elapsed >= min_run_time
                or number >= _MOST
            ):
                return number
            number *= 10

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """Measure blocks of runs until their times agree.

        Parameters
        ----------
        threshold : float
            How far apart the quartiles may be, as a part of the median.
        min_run_time, max_run_time : float
            For how many seconds at least and at most.
        callback : callable, optional
            As of `blocked_autorange`.

        Examples
        --------
        >>> from tt.utils.benchmark import Timer
        >>> found = Timer("sum(range(10))").adaptive_autorange(max_run_time=0.05)
        >>> len(found.times) >= 1
        True
        """
        number = self._block(0.05)
        measurement = Measurement(number, [], self._task)
        with set_threads(self._task.num_threads):
            while True:
                times = list(measurement.raw_times)
                times.append(max(self._timer.timeit(number), 1e-9))
                if callback is not None:
                    callback(number, times[-1])
                measurement = Measurement(number, times, self._task)
                enough = (
                    sum(times) >= min_run_time and len(times) > 3 and measurement.meets_confidence(threshold)
                )
                if enough or sum(times) >= max_run_time:
                    return measurement

    def collect_callgrind(self, *args: Any, **options: Any) -> None:
        """Raise: instructions are counted by valgrind outside of tt.

        Raises
        ------
        UnsupportedError
            Always.
        """
        raise UnsupportedError(
            "Timer.collect_callgrind() does not exist\n"
            "  try: valgrind --tool=callgrind python program.py, or Timer.adaptive_autorange()"
        )
