"""Conversion: tensors to other dtypes and devices, to Python numbers and lists, and to arrays of other libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.core import dtype as dt
from tt.core.device import Device, to_device
from tt.core.dtype import dtype as Dtype
from tt.core.dtype import to_dtype
from tt.core.errors import (
    ArgumentError,
    DataDependentError,
    DeviceError,
    ElementCountError,
    GradientError,
    NumberRangeError,
    NumpyError,
    ValueRangeError,
    describe,
)
from tt.core.reading import detached, host_array, requires_gradient, values_are_hidden
from tt.core.tensor_base import TensorBase

if TYPE_CHECKING:
    from tt.core.tensor import Tensor

__all__ = ["CONVERSION_MEMBERS"]


# --- to ------------------------------------------------------------------------------------------------------------

_TO_SIGNATURES: Final = (
    "to(dtype, non_blocking=False, copy=False, *, memory_format=None)",
    "to(device=None, dtype=None, non_blocking=False, copy=False, *, memory_format=None)",
    "to(other, non_blocking=False, copy=False, *, memory_format=None)",
)


def _is_dtype(value: Any) -> bool:
    return isinstance(value, Dtype) or value in (bool, float, complex) or value is int


def _refuse_to(problem: str) -> ArgumentError:
    return ArgumentError("to", problem, signatures=_TO_SIGNATURES)


def _bind_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of any of the forms of `to` by name."""
    first = args[0] if args else None
    if isinstance(first, TensorBase) or "other" in kwargs:
        names: tuple[str, ...] = ("other", "non_blocking", "copy")
    elif args and not isinstance(first, str | int | Device | None) and _is_dtype(first):
        names = ("dtype", "non_blocking", "copy")
    else:
        names = ("device", "dtype", "non_blocking", "copy")
    if len(args) > len(names):
        raise _refuse_to(f"takes at most {len(names)} positional arguments, but {len(args)} were given")
    bound = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name in bound:
            raise _refuse_to(f"got multiple values for argument {name!r}")
        if name not in (*names, "memory_format"):
            raise _refuse_to(f"got an unexpected keyword argument {name!r}")
        bound[name] = value
    return bound


