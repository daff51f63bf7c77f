"""The handles of the sparse layouts: the components of a tensor, and its shape.

The components are native arrays of the device's strided tensors, on the CPU NumPy arrays.  Handles hold them and facts
that follow from their shapes; the algorithms are in `cpu/`, `cuda/` and `structure/`.

Note [Handles without data]
---------------------------
The components of a meta tensor are meta handles.  The number of elements of a result may depend on data that does not
exist: then the handle is not `known`, its components are empty, and reading the number is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar, Final, Self

import numpy as np

from tt.core.library import Tensor, handle_of

__all__ = [
    "COMPRESSED",
    "HANDLES",
    "LAYOUTS",
    "Array",
    "BscHandle",
    "BsrHandle",
    "CompressedHandle",
    "CooHandle",
    "CscHandle",
    "CsrHandle",
    "Handle",
    "SparseHandle",
    "stored",
]


Array = np.ndarray[Any, Any]
"""A component of a handle: of NumPy, or of CuPy, whose arrays have the same attributes."""


class SparseHandle:
    """The base class of the handles of all sparse layouts.

    Attributes
    ----------
    values : native array
        The stored elements.
    shape : tuple of int
        Of the whole tensor.
    known : bool
        Whether the number of stored elements is known; see Note [Handles without data].
    """

    __slots__ = ("known", "ndim", "shape", "values")
    layout: ClassVar[str]
    index_names: ClassVar[tuple[str, ...]]
    values: Any
    shape: tuple[int, ...]
    ndim: int
    known: bool

    def _set(self, values: Any, shape: Sequence[int], known: bool) -> None:
        self.values, self.shape, self.ndim, self.known = values, tuple(shape), len(shape), known

    @property
    def dtype(self) -> Any:
        """The native dtype of the values."""
        return self.values.dtype

    @property
    def nnz(self) -> int:
        """The number of stored elements (of blocks in the block layouts; of each matrix of a batch)."""
        raise NotImplementedError

    @property
    def indices_by_name(self) -> dict[str, Any]:
        """The index arrays by the names of the methods that show them."""
        raise NotImplementedError

    @property
    def components(self) -> dict[str, Any]:
        """All arrays by name, in the order in which they are printed."""
        return {**self.indices_by_name, "values": self.values}

    @property
    def nbytes(self) -> int:
        """The size of all components in bytes."""
        return sum(int(part.nbytes) for part in self.components.values())

    def with_values(self, values: Any) -> Self:
        """Return a handle with the same pattern and other values."""
        raise NotImplementedError

    def assign(self, other: Self) -> None:
        """Become what another handle of the same layout is; they share the components."""
        kind: type = type(self)
        # Each class names only the slots that it adds.
        while kind is not object:
            for name in vars(kind).get("__slots__", ()):
                setattr(self, name, getattr(other, name))
            kind = kind.__base__ or object

    def numel(self) -> int:
        """Return the number of elements of the whole."""
        return prod(self.shape)

    def __repr__(self) -> str:
        count = self.nnz if self.known else "?"
        return f"{type(self).__name__}(nnz={count}, shape={self.shape}, dtype={self.dtype})"


class CooHandle(SparseHandle):
    """A tensor by the coordinates of its elements.

    The first `sparse_dim` dimensions are sparse, the others dense.  The value at a coordinate that occurs several times
    is the sum of its values, unless the handle is coalesced: then coordinates are unique and in row-major order.

    Parameters
    ----------
    indices : native array
        int64, shape (sparse_dim, nnz).
    values : native array
        Shape (nnz, *shape[sparse_dim:]).
    shape : sequence of int
        Of the whole.
    coalesced : bool
        Whether coordinates are unique and sorted.
    known : bool
        Whether the number of elements is known.

    Examples
    --------
    >>> import numpy as np
    >>> from tt.plugins.sparse.layouts import CooHandle
    >>> handle = CooHandle(np.array([[1, 0, 1]]), np.ones((3, 2)), (3, 2))
    >>> handle.nnz, handle.sparse_dim, handle.dense_dim
    (3, 1, 1)
    """

    __slots__ = ("coalesced", "indices")
    layout = "sparse_coo"
    index_names = ("indices",)

    def __init__(
        self,
        indices: Any,
        values: Any,
        shape: Sequence[int],
        coalesced: bool = False,
        known: bool = True,
    ) -> None:
        self._set(values, shape, known)
        self.indices = indices
        # One element is in order by itself.
        self.coalesced = coalesced or (known and indices.shape[1] < 2)

    @property
    def nnz(self) -> int:
        """The number of stored elements."""
        return int(self.indices.shape[1])

    @property
    def sparse_dim(self) -> int:
        """The number of sparse dimensions."""
        return int(self.indices.shape[0])

    @property
    def dense_dim(self) -> int:
        """The number of dense dimensions."""
        return self.ndim - self.sparse_dim

    @property
    def indices_by_name(self) -> dict[str, Any]:
        """The coordinates."""
        return {"indices": self.indices}

    def with_values(self, values: Any) -> Self:
        """Return a handle with the same coordinates and other values, whose dense dimensions may have other sizes."""
        shape = (*self.shape[: self.sparse_dim], *values.shape[1:])
        return type(self)(self.indices, values, shape, self.coalesced, self.known)


class CompressedHandle(SparseHandle):
    """A matrix, or a batch of matrices, by compressed rows or columns.

    Shapes are (*batch, rows, columns, *dense).  For each matrix, `compressed` has the positions where each row (or
    column, or row or column of blocks) begins in `plain`, which has the indices along the other dimension.

    Parameters
    ----------
    compressed : native array
        int64 or int32, shape (*batch, rows + 1).
    plain : native array
        Of the same dtype, shape (*batch, nnz).
    values : native array
        Shape (*batch, nnz, *blocksize, *dense).
    shape : sequence of int
        Of the whole.
    known : bool
        Whether the number of elements is known.

    Examples
    --------
    >>> import numpy as np
    >>> from tt.plugins.sparse.layouts import BsrHandle
    >>> handle = BsrHandle(np.array([0, 1, 2]), np.array([0, 1]), np.ones((2, 2, 3)), (4, 6))
    >>> handle.nnz, handle.blocksize, handle.batch_shape, handle.dense_dim
    (2, (2, 3), (), 0)
    """

    __slots__ = ("compressed", "plain")
    rows: ClassVar[bool]
    """Whether rows are compressed (CSR, BSR), not columns (CSC, BSC)."""
    blocked: ClassVar[bool]
    """Whether the elements are blocks (BSR, BSC)."""

    def __init__(
        self, compressed: Any, plain: Any, values: Any, shape: Sequence[int], known: bool = True
    ) -> None:
        self._set(values, shape, known)
        self.compressed, self.plain = compressed, plain

    @property
    def nnz(self) -> int:
        """The number of stored elements or blocks of each matrix."""
        return int(self.plain.shape[-1])

    @property
    def sparse_dim(self) -> int:
        """The number of sparse dimensions: a matrix has two."""
        return 2

    @property
    def batch_ndim(self) -> int:
        """The number of dimensions of the batch."""
        return len(self.compressed.shape) - 1

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape of the batch."""
        return self.shape[: self.batch_ndim]

    @property
    def dense_dim(self) -> int:
        """The number of dense dimensions."""
        return self.ndim - self.batch_ndim - 2

    @property
    def blocksize(self) -> tuple[int, int]:
        """The size of a block, (1, 1) in the layouts without blocks."""
        if not self.blocked:
            return (1, 1)
        at = self.batch_ndim + 1
        return (int(self.values.shape[at]), int(self.values.shape[at + 1]))

    @property
    def matrix_shape(self) -> tuple[int, int]:
        """The rows and columns of each matrix."""
        at = self.batch_ndim
        return (self.shape[at], self.shape[at + 1])

    @property
    def grid(self) -> tuple[int, int]:
        """The number of blocks of each matrix along its rows and columns."""
        (rows, columns), (high, wide) = self.matrix_shape, self.blocksize
        return (rows // high if high else 0, columns // wide if wide else 0)

    @property
    def indices_by_name(self) -> dict[str, Any]:
        """The compressed and the plain indices."""
        return dict(zip(self.index_names, (self.compressed, self.plain), strict=True))

    def with_values(self, values: Any) -> Self:
        """Return a handle with the same pattern and other values, whose dense dimensions may have other sizes."""
        kept = self.batch_ndim + 1 + 2 * self.blocked
        shape = (*self.shape[: self.batch_ndim + 2], *values.shape[kept:])
        return type(self)(self.compressed, self.plain, values, shape, self.known)


class CsrHandle(CompressedHandle):
    """A matrix by compressed rows; see `CompressedHandle`."""

    __slots__ = ()
    layout, rows, blocked = "sparse_csr", True, False
    index_names = ("crow_indices", "col_indices")


class CscHandle(CompressedHandle):
    """A matrix by compressed columns; see `CompressedHandle`."""

    __slots__ = ()
    layout, rows, blocked = "sparse_csc", False, False
    index_names = ("ccol_indices", "row_indices")


class BsrHandle(CompressedHandle):
    """A matrix by compressed rows of dense blocks; see `CompressedHandle`."""

    __slots__ = ()
    layout, rows, blocked = "sparse_bsr", True, True
    index_names = ("crow_indices", "col_indices")


class BscHandle(CompressedHandle):
    """A matrix by compressed columns of dense blocks; see `CompressedHandle`."""

    __slots__ = ()
    layout, rows, blocked = "sparse_bsc", False, True
    index_names = ("ccol_indices", "row_indices")


Handle = CooHandle | CompressedHandle
"""A handle of one of the layouts; isinstance tells which."""

HANDLES: Final[dict[str, Any]] = {
    kind.layout: kind for kind in (CooHandle, CsrHandle, CscHandle, BsrHandle, BscHandle)
}
"""The class of the handles of each layout."""
LAYOUTS: Final = tuple(HANDLES)
COMPRESSED: Final = LAYOUTS[1:]


def stored(tensor: Tensor) -> Any:
    """Return the handle of a sparse tensor, below what transforms have wrapped around it."""
    handle = handle_of(tensor)
    while not isinstance(handle, tuple(HANDLES.values())):
        handle = handle_of(handle.value)
    return handle
