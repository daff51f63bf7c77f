"""`x.storage()`: the memory of a tensor as elements of its dtype, which PyTorch has deprecated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tt.core.dispatch.resolve.components import component_tensors
from tt.core.types.user_warnings import warn_user

if TYPE_CHECKING:
    from tt.core.tensor.storage import Storage
    from tt.core.tensor.tensor import Tensor
    from tt.core.types.device import Device
    from tt.core.types.dtype import dtype as Dtype

__all__ = ["TypedStorage", "storage", "storage_type"]


class TypedStorage:
    """All elements in the memory that a tensor shares with its views, in their order there.

    Examples
    --------
    >>> import warnings
    >>> import tt
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     memory = tt.tensor([[1, 2], [3, 4]])[1].storage()
    >>> len(memory), memory[0], memory.tolist()
    (4, 1, [1, 2, 3, 4])
    """

    def __init__(self, tensor: Tensor, dtype: Dtype | None = None) -> None:
        self._untyped: Storage = tensor.untyped_storage()
        self._dtype = tensor.dtype if dtype is None else dtype
        count = self._untyped.nbytes() // tensor.element_size()
        # Of a quantized tensor, the integers.
        tensor = next(iter(component_tensors(tensor).values()), tensor)
        self._elements = tensor.detach().as_strided((count,), (1,), 0)

    @property
    def dtype(self) -> Dtype:
        """The dtype of the elements."""
        return self._dtype

    @property
    def device(self) -> Device:
        """The device of the memory."""
        return self._elements.device

    def untyped(self) -> Storage:
        """Return the memory as bytes: what `untyped_storage()` returns."""
        return self._untyped

    def size(self) -> int:
        """Return the number of elements."""
        return len(self)

    def nbytes(self) -> int:
        """Return the size of the memory in bytes."""
        return self._untyped.nbytes()

    def element_size(self) -> int:
        """Return the size of an element in bytes."""
        return self._elements.element_size()

    def data_ptr(self) -> int:
        """Return the address of the first byte."""
        return self._untyped.data_ptr()

    def is_shared(self) -> bool:
        """Return whether processes can share the memory."""
        return self._elements.is_shared()

    def share_memory_(self) -> TypedStorage:
        """Move the memory, with all tensors in it, to where processes share it."""
        self._elements.share_memory_()
        return self

    def tolist(self) -> list[Any]:
        """Return the elements as numbers."""
        found: list[Any] = self._elements.tolist()
        return found

    def __len__(self) -> int:
        return len(self._elements)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, index: int | slice) -> Any:
        found = self._elements[index]
        return found.tolist() if isinstance(index, slice) else found.item()

    def __setitem__(self, index: int | slice, value: Any) -> None:
        self._elements[index] = value

    def __repr__(self) -> str:
        rows = "\n".join(f" {value}" for value in self.tolist())
        return f"{rows}\n[tt.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"


def storage(self: Tensor) -> TypedStorage:
    """Return the memory of the tensor as elements of its dtype.

    Deprecated, as in PyTorch: `untyped_storage()` is what stays.

    Raises
    ------
    LayoutError
        When the tensor has not one memory: it is not strided.
    """
    warn_user(
        "TypedStorage is deprecated: use tensor.untyped_storage(), which has no dtype, or the tensor itself"
    )
    return TypedStorage(self)


def storage_type(self: Tensor) -> type[TypedStorage]:
    """Return the class of `storage()`."""
    return TypedStorage
