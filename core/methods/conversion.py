"""Conversion: members that change dtype or device and are not operators, unlike `to` and the like (`copies`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.registry import ops
from tt.core.errors import (
    DeviceError,
    ValueRangeError,
)
from tt.core.tensor.base import TensorBase
from tt.core.types.device import Device, to_device
from tt.core.types.dtype import to_dtype
from tt.core.types.promotion import get_default_dtype

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

__all__ = ["CONVERSION_MEMBERS"]


def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """Return the tensor on the CPU; itself, if it is there already."""
    return _convert(self, to_device("cpu"), memory_format=memory_format)


def cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """Return the tensor on a CUDA device (the current one by default); itself, if it is there already.

    With `non_blocking` a copy from page-locked memory (`pin_memory`) may still run when the call returns.

    Raises
    ------
    DeviceError
        If the device does not exist.
    """
    target = Device("cuda") if device is None else to_device(device)
    if target.type != "cuda":
        raise DeviceError(f"cuda() takes a device of cuda, not {target}")
    return _convert(self, target, memory_format=memory_format, non_blocking=non_blocking)


def _to_type(kind: str) -> Any:
    """Return the method that moves a tensor to devices of a type, which an installed backend may serve."""

    def move(
        self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None
    ) -> Tensor:
        target = to_device(kind) if device is None else to_device(device)
        if target.type != kind:
            raise DeviceError(f"{kind}() takes a device of {kind}, not {target}")
        return _convert(self, target, memory_format=memory_format, non_blocking=non_blocking)

    move.__name__ = move.__qualname__ = kind
    move.__doc__ = f"""Return the tensor on a device of the type {kind}; itself, if it is there already.

    Raises
    ------
    UnknownNameError
        If no installed backend serves the device.
    """
    return move


def array_to_device(self: Tensor, device: Any, /, *, stream: Any = None) -> Tensor:
    """Return the tensor on a device, as the array API standard names it; itself, if it is there already.

    Raises
    ------
    ValueError
        For a stream: `tt.cuda.stream` chooses the one that copies.

    Examples
    --------
    >>> import tt
    >>> tt.ones(2).to_device("meta").device
    device(type='meta')
    """
    if stream is not None:
        raise ValueRangeError("to_device() takes no stream\n  try: with tt.cuda.stream(...): x.to(device)")
    return _convert(self, to_device(device))


def _convert(
    self: Tensor, device: Device, dtype: Any = None, memory_format: Any = None, non_blocking: bool = False
) -> Tensor:
    return ops.to.device(self, device, dtype, non_blocking, memory_format=memory_format)


def type_as(self: Tensor, other: Tensor) -> Tensor:
    """Return the tensor with the dtype and on the device of another."""
    return ops.to.other(self, other)


_TYPE_NAMES: Final = {
    "bool": "BoolTensor", "uint8": "ByteTensor", "int8": "CharTensor", "int16": "ShortTensor", "int32": "IntTensor",
    "int64": "LongTensor", "uint16": "UInt16Tensor", "uint32": "UInt32Tensor", "uint64": "UInt64Tensor",
    "float16": "HalfTensor", "bfloat16": "BFloat16Tensor", "float32": "FloatTensor", "float64": "DoubleTensor",
    "complex32": "ComplexHalfTensor", "complex64": "ComplexFloatTensor", "complex128": "ComplexDoubleTensor",
    "float8_e4m3fn": "Float8_e4m3fnTensor", "float8_e5m2": "Float8_e5m2Tensor",
    "float8_e4m3fnuz": "Float8_e4m3fnuzTensor", "float8_e5m2fnuz": "Float8_e5m2fnuzTensor",
    "float8_e8m0fnu": "Float8_e8m0fnuTensor",
    "qint8": "QInt8Tensor", "quint8": "QUInt8Tensor", "qint32": "QInt32Tensor",
}  # fmt: skip


def type_(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> str | Tensor:
    """Return the name of the tensor's type, or the tensor converted to a dtype.

    Parameters
    ----------
    dtype : dtype, str or type, optional
        A dtype, a name as this method returns it, or such a type: `tt.cuda.FloatTensor`.

    Examples
    --------
    >>> import tt
    >>> tt.ones(2).type(), tt.ones(2).type(tt.int8).type()
    ('tt.FloatTensor', 'tt.CharTensor')
    """
    if dtype is None:
        words = [] if self.device.type == "cpu" else [self.device.type]
        layout = ["sparse"] if self.is_sparse else ["quantized"] if self.is_quantized else []
        return ".".join(["tt", *layout, *words, _TYPE_NAMES[self.dtype.name]])
    if isinstance(dtype, type) and issubclass(dtype, TensorBase) and dtype.__base__ is TensorBase:
        dtype = get_default_dtype()  # of tt.Tensor itself
    elif isinstance(dtype, type) and hasattr(dtype, "is_cuda"):  # tt.FloatTensor and its like
        dtype = str(dtype)
    if not isinstance(dtype, str):
        return _convert(self, self.device, to_dtype(dtype), non_blocking=non_blocking)
    # "tt.cuda.FloatTensor" has the device between, and "float32" has no dot at all.
    _, *words, name = dtype.split(".") if "." in dtype else ("tt", dtype)
    by_name = {type_name: to_dtype(name) for name, type_name in _TYPE_NAMES.items()}
    if name not in by_name:
        return _convert(self, self.device, to_dtype(dtype), non_blocking=non_blocking)
    target = to_device(words[0] if words else "cpu")
    return _convert(self, target, by_name[name], non_blocking=non_blocking)


CONVERSION_MEMBERS: dict[str, Any] = {
    "cpu": cpu,
    "cuda": cuda,
    **{kind: _to_type(kind) for kind in ("ipu", "mtia", "xpu")},
    "type": type_,
    "to_device": array_to_device,
    "type_as": type_as,
}
