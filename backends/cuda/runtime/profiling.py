"""Starts and stops NVIDIA's profilers, where they record on demand."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from tt.backends.cuda.runtime.interface import backend

__all__ = ["profile", "start", "stop"]


def start() -> None:
    """Let a profiler that waits for it (`nsys profile -c cudaProfilerApi`) begin to record.

    Raises
    ------
    DeviceError
        When CUDA cannot be used.
    """
    backend().library().cuda.runtime.profilerStart()


def stop() -> None:
    """Let the profiler stop recording."""
    backend().library().cuda.runtime.profilerStop()


@contextlib.contextmanager
def profile() -> Iterator[None]:
    """Let a profiler record what happens inside a `with` block."""
    start()
    try:
        yield
    finally:
        stop()
