"""Arrays of other libraries as tensors, and tensors as DLPack capsules, without copying."""

from __future__ import annotations

import ctypes
from math import prod
from operator import index
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.core.dispatch.intercept.modes import note_data
from tt.core.dispatch.mutate.overlap import note_overlap
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.errors import DeviceError, ExportError, TTError, ValueRangeError
from tt.core.layers.functionalise import refresh
from tt.core.methods.capsules import capsule_name, capsule_pointer
from tt.core.methods.memory.host_access import detached, host_array, requires_gradient
from tt.core.tensor.read_only import keep_size, protect
from tt.core.tensor.tensor import Tensor, wrap
from tt.core.types.device import Device, to_device
from tt.core.types.dtype import bfloat16, from_numpy_dtype, to_dtype
from tt.core.types.dtype import dtype as Dtype

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "DEVICE_CODES",
    "EXPORT_MEMBERS",
    "check_array",
    "dlpack",
    "dlpack_device",
    "export_array",
    "from_interface",
    "has_buffer",
    "import_array",
    "is_array_like",
    "is_elsewhere",
    "share",
]

# --- protocols ---------------------------------------------------------------------------------------------------

_PLAIN: Final = frozenset((bool, int, float, complex, list, tuple))


def is_array_like(data: Any) -> bool:
    """Return whether the object is an array, or a NumPy scalar, that can be shared or read in one piece."""
    # Most data is of these types, whose attributes need not be looked up.
    if type(data) in _PLAIN:
        return False
    if isinstance(data, np.ndarray | np.generic):
        return not isinstance(data, np.str_ | np.bytes_)
    return any(
        hasattr(data, name) for name in ("__dlpack__", "__array_interface__", "__cuda_array_interface__")
    )


def is_elsewhere(data: Any) -> bool:
    """Return whether an array may be on another device than the CPU."""
    return not isinstance(data, np.ndarray | np.generic) and not hasattr(data, "__array_interface__")


def has_buffer(data: Any) -> bool:
    """Return whether the object has Python's buffer protocol."""
    try:
        memoryview(data).release()
    except TypeError:
        return False
    return True


def share(data: Any) -> np.ndarray[Any, Any] | Tensor:
    """Return another library's array without copying it: a NumPy array, or a tensor where that is not possible."""
    if isinstance(data, np.ndarray):
        # Without the subclass: matrices and masked arrays have other rules of indexing and arithmetic.
        return data.view(np.ndarray)
    if isinstance(data, np.generic):
        return np.asarray(data)
    if hasattr(data, "__array_interface__"):
        return from_interface(data, data.__array_interface__)
    return import_array(data)


class _Described:
    """An object with its `__array_interface__` as read once, because a second read could differ."""

    def __init__(self, base: Any, interface: dict[str, Any]) -> None:
        self.base, self.__array_interface__ = base, interface


