"""Composites that convert and fill."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import DimensionCountError
from tt.core.tensor.base import TensorBase
from tt.core.types import dtype as dt
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.memory_format import is_preserve, order_of_strides
from tt.operators.helpers import as_type, number

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

composites: Final = CompositeTable()
composite = composites.composite


@composite("contiguous")
def contiguous(self: Tensor, memory_format: Any) -> Tensor:
    return (
        self
        if self.is_contiguous(memory_format=memory_format)
        else ops.clone(self, memory_format=memory_format)
    )


# --- conversions -----------------------------------------------------------------------------------------------


def converted(
    self: Tensor, dtype: Dtype, device: Any, copy: bool, memory_format: str | None, non_blocking: bool = False
) -> Tensor:
    """Return a tensor in a dtype, on a device and in a memory format; itself if it is so already."""
    if device is not self.device and device.type == self.device.type:
        backend = self._spec.backend
        if backend.device_type == device.type:
            device = backend.place(device)  # the bare type means the current device
        elif device.index is None:  # a fake tensor, whose device may be absent
            device = self.device
    same = dtype is self.dtype and device is self.device and not copy
    if same and _is_laid_out(self, memory_format):
        return self
    return ops._to_copy(
        self,
        dtype=None if dtype is self.dtype else dtype,
        device=None if device is self.device else device,
        non_blocking=non_blocking,
        memory_format=memory_format,
    )


def _is_laid_out(self: Tensor, memory_format: str | None) -> bool:
    """Return whether a conversion keeps the memory order.

    As in PyTorch the order counts that the strides name, not those that they fit: a tensor of one pixel is copied to
    channels_last, so that operators give their results that order, and a transposed one stays as contiguous_format.
    """
    if is_preserve(memory_format):
        return True
    return bool(memory_format == (order_of_strides(self.shape, self.stride()) or "contiguous_format"))


@composite("to.device")
def to_device(
    self: Tensor, device: Any, dtype: Dtype | None, non_blocking: bool, copy: bool, memory_format: Any
) -> Tensor:
    return converted(self, dtype or self.dtype, device or self.device, copy, memory_format, non_blocking)


@composite("to.dtype")
def to_dtype(self: Tensor, dtype: Dtype, non_blocking: bool, copy: bool, memory_format: Any) -> Tensor:
    return converted(self, dtype, self.device, copy, memory_format)


@composite("to.other")
def to_other(self: Tensor, other: Tensor, non_blocking: bool, copy: bool, memory_format: Any) -> Tensor:
    return converted(self, other.dtype, other.device, copy, memory_format, non_blocking)


def _in_dtype(dtype: Dtype) -> Callable[[Any, Any], Any]:
    return lambda self, memory_format: converted(self, dtype, self.device, False, memory_format)


SHORTCUTS: Final = {
    "float": dt.float32, "double": dt.float64, "half": dt.float16, "bfloat16": dt.bfloat16, "int": dt.int32,
    "long": dt.int64, "short": dt.int16, "char": dt.int8, "byte": dt.uint8, "bool": dt.bool_, "chalf": dt.complex32,
    "cfloat": dt.complex64, "cdouble": dt.complex128,
}  # fmt: skip
"""The methods that convert to one dtype."""

for _name, _dtype in SHORTCUTS.items():
    composite(_name, _in_dtype(_dtype))

composite("dequantize", lambda self: ops.float(self))
composite("dequantize.tensors", lambda tensors: tuple(ops.clone(ops.dequantize(x)) for x in tensors))

# --- filling ---------------------------------------------------------------------------------------------------


@composite("fill")
def fill(self: Tensor, value: Any) -> Tensor:
    if not isinstance(value, TensorBase):
        return ops.full_like(self, value)
    if value.ndim:
        raise DimensionCountError(
            f"fill(): only supports a 0-dimension value tensor but got tensor with {value.ndim} dimensions."
        )
    # By a sum: to read the value would wait for its device, and a tensor that is mapped over has several.
    return ops.add(ops.zeros_like(self), as_type(value, self.dtype))


composite("zero", lambda self: ops.fill(self, number(0, self)))
