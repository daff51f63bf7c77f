"""The device interface: a device's abilities besides its arrays, each with a default.

`Backend` inherits it, so the author of a backend overrides the abilities of the device and leaves the rest.  The public
functions (`tt.accelerator`, `tt.get_device_module`, `tt.Stream`, `tt.Event`) build on it and work for every device.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from tt.core.blocks import Block
from tt.core.errors import DeviceError
from tt.core.tensor.generator import generator_of
from tt.core.tensor.synchronous import SynchronousEvent, SynchronousStream
from tt.core.types.carried import Carried
from tt.core.types.device import Device

if TYPE_CHECKING:
    import numpy as np

    from tt.core.tensor.generator import Generator

__all__ = ["DeviceInterface", "DeviceProperties"]


@dataclass(frozen=True, slots=True)
class DeviceProperties:
    """The properties of a device.

    Attributes
    ----------
    name : str
        The manufacturer's name.
    device : Device
        The index of the device.
    total_memory : int or None
        In bytes, where it is known.
    details : mapping
        Other properties from its backend.

    Examples
    --------
    >>> import tt
    >>> from tt.library import DeviceProperties
    >>> DeviceProperties("Model 1", tt.device("cuda", 0), total_memory=2**30).name
    'Model 1'
    """

    name: str
    device: Device
    total_memory: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


class _Guard(Block):
    """Makes a device the current one of its type inside a `with` block."""

    def __init__(self, interface: DeviceInterface, index: int) -> None:
        self.interface, self.index = interface, index

    def _look(self) -> int:
        return self.interface.current_device()

    def _begin(self) -> None:
        self.interface.set_device(self.index)

    def _end(self, before: int) -> None:
        self.interface.set_device(before)


@runtime_checkable
class DeviceInterface(Protocol):
    """The interface of a device type besides its arrays.

    Attributes
    ----------
    device_type : str
        For instance "cpu".
    numbered : bool
        Whether tensors show the index of their device ("cuda:0") even if there is only one.

    Examples
    --------
    >>> from tt.library import DeviceInterface
    >>> class Npu(DeviceInterface):
    ...     device_type = "npu"
    ...     def available(self):
    ...         return "no driver is installed"
    >>> Npu().device_count()
    0
    """

    device_type: str = ""
    numbered: bool = False

    # --- which devices there are -------------------------------------------------------------------------------

    def available(self) -> str | None:
        """Return why the device cannot be used, or None if it can."""
        return None

    def device_count(self) -> int:
        """Return how many devices of this type there are; 0 where none can be used."""
        return 0 if self.available() else 1

    def current_device(self) -> int:
        """Return the index of this thread's current device, on which new tensors are made."""
        return int(getattr(self._thread(), "index", 0))

    def set_device(self, index: int) -> None:
        """Make a device the current one of this thread; the index is one of those that there are."""
        self._thread().index = index

    def guard(self, device: Device | None = None) -> AbstractContextManager[None]:
        """Return a context manager in which a device is the current one; None and no index change nothing."""
        # With a single device, its index 0 is the current one anyway.
        if device is None or device.index is None or (not device.index and self.device_count() < 2):
            return contextlib.nullcontext()
        return _Guard(self, device.index)

    def default_device(self) -> Device:
        """Return the device that the bare device type means."""
        return (
            Device(self.device_type, self.current_device())
            if self._shows_index()
            else Device(self.device_type)
        )

    def place(self, device: Device) -> Device:
        """Return the device of a tensor that was requested on `device`.

        Raises
        ------
        DeviceError
            If the device does not exist.
        """
        if device.index is None:
            return self.default_device()
        if not self._shows_index():
            if device.index:
                raise DeviceError(
                    f"there is no device {str(device)!r}: the only one of its type is {self.device_type!r}"
                )
            return self.default_device()
        count = self.device_count()
        # Index 0 passes where there is no device: whatever is called on it says why it cannot be used.
        if device.index and device.index >= count:
            raise DeviceError(
                f"invalid device ordinal: there is no device {str(device)!r}; there are {count} devices of its type, "
                f"{self.device_type}:0 to {self.device_type}:{count - 1}"
                if count
                else f"invalid device ordinal: there is no device {str(device)!r}; there are 0 of its type"
            )
        return device

    def properties(self, device: Device | None = None) -> DeviceProperties:
        """Return the properties of a device, by default the current one."""
        return DeviceProperties(
            self.device_type, self.default_device() if device is None else self.place(device)
        )

    def is_initialized(self) -> bool:
        """Return whether the device was used in this process, without initializing it."""
        return True

    def require_available(self) -> None:
        """Raise if the device cannot be used.

        Raises
        ------
        DeviceError
            With the reason that `available` gives.
        """
        reason = self.available()
        if reason:
            raise DeviceError(
                f"device {self.device_type!r} is not available: {reason}\n  see: tt plugins list"
            )

    def _shows_index(self) -> bool:
        return self.numbered or self.device_count() > 1

    def _thread(self) -> Any:
        # Made on demand: a backend need not call this class's __init__.
        carried = self.__dict__.get("_of_thread")
        return self.__dict__.setdefault("_of_thread", Carried()) if carried is None else carried

    # --- the order of work -------------------------------------------------------------------------------------

    def synchronize(self, device: Device | None = None) -> None:
        """Wait until a device, by default the current one, has finished its work."""
        return None

    def new_stream(self, device: Device, priority: int = 0) -> Any:
        """Return a new stream: an object with `query()`, `synchronize()`, `record(event)` and `wait(event)`."""
        return SynchronousStream()

    def current_stream(self, device: Device) -> Any:
        """Return this thread's current stream on a device."""
        streams = self._thread().__dict__.setdefault("streams", {})
        return streams[device] if device in streams else self.default_stream(device)

    def set_stream(self, stream: Any, device: Device) -> None:
        """Make a stream that `new_stream` returned the current one of this thread on its device."""
        self._thread().__dict__.setdefault("streams", {})[device] = stream

    def default_stream(self, device: Device) -> Any:
        """Return the default stream of a device."""
        # `setdefault`, since two threads may ask for the first time at once.
        streams = self.__dict__.setdefault("_default_streams", {})
        return streams.setdefault(device, SynchronousStream())

    def external_stream(self, pointer: int, device: Device) -> Any:
        """Wrap another library's stream, given its address.

        Raises
        ------
        DeviceError
            Unless overridden.
        """
        raise DeviceError(f"device {self.device_type!r} takes no streams of other libraries")

    def new_event(self, device: Device, timing: bool = False, blocking: bool = False) -> Any:
        """Return a new event: an object with `query()`, `synchronize()` and `elapsed_time(end)`.

        With `blocking` the host sleeps while it waits for the event, where the device can do that.
        """
        return SynchronousEvent()

    def shared_event(self, device: Device, blocking: bool = False, handle: bytes | None = None) -> Any:
        """Return a new event that other processes can open by its `ipc_handle()`, or theirs, given its handle.

        Raises
        ------
        DeviceError
            Unless overridden.
        """
        raise DeviceError(
            f"interprocess=True: device {self.device_type!r} shares no events with other processes"
        )

    def can_access_peer(self, device: Device, peer: Device) -> bool:
        """Return whether a device can read the memory of another one of the type directly."""
        return False

    # --- memory ------------------------------------------------------------------------------------------------

    def memory_stats(self, device: Device) -> dict[str, int]:
        """Return statistics of memory under PyTorch's names; empty where the device keeps none.

        "allocated_bytes.all.current" counts the bytes in tensors, "reserved_bytes.all.current" those that the library
        holds; ".peak" instead of ".current" is the largest number so far.
        """
        return {}

    def reset_peak_memory_stats(self, device: Device) -> None:
        """Reset the peaks of `memory_stats`."""
        return None

    def reset_accumulated_memory_stats(self, device: Device) -> None:
        """Reset the sums of `memory_stats`."""
        return None

    def empty_cache(self) -> None:
        """Release memory that the library holds and no tensor uses."""
        return None

    def set_cache_limit(self, nbytes: int) -> None:
        """Limit the memory that the library holds and no tensor uses.

        Raises
        ------
        DeviceError
            Unless overridden.
        """
        raise DeviceError(f"the cache of device {self.device_type!r} cannot be limited")

    def cache_limit(self) -> int:
        """Return how many bytes the library may hold that no tensor uses.

        Raises
        ------
        DeviceError
            Unless overridden.
        """
        raise DeviceError(f"the cache of device {self.device_type!r} has no limit")

    def memory_info(self, device: Device) -> tuple[int, int] | None:
        """Return the free and the total memory of a device in bytes, or None if unknown."""
        return None

    def memory_snapshot(self, device: Device) -> list[dict[str, Any]]:
        """Return a map of the memory of a device, in the format of PyTorch's function of that name."""
        return []

    def set_memory_fraction(self, fraction: float, device: Device) -> None:
        """Limit the library to a fraction of a device's memory.

        Raises
        ------
        DeviceError
            Unless overridden.
        """
        raise DeviceError(f"the memory of device {self.device_type!r} cannot be limited")

    def memory_fraction(self, device: Device) -> float:
        """Return the fraction of a device's memory that the library may hold."""
        return 1.0

    def pinned_memory(self, shape: Sequence[int], dtype: Any) -> np.ndarray[Any, Any]:
        """Return an array of the host in page-locked memory, which the device copies while the host continues.

        Raises
        ------
        DeviceError
            Unless overridden.
        """
        raise DeviceError(f"device {self.device_type!r} has no page-locked memory of the host")

    def is_pinned(self, address: int) -> bool:
        """Return whether an address of the host lies in page-locked memory."""
        return False

    # --- random numbers ----------------------------------------------------------------------------------------

    def generator(self, device: Device | None = None) -> Generator:
        """Return the generator of random numbers that is used where none is given; one for all devices of the type."""
        return generator_of(self.device_type)
