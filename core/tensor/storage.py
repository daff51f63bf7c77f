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
        from tt.core.methods.copying import reduce_storage  # makes tensors, which have storages

        return reduce_storage(self)

    # --- memory that processes share: see core/methods/sharing.py ----------------------------------------------------

    def share_memory_(self) -> Storage:
        """Move the memory, with all tensors in it, to where processes share it."""
        from tt.core.tensor.sharing import is_host_memory, share_storage  # which knows storages

        if is_host_memory(self):
            share_storage(self)
        return self

    def is_shared(self) -> bool:
        """Return whether processes can share the memory; that of an accelerator always."""
        from tt.core.tensor.sharing import is_host_memory, shared_memory_of

        return not is_host_memory(self) or shared_memory_of(self) is not None

    def _share_fd_cpu_(self) -> tuple[int, int]:
        from tt.core.methods import sharing

        return sharing.share_fd(self)

    def _share_filename_cpu_(self) -> tuple[bytes, bytes, int]:
        from tt.core.methods import sharing

        return sharing.share_filename(self)

    @staticmethod
    def _new_shared_fd_cpu(fd: int, size: int) -> Storage:
        from tt.core.methods import sharing

        return sharing.storage_of_fd(fd, size)

    @staticmethod
    def _new_shared_filename_cpu(manager: bytes, handle: bytes, size: int) -> Storage:
        from tt.core.methods import sharing

        return sharing.storage_of_filename(handle, size)

    def __repr__(self) -> str:
        return f"<tt.UntypedStorage of {self.nbytes()} bytes on {self.backend.device_type}>"
