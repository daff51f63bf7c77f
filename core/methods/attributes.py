"""Members of `Tensor` that are not operators: metadata, available without computing anything, and containers.

`methods` puts everything in `MEMBERS` on the class, and what finds those in `LATE_MEMBERS`.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from math import prod
from operator import eq
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.resolve.components import component_tensors
from tt.core.errors import (
    ArgumentError,
    DataTypeError,
    DimensionError,
    DtypeError,
    LayoutError,
    ValueRangeError,
    describe,
)
from tt.core.layers.functionalise import ensure_view_storage
from tt.core.methods import creation
from tt.core.methods.array_operands import WRAPPING_MEMBERS
from tt.core.methods.as_subclass import SUBCLASS_MEMBERS
from tt.core.methods.basic_indexing import getitem
from tt.core.methods.conversion import CONVERSION_MEMBERS
from tt.core.methods.indexing import delitem, setitem
from tt.core.methods.interop import EXPORT_MEMBERS
from tt.core.methods.memory.copying import COPYING_MEMBERS
from tt.core.methods.memory.host_access import VALUE_MEMBERS, dense_form
from tt.core.methods.memory.pickling import PICKLING_MEMBERS
from tt.core.methods.memory.replacing import REPLACING_MEMBERS
from tt.core.methods.tt_function_api import overridable
from tt.core.tensor.base import TensorBase
from tt.core.tensor.storage import geometry_of
from tt.core.types.device import to_device
from tt.core.types.dtype import to_dtype
from tt.core.types.layout import strided
from tt.core.types.memory_format import ORDERS, format_name

if TYPE_CHECKING:
    from tt.core.tensor.storage import Storage
    from tt.core.tensor.tensor import Tensor

__all__ = ["LATE_MEMBERS", "MEMBERS"]


# --- shape and memory ----------------------------------------------------------------------------------------------


def _wrap_dim(name: str, dim: Any, ndim: int) -> int:
    try:
        position = int(dim.__index__())
    except (AttributeError, TypeError):
        raise ArgumentError(name, f"argument 'dim' must be int, not {describe(dim)}") from None
    if not -ndim <= position < ndim:
        raise DimensionError(name, position, ndim)
    return position % ndim


def size(self: Tensor, dim: int | None = None) -> Any:
    """Return the shape, or the size of one dimension.

    Raises
    ------
    IndexError
        When the tensor does not have the dimension.

    Examples
    --------
    >>> import tt
    >>> tt.zeros(2, 3).size(), tt.zeros(2, 3).size(-1)
    (tt.Size([2, 3]), 3)
    """
    return self.shape if dim is None else self._handle.shape[_wrap_dim("size", dim, self.ndim)]


def dim(self: Tensor) -> int:
    """Return the number of dimensions."""
    return self.ndim


def numel(self: Tensor) -> int:
    """Return the number of elements."""
    spec = self._spec
    return prod(self._handle.shape) if spec.layout is strided else spec.backend.numel(self._handle)


def values(self: Tensor) -> Tensor:
    """Return the values that a tensor of a sparse or jagged layout stores.

    Raises
    ------
    LayoutError
        When the tensor is strided, or of the layout sparse_coo and not coalesced.

    Examples
    --------
    >>> import tt
    >>> tt.tensor([[0, 7], [8, 0]]).to_sparse().values()
    tensor([7, 8])
    """
    result: Tensor = self._spec.backend.values(self)
    return result


def _has_strides(self: Tensor) -> bool:
    return self.layout.name == "strided" or self._spec.backend.strided_memory


def _strides(self: Tensor) -> tuple[int, ...]:
    if not _has_strides(self):
        raise LayoutError(f"a tensor of layout {self.layout} has no strides\n  try: {dense_form(self)}")
    # A functionalised view has the geometry, where its array is a row-major copy.
    geometry = geometry_of(self._storage)
    return tuple(self._spec.backend.strides(self._handle) if geometry is None else geometry.strides)


def stride(self: Tensor, dim: int | None = None) -> Any:
    """Return the strides, in elements, or one dimension's.

    Raises
    ------
    IndexError
        When the tensor does not have the dimension.

    Examples
    --------
    >>> import tt
    >>> tt.zeros(2, 3).stride(), tt.zeros(2, 3).t().stride(0)
    ((3, 1), 1)
    """
    strides = _strides(self)
    return strides if dim is None else strides[_wrap_dim("stride", dim, self.ndim)]


def storage_offset(self: Tensor) -> int:
    """Return the position of the first element in the storage, in elements."""
    geometry = geometry_of(self._storage)
    return int(self._spec.backend.offset(self._handle) if geometry is None else geometry.offset)


def untyped_storage(self: Tensor) -> Storage:
    """Return the memory that the tensor shares with its views.

    Raises
    ------
    LayoutError
        When the tensor has not one memory: it is not strided.
    UnsupportedError
        When it stands for one example of several that are mapped over.
    """
    inside = self._spec.backend.tensor_with_storage(self._handle)
    if inside is not None:
        return untyped_storage(inside)
    if not _has_strides(self):
        raise LayoutError(
            f"a tensor of the layout {self.layout} has no storage of its own\n  try: the storages of its components"
        )
    if self._spec.backend.functionalised:
        return ensure_view_storage(self).base  # type: ignore[return-value]  # its stand-in
    whole = next(iter(component_tensors(self).values()), self)  # the integers of a quantized tensor
    storage: Storage = whole._ensure_storage()
    return storage


def data_ptr(self: Tensor) -> int:
    """Return the address of the first element; 0 if there is none."""
    return int(self._spec.backend.data_ptr(self._handle)) if numel(self) else 0


def const_data_ptr(self: Tensor) -> int:
    """Return the address of the first element, for reading only; 0 if there is none."""
    return int(self.data_ptr())


def element_size(self: Tensor) -> int:
    """Return the size of an element in bytes."""
    return self.dtype.itemsize


def _nbytes(self: Tensor) -> int:
    """The number of elements times the size of one."""
    return numel(self) * self.dtype.itemsize


def is_contiguous(self: Tensor, memory_format: Any = None) -> bool:
    """Return whether the elements are in memory without gaps, in row-major order.

    Parameters
    ----------
    memory_format : memory_format, optional
        Another order: "channels_last" or "channels_last_3d".

    Examples
    --------
    >>> import tt
    >>> tt.zeros(2, 3).is_contiguous(), tt.zeros(2, 3).t().is_contiguous()
    (True, False)
    """
    if not _has_strides(self):
        return self._spec.backend.is_contiguous(self._handle)
    shape = self._handle.shape
    name = "contiguous_format" if memory_format is None else format_name(memory_format)
    if name == "preserve_format":
        raise DtypeError("contiguous() needs a certain memory order, and preserve_format is not one")
    order = ORDERS.get(name, tuple(range(len(shape))))
    if len(order) != len(shape):
        return False
    expected = 1
    strides = _strides(self)
    # An empty tensor has no gaps, whatever its strides say.
    if 0 in shape:
        return True
    # The stride of a dimension of size 1 does not matter.
    for position in reversed(order):
        if shape[position] != 1:
            if strides[position] != expected:
                return False
            expected *= shape[position]
    return True


@overridable
def is_same_size(self: Tensor, other: Tensor) -> bool:
    """Return whether another tensor has the same shape."""
    if self.is_nested != other.is_nested:
        raise ValueRangeError("is_same_size(): takes two nested tensors, or none")
    return tuple(self.shape) == tuple(other.shape)


@overridable
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Return whether another tensor is the same place in the same memory."""
    address = data_ptr(self)
    if not address and self is not tensor:  # no memory is none that two tensors have in common
        storage = self._storage
        if (
            storage is None
            or storage is not tensor._storage
            or storage_offset(self) != storage_offset(tensor)
        ):
            return False
    return (
        address == data_ptr(tensor)
        and is_same_size(self, tensor)
        and _strides(self) == _strides(tensor)
        and self.device == tensor.device
    )


