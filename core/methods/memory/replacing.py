"""Members that give a tensor other memory, another size, or values of a Python function.

Most are older than the operators that do the same; programs and libraries still call them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from tt.core.dispatch.registry.registry import ops
from tt.core.errors import (
    ArgumentError,
    DtypeError,
    GradientError,
    InplaceError,
    ShapeError,
    UnsupportedError,
    ValueRangeError,
    describe,
)
from tt.core.methods import creation
from tt.core.methods.as_subclass import is_wrapper
from tt.core.methods.memory.host_access import detached, layers_of, loses_gradient, requires_gradient
from tt.core.methods.memory.host_storage import storage_tensor
from tt.core.methods.memory.pickling import set_state
from tt.core.methods.tt_function_api import overridable
from tt.core.methods.typed_storage import TypedStorage
from tt.core.tensor.backend import contiguous_strides
from tt.core.tensor.base import TensorBase
from tt.core.tensor.storage import Storage
from tt.core.tensor.tensor import Tensor, slots_of
from tt.core.types.memory_format import is_preserve, order_of_strides
from tt.core.types.size import Size
from tt.core.types.user_warnings import warn_user

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
        If the source has another dtype or is on another device.  An untyped storage has none.
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
    # Under `no_grad` nothing is recorded that the change could spoil.
    if loses_gradient(self):
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
    if isinstance(source, TypedStorage) and source.dtype != self.dtype:
        raise DtypeError(
            f"set_(): a {self.dtype} tensor cannot use the memory of a storage of {source.dtype}\n"
            "  try: source.untyped(), whose bytes are read in the tensor's dtype"
        )
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


@overridable
def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Give the tensor the size of another; elements beyond the old ones are undefined.

    With `memory_format=tt.preserve_format` it gets the other's memory format, too: channels last, or contiguous.

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
    if memory_format is not None and is_preserve(memory_format):
        memory_format = order_of_strides(the_template.shape, the_template.stride()) or "contiguous_format"
    return self.resize_(tuple(the_template.shape), memory_format=memory_format)


def resize(self: Tensor, *sizes: Any) -> Tensor:
    """Return the elements in another shape of as many elements.

    Deprecated, as in PyTorch: `reshape` does the same.
    """
    warn_user("resize() of a tensor is deprecated: use reshape()")
    shape = tuple(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    return _reshaped(self, "resize", shape)


@overridable
def resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """Return the elements in the shape of another tensor with as many elements.

    Deprecated, as in PyTorch: `reshape_as` does the same.
    """
    warn_user("resize_as() of a tensor is deprecated: use reshape_as()")
    return _reshaped(self, "resize_as", tuple(tensor.shape))


def _reshaped(self: Tensor, name: str, sizes: tuple[int, ...]) -> Tensor:
    if Size(sizes).numel() != self.numel():
        raise ShapeError(
            f"{name}(): {self.numel()} elements do not fill the shape {list(sizes)}\n  try: x.resize_(...)"
        )
    return self.reshape(sizes)


# --- values of Python functions ------------------------------------------------------------------------------------


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace each element by a function of it; slow, and on the CPU only.

    Examples
    --------
    >>> import tt
    >>> tt.tensor([1, 2, 3]).apply_(lambda n: n * n)
    tensor([1, 4, 9])
    """
    return _filled(self, "apply_", callable)


