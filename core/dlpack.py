"""DLPack: arrays of other libraries as tensors, and tensors as DLPack capsules, without copying."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.core.device import Device, to_device
from tt.core.errors import DeviceError, ExportError
from tt.core.reading import detached, host_array, requires_gradient
from tt.core.tensor import Tensor, wrap

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DEVICE_CODES", "dlpack_device", "export_array", "import_array"]

DEVICE_CODES: Final[Mapping[str, int]] = {"cpu": 1, "cuda": 2}
"""The codes that the DLPack standard gives device types."""

_PINNED: Final = 3
"""Page-locked host memory: the CPU reads it as its own."""


def dlpack_device(device: Device) -> tuple[int, int]:
    """Return a device as DLPack writes it: (code of the type, index).

    Raises
    ------
    BufferError
        For devices that the standard does not know.
    """
    code = DEVICE_CODES.get(device.type)
    if code is None:
        raise ExportError(f"a tensor on device {str(device)!r} has no memory that DLPack could share")
    return code, device.index or 0


def import_array(source: Any) -> Tensor:
    """Return a tensor over the memory of an object with `__dlpack__` (or `__cuda_array_interface__`)."""
    from tt.core.dispatch.registry import REGISTRY
    from tt.core.dtype import from_numpy_dtype

    if isinstance(source, Tensor):
        return detached(source)
    code, index = (
        source.__dlpack_device__() if hasattr(source, "__dlpack_device__") else (DEVICE_CODES["cuda"], 0)
    )
    if int(code) in (DEVICE_CODES["cpu"], _PINNED):
        array = _import_host(source)
        backend, device = REGISTRY.backend("cpu"), to_device("cpu")
        return wrap(backend.from_numpy(array, device), backend.spec(from_numpy_dtype(array.dtype), device))
    name = next((name for name, known in DEVICE_CODES.items() if known == int(code)), None)
    if name is None:
        raise DeviceError(
            f"from_dlpack(): the array is on a device of DLPack type {int(code)}, which tt does not know"
        )
    backend, device = REGISTRY.backend(name), Device(name, int(index))
    backend.require_available()
    load = getattr(backend, "from_dlpack", None)
    if load is None:
        raise DeviceError(f"from_dlpack(): the backend of device {name!r} does not import DLPack")
    handle, dtype = load(source, device)
    return wrap(handle, backend.spec(dtype, device))


def _import_host(source: Any) -> np.ndarray[Any, Any]:
    try:
        return np.from_dlpack(source)
    except (BufferError, RuntimeError, TypeError) as error:
        raise ExportError(
            f"from_dlpack(): the {type(source).__name__} cannot be shared: {error}\n"
            f"  NumPy, which reads the capsule, has no bfloat16"
        ) from error


def export_array(
    tensor: Tensor,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """Return a DLPack capsule over the memory of a tensor; the parameters are those of `__dlpack__`."""
    if requires_gradient(tensor):
        raise ExportError("Can't export tensors that require gradient, use tensor.detach()")
    if tensor.layout.name != "strided":
        raise ExportError(f"a tensor of layout {tensor.layout} cannot be exported with DLPack")
    own = dlpack_device(tensor.device)
    if own[0] != DEVICE_CODES["cpu"]:
        export = getattr(tensor.spec.backend, "to_dlpack", None)
        if export is None:
            raise ExportError(f"the backend of device {str(tensor.device)!r} does not export DLPack")
        return export(tensor.handle, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)
    if stream is not None:
        raise ExportError("a stream has no meaning for a CPU tensor: stream must be None")
    if dl_device is not None and tuple(dl_device) != own:
        raise ExportError(f"cannot export a CPU tensor to the DLPack device {tuple(dl_device)}")
    array = host_array(tensor)
    if array.dtype.kind == "V":
        raise ExportError(
            "a bfloat16 tensor cannot be exported: NumPy, which makes the capsule, has no bfloat16"
        )
    options: dict[str, Any] = {"max_version": max_version, "copy": copy}
    return array.__dlpack__(**{name: value for name, value in options.items() if value is not None})