def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Return the tensor with another dtype or on another device; itself, if it has both already.

    Parameters
    ----------
    dtype : dtype, optional
        The new dtype.
    device : Device, str or int, optional
        The new device.
    other : Tensor
        Takes dtype and device from another tensor.
    non_blocking : bool
        Accepted for PyTorch's sake; transfers are complete when they return.
    copy : bool
        Copy even if nothing changes.
    memory_format : memory_format, optional
        How a copy is laid out.

    Raises
    ------
    ArgumentError
        When the arguments fit none of the forms.

    Examples
    --------
    >>> import tt
    >>> x = tt.ones(2)
    >>> x.to(tt.int64), x.to("cpu") is x
    (tensor([1, 1]), True)
    """
    bound = _bind_to(args, kwargs)
    other = bound.get("other")
    if other is not None:
        if not isinstance(other, TensorBase):
            raise _refuse_to(f"argument 'other' must be Tensor, not {describe(other)}")
        dtype, device = other.dtype, other.device
    else:
        wanted = bound.get("dtype")
        if wanted is not None and not _is_dtype(wanted):
            raise _refuse_to(f"argument 'dtype' must be a tt.dtype, not {describe(wanted)}")
        dtype = self.dtype if wanted is None else to_dtype(wanted)
        place = bound.get("device")
        if place is not None and (isinstance(place, bool) or not isinstance(place, str | int | Device)):
            raise _refuse_to(f"argument 'device' must be a tt.device, not {describe(place)}")
        device = self.device if place is None else to_device(place)
    return _convert(self, dtype, device, bool(bound.get("copy")), bound.get("memory_format"))


def _convert(
    self: Tensor, dtype: Dtype, device: Device, copy: bool = False, memory_format: Any = None
) -> Tensor:
    if device.index is None and device.type == self.device.type:
        device = self.device
    same = dtype is self.dtype and device is self.device and not copy
    if same and (is_preserve(memory_format) or self.is_contiguous(memory_format=memory_format)):
        return self
    from tt.core.dispatch.registry import ops

    return ops._to_copy(  # type: ignore[no-any-return]
        self,
        dtype=None if dtype is self.dtype else dtype,
        device=None if device is self.device else device,
        memory_format=memory_format,
    )


def is_preserve(memory_format: Any) -> bool:
    """Tell whether a memory format asks for nothing."""
    return memory_format is None or str(memory_format).endswith("preserve_format")


def _to_dtype_method(dtype: Dtype, name: str) -> Callable[..., Tensor]:
    def method(self: Tensor, memory_format: Any = None) -> Tensor:
        return _convert(self, dtype, self.device, memory_format=memory_format)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"Return the tensor as {dtype.name}; itself, if it is already."
    return method


_SHORTCUTS: Final = {
    "float": dt.float32, "double": dt.float64, "half": dt.float16, "bfloat16": dt.bfloat16, "int": dt.int32,
    "long": dt.int64, "short": dt.int16, "char": dt.int8, "byte": dt.uint8, "bool": dt.bool_, "cfloat": dt.complex64,
    "cdouble": dt.complex128,
}  # fmt: skip


def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """Return the tensor on the CPU; itself, if it is there already."""
    return _convert(self, self.dtype, to_device("cpu"), memory_format=memory_format)


def cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """Return the tensor on a CUDA device (the current one by default); itself, if it is there already.

    Raises
    ------
    DeviceError
        When there is no such device.
    """
    place = Device("cuda") if device is None else to_device(device)
    if place.type != "cuda":
        raise DeviceError(f"Invalid device, must be cuda device, not {place}")
    return _convert(self, self.dtype, place, memory_format=memory_format)


def type_as(self: Tensor, other: Tensor) -> Tensor:
    """Return the tensor with the dtype and on the device of another."""
    return to(self, other)


_TYPE_NAMES: Final = {
    "bool": "BoolTensor", "uint8": "ByteTensor", "int8": "CharTensor", "int16": "ShortTensor", "int32": "IntTensor",
    "int64": "LongTensor", "uint16": "UInt16Tensor", "uint32": "UInt32Tensor", "uint64": "UInt64Tensor",
    "float16": "HalfTensor", "bfloat16": "BFloat16Tensor", "float32": "FloatTensor", "float64": "DoubleTensor",
    "complex64": "ComplexFloatTensor", "complex128": "ComplexDoubleTensor",
}  # fmt: skip


def type_(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> str | Tensor:
    """Return the name of the tensor's type, or the tensor converted to a dtype.

    Parameters
    ----------
    dtype : dtype or str, optional
        A dtype, or a name as this method returns it.

    Examples
    --------
    >>> import tt
    >>> tt.ones(2).type(), tt.ones(2).type(tt.int8).type()
    ('tt.FloatTensor', 'tt.CharTensor')
    """
    if dtype is None:
        words = [] if self.device.type == "cpu" else [self.device.type]
        return ".".join(["tt", *(["sparse"] if self.is_sparse else []), *words, _TYPE_NAMES[self.dtype.name]])
    if not isinstance(dtype, str):
        return _convert(self, to_dtype(dtype), self.device)
    _, *words, name = dtype.split(".") if "." in dtype else ("tt", dtype)
    by_name = {type_name: to_dtype(name) for name, type_name in _TYPE_NAMES.items()}
    if name not in by_name:
        return _convert(self, to_dtype(dtype), self.device)
    return _convert(self, by_name[name], to_device(words[0]) if words else to_device("cpu"))


# --- Python numbers and lists --------------------------------------------------------------------------------------


def item(self: Tensor) -> bool | int | float | complex:
    """Return the only element as a Python number.

    Raises
    ------
    RuntimeError
        When the tensor does not have exactly one element.
    DataDependentError
        When it has no values.

    Examples
    --------
    >>> import tt
    >>> tt.tensor([2.5]).item()
    2.5
    """
    count = self.numel()
    if count != 1:
        raise ElementCountError(f"a Tensor with {count} elements cannot be converted to Scalar")
    from tt.core.dispatch.registry import ops

    return ops.item(self)  # type: ignore[no-any-return]


def tolist(self: Tensor) -> Any:
    """Return the values as (nested) lists of Python numbers; a number for a zero-dimensional tensor.

    Examples
    --------
    >>> import tt
    >>> tt.tensor([[1, 2], [3, 4]]).tolist()
    [[1, 2], [3, 4]]
    """
    return host_array(self, "tolist").tolist()


def to_bool(self: Tensor) -> bool:
    """Return the truth of the only element."""
    count = self.numel()
    if count != 1:
        what = "more than one value" if count else "no values"
        raise ElementCountError(f"Boolean value of Tensor with {what} is ambiguous")
    return bool(item(self))


def to_index(self: Tensor) -> int:
    """Return the only element of an integer tensor as an index."""
    if self.dtype.is_floating_point or self.dtype.is_complex or self.numel() != 1:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(item(self))  # type: ignore[arg-type]


def _real_item(self: Tensor) -> bool | int | float:
    value = item(self)
    if isinstance(value, complex):
        if value.imag:
            raise NumberRangeError(f"value cannot be converted to type double without overflow: {value}")
        return value.real
    return value


def to_int(self: Tensor) -> int:
    """Return the only element as an int."""
    return int(_real_item(self))


def to_float(self: Tensor) -> float:
    """Return the only element as a float."""
    return float(_real_item(self))


def to_complex(self: Tensor) -> complex:
    """Return the only element as a complex number."""
    return complex(item(self))


def format_(self: Tensor, format_spec: str) -> str:
    """Format the element of a zero-dimensional tensor; others take no format."""
    from tt.core.tensor import Tensor

    if self.ndim == 0 and type(self) is Tensor and not values_are_hidden(self):
        return format(item(self), format_spec)
    return object.__format__(self, format_spec)


# --- arrays of other libraries -------------------------------------------------------------------------------------


def _exportable(self: Tensor) -> None:
    """Raise unless the tensor's values are plain memory of the host."""
    if requires_gradient(self):
        raise GradientError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )
    if self.layout.name != "strided":
        raise NumpyError(
            f"can't convert {self.layout} layout tensor to numpy. Use Tensor.to_dense() to make it strided first."
        )
    if values_are_hidden(self):
        raise DataDependentError("numpy", "meta" if self.device.type == "meta" else "fake")
    if self.device.type != "cpu":
        raise NumpyError(
            f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
            f"memory first."
        )