@overridable
def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace each element by a function of it and of an element of another tensor.

    Examples
    --------
    >>> import tt
    >>> tt.tensor([1, 5]).map_(tt.tensor([3, 4]), max)
    tensor([3, 5])
    """
    return _filled(self, "map_", callable, tensor)


@overridable
def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Replace each element by a function of it and of elements of two other tensors.

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
        _own_history(other, name)
        if other.dtype != self.dtype or other.device != self.device:
            raise DtypeError(
                f"{name}(): the tensors are {self.dtype} and {other.dtype}, which must be the same"
            )
        # Broadcast first, so that the rows have one length.
        rows.append(other.detach().expand(self.shape).reshape(-1).tolist())
    values = [function(*row) for row in zip(*rows, strict=True)]
    source = creation.tensor(values, dtype=self.dtype).reshape(self.shape)
    return self.copy_(source)


class ReplacedStorage(Storage):
    """Memory of a tensor whose `data` was replaced, which still counts changes with the views of its old memory.

    Attributes
    ----------
    counter : Storage
        The storage of the old memory.
    """

    __slots__ = ("counter",)

    def __init__(self, new: Storage, counter: Storage) -> None:
        self.counter = counter  # not through the base class, which would begin to count anew
        self.owner, self.backend = new.owner, new.backend
        self.may_overlap, self.fixed = new.may_overlap, new.fixed

    @property
    def version(self) -> int:
        """The number of changes of the old memory and of this one."""
        return self.counter.version

    @version.setter
    def version(self, value: int) -> None:
        self.counter.version = value


def _with_version(storage: Storage, version: int) -> Storage:
    """Return another storage over the same memory, with a number of changes of its own."""
    new = Storage(storage.owner, storage.backend)
    new.may_overlap, new.fixed, new.version = storage.may_overlap, storage.fixed, version
    return new


# --- data ------------------------------------------------------------------------------------------------------------


def _get_data(self: Tensor) -> Tensor:
    """The same memory without history, and with a version of its own: autograd does not see changes through it.

    Inside of a function that `tt.func` transforms it is `detach()`, changes of which are seen. Assigning a tensor makes
    this one use its memory.
    """
    new = detached(self)
    # Until the first transform of a process begins, all epochs are 0.
    if new._epoch and any(layer.counts_data() for layer in layers_of(self)):
        return new
    new._root = None
    # Other storages stay: read-only memory has to remain so, and functionalised tensors share content.
    if type(new._storage) in (Storage, ReplacedStorage):
        new._storage = _with_version(new._storage, 0)
    return new


def _set_data(self: Tensor, value: Any) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"data must be set to a Tensor, not {type(value).__name__}")
    meta = [tensor.device.type == "meta" for tensor in (self, value)]
    if value.layout != self.layout or meta[0] != meta[1]:
        raise DtypeError(
            f"data of a {self.layout} tensor on {self.device} cannot be set to a {value.layout} tensor on "
            f"{value.device}"
        )
    if requires_gradient(self) and not (value.dtype.is_floating_point or value.dtype.is_complex):
        raise DtypeError(
            f"data set to a tensor that requires gradients must be floating point or complex dtype, not {value.dtype}"
        )
    replace_data(self, value)


def replace_data(self: Tensor, value: Tensor) -> None:
    """Let a tensor use the memory of another one, of whatever device and layout it is.

    That of a leaf only: what autograd has recorded counts on device and layout.
    """
    shared, old = detached(value), self._storage
    # Views and saved tensors count on the number of changes: it goes on, for all that share it.
    counted = (
        isinstance(old, Storage) and sys.getrefcount(old) > 3
    )  # besides self, a variable and an argument
    new = shared._storage
    if counted and type(new) is Storage and new is not old:
        new = ReplacedStorage(new, old)
    elif type(new) is Storage and new is not old:
        # A new storage over the same memory, so that the other tensor's count stays its own.
        new = _with_version(new, 0 if old is None else old.version)
    self._set_data(shared._handle, shared._spec)
    # No view any more, whatever it was: its memory is another one.
    self._storage, self._root = new, None
    if is_wrapper(shared):
        set_state(self, {**slots_of(shared), **shared.__dict__})


def _delete_data(self: Tensor) -> None:
    raise InplaceError("data of a tensor cannot be deleted: delete the tensor instead")


@overridable
def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """Return the replacement of a parameter or buffer that `Module.load_state_dict` swaps with a loaded tensor.

    Subclasses of Tensor override it to convert loaded tensors.

    Parameters
    ----------
    other : Tensor
        The tensor from the state dict.
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
    "data": property(_get_data, _set_data, _delete_data),
    "resize_as_": resize_as_,
    "resize": resize,
    "resize_as": resize_as,
    "apply_": apply_,
    "map_": map_,
    "map2_": map2_,
    "module_load": module_load,
}
