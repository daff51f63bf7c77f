"""The functions of tt.cuda."""

from __future__ import annotations

from typing import Any

from tt.core.library import REGISTRY, Device, errors

__all__ = ["current_device", "device_count", "get_device_name", "is_available", "set_device", "synchronize"]


def _backend() -> Any:
    """Return the CUDA backend, activating its plugin."""
    return REGISTRY.backend("cuda")


def _usable() -> Any:
    """Return CuPy, or raise with the reason why CUDA cannot be used."""
    _backend().require_available()
    from tt.backends.cuda.memory import cupy

    return cupy()


def _index(device: Device | str | int | None) -> int:
    """Return the index of a device, the current one where none is named."""
    found = Device("cuda") if device is None else Device(device)
    if found.type != "cuda":
        raise errors.DeviceError(f"Expected a cuda device, but got: {found}")
    index = current_device() if found.index is None else found.index
    count = device_count()
    if index >= count:
        raise errors.DeviceError(f"invalid device ordinal: cuda:{index}; there are {count} CUDA devices")
    return index


def is_available() -> bool:
    """Return whether tensors can be put on a CUDA device.

    `tt plugins list` says why not.

    Examples
    --------
    >>> import tt
    >>> tt.cuda.is_available() == (tt.cuda.device_count() > 0)
    True
    """
    try:
        return _backend().available() is None
    except (errors.PluginError, errors.PluginFailedError, errors.PluginMissingError):
        return False


def device_count() -> int:
    """Return the number of CUDA devices; 0 where CUDA cannot be used."""
    return int(_backend().device_count()) if is_available() else 0


def current_device() -> int:
    """Return the index of the current CUDA device.

    Raises
    ------
    DeviceError
        When CUDA cannot be used, with the reason.
    """
    return int(_usable().cuda.Device().id)


def set_device(device: Device | str | int) -> None:
    """Make a CUDA device the current one of this thread.

    Raises
    ------
    DeviceError
        When CUDA cannot be used or there is no such device.
    """
    module = _usable()
    module.cuda.Device(_index(device)).use()


def get_device_name(device: Device | str | int | None = None) -> str:
    """Return the name of a CUDA device.

    Raises
    ------
    DeviceError
        When CUDA cannot be used or there is no such device.
    """
    properties = _usable().cuda.runtime.getDeviceProperties(_index(device))
    return str(properties["name"].decode())


def synchronize(device: Device | str | int | None = None) -> None:
    """Wait until a CUDA device has done all that it was given.

    Raises
    ------
    DeviceError
        When CUDA cannot be used or there is no such device.
    """
    _usable().cuda.Device(_index(device)).synchronize()
