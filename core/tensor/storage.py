"""Storage: the memory that aliasing tensors share, and its version.

A tensor gets a storage when it is first viewed, changed in place, or on request; most results of arithmetic never
have one.  This module is compiled where a C compiler is at hand (see docs/design/compiled.md).

Note [Members of storages]
--------------------------
Members that make tensors or call operators are written above the dispatcher, which makes storages, as those of tensors
are.  A compiled class takes no members later, so `tt.core.methods.methods.install` provides the modules that have them,
as functions that import a module when it is called for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tt.core import start

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
    may_overlap : bool
        Whether one of the tensors may have several elements in one place although it is no view, so that every write
        looks at the strides of its target.  A view is looked at anyway.
    fixed : bool
        Whether the memory keeps its size, because somebody else has it, too: an array that `numpy()` returned, or the
        library that it comes from.  They would not see it move.

    Programs may set further attributes, as on PyTorch's storages.
    """

    __slots__ = ("__dict__", "__weakref__", "backend", "fixed", "may_overlap", "owner", "version")

    owner: Any
    backend: Backend
    version: int
    may_overlap: bool
    fixed: bool

    def __init__(self, owner: Any, backend: Backend) -> None:
        self.owner = owner
        self.backend = backend
        self.version = 0
        self.may_overlap = False
        self.fixed = False

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

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    # --- the bytes, and members that are looked up by name: see core/methods/memory/storage_bytes.py -----------------

    def __getitem__(self, index: Any) -> Any:
        return _bytes().get_bytes(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        _bytes().set_bytes(self, index, value)

    def __iter__(self) -> Any:
        return iter(_bytes().MEMBERS["tolist"](self)())

    def __getattr__(self, name: str) -> Any:
        return _bytes().member(self, name)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *_bytes().MEMBERS})

    # --- members that make storages and tensors: see core/methods/memory/storages.py --------------------------------

    def __reduce__(self) -> tuple[Any, ...]:
        # Tensors that share a storage share it again when they are unpickled together.
        reduced: tuple[Any, ...] = _members().reduce_storage(self)
        return reduced

    def share_memory_(self) -> Storage:
        """Move the memory, with all tensors in it, to where processes share it."""
        _members().share_memory(self)
        return self

    def is_shared(self) -> bool:
        """Return whether processes can share the memory; that of an accelerator always."""
        shared: bool = _members().is_shared(self)
        return shared

    def _share_fd_cpu_(self) -> tuple[int, int]:
        handle: tuple[int, int] = _members().share_fd(self)
        return handle

    def _share_filename_cpu_(self) -> tuple[bytes, bytes, int]:
        handle: tuple[bytes, bytes, int] = _members().share_filename(self)
        return handle

    @staticmethod
    def _new_shared_fd_cpu(fd: int, size: int) -> Storage:
        storage: Storage = _members().storage_of_fd(fd, size)
        return storage

    @staticmethod
    def _new_shared_filename_cpu(manager: bytes, handle: bytes, size: int) -> Storage:
        storage: Storage = _members().storage_of_filename(handle, size)
        return storage

    def __repr__(self) -> str:
        return f"<tt.UntypedStorage of {self.nbytes()} bytes on {self.backend.device_type}>"


# Where a member is missing, a plain storage asks `__getattr__`, which takes a microsecond: tensors of ordinary memory,
# of which a step of an optimizer looks at hundreds, answer by their class.


def memory_of(storage: Any) -> Any:
    """Return what is one object for storages that may share memory."""
    if isinstance(storage, Storage):
        return storage.owner  # of `x.data` and x, which have two storages
    return storage if storage is None else getattr(storage, "base", storage)


def geometry_of(storage: Any) -> Any:
    """Return the object with shape, strides and offset if handles have none (functionalised views), or None."""
    return None if storage is None or type(storage) is Storage else getattr(storage, "geometry", None)


# --- see Note [Members of storages] ---------------------------------------------------------------------------------

_PROVIDED: dict[str, Callable[[], Any]] = {}


def provide_members(of_bytes: Callable[[], Any], of_sharing: Callable[[], Any]) -> None:
    """Take what returns the modules of the members: those of bytes, and those of pickles and shared memory."""
    _PROVIDED.update(of_bytes=of_bytes, of_sharing=of_sharing)


def _provided(name: str) -> Any:
    if not _PROVIDED:  # a storage that another process sent may be the first object of this one
        start()
    return _PROVIDED[name]()


def _bytes() -> Any:
    return _provided("of_bytes")


def _members() -> Any:
    return _provided("of_sharing")
