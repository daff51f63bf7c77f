"""Members that give a tensor other memory, another size, or values of a Python function; and constructors by method.

Most are older than the operators that do the same; programs and libraries still call them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from tt.core.dispatch.registry.registry import ops
from tt.core.errors import (
    ArgumentError,
    DtypeError,
    GradientError,
    LayoutError,
    ShapeError,
    UnsupportedError,
    ValueRangeError,
    describe,
)
from tt.core.methods import creation
from tt.core.methods.copying import storage_tensor
from tt.core.methods.host_access import requires_gradient
from tt.core.tensor.backend import contiguous_strides
from tt.core.tensor.base import TensorBase
from tt.core.tensor.storage import Storage
from tt.core.tensor.tensor import Tensor
from tt.core.types.device import to_device
from tt.core.types.size import Size

__all__ = ["REPLACING_MEMBERS"]


# --- other memory ------------------------------------------------------------------------------------------------


def set_(
    self: Tensor,
    source: Any = None,
    storage_offset: int = 0,
    size: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
) -> Tensor:
    """Let the tensor use the memory of another tensor, or a storage; return it.

    Parameters
    ----------
    source : Tensor, UntypedStorage or TypedStorage, optional
        What to share; without it, the tensor becomes empty.
    storage_offset : int
        Position of the first element in the memory, in elements.
    size, stride : sequence of int, optional
        By default those of the source, and for a storage all of its elements.

    Raises
    ------
    DtypeError
        If the source has another dtype or is on another device.
    GradientError
        If the tensor requires a gradient.
    ValueError
        If an element would be outside of the memory.

    Examples
    --------
    >>> import tt
    >>> x, y = tt.zeros(2), tt.tensor([1.0, 2.0, 3.0])
    >>> x.set_(y)
    tensor([1., 2., 3.])
    >>> x.set_(y.untyped_storage(), 1, (2,))
    tensor([2., 3.])
    """
    _own_history(self, "set_")
    if source is None:
        source = ops.empty((0,), dtype=self.dtype, device=self.device)
    if isinstance(source, Tensor):
        if source.dtype != self.dtype or source.device != self.device or source.layout != self.layout:
            raise DtypeError(
                f"set_(): a {self.dtype} tensor on {self.device} cannot use the memory of a {source.dtype} tensor on "
                f"{source.device}\n  try: x.data = source"
            )
        if size is not None or storage_offset:
            source = source.detach().as_strided(
                *_place(size, stride, source.numel() - storage_offset), storage_offset
            )
        self.data = source
        return self
    memory = source if isinstance(source, Storage) else getattr(source, "untyped", lambda: None)()
    if not isinstance(memory, Storage):
        raise ArgumentError("set_", f"argument 'source' is a tensor or a storage, not {describe(source)}")
    if memory.backend.device_type != self.device.type:
        raise DtypeError(
            f"set_(): the tensor is on {self.device}, the storage on {memory.backend.device_type}"
        )
    sizes, strides = _place(size, stride, memory.nbytes() // self.dtype.itemsize - storage_offset)
    self.data = storage_tensor(memory, self.dtype, sizes, strides, storage_offset)
    return self


def _place(
    size: Sequence[int] | None, stride: Sequence[int] | None, count: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return sizes and strides; without sizes, those of all elements that are left."""
    if count < 0 and size is None:
        raise ValueRangeError("set_(): the storage offset lies behind the last element")
    sizes = (count,) if size is None else tuple(int(n) for n in size)
    if any(n < 0 for n in sizes):
        raise ValueRangeError(f"set_(): sizes are not negative, but got {list(sizes)}")
    if stride is not None:
        return sizes, tuple(int(n) for n in stride)
    return sizes, contiguous_strides(sizes)


def _own_history(self: Tensor, name: str) -> None:
    """Raise if autograd records what happens to the tensor: it could not know of the change."""
    if requires_gradient(self):
        raise GradientError(
            f"{name}(): the tensor requires a gradient, and this change has none\n  try: x.detach().{name}(...)"
        )


# --- another size ------------------------------------------------------------------------------------------------


