"""tt.profiler: what programs say to a profiler, which is not built yet.

A named range is a range of no profile, so `record_function` does nothing; to profile raises.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any, Self

from tt.errors import UnsupportedError, ValueRangeError

__all__ = [
    "ProfilerAction", "ProfilerActivity", "kineto_available", "profile", "record_function", "schedule",
    "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip

_REFUSED = (
    "a profiler is not built yet\n  try: tt.trace_calls, tt.utils.benchmark.Timer, or Python's cProfile"
)


class ProfilerActivity(enum.Enum):
    """What a profile records: calls on the CPU, or kernels of a device."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    """What a profiler does in a step of its schedule."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def kineto_available() -> bool:
    """Return False: there is no profiler of devices.

    Examples
    --------
    >>> import tt
    >>> tt.profiler.kineto_available()
    False
    """
    return False


def supported_activities() -> set[ProfilerActivity]:
    """Return what can be recorded: nothing yet."""
    return set()


class record_function(ContextDecorator):  # noqa: N801 - PyTorch's name
    """Name a range of a program; without a profiler, that does nothing.

    Parameters
    ----------
    name : str
        The name of the range.
    args : str, optional
        More about it.

    Examples
    --------
    >>> import tt
    >>> with tt.profiler.record_function("forward"):
    ...     tt.ones(1)
    tensor([1.])
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        pass


class profile:  # noqa: N801 - PyTorch's name
    """Record what a program does; raises, because a profiler is not built yet.

    Parameters
    ----------
    *args, **kwargs
        PyTorch's options.

    Raises
    ------
    UnsupportedError
        Always.
    """

    def __init__(self, *args: object, **kwargs: object) -> None:
        raise UnsupportedError(f"profiler.profile(): {_REFUSED}")


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """Return the function that says what a profiler does in each step.

    Parameters
    ----------
    wait, warmup, active : int
        The steps of one cycle: in the first nothing is done, then the profiler warms up, then it records.
    repeat : int
        The number of cycles; 0: without end.
    skip_first : int
        Steps before the first cycle.
    skip_first_wait : int
        Not 0: the first cycle has no steps of `wait`.

    Raises
    ------
    ValueRangeError
        If a number is negative, or nothing is recorded.

    Examples
    --------
    >>> import tt
    >>> plan = tt.profiler.schedule(wait=1, warmup=1, active=2)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first, skip_first_wait) < 0 or active <= 0:
        raise ValueRangeError(
            "profiler.schedule(): no number may be negative, and active must be positive, got "
            f"wait={wait}, warmup={warmup}, active={active}, repeat={repeat}, skip_first={skip_first}"
        )

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise ValueRangeError(f"profiler.schedule(): a step is not negative, got {step}")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        cycle = wait + warmup + active
        if repeat and step // cycle >= repeat:
            return ProfilerAction.NONE
        step %= cycle
        if step < wait:
            return ProfilerAction.NONE
        if step < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if step < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[Any], None]:
    """Return a function that writes a profile for TensorBoard; it raises, because there are no profiles.

    Parameters
    ----------
    dir_name : str
        The folder.
    worker_name : str, optional
        The name of the process in the files.
    use_gzip : bool
        Whether files are compressed.
    """

    def handler(profile: Any) -> None:
        raise UnsupportedError(f"profiler.tensorboard_trace_handler(): {_REFUSED}")

    return handler
