"""The handle of the layout `sparse_coo`: where the elements are, what they are, and the shape of the whole."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

__all__ = ["CooHandle"]

Array = np.ndarray[Any, Any]


class CooHandle:
    """A tensor of shape `shape` by the coordinates of its elements.

    The first `sparse_dim` dimensions are sparse, the others dense.  A coordinate that occurs several times stands
    for the sum of its values, unless the handle is coalesced: then coordinates are unique and in row-major order.

    Parameters
    ----------
    indices : numpy.ndarray
        int64, shape (sparse_dim, nnz).
    values : numpy.ndarray
        Shape (nnz, *shape[sparse_dim:]).
    shape : tuple of int
        Of the whole.
    coalesced : bool
        Whether coordinates are unique and sorted.

    Examples
    --------
    >>> import numpy as np
    >>> from tt.plugins.sparse.layouts import CooHandle
    >>> handle = CooHandle(np.array([[1, 0, 1]]), np.array([1.0, 2.0, 3.0]), (3,))
    >>> handle.coalesce().values, handle.to_dense()
    (array([2., 4.]), array([2., 4., 0.]))
    """

    __slots__ = ("coalesced", "indices", "ndim", "shape", "values")

    def __init__(self, indices: Array, values: Array, shape: Sequence[int], coalesced: bool = False) -> None:
        self.indices, self.values = indices, values
        self.shape, self.ndim = tuple(shape), len(shape)
        self.coalesced = coalesced or indices.shape[1] < 2

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        found: np.dtype[Any] = self.values.dtype
        return found

    @property
    def nnz(self) -> int:
        """The number of stored elements."""
        return int(self.indices.shape[1])

    @property
    def sparse_dim(self) -> int:
        """The number of sparse dimensions."""
        return int(self.indices.shape[0])

    @property
    def nbytes(self) -> int:
        """The size of coordinates and values in bytes."""
        return int(self.indices.nbytes + self.values.nbytes)

    def positions(self) -> Array:
        """Return the row-major position of each coordinate among the sparse dimensions."""
        sizes = self.shape[: self.sparse_dim]
        return np.ravel_multi_index(tuple(self.indices), sizes) if sizes else np.zeros(self.nnz, np.int64)

    def with_values(self, values: Array) -> CooHandle:
        """Return a handle with the same coordinates and other values."""
        return CooHandle(self.indices, values, self.shape, self.coalesced)

    def coalesce(self) -> CooHandle:
        """Return the same tensor with unique coordinates in row-major order."""
        if self.coalesced:
            return self
        positions, inverse = np.unique(self.positions(), return_inverse=True)
        values = np.zeros((len(positions), *self.values.shape[1:]), self.dtype)
        np.add.at(values, inverse, self.values)
        sizes = self.shape[: self.sparse_dim]
        found = np.unravel_index(positions, sizes) if sizes else ()
        indices = np.array(found, dtype=np.int64).reshape(self.sparse_dim, len(positions))
        return CooHandle(indices, values, self.shape, coalesced=True)

    def to_dense(self) -> Array:
        """Return the tensor as an array."""
        return self.add_to(np.zeros(self.shape, self.dtype))

    def add_to(self, dense: Array) -> Array:
        """Add the values at their coordinates to an array of the same shape, in place; return it."""
        if self.sparse_dim:
            np.add.at(dense, tuple(self.indices), self.values)
        else:
            dense += self.values.sum(axis=0, dtype=dense.dtype)
        return dense

    @classmethod
    def from_dense(cls, array: Array) -> CooHandle:
        """Return the elements of an array that are not zero."""
        if not array.ndim:
            count = int(array != 0)
            return cls(np.zeros((0, count), np.int64), array.reshape(1)[:count].copy(), (), coalesced=True)
        where = np.nonzero(array)
        return cls(np.array(where, dtype=np.int64), array[where], array.shape, coalesced=True)

    @classmethod
    def empty(cls, shape: Sequence[int], dtype: Any) -> CooHandle:
        """Return a tensor of zeros: no element is stored."""
        return cls(np.zeros((len(shape), 0), np.int64), np.zeros(0, dtype), shape, coalesced=True)

    def numel(self) -> int:
        """Return the number of elements of the whole."""
        return prod(self.shape)

    def __repr__(self) -> str:
        return f"CooHandle(nnz={self.nnz}, shape={self.shape}, dtype={self.dtype})"
