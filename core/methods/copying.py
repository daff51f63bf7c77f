"""Copying: pickling, `copy`, `deepcopy`, subclasses and `data`.

Note [Views in a pickle]
------------------------
Tensors that share memory share it again after a round trip, as long as they travel together: a tensor that has a
storage is written as a place in that storage, and pickle (or the memo of `deepcopy`) writes the storage once.  This
holds for memory of the host; tensors of other devices are copied one by one.
"""

from __future__ import annotations

import copy as python_copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tt.core.dispatch.intercept.tt_function import DisableTTFunctionSubclass
from tt.core.dispatch.registry.registry import REGISTRY, ops
from tt.core.dispatch.resolve.components import component_tensors
from tt.core.errors import DtypeError, GradientError, LayoutError, ValueRangeError
from tt.core.layers.tt_dispatch import make_wrapper
from tt.core.layers.tt_dispatch import make_wrapper_subclass as make
from tt.core.methods.creation import from_array
from tt.core.methods.host_access import detached, host_array, requires_gradient
from tt.core.methods.interop import check_array
from tt.core.tensor.backend import is_non_overlapping_and_dense
from tt.core.tensor.base import wrap_handle
from tt.core.tensor.storage import Storage
from tt.core.tensor.tensor import Tensor, sibling, slots_of, wrap
from tt.core.types.device import Device, to_device
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.dtype import to_dtype
from tt.core.types.keys import KEYS, OVERRIDDEN, PYTHON

if TYPE_CHECKING:
    from tt.core.tensor.base import TensorSpec

__all__ = [
    "COPYING_MEMBERS",
    "as_kind",
    "is_wrapper",
    "rebuild_storage",
    "rebuild_tensor",
    "reduce_storage",
    "storage_tensor",
    "tensor_in_storage",
]

Kind = TypeVar("Kind", bound=Tensor)


def as_kind(tensor: Any, kind: type[Kind]) -> Kind:
    """Return a fresh tensor, without other references, as an instance of a subclass, without calling the subclass.

    The result does not count as a view, whatever memory it shares.
    """
    keys = tensor._keys & ~(OVERRIDDEN & ~tensor._spec.keys) | kind._class_keys
    new = wrap_handle(kind, tensor._handle, tensor._spec, keys, tensor._promotion)
    new._storage, new._record = tensor._storage, tensor._record
    return new


def as_subclass(self: Tensor, cls: type[Kind]) -> Kind:
    """Return the tensor as an instance of a subclass of `Tensor`; both share memory and history.

    Examples
    --------
    >>> import tt
    >>> class Image(tt.Tensor):
    ...     pass
    >>> type(tt.ones(2).as_subclass(Image)).__name__
    'Image'
    """
    kind: Any = cls
    if not (isinstance(kind, type) and issubclass(kind, Tensor)):
        raise TypeError(f"as_subclass() takes a subclass of Tensor, and {cls!r} is none")
    if is_wrapper(self):
        raise TypeError(
            f"as_subclass(): a {type(self).__name__} has no data of its own that another class could show\n"
            "  try: the methods of its class"
        )

    with DisableTTFunctionSubclass():
        view = ops.alias(self)
    new = as_kind(view, cls)
    new._root = view._root
    return new


def is_wrapper(tensor: Any) -> bool:
    """Return whether a tensor has no data of its own, because its class handles all operators."""
    return bool(tensor._spec.keys & PYTHON)


def _fresh_wrapper(tensor: Any) -> Tensor:
    """Return a wrapper tensor like another, with a storage of its own and without attributes or history."""
    new = sibling(tensor, KEYS.mask("layer") & ~tensor._spec.keys)
    new.__dict__ = {}
    new._storage = Storage(new._handle, new._spec.backend)
    return new


# --- host memory -------------------------------------------------------------------------------------------------


def _shares_host_memory(tensor: Tensor) -> bool:
    """Return whether the tensor can be written as a place in its storage."""
    storage = tensor._storage
    if (
        not isinstance(storage, Storage)
        or tensor.device.type != "cpu"
        or not isinstance(tensor._handle, np.ndarray)
    ):
        return False
    owner = storage.owner
    if not isinstance(owner, np.ndarray) or not (owner.flags.c_contiguous or owner.flags.f_contiguous):
        return False
    offset = _byte_offset(tensor._handle, owner)
    return tensor._handle.size == 0 or 0 <= offset < max(owner.nbytes, 1)


