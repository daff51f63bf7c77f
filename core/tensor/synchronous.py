"""Streams and events of devices that finish each call before it returns: they order nothing and wait for nothing."""

from __future__ import annotations

import time

__all__ = ["SynchronousEvent", "SynchronousStream"]


class SynchronousEvent:
    """A point in the work of a device that finishes each call before it returns: reached as soon as it is recorded."""

    def __init__(self) -> None:
        self.time: float | None = None

    def query(self) -> bool:
        """Return True: nothing is left to be done."""
        return True

    def synchronize(self) -> None:
        """Return at once: nothing is left to be done."""

    def elapsed_time(self, end: SynchronousEvent) -> float:
        """Return the milliseconds from this event to another; both are recorded."""
        return (float(end.time or 0.0) - float(self.time or 0.0)) * 1e3


class SynchronousStream:
    """The only stream of a device that finishes each call before it returns."""

    def query(self) -> bool:
        """Return True: nothing is left to be done."""
        return True

    def synchronize(self) -> None:
        """Return at once: nothing is left to be done."""

    def record(self, event: SynchronousEvent) -> None:
        """Note the time in an event."""
        event.time = time.perf_counter()

    def wait(self, event: SynchronousEvent) -> None:
        """Return at once: the work before the event is done."""
