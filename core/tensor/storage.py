"""Storage: the memory that aliasing tensors share, and its version.

A tensor gets a storage when it is first viewed, changed in place, or on request; most results of arithmetic never
have one.  This module is compiled where a C compiler is at hand (see docs/design/compiled.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tt.core.tensor.backend import Backend


class Storage:
    """The memory behind one or more tensors.

    Attributes
    ----------
    owner : object
        What owns the memory (for NumPy the array that allocated it).
    backend : Backend
        The backend whose handles live in it.
    version : int
        Counts the in-place changes made through any of the tensors.
    """

    __slots__ = ("__weakref__", "backend", "owner", "version")

    owner: Any
    backend: Backend
    version: int

    def __init__(self, owner: Any, backend: Backend) -> None:
        self.owner = owner
        self.backend = backend
        self.version = 0

    def nbytes(self) -> int:
        """Return the size of the memory in bytes."""
        return self.backend.storage_nbytes(self.owner)

    def size(self) -> int:
        """Return the size of the memory in bytes, as PyTorch's untyped storage does."""
        return self.nbytes()

    def data_ptr(self) -> int:
        """Return the address of the first byte."""
        return self.backend.storage_data_ptr(self.owner)

    def __len__(self) -> int:
        return self.nbytes()

    def __reduce__(self) -> tuple[Any, ...]:
        # Tensors that share a storage share it again when they are unpickled together.
        from tt.core.methods.copying import reduce_storage

        return reduce_storage(self)

    def __repr__(self) -> str:
        return f"<tt.UntypedStorage of {self.nbytes()} bytes on {self.backend.device_type}>"
