"""CuPy's streams and events for the device interface."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

__all__ = ["CudaEvent", "CudaStream", "ForeignStream", "OpenedEvent"]


class _Work:
    """Work on the device that the host can wait for."""

    __slots__ = ("_waited", "native")

    def __init__(self, native: Any, waited: Callable[[], None] | None) -> None:
        self.native, self._waited = native, waited

    def query(self) -> bool:
        """Return whether the work is done; if it is, raise what went wrong in it."""
        done = bool(self.native.done)
        if done and self._waited is not None:
            # This work is over, so what its kernels recorded of failures can be raised now.
            self._waited()
        return done

    def synchronize(self) -> None:
        """Wait until the work is done."""
        self.native.synchronize()
        if self._waited is not None:
            self._waited()


class CudaEvent(_Work):
    """A point in the work of a CUDA stream.

    Parameters
    ----------
    library : callable
        Returns CuPy.
    native : object
        Its event.
    waited : callable, optional
        Called after the host has waited, or has heard that nothing is left: it raises what went wrong on the device.
    """

    __slots__ = ("_library",)

    def __init__(self, library: Any, native: Any, waited: Callable[[], None] | None = None) -> None:
        super().__init__(native, waited)
        self._library = library

    @property
    def ptr(self) -> int:
        """The event of CUDA."""
        return int(self.native.ptr)

    def ipc_handle(self) -> bytes:
        """Return what another process opens the event by."""
        return bytes(self._library().cuda.runtime.ipcGetEventHandle(self.native.ptr))

    def elapsed_time(self, end: CudaEvent) -> float:
        """Return the milliseconds from this event to another."""
        return float(self._library().cuda.get_elapsed_time(self.native, end.native))


class OpenedEvent:
    """An event of another process, with what CuPy's events have.

    Parameters
    ----------
    runtime : module
        `cupy.cuda.runtime`.
    handle : bytes
        What `CudaEvent.ipc_handle` returned there.
    """

    def __init__(self, runtime: Any, handle: bytes) -> None:
        # With a pointer first: if opening raises, `__del__` still runs.
        self._runtime, self.ptr = runtime, 0
        self.ptr = int(runtime.ipcOpenEventHandle(handle))

    @property
    def done(self) -> bool:
        """Whether the work before the event is done."""
        return int(self._runtime.eventQuery(self.ptr)) == 0

    def synchronize(self) -> None:
        """Wait until it is."""
        self._runtime.eventSynchronize(self.ptr)

    def record(self, stream: Any) -> None:
        """Record the event behind the work of a stream of CuPy."""
        self._runtime.eventRecord(self.ptr, stream.ptr)

    def __del__(self) -> None:
        # At exit the driver may already be gone.
        if self.ptr and not sys.is_finalizing():
            self._runtime.eventDestroy(self.ptr)


class CudaStream(_Work):
    """A sequence of work on a CUDA device.

    Parameters
    ----------
    native : object
        The stream of CuPy.
    waited : callable, optional
        Called after the host has waited, or has heard that nothing is left: it raises what went wrong on the device.
    """

    __slots__ = ("ptr",)

    def __init__(self, native: Any, waited: Callable[[], None] | None = None) -> None:
        super().__init__(native, waited)
        self.ptr = int(native.ptr)

    @property
    def priority(self) -> int:
        """Lower numbers go first."""
        return int(self.native.priority)

    def record(self, event: CudaEvent) -> None:
        """Record an event behind the work of the stream."""
        event.native.record(self.native)

    def wait(self, event: CudaEvent) -> None:
        """Let further work of the stream begin when an event is reached."""
        self.native.wait_event(event.native)


class ForeignStream:
    """A stream that another library made, as CUDA's stream protocol hands it over.

    Parameters
    ----------
    pointer : int
        The stream of CUDA.
    """

    def __init__(self, pointer: int) -> None:
        self.pointer = pointer

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.pointer
