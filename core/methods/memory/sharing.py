"""Tensors that several processes use: `share_memory_`, `is_shared`, and how a tensor travels.

Note [Tensors between processes]
--------------------------------
A tensor in memory of the host travels as a place in its storage, as in any pickle (Note [Views in a pickle]); the
storage is moved to shared memory first, and `tt.multiprocessing` sends its descriptor or name.  A tensor of another
device travels as what its backend hands over (`Backend.share`), or as a copy through the host.  A tensor that is made
of others (a sparse one) travels as these.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tt.core.dispatch.intercept.modes import note_data
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.dispatch.resolve.components import component_tensors
from tt.core.errors import GradientError
from tt.core.methods.as_subclass import as_kind, is_wrapper
from tt.core.methods.memory.host_access import detached, keep_requires_grad, requires_gradient
from tt.core.methods.memory.pickling import warn_of_hooks
from tt.core.tensor.sharing import is_shared_memory, share_storage
from tt.core.tensor.tensor import Tensor, wrap
from tt.core.types.device import Device, to_device
from tt.core.types.dtype import to_dtype

__all__ = ["is_shared", "reduce_shared", "share_memory_"]


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
    # The components may have got new arrays, and the handle holds the old ones.
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
        # Without a storage the tensor is alone in its memory, and its array owns it.
        known = self._storage
        owner = self._spec.backend.storage_owner(self._handle) if known is None else known.owner
        return is_shared_memory(owner)
    return self.device.type != "meta"


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
    if (
        not is_wrapper(tensor)
        and tensor.device.type not in ("cpu", "meta")
        and tensor.layout.name == "strided"
    ):
        handed_over = tensor._spec.backend.share(detached(tensor)._handle if gradient else tensor._handle)
        if handed_over is not None:
            if gradient:
                warn_of_hooks(tensor)
            facts = (handed_over, tensor.dtype, str(tensor.device), gradient)
            return rebuild_shared, (type(tensor), *facts), tensor.__dict__ or None
    # The backend shares no memory of its own: the tensor moves into memory that both processes map.
    share_memory_(tensor)
    if gradient and getattr(tensor, "_is_param", False):
        warn_of_hooks(tensor)  # as a pickle of a parameter does not
    return tensor.__reduce_ex__(5)


def rebuild_shared(kind: Any, handed_over: Any, dtype: Any, device: str, requires_grad: bool) -> Tensor:
    """Return a tensor over memory that the sender's backend shared."""
    where: Device = to_device(device)
    backend = REGISTRY.backend(where.type)
    backend.require_available()
    new: Tensor = as_kind(
        wrap(backend.rebuild_shared(handed_over, where), backend.spec(to_dtype(dtype), where)), kind
    )
    note_data(new)
    keep_requires_grad(new, requires_grad)
    return new