def numpy(self: Tensor, *, force: bool = False) -> np.ndarray[Any, Any]:
    """Return a NumPy array that shares the tensor's memory.

    Parameters
    ----------
    force : bool
        Detach the tensor and copy it to the CPU first, if needed.

    Raises
    ------
    RuntimeError
        When the tensor requires gradients.
    TypeError
        When it is not strided memory on the CPU.

    Examples
    --------
    >>> import tt
    >>> tt.tensor([1, 2]).numpy()
    array([1, 2])
    """
    if force:
        self = cpu(detached(self))
        if self.layout.name != "strided":
            self = self.to_dense()
    _exportable(self)
    # A new array object: the caller may change its shape in place.
    return host_array(self, "numpy").view()


def array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    """Return the tensor as `numpy.asarray` wants it."""
    found = numpy(self)
    if dtype is None or np.dtype(dtype) == found.dtype:
        return found.copy() if copy else found
    if copy is False:
        raise ValueRangeError(
            f"a {self.dtype.name} tensor cannot become an array of {np.dtype(dtype)} without a copy"
        )
    return found.astype(dtype)


def _array_interface(self: Tensor) -> dict[str, Any]:
    """NumPy's description of the memory of a CPU tensor; other tensors do not have the attribute."""
    if (
        self.device.type != "cpu"
        or self.layout.name != "strided"
        or self.dtype is dt.bfloat16
        or values_are_hidden(self)
    ):
        # bfloat16: the protocol has no name for it.
        raise AttributeError(f"a {self.dtype.name} tensor on {self.device} has no __array_interface__")
    return dict(numpy(self).__array_interface__)


def _cuda_array_interface(self: Tensor) -> dict[str, Any]:
    """CUDA's description of the memory of a CUDA tensor (version 3); other tensors do not have the attribute."""
    if self.device.type != "cuda" or self.layout.name != "strided" or values_are_hidden(self):
        raise AttributeError(
            f"Can't get __cuda_array_interface__ on non-CUDA tensor on {self.device}\n  try: Tensor.cuda()"
        )
    if requires_gradient(self):
        raise GradientError(
            "Can't get __cuda_array_interface__ on Variable that requires grad. Use tensor.detach() first."
        )
    size, backend = self.dtype.itemsize, self.spec.backend
    plain = self.is_contiguous()
    return {
        "typestr": self.dtype.numpy.str,
        "shape": tuple(self.shape),
        "strides": None if plain else tuple(stride * size for stride in backend.strides(self.handle)),
        "data": (backend.data_ptr(self.handle) if self.numel() else 0, False),
        "version": 3,
    }


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
    from tt.core.dlpack import export_array

    return export_array(self, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)


def dlpack_device(self: Tensor) -> tuple[int, int]:
    """Return where the tensor is, as DLPack writes it: (type, index)."""
    from tt.core.dlpack import dlpack_device

    return dlpack_device(self.device)


def array_namespace(self: Tensor, *, api_version: str | None = None) -> Any:
    """Return the namespace of the array API standard.

    Raises
    ------
    NotImplementedError
        As long as this version of tt has none.
    """
    from importlib import import_module

    try:
        return import_module("tt.array_api")
    except ModuleNotFoundError:
        raise NotImplementedError(
            "this version of tt has no namespace of the array API standard; its functions are those of PyTorch"
        ) from None


CONVERSION_MEMBERS: dict[str, Any] = {
    "to": to,
    "cpu": cpu,
    "cuda": cuda,
    "type": type_,
    "type_as": type_as,
    **{name: _to_dtype_method(dtype, name) for name, dtype in _SHORTCUTS.items()},
    "item": item,
    "tolist": tolist,
    "__bool__": to_bool,
    "__index__": to_index,
    "__int__": to_int,
    "__float__": to_float,
    "__complex__": to_complex,
    "__format__": format_,
    "numpy": numpy,
    "__array__": array,
    "__array_interface__": property(_array_interface),
    "__cuda_array_interface__": property(_cuda_array_interface),
    "__dlpack__": dlpack,
    "__dlpack_device__": dlpack_device,
    "__array_namespace__": array_namespace,
}
