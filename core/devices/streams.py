"""Streams and events: the order of work on a device.

Users hold a `Stream` or an `Event`, which delegate to objects of the device's backend.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from tt.core.blocks import Block
from tt.core.dispatch.registry.accelerators import current_accelerator
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.errors import ArgumentError, DeviceError, describe
from tt.core.tensor.synchronous import SynchronousStream
from tt.core.types.device import Device

if TYPE_CHECKING:
    from tt.core.tensor.device_interface import DeviceInterface

__all__ = ["Event", "Stream", "resolve_device"]


def resolve_device(device: Device | str | int | None) -> tuple[DeviceInterface, Device]:
    """Return the backend of a device and the device as a tensor on it would show it.

    Parameters
    ----------
    device : Device, str, int, optional
        A number is an index of the current accelerator; None means the accelerator, or the CPU if there is none.

    Raises
    ------
    DeviceError
        When the device cannot be used or does not exist.
    """
    if device is None or (isinstance(device, int) and not isinstance(device, bool)):
        accelerator = current_accelerator(check_available=True) or Device("cpu")
        device = accelerator if device is None else Device(accelerator.type, device)
    requested = Device(device)
    backend = REGISTRY.backend(requested.type)
    backend.require_available()
    return backend, backend.place(requested)


def _of_type(device_type: str | None, device: Device | str | int | None) -> Device | str | int | None:
    """Return a device for a class of one device type; numbers are indices of that type."""
    if device_type is None:
        return device
    if device is None:
        return Device(device_type)
    if isinstance(device, int) and not isinstance(device, bool):
        return Device(device_type, device)
    requested = Device(device)
    if requested.type != device_type:
        raise DeviceError(f"Expected a {device_type} device, but got: {requested}")
    return requested


class Stream(Block):
    """A sequence of work on a device; as a context manager the device's current stream.

    Parameters
    ----------
    device : Device, str or int, optional
        By default the accelerator, or the CPU if there is none.
    priority : int
        Lower numbers go first, if the device supports priorities.

    Attributes
    ----------
    device : Device
        Whose work it orders.
    native : object
        The stream of the device's backend.

    Examples
    --------
    >>> import tt
    >>> stream = tt.Stream(device="cpu")
    >>> with stream:
    ...     x = tt.ones(2) + 1
    >>> stream.query()
    True
    """

    def __init__(
        self, device: Device | str | int | None = None, priority: int = 0, *, native: Any = None
    ) -> None:
        self._backend, self.device = resolve_device(self._here(device))
        self.native = self._backend.new_stream(self.device, priority) if native is None else native

    device_type: str | None = None

    @classmethod
    def _here(cls, device: Device | str | int | None) -> Device | str | int | None:
        """Return a device of the class's device type: `tt.cuda.Stream(1)` is one of cuda:1."""
        return _of_type(cls.device_type, device)

    @property
    def stream_id(self) -> int:
        """A number that identifies the stream."""
        return int(getattr(self.native, "ptr", id(self.native)))

    @property
    def priority(self) -> int:
        """The priority; lower numbers go first."""
        return int(getattr(self.native, "priority", 0))

    @property
    def device_index(self) -> int:
        """The index of the device."""
        return self.device.index or 0

    def query(self) -> bool:
        """Return whether all work of the stream is done."""
        return bool(self.native.query())

    def synchronize(self) -> None:
        """Wait until all work of the stream is done."""
        self.native.synchronize()

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event, a new one if none is given, behind the work of the stream; return it."""
        recorded = Event(self.device) if event is None else event
        recorded.record(self)
        return recorded

    def wait_event(self, event: Event) -> None:
        """Let further work of the stream begin when an event is reached."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Let further work of the stream begin when the work that another one has by now is done."""
        self.wait_event(stream.record_event())

    def _look(self) -> Any:
        return self._backend.current_stream(self.device)

    def _begin(self) -> Stream:
        self._backend.set_stream(self.native, self.device)
        return self

    def _end(self, before: Any) -> None:
        self._backend.set_stream(before, self.device)

    def __eq__(self, other: object) -> bool:
        # By the native stream: objects for the same one are made at each `current_stream()`.
        return isinstance(other, Stream) and (self.device, self.stream_id) == (other.device, other.stream_id)

    def __hash__(self) -> int:
        return hash((self.device, self.stream_id))

    def __repr__(self) -> str:
        return f"<tt.Stream device={self.device} stream_id={self.stream_id:#x}>"