def _byte_offset(handle: np.ndarray[Any, Any], owner: np.ndarray[Any, Any]) -> int:
    begin: int = owner.__array_interface__["data"][0]
    place: int = handle.__array_interface__["data"][0]
    return place - begin


def _bytes_of(owner: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a copy of an array's memory as bytes."""
    return np.frombuffer(owner.tobytes(order="A"), dtype=np.uint8).copy()


def _new_storage(memory: np.ndarray[Any, Any]) -> Storage:
    return Storage(memory, REGISTRY.backend("cpu"))


def _place_in(
    storage: Storage,
    dtype: Dtype,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    offset: int,
    kind: type[Kind],
) -> Kind:
    """Return a tensor at a place (strides and offset in bytes) of a storage made by `_new_storage`."""
    memory = storage.owner
    try:
        if memory.nbytes == 0 or 0 in shape:
            handle = np.empty(shape, dtype.numpy)
        else:
            handle = np.ndarray(shape, dtype.numpy, buffer=memory, offset=offset, strides=strides)
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueRangeError(
            f"a tensor of shape {list(shape)}, with strides of {list(strides)} bytes from byte {offset} on, is not "
            f"part of memory of {memory.nbytes} bytes: {error}"
        ) from error
    check_array(handle, "pickled tensor")
    new = _make(handle, storage.backend.spec(dtype, to_device("cpu")), kind)
    new._storage = storage
    return new


def tensor_in_storage(
    memory: Tensor,
    dtype: Dtype,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int = 0,
    kind: type[Kind] | None = None,
) -> Kind:
    """Return a tensor at a place in the storage of another; it is a tensor of its own right, not a view of that one.

    Parameters
    ----------
    memory : Tensor
        The bytes: one-dimensional, uint8, from the first byte of its storage on.
    dtype : dtype
        How the bytes are read; the dtype of the result.
    size, stride : sequence of int
        The shape of the result, and its strides in elements.
    storage_offset : int
        Position of the first element, in elements.
    kind : type, optional
        The class of the result, `Tensor` if not given.

    Raises
    ------
    ValueRangeError
        When an element would be outside of the memory.

    Examples
    --------
    >>> import tt
    >>> from tt.library import tensor_in_storage
    >>> memory = tt.zeros(16, dtype=tt.uint8)
    >>> x = tensor_in_storage(memory, tt.float32, (2,), (2,), 1)
    >>> y = tensor_in_storage(memory, tt.float32, (4,), (1,))
    >>> x[0] = 7
    >>> y
    tensor([0., 7., 0., 0.])
    """
    chosen: Any = kind or Tensor
    if len(size) != len(stride) or storage_offset < 0 or any(n < 0 for n in (*size, *stride)):
        raise ValueRangeError(
            f"a tensor has a size and a stride for each dimension, none of them and no offset negative, but got "
            f"size {list(size)}, stride {list(stride)} and offset {storage_offset}"
        )
    if memory.device.type == "cpu" and isinstance(memory._handle, np.ndarray):
        width = dtype.itemsize
        steps = tuple(step * width for step in stride)
        placed: Kind = _place_in(
            memory._ensure_storage(), dtype, tuple(size), steps, storage_offset * width, chosen
        )
        return placed
    with DisableTTFunctionSubclass():
        view = ops.as_strided(memory.view(dtype), list(size), list(stride), storage_offset)
    new: Kind = as_kind(view, chosen)
    return new


def storage_tensor(
    storage: Storage, dtype: Dtype, size: Sequence[int], stride: Sequence[int], storage_offset: int
) -> Tensor:
    """Return a tensor at a place of a storage: strides and offset in elements.

    Raises
    ------
    LayoutError
        If the backend keeps memory as something other than NumPy arrays.
    ValueRangeError
        When an element would be outside of the memory.
    """
    if not isinstance(storage.owner, np.ndarray):
        raise LayoutError(
            f"a tensor cannot be made from a storage on {storage.backend.device_type}\n"
            "  try: a tensor that uses the storage, and as_strided"
        )
    width = dtype.itemsize
    steps = tuple(step * width for step in stride)
    return _place_in(storage, dtype, tuple(size), steps, storage_offset * width, Tensor)


def _make(handle: Any, spec: TensorSpec, kind: type[Kind]) -> Kind:
    return as_kind(wrap(handle, spec), kind)


# --- pickling ----------------------------------------------------------------------------------------------------


def reduce_storage(storage: Storage) -> tuple[Callable[..., Storage], tuple[Any, ...]]:
    """Return how a storage of host memory is pickled."""
    if not isinstance(storage.owner, np.ndarray):
        raise DtypeError(f"only storages in host memory can be pickled, not {storage!r}")
    return rebuild_storage, (_bytes_of(storage.owner),)


def rebuild_storage(memory: np.ndarray[Any, Any]) -> Storage:
    """Return a new storage over the bytes that `reduce_storage` wrote."""
    return _new_storage(memory if memory.flags.writeable else memory.copy())


def _pack(self: Tensor) -> tuple[Any, ...]:
    """Return the data for rebuilding a tensor's values: the name of a form and its arguments."""
    if is_wrapper(self):
        return "wrapper", self.dtype, tuple(self.shape), self._handle.strides, str(self.device)
    if parts := component_tensors(self):
        facts = dict(self._spec.backend.facts(self._handle))
        return "parts", self.layout, self.dtype, parts, tuple(self.shape), facts, str(self.device)
    if self.device.type == "meta":
        return "meta", self.dtype, tuple(self.shape), self.stride(), str(self.device)
    if _shares_host_memory(self):
        handle, storage = self._handle, self._storage
        offset = _byte_offset(handle, storage.owner) if handle.size else 0
        return "place", storage, self.dtype, tuple(self.shape), tuple(handle.strides), offset
    # The order of the dimensions in memory is part of the tensor, but the memory between its elements is not.
    shape, strides = tuple(self.shape), self.stride()
    kept = strides if is_non_overlapping_and_dense(shape, strides) else None
    return "array", np.array(host_array(self, "pickle")), str(self.device), kept


def _unpack(kind: type[Kind], form: str, *parts: Any) -> Kind:
    if form == "place":
        storage, dtype, shape, strides, offset = parts
        return _place_in(storage, to_dtype(dtype), shape, strides, offset, kind)
    if form == "array":
        array, device, *more = parts
        check_array(array, "pickled array")
        if not array.flags.writeable:  # of buffers outside the pickle
            array = array.copy()
        values = from_array(array, Device(device))
        if more and more[0] is not None and more[0] != values.stride():
            values = ops.empty_strided(
                values.shape, more[0], dtype=values.dtype, device=Device(device)
            ).copy_(values)
        return as_kind(values, kind)
    if form == "wrapper":
        dtype, shape, strides, device = parts
        made: Kind = make_wrapper(kind, shape, dtype, Device(device), strides)
        return made
    if form == "meta":
        dtype, shape, strides, device = parts
        return as_kind(ops.empty_strided(shape, strides, dtype=dtype, device=Device(device)), kind)
    layout, dtype, named, shape, facts, device = parts
    backend = REGISTRY.backend(Device(device).type, layout.name)
    made = backend.assemble({name: part._handle for name, part in named.items()}, shape, facts)
    return _make(made, backend.spec(to_dtype(dtype), Device(device)), kind)


def rebuild_tensor(kind: type[Kind], packed: tuple[Any, ...], requires_grad: bool) -> Kind:
    """Return a tensor from what `__reduce_ex__` wrote."""
    new = _unpack(kind, *packed)
    if requires_grad:
        new.requires_grad = True
    return new


def _bare(self: Tensor) -> Tensor:
    """Return the tensor without its history."""
    if is_wrapper(self):
        return _fresh_wrapper(self)
    return detached(self) if requires_gradient(self) else self


def reduce_ex(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    """Return how a tensor is pickled: its class, values, attributes, and whether it requires gradients."""
    gradient = requires_gradient(self)
    bare = _bare(self)
    return rebuild_tensor, (type(self), _pack(bare), gradient), {**slots_of(self), **self.__dict__} or None


def set_state(self: Tensor, state: dict[str, Any]) -> None:
    """Restore the attributes of an unpickled tensor."""
    # Without this method the compiled base class has one of its own, which expects its fields.
    for name, value in state.items():
        setattr(self, name, value)


# --- copy and deepcopy -------------------------------------------------------------------------------------------


def shallow_copy(self: Tensor) -> Tensor:
    """Return a new tensor that shares the memory, with the same attributes and without the history."""
    new = _fresh_wrapper(self) if is_wrapper(self) else as_kind(detached(self), type(self))
    if requires_gradient(self):
        new.requires_grad = True
    set_state(new, {**slots_of(self), **self.__dict__})
    return new


def deep_copy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """Return a copy that shares nothing; tensors that are copied together keep sharing with each other.

    Raises
    ------
    GradientError
        For a tensor that is the result of a differentiated operation.
    """
    if id(self) in memo:
        known: Tensor = memo[id(self)]
        return known
    if requires_gradient(self) and not getattr(self, "is_leaf", True):
        raise GradientError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment\n"
            "  try: copy.deepcopy(x.detach()), or x.clone() to keep the history"
        )
    bare = _bare(self)
    new = bare if is_wrapper(self) else _deep_copied_values(bare, type(self), memo)
    if requires_gradient(self):
        new.requires_grad = True
    memo[id(self)] = new
    gradient = None if self._record is None else getattr(self, "grad", None)
    if gradient is not None:
        new.grad = python_copy.deepcopy(gradient, memo)
    set_state(new, python_copy.deepcopy({**slots_of(self), **self.__dict__}, memo))
    return new


def _deep_copied_values(self: Tensor, kind: type[Kind], memo: dict[int, Any]) -> Kind:
    if not _shares_host_memory(self):
        return as_kind(ops.clone(self), kind)
    storage = self._storage
    copy = memo.get(id(storage))
    if copy is None:
        copy = memo[id(storage)] = _new_storage(_bytes_of(storage.owner))
    _, _, dtype, shape, strides, offset = _pack(self)
    return _place_in(copy, dtype, shape, strides, offset, kind)


# --- data --------------------------------------------------------------------------------------------------------


def _get_data(self: Tensor) -> Tensor:
    """The same memory without history, and with a version of its own: autograd does not see changes through it.

    Assigning a tensor makes this one use its memory.
    """
    new = detached(self)
    new._root = None
    storage = new._storage
    if type(storage) is Storage:
        new._storage = Storage(storage.owner, storage.backend)
    return new


def _set_data(self: Tensor, value: Any) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"data must be set to a Tensor, not {type(value).__name__}")
    if value.layout != self.layout or value.device.type != self.device.type:
        raise DtypeError(
            f"data of a {self.layout} tensor on {self.device} cannot be set to a {value.layout} tensor on "
            f"{value.device}"
        )
    if requires_gradient(self) and not (value.dtype.is_floating_point or value.dtype.is_complex):
        raise DtypeError(
            f"data set to a tensor that requires gradients must be floating point or complex dtype, not {value.dtype}"
        )
    shared = detached(value)
    self._set_data(shared._handle, shared._spec)
    self._storage, self._root = shared._storage, None
    if is_wrapper(shared):
        set_state(self, {**slots_of(shared), **shared.__dict__})