# --- operators whose first argument is another -----------------------------------------------------------------------


def where(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """Return the elements of self where condition is true, of other where it is false.

    Examples
    --------
    >>> import tt
    >>> tt.tensor([1, 2]).where(tt.tensor([True, False]), 0)
    tensor([1, 0])
    """
    return ops.where.default(condition, self, other)


# --- its kind ----------------------------------------------------------------------------------------------------


def is_conj(self: Tensor) -> bool:
    """Return False: conjugation is carried out at once."""
    return False


def is_neg(self: Tensor) -> bool:
    """Return False: negation is carried out at once."""
    return False


def is_distributed(self: Tensor) -> bool:
    """Return False, as PyTorch does for every tensor."""
    return False


def _on(device: str) -> property:
    return property(
        lambda self: self.device.type == device, doc=f"Whether the tensor is on a {device} device."
    )


def _laid_out(layout: str) -> property:
    return property(
        lambda self: self.layout.name == layout, doc=f"Whether the layout of the tensor is {layout}."
    )


def is_floating_point(self: Tensor) -> bool:
    """Return whether the dtype is a floating point dtype."""
    return self.dtype.is_floating_point


def is_complex(self: Tensor) -> bool:
    """Return whether the dtype is complex."""
    return self.dtype.is_complex


def is_signed(self: Tensor) -> bool:
    """Return whether the dtype has negative numbers."""
    return self.dtype.is_signed


def is_nonzero(self: Tensor) -> bool:
    """Return whether the only element is not zero."""
    return bool(self)


def get_device(self: Tensor) -> int:
    """Return the index of the device; -1 for the CPU."""
    return -1 if self.device.type == "cpu" else self.device.index or 0


def _is_view(self: Tensor) -> bool:
    return self._root is not None


# --- a tensor as a container ---------------------------------------------------------------------------------------


def length(self: Tensor) -> int:
    """Return the size of the first dimension."""
    if self.ndim == 0:
        raise TypeError("len() of a 0-d tensor")
    return int(self._handle.shape[0])


def iterate(self: Tensor) -> Iterator[Tensor]:
    """Return an iterator over the views along the first dimension."""
    if self.ndim == 0:
        raise TypeError("a tensor without dimensions has nothing to iterate over; item() gives its number")

    return iter(ops.unbind(self, 0))


def reverse(self: Tensor) -> Tensor:
    """Return the tensor with its first dimension reversed."""
    return self if self.ndim == 0 else ops.flip(self, (0,))


def contains(self: Tensor, element: Any) -> bool:
    """Return whether any element equals a number or a (broadcast) tensor."""
    if not isinstance(element, TensorBase | numbers.Number):
        raise DataTypeError(
            f"`in` looks for a number or a tensor among the elements, not for {type(element).__name__}"
        )
    same: Tensor = eq(self, element)
    return bool(same.any())


def represent(self: Tensor) -> str:
    """Return the values as PyTorch prints them."""
    from tt.core.methods.printing import format_tensor  # a program that prints none does without

    return format_tensor(self)


# --- further tensors ----------------------------------------------------------------------------------------------


def new_tensor(
    self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Return a new tensor with a copy of `data`, by default of this tensor's dtype and on its device."""
    return creation.tensor(
        data,
        dtype=self.dtype if dtype is None else to_dtype(dtype),
        device=self.device if device is None else to_device(device),
        requires_grad=requires_grad,
    )


MEMBERS: dict[str, Any] = {
    # --- shape and memory ---
    "size": size,
    "dim": dim,
    "ndimension": dim,
    "numel": numel,
    "values": values,
    "nelement": numel,
    "stride": stride,
    "storage_offset": storage_offset,
    "untyped_storage": untyped_storage,
    "data_ptr": data_ptr,
    "const_data_ptr": const_data_ptr,
    "element_size": element_size,
    "itemsize": property(element_size, doc="The size of an element in bytes."),
    "nbytes": property(_nbytes),
    "is_contiguous": is_contiguous,
    "is_same_size": is_same_size,
    "is_set_to": is_set_to,
    # --- its kind ---
    "is_cpu": _on("cpu"),
    "is_cuda": _on("cuda"),
    "is_meta": _on("meta"),
    **{f"is_{device}": _on(device) for device in ("ipu", "maia", "mps", "mtia", "vulkan", "xla", "xpu")},
    "is_mkldnn": property(lambda self: False, doc="False: the layout of MKL-DNN does not exist."),
    "is_quantized": _laid_out("quantized"),
    "is_distributed": is_distributed,
    "is_nested": _laid_out("jagged"),
    "is_sparse": _laid_out("sparse_coo"),
    "is_sparse_csr": _laid_out("sparse_csr"),
    "is_floating_point": is_floating_point,
    "is_complex": is_complex,
    "is_signed": is_signed,
    "is_nonzero": is_nonzero,
    "get_device": get_device,
    "is_conj": is_conj,
    "is_neg": is_neg,
    "_base": property(lambda self: self._root, doc="The tensor that this one is a view of, or None."),
    "_is_view": _is_view,
    # --- a container ---
    "__len__": length,
    "__iter__": iterate,
    "__reversed__": reverse,
    "__contains__": contains,
    "__getitem__": getitem,
    "__setitem__": setitem,
    "__delitem__": delitem,
    "__repr__": represent,
    "new_tensor": new_tensor,
    "where": where,
    # --- conversion, copying ---
    **CONVERSION_MEMBERS,
    **WRAPPING_MEMBERS,
    **VALUE_MEMBERS,
    **EXPORT_MEMBERS,
    **PICKLING_MEMBERS,
    **COPYING_MEMBERS,
    **SUBCLASS_MEMBERS,
    **REPLACING_MEMBERS,
}

LATE_MEMBERS: Final = {
    "dim_order": "tt.core.methods.memory.dim_order",
    "is_pinned": "tt.core.methods.memory.pinning",
    "is_shared": "tt.core.methods.memory.sharing",
    "new": "tt.core.methods.legacy_constructor",
    "pin_memory": "tt.core.methods.memory.pinning",
    "record_stream": "tt.core.methods.memory.pinning",
    "share_memory_": "tt.core.methods.memory.sharing",
    "storage": "tt.core.methods.typed_storage",
    "storage_type": "tt.core.methods.typed_storage",
}
"""Members whose modules are imported by the first use of one, since few programs use any."""
