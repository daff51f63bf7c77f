"""DLPack: arrays of other libraries as tensors, and tensors as DLPack capsules, without copying."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.errors import DeviceError, ExportError, ValueRangeError
from tt.core.layers.functionalise import refresh
from tt.core.methods.foreign import check_array, from_interface
from tt.core.methods.reading import detached, host_array, requires_gradient
from tt.core.tensor.read_only import protect
from tt.core.tensor.tensor import Tensor, wrap
from tt.core.types.device import Device, to_device
from tt.core.types.dtype import bfloat16, from_numpy_dtype

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DEVICE_CODES", "dlpack_device", "export_array", "import_array"]

DEVICE_CODES: Final[Mapping[str, int]] = {"cpu": 1, "cuda": 2}
"""The codes that the DLPack standard gives device types."""

_PINNED: Final = 3
"""Page-locked host memory: the CPU reads it as its own."""


def dlpack_device(tensor: Tensor) -> tuple[int, int]:
    """Return where a tensor is as DLPack writes it: (code of the type, index).

    Raises
    ------
    BufferError
        For devices that are not in the standard, and whose backend gives no code.
    """
    device = tensor.device
    code = DEVICE_CODES.get(device.type)
    if code is not None:
        return code, device.index or 0
    found = tensor._spec.backend.dlpack_device(tensor._handle)
    if found is None:
        raise ExportError(f"a tensor on device {str(device)!r} has no memory that DLPack could share")
    return found


def import_array(source: Any) -> Tensor:
    """Return a tensor over the memory of an object with `__dlpack__` (or `__cuda_array_interface__`)."""
    if isinstance(source, Tensor):
        return detached(source)
    code, index = (
        source.__dlpack_device__() if hasattr(source, "__dlpack_device__") else (DEVICE_CODES["cuda"], 0)
    )
    if int(code) in (DEVICE_CODES["cpu"], _PINNED):
        array = _import_host(source)
        backend, device = REGISTRY.backend("cpu"), to_device("cpu")
        new = wrap(backend.from_numpy(array, device), backend.spec(from_numpy_dtype(array.dtype), device))
        protect(new)
        return new
    name = next((name for name, known in DEVICE_CODES.items() if known == int(code)), None)
    if name is None:
        raise DeviceError(
            f"from_dlpack(): the array is on a device of DLPack type {int(code)}, which tt does not support"
        )
    backend, device = REGISTRY.backend(name), Device(name, int(index))
    backend.require_available()
    handle, dtype = backend.from_dlpack(source, device)
    if any(step < 0 for step in backend.strides(handle)):
        raise ValueRangeError(
            f"the {type(source).__name__} has a negative stride, and tensors have none\n  try: a copy of it"
        )
    # `__cuda_array_interface__` does not include the device.
    new = wrap(handle, backend.spec(dtype, backend.device_of(handle) or device))
    if not hasattr(source, "__dlpack__"):
        protect(new, read_only=bool(source.__cuda_array_interface__["data"][1]))
    return new


def _import_host(source: Any) -> np.ndarray[Any, Any]:
    readable = _Readable(source)
    try:
        array = np.from_dlpack(readable)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise ExportError(f"from_dlpack(): the {type(source).__name__} cannot be shared: {error}") from error
    if readable.may_be_written and not array.flags.writeable:
        # NumPy protects what came in a capsule without flags; the standard takes such memory as writable.
        told = dict(array.__array_interface__)
        array = from_interface(array, {**told, "data": (told["data"][0], False)})
    check_array(array, type(source).__name__)
    return array.view(bfloat16.numpy) if readable.is_bfloat16 else array


# --- bfloat16 ----------------------------------------------------------------------------------------------------
# NumPy reads and makes the capsules, but has no bfloat16: it gets to see integers of the same size, and the type code
# inside the capsule is exchanged.

_UNSIGNED, _BFLOAT = 1, 4
_capsule_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
# Where the type code is in a DLManagedTensor, and in a DLManagedTensorVersioned with its header of 32 bytes.
_TYPE_CODE_AT: Final = {b"dltensor": 20, b"dltensor_versioned": 52}


def _exchange_type(capsule: Any, old: int, new: int) -> bool:
    """Write another type code into a capsule that has the old one; return whether it had."""
    name = _capsule_name(capsule)
    if name not in _TYPE_CODE_AT:
        return False
    code = ctypes.c_uint8.from_address(_capsule_pointer(capsule, name) + _TYPE_CODE_AT[name])
    if code.value != old:
        return False
    code.value = new
    return True


class _Readable:
    """An object with `__dlpack__` as NumPy can read it."""

    def __init__(self, source: Any) -> None:
        self.source, self.is_bfloat16, self.may_be_written = source, False, False

    def __dlpack_device__(self) -> tuple[int, int]:
        device: tuple[int, int] = self.source.__dlpack_device__()
        return device

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self.source.__dlpack__(**options)
        self.is_bfloat16 = _exchange_type(capsule, _BFLOAT, _UNSIGNED)
        self.may_be_written = _capsule_name(capsule) == b"dltensor"
        return capsule


# --- export ------------------------------------------------------------------------------------------------------


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
        raise ExportError("a tensor that requires a gradient is not exported; export tensor.detach()")
    if tensor.layout.name != "strided":
        raise ExportError(f"a tensor of layout {tensor.layout} cannot be exported with DLPack")
    own = dlpack_device(tensor)
    options: dict[str, Any] = {"max_version": max_version, "copy": copy}
    if tensor.device.type != "cpu":
        refresh(tensor)
        options |= {"stream": stream, "dl_device": dl_device}
        given = {name: value for name, value in options.items() if value is not None}
        capsule = tensor._spec.backend.to_dlpack(tensor._handle, **given)
        if tensor.dtype is bfloat16:
            _exchange_type(capsule, _UNSIGNED, _BFLOAT)  # of libraries that have none, and gave integers
        return capsule
    if stream is not None:
        raise ExportError("a stream has no meaning for a CPU tensor: stream must be None")
    if dl_device is not None and tuple(dl_device) != own:
        raise ExportError(f"cannot export a CPU tensor to the DLPack device {tuple(dl_device)}")
    array = host_array(tensor)
    given = {name: value for name, value in options.items() if value is not None}
    plain = tensor.dtype is not bfloat16
    try:
        capsule = (array if plain else array.view(np.uint16)).__dlpack__(**given)
    except (
        BufferError,
        ValueError,
    ) as error:  # read-only memory, for a consumer without support for the flag
        raise ExportError(f"the tensor cannot be exported with DLPack: {error}") from error
    if plain:
        return capsule
    _exchange_type(capsule, _UNSIGNED, _BFLOAT)
    return capsule
