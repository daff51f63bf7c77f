"""Conversion: tensors to other dtypes and devices, to Python numbers and lists, and to arrays of other libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from tt.core import dtype as dt
from tt.core.device import Device, to_device
from tt.core.dtype import dtype as Dtype
from tt.core.dtype import to_dtype
from tt.core.errors import (
    ArgumentError,
    DeviceError,
    describe,
)
from tt.core.memory_format import is_preserve
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
    if device.type == self.device.type:
        # An index is asked for: its backend refuses one that is not there.
        device = self.device if device.index is None else self.spec.backend.place(device)
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
        raise DeviceError(f"cuda() takes a device of cuda, not {place}")
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


CONVERSION_MEMBERS: dict[str, Any] = {
    "to": to,
    "cpu": cpu,
    "cuda": cuda,
    "type": type_,
    "type_as": type_as,
    **{name: _to_dtype_method(dtype, name) for name, dtype in _SHORTCUTS.items()},
}
