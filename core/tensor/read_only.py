"""Memory that must not be written: bytes, arrays whose flag says so, maps of files opened for reading.

A tensor over such memory gets a `ReadOnlyStorage` where it comes in.  Views and aliases share storages, and a call that
writes already looks at the storage of its target: any other class than `Storage` takes the careful path, which calls
`refuse_read_only`.  Ordinary tensors pay for no further check.
"""

from __future__ import annotations

from typing import Any

from tt.core.errors import ReadOnlyError
from tt.core.tensor.base import TensorBase
from tt.core.tensor.storage import Storage

__all__ = ["ReadOnlyStorage", "is_read_only", "keep_size", "protect", "refuse_read_only"]


class ReadOnlyStorage(Storage):
    """Memory that tensors may read and not write.

    Attributes
    ----------
    memory : object
        The owner of the memory that came in.
    """

    __slots__ = ("memory",)

    def __init__(self, owner: Any, backend: Any) -> None:
        super().__init__(owner, backend)
        self.memory = owner


def protect(tensor: TensorBase, *, read_only: bool = False) -> None:
    """Mark a new tensor over foreign memory as read-only, if its handle or the caller says so."""
    backend = tensor._spec.backend
    if read_only or not backend.is_writable(tensor._handle):
        tensor._storage = ReadOnlyStorage(backend.storage_owner(tensor._handle), backend)


def keep_size(tensor: TensorBase) -> None:
    """Refuse to move the memory of a tensor to where it can grow: somebody else has it, too."""
    backend = tensor._spec.backend
    if backend.mutable and backend.has_views:
        tensor._ensure_storage().fixed = True


def is_read_only(tensor: TensorBase) -> bool:
    """Return whether the memory of a tensor must not be written."""
    storage: Any = tensor._storage
    if not isinstance(storage, ReadOnlyStorage):
        return False
    # A `resize_` may have moved the tensor to memory of its own, which may be written.
    return storage.owner is storage.memory or not tensor._spec.backend.is_writable(tensor._handle)


def refuse_read_only(name: str, *targets: TensorBase) -> None:
    """Refuse to write into memory that is read-only.

    Raises
    ------
    ReadOnlyError
        The message says whose memory it is.
    """
    for target in targets:
        if is_read_only(target):
            raise ReadOnlyError(name, _whose(target._handle))


def _whose(handle: Any) -> str:
    """Return the owner of a handle's memory, in words."""
    owner = handle
    # Arrays and memoryviews lead to what they were made of, step by step.
    while (base := getattr(owner, "obj" if isinstance(owner, memoryview) else "base", None)) is not None:
        owner = base
    kind = type(owner)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    return "another library" if name == "PyCapsule" else f"a {name}"