def from_interface(source: Any, interface: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Return the array that an `__array_interface__` describes; it keeps the source alive.

    Raises
    ------
    ValueError
        For descriptions that NumPy does not understand, or that reach beyond the buffer that they name.
    """
    try:
        # An address, which a tuple holds, cannot be checked; a buffer has a length.
        if not isinstance(interface.get("data"), tuple):
            _check_reach(source, interface)
        return np.asarray(_Described(source, interface))
    except TTError:
        raise
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise ValueRangeError(
            f"the __array_interface__ of the {type(source).__name__} is not valid: {error}"
        ) from error


def _check_reach(source: Any, interface: dict[str, Any]) -> None:
    """Refuse a description that reaches beyond its buffer; NumPy trusts it."""
    memory = interface.get("data")
    with memoryview(source if memory is None else memory) as view:
        length = view.nbytes
    itemsize, shape = np.dtype(interface["typestr"]).itemsize, tuple(map(index, interface["shape"]))
    strides = interface.get("strides")
    if strides is None:
        strides = [itemsize * prod(shape[dim + 1 :]) for dim in range(len(shape))]
    first = last = index(interface.get("offset", 0))
    for size, stride in zip(shape, map(index, strides), strict=True):
        # Negative strides reach before the first element.
        first += min(0, (size - 1) * stride)
        last += max(0, (size - 1) * stride)
    if min(shape, default=1) > 0 and (first < 0 or last + itemsize > length):
        raise ValueRangeError(
            f"the __array_interface__ of the {type(source).__name__} describes the bytes {first} to {last + itemsize} "
            f"of a buffer of {length}"
        )


# --- checks of NumPy arrays --------------------------------------------------------------------------------------


def check_array(array: np.ndarray[Any, Any], what: str = "numpy array") -> Dtype:
    """Return the dtype of an array that a tensor can share; messages call it `what`.

    Raises
    ------
    TypeError, ValueError
        For dtypes, byte orders and strides that tensors do not have.
    """
    dtype = from_numpy_dtype(array.dtype)
    if not array.dtype.isnative:
        raise ValueRangeError(
            f"given {what} has byte order different from the native byte order; conversion between byte orders is "
            "not supported\n  try: array.astype(array.dtype.newbyteorder('='))"
        )
    if any(stride < 0 for stride in array.strides):
        raise ValueRangeError(
            f"At least one stride in the given {what} is negative, and tensors with negative strides are not "
            "supported\n  try: array.copy()"
        )
    # A tensor counts its strides in elements.
    if any(stride % array.itemsize for stride in array.strides):
        raise ValueRangeError(
            f"given {what} strides not a multiple of the element byte size\n  try: array.copy()"
        )
    return dtype


DEVICE_CODES: Final[Mapping[str, int]] = {"cpu": 1, "cuda": 2}
"""The codes that the DLPack standard gives device types."""

_PINNED: Final = 3
"""Page-locked host memory: the CPU reads it as its own."""


def dlpack_device(self: Tensor) -> tuple[int, int]:
    """Return where a tensor is as DLPack writes it: (code of the type, index).

    Raises
    ------
    BufferError
        For devices that are not in the standard, and whose backend gives no code.
    """
    device = self.device
    code = DEVICE_CODES.get(device.type)
    if code is not None:
        return code, device.index or 0
    code_and_index = self._spec.backend.dlpack_device(self._handle)
    if code_and_index is None:
        raise ExportError(f"a tensor on device {str(device)!r} has no memory that DLPack could share")
    return code_and_index


def import_array(source: Any) -> Tensor:
    """Return a tensor over the memory of an object with `__dlpack__` (or `__cuda_array_interface__`)."""
    if isinstance(source, Tensor):
        # A tensor of this process: its memory is shared without a capsule.
        _refuse_export(source)
        return detached(source)
    code, index = (
        source.__dlpack_device__() if hasattr(source, "__dlpack_device__") else (DEVICE_CODES["cuda"], 0)
    )
    if int(code) in (DEVICE_CODES["cpu"], _PINNED):
        array = _import_host(source)
        backend, device = REGISTRY.backend("cpu"), to_device("cpu")
        new = wrap(backend.from_numpy(array, device), backend.spec(from_numpy_dtype(array.dtype), device))
        protect(new)
        keep_size(new)
        note_overlap(new)
        note_data(new)
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
    keep_size(new)
    note_overlap(new)
    note_data(new)
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
    # The bits are those of the hidden dtype; only NumPy saw integers.
    return array if readable.hidden is None else array.view(readable.hidden.numpy)


# --- bfloat16, float8 and complex32 ------------------------------------------------------------------------------
# NumPy reads and makes the capsules, but has none of these dtypes: it gets to see integers of the same size, and the
# type code inside the capsule is exchanged.

_UNSIGNED: Final = 1
_HIDDEN: Final[Mapping[str, int]] = {
    "bfloat16": 4, "float8_e4m3fn": 10, "float8_e4m3fnuz": 11, "float8_e5m2": 12, "float8_e5m2fnuz": 13,
    "float8_e8m0fnu": 14, "complex32": 5,
}  # fmt: skip
"""The type codes of DLPack for dtypes that NumPy does not have."""
# Where the type code is in a DLManagedTensor, and in a DLManagedTensorVersioned with its header of 32 bytes.
_TYPE_CODE_AT: Final = {b"dltensor": 20, b"dltensor_versioned": 52}


def _exchange_type(capsule: Any, old: int, new: int, itemsize: int) -> bool:
    """Write another type code into a capsule that has the old one, and elements of a size; return whether it had."""
    name = capsule_name(capsule)
    if name not in _TYPE_CODE_AT:
        return False
    address = capsule_pointer(capsule, name) + _TYPE_CODE_AT[name]
    code = ctypes.c_uint8.from_address(address)
    # The size has to fit, too: a plain uint8 or uint16 is none of the hidden dtypes.
    if code.value != old or ctypes.c_uint8.from_address(address + 1).value != 8 * itemsize:
        return False
    code.value = new
    return True


class _Readable:
    """An object with `__dlpack__` as NumPy can read it."""

    def __init__(self, source: Any) -> None:
        self.source, self.may_be_written = source, False
        self.hidden: Dtype | None = None

    def __dlpack_device__(self) -> tuple[int, int]:
        device: tuple[int, int] = self.source.__dlpack_device__()
        return device

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self.source.__dlpack__(**options)
        for name, code in _HIDDEN.items():
            dtype = to_dtype(name)
            if _exchange_type(capsule, code, _UNSIGNED, dtype.itemsize):
                self.hidden = dtype
        self.may_be_written = capsule_name(capsule) == b"dltensor"
        return capsule


def _refuse_export(tensor: Tensor) -> None:
    """Refuse a tensor that is more than its memory, or has none that could be shared as an array."""
    if requires_gradient(tensor):
        raise ExportError("a tensor that requires a gradient is not exported; export tensor.detach()")
    # The meta device has no code, so that this raises.
    if tensor.device.type == "meta":
        dlpack_device(tensor)
    if tensor.layout.name != "strided":
        raise ExportError(f"a tensor of layout {tensor.layout} cannot be exported with DLPack")
    lost = tensor._spec.backend.lost_by_export(tensor._handle)
    if lost:
        raise ExportError(f"the export would lose {lost} of the tensor; export tensor.detach()")


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
    _refuse_export(tensor)
    own = dlpack_device(tensor)
    options: dict[str, Any] = {"max_version": max_version, "copy": copy}
    if tensor.device.type != "cpu":
        # The array of a functionalised tensor may be out of date.
        refresh(tensor)
        options |= {"stream": stream, "dl_device": dl_device}
        provided = {name: value for name, value in options.items() if value is not None}
        capsule = tensor._spec.backend.to_dlpack(tensor._handle, **provided)
        if tensor.dtype is bfloat16:
            _exchange_type(
                capsule, _UNSIGNED, _HIDDEN["bfloat16"], bfloat16.itemsize
            )  # of libraries that have none, and gave integers
        return capsule
    if stream not in (None, -1):  # -1 asks for no synchronization
        raise ExportError("a stream has no meaning for a CPU tensor: stream must be None or -1")
    if dl_device is not None and tuple(dl_device) != own:
        raise ExportError(f"cannot export a CPU tensor to the DLPack device {tuple(dl_device)}")
    array = host_array(tensor)
    provided = {name: value for name, value in options.items() if value is not None}
    code = _HIDDEN.get(tensor.dtype.name)
    try:
        seen = array if code is None else array.view(f"u{array.itemsize}")
        capsule = seen.__dlpack__(**provided)
    except (
        BufferError,
        ValueError,
    ) as error:  # read-only memory, for a consumer without support for the flag
        raise ExportError(f"the tensor cannot be exported with DLPack: {error}") from error
    if code is not None:
        _exchange_type(capsule, _UNSIGNED, code, tensor.dtype.itemsize)
    return capsule


def dlpack(
    self: Tensor,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """Return a DLPack capsule that shares the tensor's memory.

    Parameters
    ----------
    stream : int, optional
        The consumer's CUDA stream; None for the CPU.
    max_version : (int, int), optional
        The newest version of DLPack that the consumer reads.
    dl_device : (int, int), optional
        Where the consumer wants the data.
    copy : bool, optional
        True always copies, False never does.

    Raises
    ------
    BufferError
        When the memory cannot be shared.
    """
    return export_array(self, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)


EXPORT_MEMBERS: Final[dict[str, Any]] = {"__dlpack__": dlpack, "__dlpack_device__": dlpack_device}
"""Members that other libraries call to share the memory of a tensor."""
