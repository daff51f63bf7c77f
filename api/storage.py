"""tt.storage: the memory of tensors, as bytes and as elements."""

from __future__ import annotations

import io
import operator
from typing import Any

import tt
from tt.core.methods.typed_storage import TypedStorage
from tt.core.tensor.storage import Storage
from tt.errors import ArgumentError
from tt.types import Device

__all__ = ["TypedStorage", "UntypedStorage"]


class _UntypedStorage(type):
    """The class of `UntypedStorage`: every storage is an instance, and a call makes one."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Storage)

    def __call__(cls, *args: Any, device: Device = None) -> Any:
        if len(args) > 1:
            raise ArgumentError(
                "UntypedStorage", f"takes a size or a sequence of bytes, not {len(args)} arguments"
            )
        content: Any = args[0] if args else 0
        if hasattr(content, "__len__"):
            return tt.tensor(list(content), dtype=tt.uint8, device=device).untyped_storage()
        try:
            size = operator.index(content)
        except TypeError:
            raise ArgumentError(
                "UntypedStorage", f"takes a size or a sequence of bytes, not {type(content).__name__}"
            ) from None
        return tt.empty(size, dtype=tt.uint8, device=device).untyped_storage()


class UntypedStorage(metaclass=_UntypedStorage):
    """Memory as bytes: what `x.untyped_storage()` returns, or new memory.

    `UntypedStorage(8)` has eight bytes, of any values, and `UntypedStorage([1, 2])` those two.

    Examples
    --------
    >>> import tt
    >>> memory = tt.UntypedStorage(8)
    >>> tt.zeros(0, dtype=tt.int32).set_(memory).shape
    tt.Size([2])
    >>> isinstance(tt.ones(1).untyped_storage(), tt.UntypedStorage)
    True
    """

    @staticmethod
    def from_buffer(
        buffer: Any,
        *,
        dtype: tt.dtype | None,
        byte_order: str | None = None,
        count: int = -1,
        offset: int = 0,
    ) -> Any:
        """Return a storage with a copy of the elements of a dtype in an object with bytes."""
        from tt._compat.typed_storages import elements_of

        return elements_of("UntypedStorage", dtype, buffer, byte_order, count, offset).untyped_storage()

    @staticmethod
    def from_file(filename: str, shared: bool = False, nbytes: int = 0) -> Any:
        """Return a storage over a file that is mapped into memory; see `tt.from_file`."""
        return tt.from_file(filename, shared, nbytes, dtype=tt.uint8).untyped_storage()


def _load_from_bytes(b: bytes) -> Any:
    """Return what is in a file of `tt.save`, given its bytes: pickles of tensors and storages call this.

    It runs code of its argument, as unpickling does.

    Examples
    --------
    >>> import io
    >>> import tt
    >>> file = io.BytesIO()
    >>> tt.save(tt.ones(2), file)
    >>> tt.storage._load_from_bytes(file.getvalue())
    tensor([1., 1.])
    """
    result = tt.load(io.BytesIO(b), weights_only=False)
    if isinstance(result, tt.serialization.LoadedStorage):
        return TypedStorage(wrap_storage=result.untyped(), dtype=result.dtype)
    return result
