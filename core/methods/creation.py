"""Construction: tensors from Python data, arrays and buffers."""

from __future__ import annotations

from operator import index
from typing import Any, Final

import numpy as np

from tt.core.dispatch.call.kernel_errors import method_failed
from tt.core.dispatch.intercept.modes import active_modes, note_data
from tt.core.dispatch.intercept.tt_function import NOT_HANDLED, intercept
from tt.core.dispatch.mutate.overlap import note_overlap
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.errors import ArgumentError, DtypeError, ValueRangeError, describe
from tt.core.methods.capsules import CapsuleSource, is_capsule
from tt.core.methods.interop import check_array, has_buffer, import_array, is_array_like, is_elsewhere, share
from tt.core.methods.memory.host_access import detached, requires_gradient
from tt.core.methods.memory.host_storage import whole_tensor
from tt.core.methods.nested import array_from_nested
from tt.core.methods.typed_storage import TypedStorage
from tt.core.tensor.base import TensorBase
from tt.core.tensor.read_only import keep_size, protect
from tt.core.tensor.storage import Storage
from tt.core.tensor.tensor import Tensor, wrap
from tt.core.types.device import Device, get_default_device, to_device
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.dtype import from_numpy_dtype, to_dtype
from tt.core.types.promotion import get_default_dtype
from tt.core.types.scalars import cast_array
from tt.core.types.state import STATE
from tt.core.types.user_warnings import warn_user

__all__ = ["as_tensor", "asarray", "from_array", "from_dlpack", "from_numpy", "frombuffer", "tensor"]

STORAGES: Final = (Storage, TypedStorage)
"""What a tensor is made over, not of: it shares the memory."""


# --- placing an array on a device --------------------------------------------------------------------------------


def from_array(array: np.ndarray[Any, Any], device: Device, *, requires_grad: bool = False) -> Tensor:
    """Return a tensor on a device with the content of an array, whose memory it may share.

    A mode may make the tensor in its own way (`from_array`, as a fake mode does; None leaves it to the others) or see
    the new one (`lift`).
    """
    modes = active_modes() if STATE.modes else ()
    # From the innermost: the first that makes the tensor decides.
    for mode in reversed(modes):
        handler = getattr(mode, "from_array", None)
        own = None if handler is None else handler(array, device)
        if own is not None:
            return _with_gradient(own, requires_grad)
    backend = REGISTRY.backend(device.type)
    backend.require_available()
    device = backend.place(device)
    try:
        handle = backend.from_numpy(array, device)
    except Exception as error:
        method_failed(error, backend, "from_numpy", "making a tensor", array, device)
    new = wrap(handle, backend.spec(from_numpy_dtype(array.dtype), device))
    # Before anybody sees the tensor: a write must not reach memory that is read-only.
    protect(new)
    note_overlap(new)
    note_data(new)
    # After it is made: a lifting mode gives its own tensor in place of this one.
    for mode in reversed(modes):
        lift = getattr(mode, "lift", None)
        if lift is not None:
            new = lift(new)
    return _with_gradient(new, requires_grad)


def _with_gradient(tensor: Tensor, requires_grad: bool) -> Tensor:
    if requires_grad:
        tensor.requires_grad = True
    return tensor


def _placed(tensor: Tensor, device: Any) -> Tensor:
    return tensor if device is None else tensor.to(to_device(device))


def _dtype_argument(name: str, dtype: Any) -> Dtype | None:
    if isinstance(dtype, Dtype) and dtype.kind == "quantized":
        raise DtypeError(
            f"{name}(): numbers of {dtype.name} mean nothing without their scale\n"
            "  try: tt.quantize_per_tensor(x, scale, zero_point, dtype)"
        )
    if dtype is None or isinstance(dtype, Dtype):
        return dtype
    if isinstance(dtype, type) and dtype in (bool, int, float, complex):
        return to_dtype(dtype)
    raise TypeError(f"{name}(): argument 'dtype' must be a tt.dtype, not {type(dtype).__name__}")


def _device_or_default(device: Any) -> Device:
    return get_default_device() if device is None else to_device(device)


# --- the functions -----------------------------------------------------------------------------------------------


