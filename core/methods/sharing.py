"""Tensors that several processes use: `share_memory_`, `is_shared`, and how a tensor travels.

Note [Tensors between processes]
--------------------------------
A tensor in memory of the host travels as a place in its storage, as in any pickle (Note [Views in a pickle]); the
storage is moved to shared memory first, and `tt.multiprocessing` sends its descriptor or name.  A tensor of another
device travels as what its backend hands over (`Backend.share`), or as a copy through the host.  A tensor that is made
of others (a sparse one) travels as these.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.dispatch.resolve.components import component_tensors
from tt.core.errors import DeviceError, GradientError
from tt.core.methods.copying import as_kind, is_wrapper
from tt.core.methods.host_access import detached, requires_gradient
from tt.core.tensor.shared_memory import SharedMemory, count_message
from tt.core.tensor.sharing import is_host_memory, share_storage, storage_over
from tt.core.tensor.storage import Storage
from tt.core.tensor.tensor import wrap
from tt.core.types.device import Device, to_device
from tt.core.types.dtype import to_dtype

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

__all__ = ["SHARING_MEMBERS", "reduce_shared"]


def _in_host_memory(tensor: Tensor) -> bool:
    return (
        tensor.device.type == "cpu"
        and tensor.layout.name == "strided"
        and isinstance(tensor._handle, np.ndarray)
        and not is_wrapper(tensor)
    )


# --- members of Tensor ---------------------------------------------------------------------------------------------


def share_memory_(self: Tensor) -> Tensor:
    """Move the tensor's memory to where processes share it, with all its views; nothing happens if it is there.

    Tensors of other devices, which processes share anyhow, stay as they are.

    Raises
    ------
    SharedMemoryError
        If the system has not as much.

    Examples
    --------
    >>> import tt
    >>> x = tt.zeros(2, 2)
    >>> row = x[0]
    >>> x.share_memory_().is_shared(), row.is_shared()
    (True, True)
    """
    if _in_host_memory(self):
        share_storage(self._ensure_storage(), self)
    elif self.layout.name != "strided" and not is_wrapper(self):
        _share_components(self)
    return self


def _share_components(self: Tensor) -> None:
    """Share the components of a tensor, and rebuild it from them."""
    parts = component_tensors(self)
    if not parts or is_shared(self):
        return
    for part in parts.values():
        share_memory_(part)
    backend = self._spec.backend
    named = {name: part._handle for name, part in parts.items()}
    self._handle = backend.assemble(named, tuple(self.shape), dict(backend.facts(self._handle)))


def is_shared(self: Tensor) -> bool:
    """Return whether the tensor is in memory that processes share; those of an accelerator always are.

    Examples
    --------
    >>> import tt
    >>> tt.zeros(2).is_shared()
    False
    """
    if is_wrapper(self):
        return False
    if self.layout.name != "strided":
        parts = component_tensors(self)
        return bool(parts) and all(is_shared(part) for part in parts.values())
    if self.device.type == "cpu":
        if not _in_host_memory(self):
            return False
        known = self._storage
        owner = self._spec.backend.storage_owner(self._handle) if known is None else known.owner
        return isinstance(getattr(owner, "base", None), SharedMemory)
    return self.device.type != "meta"


SHARING_MEMBERS: Final[dict[str, Any]] = {"share_memory_": share_memory_, "is_shared": is_shared}


# --- storages ------------------------------------------------------------------------------------------------------


def _host(storage: Storage, name: str) -> Storage:
    if not is_host_memory(storage):
        raise DeviceError(f"{name}: only storages of the CPU have memory of the host, not {storage!r}")
    return storage


def share_memory_of_storage(storage: Storage, strategy: str | None = None) -> SharedMemory:
    """Move a storage with all its tensors to shared memory."""
    return share_storage(_host(storage, "share_memory_()"), None, strategy)


def share_fd(storage: Storage) -> tuple[int, int]:
    """Return descriptor and size of a storage, which is shared then; the descriptor stays the storage's."""
    memory = share_memory_of_storage(storage, "file_descriptor")
    if memory.fd < 0:
        raise DeviceError("_share_fd_cpu_(): this memory has a name, not a descriptor")
    return memory.fd, memory.nbytes


def share_filename(storage: Storage) -> tuple[bytes, bytes, int]:
    """Return manager (none), name and size of a storage, which is shared then; the name counts as a message."""
    memory = share_memory_of_storage(storage, "file_system")
    if not memory.name:
        raise DeviceError("_share_filename_cpu_(): this memory has a descriptor, not a name")
    if not count_message(memory):
        # Inherited by a fork from a process that has given it up: other processes cannot find it any more.
        memory = share_storage(storage, None, "file_system", again=True)
        count_message(memory)
    return b"", memory.name.encode(), memory.nbytes


def storage_of_fd(fd: int, nbytes: int) -> Storage:
    """Return the storage behind a descriptor, which is this process's from then on."""
    return storage_over(SharedMemory.from_fd(fd, nbytes), REGISTRY.backend("cpu"))


def storage_of_filename(name: bytes, nbytes: int) -> Storage:
    """Return the storage behind the name of a file."""
    return storage_over(SharedMemory.from_name(name.decode(), nbytes), REGISTRY.backend("cpu"))


# --- messages ------------------------------------------------------------------------------------------------------


def reduce_shared(tensor: Tensor) -> tuple[Any, ...]:
    """Return how a tensor is pickled for another process, which shares its memory.

    `tt.multiprocessing` registers it with the pickler of `multiprocessing`; storages are reduced on their own.

    Raises
    ------
    RuntimeError
        If the tensor requires a gradient and is not a leaf.

    Examples
    --------
    >>> import tt
    >>> x = tt.zeros(2)
    >>> function, arguments, *_ = tt.library.reduce_shared(x)
    >>> x.is_shared()
    True
    """
    gradient = requires_gradient(tensor)
    if gradient and not getattr(tensor, "is_leaf", True):
        raise GradientError(
            "a non-leaf tensor which requires_grad cannot be sent to another process: autograd does not cross the "
            "border of a process\n  try: tensor.detach()"
        )
    if getattr(tensor, "_backward_hooks", None):
        warnings.warn(
            f"the backward hooks of a tensor of shape {list(tensor.shape)} do not travel to another process",
            UserWarning,
            stacklevel=2,
        )
    if (
        not is_wrapper(tensor)
        and tensor.device.type not in ("cpu", "meta")
        and tensor.layout.name == "strided"
    ):
        handed_over = tensor._spec.backend.share(detached(tensor)._handle if gradient else tensor._handle)
        if handed_over is not None:
            facts = (handed_over, tensor.dtype, str(tensor.device), gradient)
            return rebuild_shared, (type(tensor), *facts), tensor.__dict__ or None
    share_memory_(tensor)
    found: tuple[Any, ...] = tensor.__reduce_ex__(5)
    return found


def rebuild_shared(kind: Any, handed_over: Any, dtype: Any, device: str, requires_grad: bool) -> Tensor:
    """Return a tensor over memory that the sender's backend shared."""
    where: Device = to_device(device)
    backend = REGISTRY.backend(where.type)
    backend.require_available()
    new: Tensor = as_kind(
        wrap(backend.rebuild_shared(handed_over, where), backend.spec(to_dtype(dtype), where)), kind
    )
    if requires_grad:
        new.requires_grad = True
    return new