def make_subclass(cls: type[Kind], data: Tensor, require_grad: bool = False) -> Kind:
    """Return an instance of a subclass of `Tensor` over the memory of a tensor, without its history.

    Examples
    --------
    >>> import tt
    >>> class Image(tt.Tensor):
    ...     pass
    >>> tt.Tensor._make_subclass(Image, tt.ones(2), require_grad=True)
    Image([1., 1.], requires_grad=True)
    """
    kind: Any = cls
    if not (isinstance(kind, type) and issubclass(kind, Tensor)):
        raise TypeError(f"_make_subclass() takes a subclass of Tensor, and {cls!r} is none")
    new = as_kind(detached(data), cls)
    if require_grad:
        new.requires_grad = True
    return new


def make_wrapper_subclass(cls: type[Kind], size: Any, **options: Any) -> Kind:
    """Return a tensor of a class with `__tt_dispatch__` that has no data; see `tt.core.layers.tt_dispatch`."""
    new: Kind = make(cls, size, **options)
    return new


COPYING_MEMBERS: dict[str, Any] = {
    "_make_subclass": staticmethod(make_subclass),
    "_make_wrapper_subclass": staticmethod(make_wrapper_subclass),
    "__copy__": shallow_copy,
    "__deepcopy__": deep_copy,
    "__reduce_ex__": reduce_ex,
    "__setstate__": set_state,
    "as_subclass": as_subclass,
    "data": property(_get_data, _set_data),
}