def tensor(
    data: Any,
    *,
    dtype: Dtype | None = None,
    device: Device | str | int | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Return a new tensor with a copy of `data`.

    Parameters
    ----------
    data : number, nested sequence, numpy.ndarray, Tensor, object with `__dlpack__` or `__array_interface__`
        The values.  A storage is shared, and its bytes are read as the dtype.
    dtype : dtype, optional
        By default the dtype of the data: bool, int64, the default dtype for Python floats, its complex counterpart;
        NumPy arrays and scalars keep theirs.
    device : Device or str, optional
        By default the device of the data, or the default device.
    requires_grad : bool
        Whether autograd records operations on the tensor.
    pin_memory : bool
        Whether to put the CPU tensor in page-locked memory; see `Tensor.pin_memory`.

    Raises
    ------
    ValueError
        For sequences of different lengths, or numbers that the dtype cannot hold.
    TypeError
        For data that is not a number, sequence or array.
    DeviceError
        For `pin_memory` without an accelerator, or on another device than the CPU.

    Examples
    --------
    >>> import tt
    >>> tt.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    >>> tt.tensor([1, 2.5]).dtype
    tt.float32
    """
    if STATE.modes:
        options = {"dtype": dtype, "device": device, "requires_grad": requires_grad, "pin_memory": pin_memory}
        seen: Tensor = intercept(
            tensor, (data,), {k: v for k, v in options.items() if v not in (None, False)}
        )
        if seen is not NOT_HANDLED:
            return seen
    if pin_memory:
        return _with_gradient(tensor(data, dtype=dtype, device=device).pin_memory(), requires_grad)
    requested = _dtype_argument("tensor", dtype)
    if isinstance(data, TensorBase):
        warn_user(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than tt.tensor(sourceTensor).",
        )
        target = data.device if device is None else to_device(device)
        # Detached: the copy has no history.
        copy: Tensor = detached(data).to(target, requested or data.dtype, copy=True)
        return _with_gradient(copy, requires_grad)
    if is_array_like(data):
        shared = share(data)
        if not isinstance(shared, np.ndarray):
            target = shared.device if device is None else to_device(device)
            return _with_gradient(shared.to(target, requested or shared.dtype, copy=True), requires_grad)
        inferred = check_array(shared)
        array = cast_array(shared, requested or inferred)
        # A cast makes a copy, and the same dtype none; the result never shares memory.
        if array is shared:
            array = shared.copy()
    elif isinstance(data, STORAGES):
        return _with_gradient(_placed(whole_tensor("tensor", data, requested), device), requires_grad)
    else:
        array = array_from_nested(data, requested)
    return from_array(array, _device_or_default(device), requires_grad=requires_grad)


def as_tensor(data: Any, dtype: Dtype | None = None, device: Device | str | int | None = None) -> Tensor:
    """Return a tensor with the values of `data`, sharing its memory where that is possible.

    A tensor of the right dtype and device is returned as it is, with its autograd history; a NumPy array of the
    right dtype is shared on the CPU; everything else is copied.

    Examples
    --------
    >>> import numpy as np
    >>> import tt
    >>> array = np.array([1, 2, 3])
    >>> shared = tt.as_tensor(array)
    >>> shared[0] = -1
    >>> array.tolist()
    [-1, 2, 3]
    """
    if STATE.modes:
        options = {"dtype": dtype, "device": device}
        seen: Tensor = intercept(as_tensor, (data,), {k: v for k, v in options.items() if v is not None})
        if seen is not NOT_HANDLED:
            return seen
    requested = _dtype_argument("as_tensor", dtype)
    if isinstance(data, Tensor):
        target = data.device if device is None else to_device(device)
        return data.to(target, requested or data.dtype)
    if is_array_like(data):
        shared = share(data)
        if not isinstance(shared, np.ndarray):
            target = shared.device if device is None else to_device(device)
            return shared.to(target, requested or shared.dtype)
        inferred = check_array(shared)
        array = cast_array(shared, requested or inferred)
    elif isinstance(data, STORAGES):
        return _placed(whole_tensor("as_tensor", data, requested), device)
    else:
        array, shared = array_from_nested(data, requested), None
    new = from_array(array, _device_or_default(device))
    # Only where memory is shared: NumPy would not see it move.
    if array is shared:
        keep_size(new)
    return new


def from_numpy(ndarray: np.ndarray[Any, Any] | Tensor) -> Tensor:
    """Return a CPU tensor that shares the memory of a NumPy array; one that is read-only stays so.

    A tensor is returned as it is: it too has ``__array_interface__``, by which libraries know NumPy's arrays.

    Raises
    ------
    TypeError
        For anything but an array or a tensor, and for dtypes that tensors do not have.
    ValueError
        For byte orders, strides and alignments that tensors do not have.

    Examples
    --------
    >>> import numpy as np
    >>> import tt
    >>> tt.from_numpy(np.array([1.5, 2.0], dtype=np.float32))
    tensor([1.5000, 2.0000])
    """
    if not isinstance(ndarray, np.ndarray):
        if isinstance(ndarray, Tensor):
            return ndarray
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    check_array(ndarray)
    if not ndarray.flags.aligned:
        raise ValueRangeError(
            f"from_numpy(): the elements of the array do not lie at multiples of {ndarray.dtype.alignment} bytes, so "
            "its memory cannot be shared\n  try: array.copy()"
        )
    # Subclasses of ndarray (matrix, masked arrays) would bring their own arithmetic into kernels.
    new = from_array(ndarray.view(np.ndarray), to_device("cpu"))
    keep_size(new)
    return new


def frombuffer(
    buffer: Any, *, dtype: Dtype, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """Return a one-dimensional CPU tensor that shares the memory of a buffer; one that is read-only stays so.

    Parameters
    ----------
    buffer : bytearray, memoryview, array.array, ...
        Anything with Python's buffer protocol.
    dtype : dtype
        The dtype of the elements.
    count : int
        How many elements to take; a negative number takes all.
    offset : int
        How many bytes to skip. The memory is copied, not shared, where no element of the dtype can be there.
    requires_grad : bool
        Whether autograd records operations on the tensor.

    Raises
    ------
    ValueError
        If the buffer is empty, too short, or not a whole number of elements.

    Examples
    --------
    >>> import tt
    >>> tt.frombuffer(bytearray([1, 0, 2, 0]), dtype=tt.int16)
    tensor([1, 2], dtype=tt.int16)
    """
    element = _dtype_argument("frombuffer", dtype)
    if element is None:
        raise TypeError("frombuffer(): argument 'dtype' must be a tt.dtype, not NoneType")
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ValueRangeError(
            f"frombuffer() reads objects with a buffer, such as bytes, and {type(buffer).__name__} has none"
        ) from None
    # `memoryview` also takes buffers with gaps, which `np.frombuffer` refuses with an unclear text.
    if not view.c_contiguous:
        raise ValueRangeError("frombuffer(): the elements of the buffer do not lie one after the other")
    try:
        count, offset = index(count), index(offset)
    except TypeError:
        raise ArgumentError(
            "frombuffer",
            f"arguments 'count' and 'offset' must be int, not {describe(count)} and {describe(offset)}",
        ) from None
    length, size = view.nbytes, element.itemsize
    if length == 0 or count == 0:
        raise ValueRangeError(
            f"frombuffer(): nothing to read: the buffer has {length} bytes, and count={count}"
        )
    if not 0 <= offset < length:
        raise ValueRangeError(
            f"frombuffer(): offset={offset} lies outside of the {length} bytes of the buffer"
        )
    if count < 0:
        if (length - offset) % size:
            raise ValueRangeError(
                f"frombuffer(): {length - offset} bytes after the offset are not a whole number of {size}-byte elements"
            )
        count = (length - offset) // size
    elif offset + count * size > length:
        raise ValueRangeError(
            f"frombuffer(): count={count} needs {count * size} bytes from offset {offset} in a buffer of {length}"
        )
    array = np.frombuffer(view, dtype=element.numpy, count=count, offset=offset)
    new = from_array(array, to_device("cpu"), requires_grad=requires_grad)
    keep_size(new)
    return new


def from_dlpack(
    ext_tensor: Any, *, device: Device | str | int | None = None, copy: bool | None = None
) -> Tensor:
    """Return a tensor that shares the memory of another library's array.

    Parameters
    ----------
    ext_tensor : object with `__dlpack__` and `__dlpack_device__`, or capsule
        The array, or what its `__dlpack__()` returned, whose memory can be taken once.
    device : Device or str, optional
        The device of the tensor; by default that of the data.
    copy : bool, optional
        True always copies, False never does, None only if it must.

    Raises
    ------
    TypeError
        When the object does not speak DLPack.
    ValueError
        When copy=False and a copy is needed.

    Examples
    --------
    >>> import numpy as np
    >>> import tt
    >>> tt.from_dlpack(np.arange(3))
    tensor([0, 1, 2])
    """
    if is_capsule(ext_tensor):
        # A capsule can be taken once, so that it is wrapped before anybody looks into it.
        ext_tensor = CapsuleSource(ext_tensor)
    if not (hasattr(ext_tensor, "__dlpack__") and hasattr(ext_tensor, "__dlpack_device__")):
        raise TypeError(
            f"from_dlpack() takes an object with __dlpack__ and __dlpack_device__, not {type(ext_tensor).__name__}"
        )

    new = import_array(ext_tensor)
    if device is not None and to_device(device) != new.device:
        if copy is False:
            raise ValueRangeError(
                f"cannot move data from {new.device} to {to_device(device)} without copying it"
            )
        return new.to(to_device(device))
    return new.to(copy=True) if copy else new


def asarray(
    obj: Any,
    *,
    dtype: Dtype | None = None,
    device: Device | str | int | None = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """Return a tensor with the values of any array-like object.

    Parameters
    ----------
    obj : Tensor, numpy.ndarray, DLPack object, buffer, number or nested sequence
        The values.
    dtype, device : optional
        By default the object's.
    copy : bool, optional
        True always copies, False never does (and raises where it must), None only if it must.
    requires_grad : bool, optional
        Whether autograd records operations on the result; by default the tensor's own setting, otherwise
        False.  A tensor's history is kept unless this is False.

    Raises
    ------
    ValueError
        When copy=False and a copy is needed.

    Examples
    --------
    >>> import tt
    >>> x = tt.tensor([1.0, 2.0])
    >>> tt.asarray(x) is x, tt.asarray(x, copy=True) is x
    (True, False)
    """
    requested = _dtype_argument("asarray", dtype)
    if isinstance(obj, Tensor):
        result = obj
    elif isinstance(obj, STORAGES):
        result = whole_tensor("asarray", obj, requested)
    elif is_capsule(obj):
        result = import_array(CapsuleSource(obj))
    elif is_array_like(obj):
        # `np.asarray` of a scalar makes new memory, which nothing else shares.
        if copy is False and isinstance(obj, np.generic):
            raise ValueRangeError(
                "asarray(copy=False): a NumPy scalar has no memory to share; leave copy out\n  try: np.asarray(obj)"
            )
        shared = share(obj)
        if isinstance(shared, np.ndarray):
            check_array(shared)
            result = from_array(shared, to_device("cpu"))
            keep_size(result)
        else:
            result = shared
        # Arrays of the host go to the default device, as numbers do; those that may lie elsewhere stay there.
        if device is None and not is_elsewhere(obj):
            device = get_default_device()
    elif not isinstance(obj, str) and has_buffer(obj):
        result = frombuffer(obj, dtype=requested or get_default_dtype())
        device = get_default_device() if device is None else device
    else:
        if copy is False:
            raise ValueRangeError(
                "asarray(copy=False): a sequence of numbers has no memory to share; leave copy out"
            )
        array = array_from_nested(obj, requested)
        return from_array(array, _device_or_default(device), requires_grad=bool(requires_grad))
    return _adopt(
        result,
        requested or result.dtype,
        result.device if device is None else to_device(device),
        copy,
        requires_grad,
    )


def _adopt(
    found: Tensor, dtype: Dtype, device: Device, copy: bool | None, requires_grad: bool | None
) -> Tensor:
    if copy is False and device != found.device:
        raise ValueRangeError(f"asarray(copy=False): memory on {found.device} cannot be shared with {device}")
    if copy is False and dtype != found.dtype:
        raise ValueRangeError(f"asarray(copy=False): memory of {found.dtype} cannot be shared as {dtype}")
    had = requires_gradient(found)
    if had and requires_grad is None:
        warn_user(
            "asarray(): the result requires a gradient as the tensor does, which NumPy's habits do not suggest\n"
            "  try: requires_grad=False, or tt.as_tensor, which keeps gradients"
        )
    new = found.to(device, dtype, copy=bool(copy))
    if requires_grad is False and had:
        return detached(new)
    if requires_grad and not had:
        # A leaf is needed: the user's tensor must not begin to require gradients by this call.
        new = detached(new) if new is found else new
        new.requires_grad = True
    return new
