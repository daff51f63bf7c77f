"""The handle of CUDA tensors: a description of strided memory, with a CuPy array built when a kernel needs one.

Views are arithmetic on shape, strides and offset and cost no call into CuPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tt.core.library import contiguous_strides, errors

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = ["Memory", "StridedHandle"]


class Memory(Protocol):
    """The interface for allocating and reading memory; CuPy's is `tt.backends.cuda.memory.memory.CupyMemory`."""

    def allocate(self, nbytes: int) -> Any:
        """Return an object that owns new memory."""

    def nbytes(self, owner: Any) -> int:
        """Return the size of the memory of an owner."""

    def address(self, owner: Any) -> int:
        """Return the address of the memory of an owner."""

    def array(
        self,
        owner: Any,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        byte_strides: tuple[int, ...],
        byte_offset: int,
    ) -> Any:
        """Return a native array over the memory of an owner."""

    def describe(self, array: Any) -> tuple[Any, int]:
        """Return the owner of an array's memory and the array's byte offset in it."""


class StridedHandle:
    """Strided elements in memory that something owns.

    Parameters
    ----------
    memory : Memory
        Allocates and looks at memory.
    owner : object
        Owns the memory and keeps it alive.
    shape, strides : tuple of int
        Strides in elements.
    offset : int
        The position of the first element, in elements.
    dtype : numpy.dtype
        The type of the elements.
    """

    __slots__ = ("_array", "dtype", "memory", "ndim", "offset", "owner", "shape", "strides")

    def __init__(
        self,
        memory: Memory,
        owner: Any,
        shape: Sequence[int],
        strides: Sequence[int],
        offset: int,
        dtype: DTypeLike,
    ) -> None:
        self.memory, self.owner, self.offset = memory, owner, offset
        self.shape, self.strides = tuple(shape), tuple(strides)
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self.ndim = len(self.shape)
        self._array: Any = None
        if len(self.strides) != self.ndim:
            raise errors.ValueRangeError(f"{self.ndim} sizes and {len(self.strides)} strides do not match")
        first, last = self.span()
        room = memory.nbytes(owner) // self.dtype.itemsize
        if (first < 0 or last > room) and first != last:  # nothing is read of a handle without elements
            raise errors.ValueRangeError(
                f"sizes {list(self.shape)}, strides {list(self.strides)} and offset {offset} reach from element "
                f"{first} to {last} of a storage of {room}"
            )

    @classmethod
    def empty(cls, memory: Memory, shape: Sequence[int], dtype: DTypeLike) -> StridedHandle:
        """Return a contiguous handle over new memory."""
        dtype = np.dtype(dtype)
        new = cls.__new__(cls)  # new memory has room for exactly this, there is nothing to check
        new.memory, new.owner = memory, memory.allocate(prod(shape) * dtype.itemsize)
        new.shape = tuple(shape)
        new.strides, new.offset, new.dtype = contiguous_strides(new.shape), 0, dtype
        new.ndim, new._array = len(new.shape), None
        return new

    @classmethod
    def from_array(cls, memory: Memory, array: Any) -> StridedHandle:
        """Return a handle over the memory of a native array."""
        owner, byte_offset = memory.describe(array)
        itemsize = array.dtype.itemsize
        if byte_offset % itemsize or any(stride % itemsize for stride in array.strides):
            raise errors.ValueRangeError("the elements of the array do not lie at multiples of their size")
        # NumPy and CuPy give arrays without elements their own strides.
        strides = (
            contiguous_strides(array.shape)
            if 0 in array.shape
            else [stride // itemsize for stride in array.strides]
        )
        new = cls(memory, owner, array.shape, strides, byte_offset // itemsize, array.dtype)
        # The array is at hand, so it need not be built again.
        new._array = array
        return new

    @property
    def array(self) -> Any:
        """The native array over the same memory, built at first use."""
        # Built late: most handles are views that never reach a function of CuPy.
        if self._array is None:
            size = self.dtype.itemsize
            self._array = self.memory.array(
                self.owner,
                self.shape,
                self.dtype,
                tuple(s * size for s in self.strides),
                # CuPy takes no offset into empty memory, whose address is 0.
                self.offset * size if 0 not in self.shape else 0,
            )
        return self._array

    @property
    def nbytes(self) -> int:
        """The size of the elements in bytes."""
        return prod(self.shape) * self.dtype.itemsize

    @property
    def data_ptr(self) -> int:
        """The address of the first element."""
        return self.memory.address(self.owner) + self.offset * self.dtype.itemsize

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements are in row-major order without gaps."""
        expected = contiguous_strides(self.shape)
        pairs = zip(self.shape, self.strides, expected, strict=True)
        # The stride of a dimension of size 1 is never taken.
        return 0 in self.shape or all(size == 1 or stride == want for size, stride, want in pairs)

    def span(self) -> tuple[int, int]:
        """Return the first element that the handle reaches and the one after the last, counted in the storage."""
        if 0 in self.shape:
            return self.offset, self.offset
        ends = [(size - 1) * stride for size, stride in zip(self.shape, self.strides, strict=True)]
        return (
            self.offset + sum(end for end in ends if end < 0),
            self.offset + sum(end for end in ends if end > 0) + 1,
        )

    def view(self, shape: Sequence[int], strides: Sequence[int], offset: int | None = None) -> StridedHandle:
        """Return a handle over the same memory with another shape, strides and offset.

        Raises
        ------
        ValueRangeError
            When it would reach outside the memory.
        """
        offset = self.offset if offset is None else offset
        return StridedHandle(self.memory, self.owner, shape, strides, offset, self.dtype)

    def shares_memory(self, other: StridedHandle) -> bool:
        """Return whether both may reach a common element: the same owner and overlapping spans."""
        (start, stop), (first, last) = self.span(), other.span()
        size, other_size = self.dtype.itemsize, other.dtype.itemsize
        return (
            # Spans of bytes are compared: interleaved views count as sharing, which is safe.
            self.owner is other.owner
            and start * size < last * other_size
            and first * other_size < stop * size
        )

    def __repr__(self) -> str:
        return f"StridedHandle(shape={self.shape}, strides={self.strides}, offset={self.offset}, dtype={self.dtype})"