class Event:
    """A point in the work of a stream that can be waited for.

    Parameters
    ----------
    device : Device, str or int, optional
        By default the accelerator, or the CPU if there is none.
    enable_timing : bool
        Whether `elapsed_time` will be used.
    blocking : bool
        Whether the host sleeps while it waits.
    interprocess : bool
        Whether other processes can wait for the event too, which they get by `ipc_handle`.

    Raises
    ------
    DeviceError
        For `interprocess=True` where the device shares no events, and together with `enable_timing`.

    Examples
    --------
    >>> import tt
    >>> start, end = (tt.Event("cpu", enable_timing=True) for _ in range(2))
    >>> start.record()
    >>> end.record()
    >>> start.elapsed_time(end) >= 0
    True
    """

    def __init__(
        self,
        device: Device | str | int | None = None,
        *,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
    ) -> None:
        self._make(device, enable_timing, blocking, interprocess)

    device_type: str | None = None

    def _make(
        self, device: Device | str | int | None, enable_timing: bool, blocking: bool, interprocess: bool
    ) -> None:
        if interprocess and enable_timing:
            raise DeviceError(
                "Event(): interprocess=True: an event that processes share does not measure time"
            )
        self._backend, self.device = resolve_device(_of_type(self.device_type, device))
        self.enable_timing, self.blocking, self._recorded = enable_timing, blocking, False
        self._interprocess = interprocess
        self._settled = device is not None
        self.native = self._new()

    def _new(self) -> Any:
        if self._interprocess:
            return self._backend.shared_event(self.device, blocking=self.blocking)
        if self.blocking:
            return self._backend.new_event(self.device, timing=self.enable_timing, blocking=True)
        return self._backend.new_event(self.device, timing=self.enable_timing)

    def record(self, stream: Stream | None = None) -> None:
        """Record the event behind the work of a stream, by default the device's current one.

        An event that was made without a device belongs to the device of the first stream in which it is recorded.

        Raises
        ------
        DeviceError
            When the stream is one of another device.
        """
        if (
            not self._settled
            and stream is not None
            and stream.device != self.device
            and stream.device.type == self.device.type
        ):
            # Native events belong to a device, so that another device needs another one.
            self.device = stream.device
            self.native = self._new()
        self._settled = True
        self._stream(stream).record(self.native)
        self._recorded = True

    def ipc_handle(self) -> bytes:
        """Return what another process opens the event by: `Event.from_ipc_handle`.

        Raises
        ------
        DeviceError
            When the event was not made with `interprocess=True`.
        """
        if not self._interprocess:
            raise DeviceError(
                "ipc_handle(): the event is not shared with other processes\n  try: Event(interprocess=True)"
            )
        return bytes(self.native.ipc_handle())

    @classmethod
    def from_ipc_handle(cls, device: Device | str | int, handle: bytes) -> Self:
        """Return an event of another process.

        Parameters
        ----------
        device : Device, str or int
            The device of the event.
        handle : bytes
            What `ipc_handle` returned there.

        Raises
        ------
        DeviceError
            When the device shares no events, or the handle is none of it.
        """
        if not isinstance(handle, bytes):
            raise ArgumentError("from_ipc_handle", f"argument 'handle' must be bytes, not {describe(handle)}")
        event = cls.__new__(cls)
        event._backend, event.device = resolve_device(_of_type(cls.device_type, device))
        event.enable_timing, event.blocking, event._interprocess = False, False, False
        event._settled = event._recorded = True  # the other process tracks this
        event.native = event._backend.shared_event(event.device, handle=handle)
        return event

    def wait(self, stream: Stream | None = None) -> None:
        """Let further work of a stream, by default the device's current one, begin when the event is reached."""
        # Waiting for an event that was never recorded does nothing, as in PyTorch.
        if self._recorded:
            self._stream(stream, same=False).wait(self.native)

    def query(self) -> bool:
        """Return whether the work before the event is done."""
        return not self._recorded or bool(self.native.query())

    def synchronize(self) -> None:
        """Wait until the work before the event is done."""
        if self._recorded:
            self.native.synchronize()

    def elapsed_time(self, end_event: Event) -> float:
        """Return the milliseconds between this event and another.

        Raises
        ------
        DeviceError
            When one of them does not measure time or was not recorded.
        """
        for name, event in (("start", self), ("end", end_event)):
            if not event.enable_timing:
                raise DeviceError(f"the {name} event does not measure time\n  try: Event(enable_timing=True)")
            if not event._recorded:
                raise DeviceError(f"the {name} event was not recorded\n  try: event.record()")
        return float(self.native.elapsed_time(end_event.native))

    def _stream(self, stream: Stream | None, same: bool = True) -> Any:
        if stream is None:
            return self._backend.current_stream(self.device)
        if same and stream.device != self.device:
            raise DeviceError(f"an event of {self.device} is not recorded in a stream of {stream.device}")
        if stream.device.type != self.device.type:
            # Streams of different types cannot wait for each other: the host waits instead.
            self.synchronize()
            return _NOTHING
        return stream.native

    def __repr__(self) -> str:
        return f"<tt.Event device={self.device} recorded={self._recorded}>"


_NOTHING = SynchronousStream()
