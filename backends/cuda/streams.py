"""Streams and events of CuPy as the device interface asks for them."""

from __future__ import annotations

from typing import Any

__all__ = ["CudaEvent", "CudaStream"]


class CudaEvent:
    """A point in the work of a CUDA stream."""

    def __init__(self, native: Any) -> None:
        self.native = native

    def query(self) -> bool:
        """Return whether the work before the event is done."""
        return bool(self.native.done)

    def synchronize(self) -> None:
        """Wait until the work before the event is done."""
        self.native.synchronize()

    def elapsed_time(self, end: CudaEvent) -> float:
        """Return the milliseconds from this event to another."""
        from tt.backends.cuda.memory import cupy

        return float(cupy().cuda.get_elapsed_time(self.native, end.native))


class CudaStream:
    """A sequence of work on a CUDA device."""

    def __init__(self, native: Any) -> None:
        self.native, self.ptr = native, int(native.ptr)

    def query(self) -> bool:
        """Return whether all work of the stream is done."""
        return bool(self.native.done)

    def synchronize(self) -> None:
        """Wait until all work of the stream is done."""
        self.native.synchronize()

    def record(self, event: CudaEvent) -> None:
        """Record an event behind the work of the stream."""
        event.native.record(self.native)

    def wait(self, event: CudaEvent) -> None:
        """Let further work of the stream begin when an event is reached."""
        self.native.wait_event(event.native)
