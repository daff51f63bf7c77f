"""Members of untyped storages that look at their bytes, copy them, or describe where they are.

A storage is compiled and lies below the tensors; it looks these members up by name when a program asks for one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tt.core.errors import ArgumentError, DataDependentError, IndexValueError, UnsupportedError
from tt.core.meta import MetaHandle, fresh
from tt.core.methods.memory.host_storage import storage_tensor
from tt.core.methods.typed_storage import CASTS, TypedStorage
from tt.core.tensor.storage import Storage
from tt.core.tensor.tensor import Tensor
from tt.core.types.device import to_device
from tt.core.types.dtype import to_dtype

__all__ = ["MEMBERS", "get_bytes", "member", "set_bytes"]


def _as_tensor(storage: Storage) -> Tensor:
    """Return the bytes as a tensor of uint8 over the same memory."""
    return storage_tensor(storage, to_dtype("uint8"), (storage.nbytes(),), (1,), 0)


def get_bytes(storage: Storage, index: Any) -> Any:
    """Return a byte as a number, or a copy of a slice of them as a storage."""
    if isinstance(storage.owner, MetaHandle):
        raise DataDependentError("storage[index]", "meta")
    selected = _as_tensor(storage)[_place(storage, index)]
    return selected.clone().untyped_storage() if isinstance(index, slice) else int(selected.item())


def set_bytes(storage: Storage, index: Any, value: Any) -> None:
    """Write a number into a byte, or into each of a slice."""
    _as_tensor(storage)[_place(storage, index)] = value


def _place(storage: Storage, index: Any) -> int | slice:
    if isinstance(index, slice):
        if index.step not in (None, 1):
            raise UnsupportedError("a slice of a storage has no step, because its bytes follow each other")
        return index
    if not isinstance(index, int):
        raise ArgumentError(
            "UntypedStorage", f"an index is an integer or a slice, not {type(index).__name__}"
        )
    size = storage.nbytes()
    if not -size <= index < size:
        raise IndexValueError(f"index {index} is out of range for a storage of {size} bytes")
    return index % size


# --- members -----------------------------------------------------------------------------------------------------


def _clone(storage: Storage) -> Any:
    return lambda: _as_tensor(storage).clone().untyped_storage()


def _copy_(storage: Storage) -> Any:
    def copy_(source: Storage, non_blocking: bool = False) -> Storage:
        """Copy the bytes of another storage of the same size."""
        if not isinstance(source, Storage):
            raise ArgumentError("copy_", f"copies a storage, not {type(source).__name__}")
        if source.nbytes() != storage.nbytes():
            raise ArgumentError("copy_", f"the sizes differ: {storage.nbytes()} and {source.nbytes()} bytes")
        _as_tensor(storage).copy_(_as_tensor(source), non_blocking=non_blocking)
        return storage

    return copy_


def _fill_(storage: Storage) -> Any:
    def fill_(value: int) -> Storage:
        """Write a number into every byte."""
        _as_tensor(storage).fill_(value)
        return storage

    return fill_


def _to(storage: Storage) -> Any:
    def to(device: Any, non_blocking: bool = False) -> Storage:
        """Return the storage itself, or a copy on another device."""
        there = to_device(device)
        here = _as_tensor(storage)
        # No index means the present device of the type.
        if there.type == here.device.type and there.index in (None, here.device.index):
            return storage
        moved: Storage = here.to(there, non_blocking=non_blocking).untyped_storage()
        return moved

    return to


def _cuda(storage: Storage) -> Any:
    def cuda(device: Any = None, non_blocking: bool = False) -> Any:
        """Return the storage itself, or a copy on a GPU."""
        there = "cuda" if device is None else device
        return _to(storage)(f"cuda:{there}" if isinstance(there, int) else there, non_blocking)

    return cuda


def _resize_(storage: Storage) -> Any:
    def resize_(size: int) -> Storage:
        """Change nothing if the size is the present one; tensors keep the memory that they have.

        A storage on meta, which has none, gets another size.
        """
        if isinstance(storage.owner, MetaHandle):
            storage.owner = fresh((size,), to_dtype("uint8"))
            return storage
        if size != storage.nbytes():
            raise UnsupportedError(
                "resize_() of a storage: the tensors in it keep their memory\n"
                "  try: x.set_(...) or x.data = ..., which give a tensor other memory"
            )
        return storage

    return resize_


def _cast(dtype: str) -> Callable[[Storage], Any]:
    """Return the member that makes a typed storage of the bytes, each as a number."""
    return lambda storage: lambda: TypedStorage._of(_as_tensor(storage).to(to_dtype(dtype), copy=True))


def _type(storage: Storage) -> Any:
    def type(dtype: Any = None, non_blocking: bool = False) -> Any:
        """Return the name of the class, or the bytes as numbers of another one; see `TypedStorage.type`."""
        if dtype is None:
            return "tt.storage.UntypedStorage"
        return TypedStorage._of(_as_tensor(storage)).type(dtype, non_blocking)

    return type


def file_of(storage: Storage) -> Any:
    """Return the name of the file that the memory is mapped from and written to, which its mapping holds, or None."""
    mapping = getattr(getattr(storage.owner, "base", None), "obj", None)
    return getattr(mapping, "filename", None)


MEMBERS: Final[Mapping[str, Callable[[Storage], Any]]] = {
    "clone": _clone,
    "copy_": _copy_,
    "cpu": lambda s: lambda: _to(s)("cpu"),
    "cuda": _cuda,
    "device": lambda s: _as_tensor(s).device,
    "element_size": lambda s: lambda: 1,
    "filename": file_of,
    "fill_": _fill_,
    "get_device": lambda s: lambda: _as_tensor(s).get_device(),
    "is_cuda": lambda s: s.backend.device_type == "cuda",
    "is_pinned": lambda s: lambda: _as_tensor(s).is_pinned(),
    "is_sparse": lambda s: False,
    "is_sparse_csr": lambda s: False,
    "new": lambda s: lambda: _as_tensor(s)[:0].clone().untyped_storage(),
    "resizable": lambda s: lambda: False,
    "resize_": _resize_,
    "to": _to,
    "tolist": lambda s: lambda: _as_tensor(s).tolist(),
    "type": _type,
    "untyped": lambda s: lambda: s,
    **{name: _cast(dtype) for name, dtype in CASTS.items()},
}
"""Members by name; each is made for a storage when it is looked up."""


def member(storage: Storage, name: str) -> Any:
    """Return a member of a storage, as `__getattr__` does."""
    factory = MEMBERS.get(name)
    if factory is None:
        raise AttributeError(f"'UntypedStorage' object has no attribute {name!r}")
    return factory(storage)
