"""The array library of kernels: NumPy with scipy.sparse on the CPU, CuPy with cupyx.scipy.sparse on CUDA."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tt.plugins.sparse.layouts import Array, CompressedHandle, CooHandle, CsrHandle, Handle, SparseHandle

__all__ = ["CHUNK", "ArrayLibrary"]

CHUNK: Final = 1 << 22
"""The maximum number of products of elements held at a time."""


class ArrayLibrary:
    """An array library and its sparse matrices, and what both spell in different ways.

    The handles that kernels get and return hold arrays of the library.

    Attributes
    ----------
    device : str
        The device type of the arrays.
    xp : module
        numpy or cupy.
    sp : module
        scipy.sparse or cupyx.scipy.sparse.
    """

    device: str = ""
    has_blocks: bool = True
    """Whether there are matrices of blocks."""

    @property
    def xp(self) -> Any:
        """The functions of arrays."""
        raise NotImplementedError

    @property
    def sp(self) -> Any:
        """The sparse matrices."""
        raise NotImplementedError

    # --- arrays --------------------------------------------------------------------------------------------------

    def repeat(self, array: Array, counts: Array) -> Any:
        """Return each element repeated by its count."""
        raise NotImplementedError

    def repeat_rows(self, array: Array, counts: Array) -> Any:
        """Return each row repeated by its count."""
        return array[self.repeat(self.xp.arange(len(array)), counts)]

    def add_at(self, target: Array, index: Array | tuple[Array, ...], values: Array) -> None:
        """Add values to the elements that an index names, every time that it names them."""
        raise NotImplementedError

    def reduce_runs(self, how: str, values: Array, starts: Array) -> Any:
        """Reduce runs of values along the first dimension: "add", "maximum" or "minimum"; no run is empty."""
        raise NotImplementedError

    def starts_of(self, rows: Array, count: int) -> Any:
        """Return where each of `count` rows begins, given the row of each element."""
        starts = self.xp.zeros(count + 1, self.xp.int64)
        starts[1:] = self.xp.cumsum(self.xp.bincount(rows, minlength=count))
        return starts

    # --- layouts -------------------------------------------------------------------------------------------------

    def coalesce(self, handle: CooHandle) -> CooHandle:
        """Return the same tensor with unique coordinates in row-major order."""
        raise NotImplementedError

    def convert(self, handle: Handle, layout: str, blocksize: Sequence[int] | None = None) -> Any:
        """Return a sparse tensor in another sparse layout."""
        raise NotImplementedError

    def matrix(self, handle: SparseHandle) -> Any:
        """Return a single CSR, CSC or BSR matrix as the library's; it shares the components."""
        raise NotImplementedError

    # --- products ------------------------------------------------------------------------------------------------

    def times(self, handle: CompressedHandle, dense: Array, transposed: bool = False) -> Any:
        """Multiply a single CSR, CSC or BSR matrix, or its transpose, by a dense vector or matrix."""
        matrix = self.matrix(handle)
        return (matrix.T if transposed else matrix) @ dense

    def multiply(self, first: CsrHandle, second: CsrHandle) -> CsrHandle:
        """Multiply two single CSR matrices; the columns of each row of the result increase."""
        product = self.matrix(first) @ self.matrix(second)
        product.sort_indices()
        starts, columns = (
            index.astype(self.xp.int64, copy=False) for index in (product.indptr, product.indices)
        )
        return CsrHandle(starts, columns, product.data, product.shape)

    def sampled(self, rows: Array, columns: Array, left: Array, right: Array) -> Any:
        """Return the products of rows of two matrices, pair by pair."""
        products = self.xp.empty(len(rows), left.dtype)
        step = max(CHUNK // max(left.shape[1], 1), 1)
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            products[part] = self.xp.einsum("ij,ij->i", left[rows[part]], right[columns[part]])
        return products

    def solve(self, matrix: Any, right: Array) -> Any:
        """Solve a system of equations with a sparse matrix of the library."""
        raise NotImplementedError

    # --- tensors -------------------------------------------------------------------------------------------------

    def bind(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a kernel over native handles of a function of this library and handles of its arrays."""
        raise NotImplementedError
