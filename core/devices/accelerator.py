"""tt.accelerator: the accelerator of this machine, from any plugin, under PyTorch's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tt.core.blocks import Block
from tt.core.devices.streams import Stream, resolve_device
from tt.core.dispatch.registry.accelerators import current_accelerator, usable_backend
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.errors import DeviceError, DtypeError
from tt.core.types.device import Device
from tt.core.types.dtype import DTYPES
from tt.core.types.user_warnings import warn_user

if TYPE_CHECKING:
    from tt.core.tensor.backend import Backend
    from tt.core.tensor.device_interface import DeviceInterface
    from tt.core.types.dtype import dtype as Dtype

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "empty_cache",
    "get_device_capability",
    "get_memory_info",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]


def _accelerator(device: Device | str | int | None = None) -> tuple[DeviceInterface, Device]:
    """Return the accelerator's backend and one of its devices, by default the current one.

    Raises
    ------
    DeviceError
        When no accelerator is installed, or the device is of another type or does not exist.
    """
    accelerator = current_accelerator()
    if accelerator is None:
        raise DeviceError("no accelerator is installed: no plugin provides one\n  see: tt plugins list")
    # A number is an index of the accelerator, whatever the default device is.
    if isinstance(device, int) and not isinstance(device, bool):
        requested = Device(accelerator.type, device)
    else:
        requested = accelerator if device is None else Device(device)
    if requested.type != accelerator.type:
        raise DeviceError(
            f"{requested} is not a device of the current accelerator, {accelerator}\n"
            f"  try: tt.get_device_module({requested.type!r}), or `with tt.device({requested.type!r})`"
        )
    return resolve_device(requested)


def is_available() -> bool:
    """Return whether there is an accelerator that can be used.

    Examples
    --------
    >>> import tt
    >>> tt.accelerator.is_available() == (tt.accelerator.device_count() > 0)
    True
    """
    return current_accelerator(check_available=True) is not None


def device_count() -> int:
    """Return the number of devices of the accelerator; 0 without one."""
    accelerator = current_accelerator(check_available=True)
    backend = None if accelerator is None else usable_backend(accelerator.type)
    return 0 if backend is None else backend.device_count()


def current_device_index() -> int:
    """Return the index of this thread's current device.

    Raises
    ------
    DeviceError
        Here and in the functions below: when no accelerator is installed, or the device does not exist.
    """
    return _accelerator()[0].current_device()


def get_device_capability(device: Device | str | int | None = None, /) -> dict[str, Any]:
    """Return what a device of the accelerator can do: under "supported_dtypes" the dtypes of the tensors there."""
    backend = REGISTRY.backend(_accelerator(device)[1].type)
    return {"supported_dtypes": {dtype for dtype in DTYPES if _serves(backend, dtype)}}


def _serves(backend: Backend, dtype: Dtype) -> bool:
    try:
        backend.native_dtype(dtype)
    except (DtypeError, KeyError, TypeError, ValueError, NotImplementedError):
        return False  # backends say it with an error of any kind
    return True


def current_device_idx() -> int:
    """Return `current_device_index()`, whose former name it is."""
    warn_user("tt.accelerator.current_device_idx is now tt.accelerator.current_device_index", FutureWarning)
    return current_device_index()


def set_device_index(device: Device | str | int) -> None:
    """Make a device of the accelerator the current one of this thread."""
    backend, resolved = _accelerator(device)
    backend.set_device(resolved.index or 0)


def set_device_idx(device: Device | str | int) -> None:
    """Do as `set_device_index`, whose former name it is."""
    warn_user("tt.accelerator.set_device_idx is now tt.accelerator.set_device_index", FutureWarning)
    set_device_index(device)


class device_index(Block):  # noqa: N801 - PyTorch's name
    """Makes a device of the accelerator the current one inside a `with` block; None changes nothing.

    Parameters
    ----------
    device : int or None
        The index.
    """

    def __init__(self, device: int | None, /) -> None:
        self.device = device

    def _look(self) -> int | None:
        return None if self.device is None else current_device_index()

    def _begin(self) -> None:
        if self.device is not None:
            set_device_index(self.device)

    def _end(self, before: int | None) -> None:
        if before is not None:
            set_device_index(before)


# --- the order of work -----------------------------------------------------------------------------------------


def synchronize(device: Device | str | int | None = None, /) -> None:
    """Wait until a device of the accelerator, by default the current one, has done all that it was given."""
    backend, resolved = _accelerator(device)
    backend.synchronize(resolved)


def current_stream(device: Device | str | int | None = None, /) -> Stream:
    """Return this thread's current stream on a device of the accelerator."""
    backend, resolved = _accelerator(device)
    return Stream(resolved, native=backend.current_stream(resolved))


def set_stream(stream: Stream) -> None:
    """Make a stream the current one of this thread on its device, and that device the current one."""
    backend, resolved = _accelerator(stream.device)
    backend.set_device(resolved.index or 0)
    backend.set_stream(stream.native, resolved)


# --- memory ----------------------------------------------------------------------------------------------------


def memory_stats(device: Device | str | int | None = None, /) -> dict[str, int]:
    """Return statistics of memory under PyTorch's names; empty where the device keeps none."""
    backend, resolved = _accelerator(device)
    return dict(sorted(backend.memory_stats(resolved).items()))


def memory_allocated(device: Device | str | int | None = None, /) -> int:
    """Return how many bytes tensors use on a device; 0 where it keeps no statistics."""
    return memory_stats(device).get("allocated_bytes.all.current", 0)


def max_memory_allocated(device: Device | str | int | None = None, /) -> int:
    """Return the largest number of bytes that tensors used so far; 0 where the device keeps none."""
    return memory_stats(device).get("allocated_bytes.all.peak", 0)


def memory_reserved(device: Device | str | int | None = None, /) -> int:
    """Return how many bytes the library holds on a device; 0 where it keeps no statistics."""
    return memory_stats(device).get("reserved_bytes.all.current", 0)


def max_memory_reserved(device: Device | str | int | None = None, /) -> int:
    """Return the largest number of bytes that the library held so far; 0 where the device keeps none."""
    return memory_stats(device).get("reserved_bytes.all.peak", 0)


def reset_peak_memory_stats(device: Device | str | int | None = None, /) -> None:
    """Reset the peak values."""
    backend, resolved = _accelerator(device)
    backend.reset_peak_memory_stats(resolved)


def reset_accumulated_memory_stats(device: Device | str | int | None = None, /) -> None:
    """Reset the sums of the statistics."""
    backend, resolved = _accelerator(device)
    backend.reset_accumulated_memory_stats(resolved)


def empty_cache() -> None:
    """Give memory back that the library holds and no tensor uses."""
    _accelerator()[0].empty_cache()


def get_memory_info(device: Device | str | int | None = None, /) -> tuple[int, int]:
    """Return the free and the total memory of a device in bytes.

    Raises
    ------
    DeviceError
        If its backend does not report it.
    """
    backend, resolved = _accelerator(device)
    return memory_info(backend, resolved)


def memory_info(backend: DeviceInterface, place: Device) -> tuple[int, int]:
    """Return the free and the total memory of a device, or raise if its backend does not report it."""
    info = backend.memory_info(place)
    if info is None:
        raise DeviceError(f"the backend of device {place.type!r} does not report its memory")
    return info
