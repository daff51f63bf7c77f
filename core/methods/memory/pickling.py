"""Pickling of tensors and storages.

Note [Views in a pickle]
------------------------
Tensors that share memory share it again after a round trip, as long as they travel together: a tensor that has a
storage is written as a place in that storage, and pickle (or the memo of `deepcopy`) writes the storage once.  This
holds for memory of the host; tensors of other devices are copied one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tt.core.dispatch.intercept.modes import note_data
from tt.core.dispatch.registry.registry import REGISTRY, ops
from tt.core.dispatch.resolve.components import component_tensors
from tt.core.errors import DtypeError
from tt.core.layers.tt_dispatch import make_wrapper
from tt.core.methods.as_subclass import as_kind, fresh_wrapper, is_wrapper
from tt.core.methods.creation import from_array
from tt.core.methods.interop import check_array
from tt.core.methods.memory.host_access import detached, host_array, keep_requires_grad, requires_gradient
from tt.core.methods.memory.host_storage import (
    byte_offset,
    bytes_of,
    new_storage,
    place_in,
    shares_host_memory,
)
from tt.core.tensor.backend import is_non_overlapping_and_dense
from tt.core.tensor.tensor import Tensor, slots_of, wrap
from tt.core.types.device import Device
from tt.core.types.dtype import to_dtype
from tt.core.types.user_warnings import warn_user

if TYPE_CHECKING:
    from tt.core.tensor.storage import Storage

__all__ = [
    "PICKLING_MEMBERS",
    "bare_tensor",
    "pack",
    "rebuild_storage",
    "rebuild_tensor",
    "reduce_storage",
    "set_state",
    "warn_of_hooks",
]

Kind = TypeVar("Kind", bound=Tensor)


def reduce_storage(storage: Storage) -> tuple[Callable[..., Storage], tuple[Any, ...]]:
    """Return how a storage of host memory is pickled."""
    if not isinstance(storage.owner, np.ndarray):
        raise DtypeError(f"only storages in host memory can be pickled, not {storage!r}")
    return rebuild_storage, (bytes_of(storage.owner),)


def rebuild_storage(memory: np.ndarray[Any, Any]) -> Storage:
    """Return a new storage over the bytes that `reduce_storage` wrote."""
    # Buffers outside the pickle (protocol 5) may be read-only, and a storage can be written.
    return new_storage(memory if memory.flags.writeable else memory.copy())


def pack(self: Tensor) -> tuple[Any, ...]:
    """Return the data for rebuilding a tensor's values: the name of a form and its arguments."""
    if is_wrapper(self):
        return "wrapper", self.dtype, tuple(self.shape), self._handle.strides, str(self.device)
    if parts := component_tensors(self):
        facts = dict(self._spec.backend.facts(self._handle))
        return "parts", self.layout, self.dtype, parts, tuple(self.shape), facts, str(self.device)
    if self.device.type == "meta":
        return "meta", self.dtype, tuple(self.shape), self.stride(), str(self.device)
    if shares_host_memory(self):
        handle, storage = self._handle, self._storage
        offset = byte_offset(handle, storage.owner)
        return "place", storage, self.dtype, tuple(self.shape), tuple(handle.strides), offset
    # The order of the dimensions in memory is part of the tensor, but the memory between its elements is not.
    shape, strides = tuple(self.shape), self.stride()
    kept = strides if is_non_overlapping_and_dense(shape, strides) else None
    return "array", np.array(host_array(self, "pickle")), str(self.device), kept


def _unpack(kind: type[Kind], form: str, *parts: Any) -> Kind:
    if form == "place":
        storage, dtype, shape, strides, offset = parts
        return place_in(storage, to_dtype(dtype), shape, strides, offset, kind)
    if form == "array":
        array, device, *more = parts
        check_array(array, "pickled array")
        if not array.flags.writeable:  # of buffers outside the pickle
            array = array.copy()
        values = from_array(array, Device(device))
        # Strides are part of a tensor, and an array in a pickle is row-major.
        if more and more[0] is not None and more[0] != values.stride():
            values = ops.empty_strided(
                values.shape, more[0], dtype=values.dtype, device=Device(device)
            ).copy_(values)
        return as_kind(values, kind)
    if form == "wrapper":
        dtype, shape, strides, device = parts
        wrapper: Kind = make_wrapper(kind, shape, dtype, Device(device), strides)
        return wrapper
    if form == "meta":
        dtype, shape, strides, device = parts
        return as_kind(ops.empty_strided(shape, strides, dtype=dtype, device=Device(device)), kind)
    layout, dtype, named, shape, facts, device = parts
    backend = REGISTRY.backend(Device(device).type, layout.name)
    handle = backend.assemble({name: part._handle for name, part in named.items()}, shape, facts)
    new: Kind = as_kind(wrap(handle, backend.spec(to_dtype(dtype), Device(device))), kind)
    note_data(new)
    return new


def rebuild_tensor(kind: type[Kind], packed: tuple[Any, ...], requires_grad: bool) -> Kind:
    """Return a tensor from what `__reduce_ex__` wrote."""
    new = _unpack(kind, *packed)
    keep_requires_grad(new, requires_grad)
    return new


def bare_tensor(self: Tensor) -> Tensor:
    """Return the tensor without its history."""
    if is_wrapper(self):
        return fresh_wrapper(self)
    return detached(self) if requires_gradient(self) else self


def warn_of_hooks(tensor: Tensor) -> None:
    """Warn of the hooks on a tensor's gradient, which are not pickled."""
    for hook in (getattr(tensor, "_gradient_hooks", None) or {}).values():
        if not getattr(hook, "__tt_unserializable__", False):
            warn_user(
                f"the hook {hook!r} of a tensor of shape {list(tensor.shape)} is not pickled with it\n"
                "  try: decorate the hook with tt.utils.hooks.unserializable_hook if that is meant"
            )


def reduce_ex(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    """Return how a tensor is pickled: its class, values, attributes, and whether it requires gradients."""
    gradient = requires_gradient(self)
    # Wrappers of models put hooks on parameters.
    if gradient and not getattr(self, "_is_param", False):
        warn_of_hooks(self)
    bare = bare_tensor(self)
    # None where there are no attributes: pickle then stores no state.
    return rebuild_tensor, (type(self), pack(bare), gradient), {**slots_of(self), **self.__dict__} or None


def set_state(self: Tensor, state: dict[str, Any]) -> None:
    """Restore the attributes of an unpickled tensor."""
    # Without this method the compiled base class has one of its own, which expects its fields.
    for name, value in state.items():
        setattr(self, name, value)


PICKLING_MEMBERS: dict[str, Any] = {"__reduce_ex__": reduce_ex, "__setstate__": set_state}
