"""Moving the memory of tensors: to where other processes can map it, and to where it can grow.

Note [Moving a storage]
-----------------------
A storage does not list its tensors, and each tensor has a handle of its own.  Where reference counts say that a storage
has one tensor only, that one is moved.  Else the garbage collector, which keeps track of all tensors and storages,
finds the others: views, aliases, and `x.data`, which has a storage of its own over the same memory.  Arrays of NumPy
over the old memory stay there.
"""

from __future__ import annotations

import gc
import sys
import weakref
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.core.errors import InplaceError
from tt.core.tensor.base import TensorBase
from tt.core.tensor.shared_memory import SharedMemory
from tt.core.tensor.storage import Storage

if TYPE_CHECKING:
    from tt.core.tensor.backend import Backend

__all__ = [
    "is_host_memory",
    "is_shared_memory",
    "move_storage",
    "share_storage",
    "shared_memory_of",
    "storage_over",
]

_ALONE: Final = 4
"""References to the owner of one tensor: its storage, its handle (or the tensor), a variable and an argument here."""


def is_host_memory(storage: Any) -> bool:
    """Return whether a storage is memory of the CPU."""
    return isinstance(storage, Storage) and isinstance(storage.owner, np.ndarray)


def shared_memory_of(storage: Storage) -> SharedMemory | None:
    """Return the shared memory under a storage, or None."""
    base: Any = getattr(storage.owner, "base", None)
    return base if isinstance(base, SharedMemory) else None


def is_shared_memory(owner: Any) -> bool:
    """Return whether other processes have mapped the memory of an array: as shared memory, or as part of a message."""
    return bool(getattr(getattr(owner, "base", None), "maps_shared_memory", False))


def storage_over(memory: SharedMemory, backend: Backend) -> Storage:
    """Return the storage of this process over shared memory: the same one for each message that brings it."""
    known = None if memory.storage is None else memory.storage()
    if known is not None:
        storage: Storage = known
        return storage
    new = Storage(np.asarray(memory), backend)
    memory.storage = weakref.ref(new)
    return new


def share_storage(
    storage: Storage, tensor: TensorBase | None = None, strategy: str | None = None, *, again: bool = False
) -> SharedMemory:
    """Move a storage of host memory, with all tensors in it, to shared memory.

    Parameters
    ----------
    storage : Storage
        A storage for which `is_host_memory` is true.
    tensor : TensorBase, optional
        A tensor in it.  If it is the only one, no other is looked for.
    strategy : str, optional
        How; by default what `set_sharing_strategy` says.
    again : bool
        Move it also from shared memory.

    Raises
    ------
    SharedMemoryError
        If the system has not as much; nothing is moved then.
    """
    known = shared_memory_of(storage)
    if known is not None and not again:
        return known
    owner, nbytes = storage.owner, storage.nbytes()
    memory = SharedMemory.new(nbytes, strategy)
    new = np.asarray(memory)
    # All of the memory: other tensors over it may see other parts than this one.
    new[...] = _bytes_at(owner, storage.data_ptr(), nbytes)
    alone = sys.getrefcount(owner) <= _ALONE and sys.getrefcount(storage) <= 3
    if tensor is not None and alone:
        storages, tensors = [storage], [tensor]
    else:
        storages, tensors = _found(owner, storage)
    for each in storages:
        each.owner = new
        # `is_read_only` compares the two, so that a protected storage stays protected.
        if hasattr(each, "memory"):  # of one that is read-only
            each.memory = new  # type: ignore[attr-defined]
    for alias in tensors:
        alias._handle = storage.backend.moved(alias._handle, owner, new)
    memory.storage = weakref.ref(storage)
    return memory


def move_storage(storage: Storage, tensor: TensorBase, handle: Any) -> None:
    """Give a tensor a handle over larger memory that begins with the contents of its storage; all others follow.

    Raises
    ------
    InplaceError
        If the memory keeps its size.
    """
    backend, owner = storage.backend, storage.owner
    new = backend.storage_owner(handle)
    if storage.fixed and storage.nbytes():  # of no memory nobody else has a part
        raise InplaceError(
            f"resize_(): memory that NumPy or another library has, too, cannot grow, from {storage.nbytes()} to "
            f"{backend.storage_nbytes(new)} bytes\n  try: x.clone().resize_(...)"
        )
    storages: list[Any] = [storage]
    others: list[Any] = []
    if backend.moved(handle, new, new) is not None and not (
        sys.getrefcount(owner) <= _ALONE and sys.getrefcount(storage) <= _ALONE
    ):
        storages, tensors = _found(owner, storage)
        others = [other for other in tensors if other is not tensor]
    # All are made before the first is set, so that an error leaves every tensor as it was.
    handles = [backend.moved(other._handle, owner, new) for other in others]
    tensor._set_data(handle, tensor._spec)
    for each in storages:
        each.owner = new
    for other, moved in zip(others, handles, strict=True):
        other._handle = moved


def _bytes_at(owner: Any, address: int, nbytes: int) -> Any:
    """Return memory as bytes, also between the elements of an array with gaps."""
    # Read-only, since it is only copied from.
    interface = {"version": 3, "shape": (nbytes,), "typestr": "|u1", "data": (address, True)}
    return np.asarray(SimpleNamespace(__array_interface__=interface, base=owner))


def _found(owner: Any, storage: Storage) -> tuple[list[Any], list[Any]]:
    """Return all storages over an owner, and all tensors in them."""
    storages, tensors = _search(owner, storage)
    own = sum(1 for tensor in tensors if tensor._handle is owner)
    views = {id(tensor._handle) for tensor in tensors if tensor._handle is not owner}
    variables = 3  # here, in the caller, and an argument
    if gc.get_freeze_count() and sys.getrefcount(owner) > len(storages) + own + len(views) + variables:
        # What `gc.freeze` has hidden, as a worker of a loader does with all that it inherits.
        gc.unfreeze()
        try:
            return _search(owner, storage)
        finally:
            gc.freeze()
    return storages, tensors


def _search(owner: Any, storage: Storage) -> tuple[list[Any], list[Any]]:
    # `gc` also finds frames and lists that hold the array at the moment, hence the class.
    storages = [referrer for referrer in gc.get_referrers(owner) if isinstance(referrer, Storage)]
    if not any(each is storage for each in storages):
        storages.append(storage)
    tensors = [
        referrer for referrer in gc.get_referrers(*storages)
        if isinstance(referrer, TensorBase)
        and isinstance(referrer._handle, storage.backend.handle_type)
        and any(referrer._storage is each for each in storages)
    ]  # fmt: skip
    return storages, tensors