def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Give the tensor the size of another; elements beyond the old ones are undefined.

    Examples
    --------
    >>> import tt
    >>> tt.arange(4).resize_as_(tt.zeros(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    if not isinstance(the_template, TensorBase):
        raise ArgumentError(
            "resize_as_", f"argument 'the_template' is a tensor, not {describe(the_template)}"
        )
    resized: Tensor = self.resize_(tuple(the_template.shape), memory_format=memory_format)
    return resized


def resize(self: Tensor, *sizes: Any) -> Tensor:
    """Return the elements in another shape of as many elements.

    Deprecated, as in PyTorch: `reshape` does the same.
    """
    warnings.warn("resize() of a tensor is deprecated: use reshape()", UserWarning, stacklevel=2)
    wanted = tuple(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    return _reshaped(self, "resize", wanted)


def resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """Return the elements in the shape of another tensor with as many elements.

    Deprecated, as in PyTorch: `reshape_as` does the same.
    """
    warnings.warn("resize_as() of a tensor is deprecated: use reshape_as()", UserWarning, stacklevel=2)
    return _reshaped(self, "resize_as", tuple(tensor.shape))


def _reshaped(self: Tensor, name: str, sizes: tuple[int, ...]) -> Tensor:
    if Size(sizes).numel() != self.numel():
        raise ShapeError(
            f"{name}(): {self.numel()} elements do not fill the shape {list(sizes)}\n  try: x.resize_(...)"
        )
    found: Tensor = self.reshape(sizes)
    return found


def dim_order(self: Tensor, *, ambiguity_check: bool | Sequence[Any] = False) -> tuple[int, ...]:
    """Return the dimensions in the order of their strides, the largest first.

    Parameters
    ----------
    ambiguity_check : bool, or list of memory_format
        True refuses a tensor that lies in memory in several orders at once, such as one with a dimension of one
        element; with a list, one that has exactly one of these formats is not refused.

    Examples
    --------
    >>> import tt
    >>> tt.zeros(2, 3, 4).dim_order(), tt.zeros(2, 3, 5, 7).to(memory_format=tt.channels_last).dim_order()
    ((0, 1, 2), (0, 2, 3, 1))
    """
    if self.layout.name != "strided":
        raise LayoutError(f"dim_order(): a tensor of layout {self.layout} has no order\n  try: x.to_dense()")
    if ambiguity_check is not False:
        _check_one_order(self, ambiguity_check)
    contiguous = self.is_contiguous()
    last = self.ndim == 4 and self.is_contiguous(memory_format="channels_last")
    if contiguous and not last:
        return tuple(range(self.ndim))
    if last and not contiguous:
        return 0, 2, 3, 1
    order = list(reversed(range(self.ndim)))  # the innermost first
    for moving in range(1, self.ndim):
        place = moving
        for position in reversed(range(moving)):
            step = _compare(self, order[position], order[place])
            if step < 0:
                break
            if step > 0:
                order[position], order[place] = order[place], order[position]
                place = position
    if ambiguity_check and any(_compare(self, inner, outer) != -1 for inner, outer in pairwise(order)):
        raise _several_orders(self)
    return tuple(reversed(order))


def _compare(self: Tensor, a: int, b: int) -> int:
    """Return 1 if the dimension a is outside of b, -1 if it is inside, and 0 if the strides do not decide."""
    first, second = self.stride(a), self.stride(b)
    if not first or not second:
        return 0
    if first == second:
        return int(self.shape[a] > self.shape[b])
    return 1 if first > second else -1


def _check_one_order(self: Tensor, wanted: bool | Sequence[Any]) -> None:
    if wanted is not True and not isinstance(wanted, list):
        raise TypeError(
            f"dim_order(): ambiguity_check is a bool or a list of memory formats, not {describe(wanted)}"
        )
    loose = 1 in self.shape or any(a == b for a, b in pairwise(self.stride()))
    formats = wanted if isinstance(wanted, list) else []
    matching = sum(bool(self.is_contiguous(memory_format=format_)) for format_ in formats)
    if loose and matching != 1:
        raise _several_orders(self)


def _several_orders(self: Tensor) -> ValueRangeError:
    return ValueRangeError(
        f"dim_order(): a tensor of shape {list(self.shape)} and strides {list(self.stride())} has several orders of "
        "dimensions"
    )


# --- values of Python functions ------------------------------------------------------------------------------------


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace each element by what a function of it returns; slow, and on the CPU only.

    Examples
    --------
    >>> import tt
    >>> tt.tensor([1, 2, 3]).apply_(lambda n: n * n)
    tensor([1, 4, 9])
    """
    return _filled(self, "apply_", callable)


def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace each element by what a function of it and of an element of another tensor returns.

    Examples
    --------
    >>> import tt
    >>> tt.tensor([1, 5]).map_(tt.tensor([3, 4]), max)
    tensor([3, 5])
    """
    return _filled(self, "map_", callable, tensor)


def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Replace each element by what a function of it and of elements of two other tensors returns.

    Examples
    --------
    >>> import tt
    >>> tt.tensor([1]).map2_(tt.tensor([2]), tt.tensor([3]), lambda a, b, c: a + b * c)
    tensor([7])
    """
    return _filled(self, "map2_", callable, x, y)


def _filled(self: Tensor, name: str, function: Callable[..., Any], *others: Tensor) -> Tensor:
    _own_history(self, name)
    if self.device.type != "cpu":
        raise UnsupportedError(
            f"{name}(): only on the CPU, and this tensor is on {self.device}\n  try: x.cpu()"
        )
    rows = [self.reshape(-1).tolist()]
    for other in others:
        if not isinstance(other, TensorBase):
            raise ArgumentError(name, f"takes a tensor, not {describe(other)}")
        if other.dtype != self.dtype or other.device != self.device:
            raise DtypeError(
                f"{name}(): the tensors are {self.dtype} and {other.dtype}, which must be the same"
            )
        rows.append(other.detach().expand(self.shape).reshape(-1).tolist())
    values = [function(*row) for row in zip(*rows, strict=True)]
    made = creation.tensor(values, dtype=self.dtype).reshape(self.shape)
    filled: Tensor = self.copy_(made)
    return filled


# --- constructors by method ----------------------------------------------------------------------------------------


def new(self: Tensor, *args: Any, device: Any = None) -> Tensor:
    """Return a tensor of this one's dtype and device: of the given sizes, or with the given data.

    The older form of `new_empty` and `new_tensor`.

    Examples
    --------
    >>> import tt
    >>> tt.zeros(2, dtype=tt.int64).new([1, 2]), tt.zeros(1).new(2, 0).shape
    (tensor([1, 2]), tt.Size([2, 0]))
    """
    from tt.core.methods.legacy_constructor import construct_as  # which imports what this module serves

    return construct_as("new", args, self.dtype, self.device if device is None else to_device(device))


def is_distributed(self: Tensor) -> bool:
    """Return False, as PyTorch does for every tensor."""
    return False


def const_data_ptr(self: Tensor) -> int:
    """Return the address of the first element, for reading only; 0 where there is none."""
    return int(self.data_ptr())


def _elsewhere(device: str) -> property:
    return property(
        lambda self: self.device.type == device, doc=f"Whether the tensor is on a {device} device."
    )


def storage_type(self: Tensor) -> Any:
    """Return the class of `storage()`."""
    from tt.core.methods.typed_storage import TypedStorage  # seldom asked

    return TypedStorage


def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """Return what a parameter or buffer becomes when `Module.load_state_dict` swaps it with a loaded tensor.

    Subclasses of Tensor override it to convert what is loaded.

    Parameters
    ----------
    other : Tensor
        What the state dict has for the tensor.
    assign : bool
        Whether `other` is taken as it is; otherwise its elements are copied into the tensor.

    Returns
    -------
    Tensor
        A new tensor object, neither `self` nor `other`.

    Examples
    --------
    >>> import tt
    >>> tt.zeros(2).module_load(tt.ones(2, dtype=tt.float64))
    tensor([1., 1.])
    """
    if not isinstance(other, TensorBase):
        raise ArgumentError("module_load", f"argument 'other' must be Tensor, not {describe(other)}")
    return ops.detach(other) if assign else ops.detach(ops.copy_(self, other))


REPLACING_MEMBERS: dict[str, Any] = {
    "set_": set_,
    "resize_as_": resize_as_,
    "resize": resize,
    "resize_as": resize_as,
    "dim_order": dim_order,
    "apply_": apply_,
    "map_": map_,
    "map2_": map2_,
    "new": new,
    "is_distributed": is_distributed,
    "const_data_ptr": const_data_ptr,
    "storage_type": storage_type,
    "module_load": module_load,
    **{
        f"is_{device}": _elsewhere(device)
        for device in ("ipu", "maia", "mps", "mtia", "vulkan", "xla", "xpu")
    },
    "is_mkldnn": property(lambda self: False, doc="False: the layout of MKL-DNN does not exist."),
    "is_quantized": property(lambda self: False, doc="False: quantised dtypes do not exist."),
}
