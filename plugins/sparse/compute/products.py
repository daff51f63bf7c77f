"""Products of matrices and vectors at least one of which is sparse.

Note [Products of batches]
--------------------------
A batch of sparse matrices is one matrix with the matrices along its diagonal.  Its product with a batch of dense
matrices, stacked upon each other, is the stacked products: one library call for any number of matrices.
"""

from __future__ import annotations

from math import prod
from typing import Any

from tt.core.library import errors
from tt.plugins.sparse.compute.elements import keys
from tt.plugins.sparse.compute.library import ArrayLibrary
from tt.plugins.sparse.layouts import (
    Array,
    BsrHandle,
    CompressedHandle,
    CooHandle,
    CsrHandle,
    Handle,
    SparseHandle,
)

__all__ = ["matmul", "result_layout", "single"]


def result_layout(first: str, second: str) -> str:
    """Return the layout of the product of two sparse matrices: theirs if it has one of coordinates or blocks."""
    return first if first == second and first in ("sparse_coo", "sparse_bsr") else "sparse_csr"


def matmul(lib: ArrayLibrary, self: Any, other: Any) -> Any:
    """Multiply matrices, vectors and batches as PyTorch's matmul does."""
    _check(self, other)
    left, right = isinstance(self, SparseHandle), isinstance(other, SparseHandle)
    if left and right:
        return _sparse_sparse(lib, self, other)
    if left:
        return _sparse_dense(lib, self, other)
    return _dense_sparse(lib, self, other)


def _check(self: Array | Handle, other: Array | Handle) -> None:
    for handle in (self, other):
        if isinstance(handle, CooHandle | CompressedHandle) and (handle.dense_dim or handle.ndim < 2):
            raise errors.ShapeError(
                f"matmul(): a sparse operand is a matrix or a batch of matrices without dense dimensions, but has the "
                f"size {list(handle.shape)} and {handle.dense_dim} dense dimensions\n  try: x.to_dense()"
            )
    inner, rows = self.shape[-1], other.shape[-2] if other.ndim > 1 else other.shape[0]
    if inner != rows:
        raise errors.ShapeError(
            f"matmul(): mat1 and mat2 shapes cannot be multiplied ({'x'.join(map(str, self.shape))} and "
            f"{'x'.join(map(str, other.shape))})"
        )


# --- matrices of the library -----------------------------------------------------------------------------------


def single(lib: ArrayLibrary, handle: Any) -> Any:
    """Return a tensor as one CSR, CSC or BSR matrix, a batch along the diagonal; see Note [Products of batches]."""
    if isinstance(handle, CooHandle):
        return _coo_rows(lib, handle)
    if handle.layout == "sparse_bsc":
        handle = lib.convert(handle, "sparse_csr")
    return _block_diagonal(lib, handle) if handle.batch_ndim else handle


def _coo_rows(lib: ArrayLibrary, handle: CooHandle) -> CsrHandle:
    """Return coordinates by compressed rows; equal ones stay apart, which products do not mind."""
    xp = lib.xp
    *batch, rows, columns = handle.shape
    count = prod(batch)
    row, column = handle.indices[-2], handle.indices[-1]
    if batch:
        number = xp.zeros(handle.nnz, xp.int64)
        for size, index in zip(batch, handle.indices, strict=False):
            number = number * size + index
        row, column = number * rows + row, number * columns + column
    values = handle.values
    # By rows only: a product sums over the columns in any order.
    if not handle.coalesced:
        order = xp.argsort(row, kind="stable")
        row, column, values = row[order], column[order], values[order]
    compressed = lib.starts_of(row, count * rows)
    return CsrHandle(compressed, column, values, (count * rows, count * columns))


def _block_diagonal(lib: ArrayLibrary, handle: CompressedHandle) -> Any:
    xp = lib.xp
    count, nnz = prod(handle.batch_shape), handle.nnz
    rows, columns = handle.matrix_shape
    major, minor = handle.grid if handle.rows else handle.grid[::-1]
    number = xp.arange(count, dtype=handle.compressed.dtype)[:, None]
    compressed = xp.full(count * major + 1, count * nnz, handle.compressed.dtype)
    compressed[:-1] = (handle.compressed.reshape(count, major + 1)[:, :-1] + number * nnz).reshape(-1)
    plain = (handle.plain.reshape(count, nnz) + number * minor).reshape(-1)
    values = handle.values.reshape(count * nnz, *handle.values.shape[handle.batch_ndim + 1 :])
    return type(handle)(compressed, plain, values, (count * rows, count * columns))


# --- products --------------------------------------------------------------------------------------------------


def _sparse_dense(lib: ArrayLibrary, self: Handle, other: Array) -> Any:
    if self.ndim == 2 and other.ndim <= 2:
        return lib.times(single(lib, self), other)
    rows, columns = self.shape[-2:]
    if self.ndim == 2:  # one matrix times a batch: the batch side by side
        *batch, _, wide = other.shape
        count = prod(batch)
        flat = lib.xp.moveaxis(other.reshape(count, columns, wide), 0, 1).reshape(columns, count * wide)
        product = (lib.times(single(lib, self), flat)).reshape(rows, count, wide)
        return lib.xp.ascontiguousarray(lib.xp.moveaxis(product, 1, 0)).reshape(*batch, rows, wide)
    batch = tuple(self.shape[:-2])
    if other.ndim == 1:
        stacked = lib.xp.broadcast_to(other, (*batch, columns)).reshape(-1)
        return (lib.times(single(lib, self), stacked)).reshape(*batch, rows)
    _same_batch(batch, tuple(other.shape[:-2]) or batch)
    wide = other.shape[-1]
    stacked = lib.xp.broadcast_to(other, (*batch, columns, wide)).reshape(prod(batch) * columns, wide)
    return (lib.times(single(lib, self), stacked)).reshape(*batch, rows, wide)


def _dense_sparse(lib: ArrayLibrary, self: Array, other: Handle) -> Any:
    xp = lib.xp
    rows, columns = other.shape[-2:]
    # Libraries multiply a sparse matrix by a dense one, not the reverse; so both are transposed, and the
    # product again.
    if other.ndim == 2:
        if self.ndim == 1:
            return lib.times(single(lib, other), self, True)
        flat = self.reshape(prod(self.shape[:-1]), rows)
        return xp.ascontiguousarray(
            (lib.times(single(lib, other), xp.ascontiguousarray(flat.T), True)).T
        ).reshape(*self.shape[:-1], columns)
    batch = tuple(other.shape[:-2])
    if self.ndim == 1:
        stacked = xp.broadcast_to(self, (*batch, rows)).reshape(-1)
        return (lib.times(single(lib, other), stacked, True)).reshape(*batch, columns)
    _same_batch(tuple(self.shape[:-2]) or batch, batch)
    high = self.shape[-2]
    stacked = xp.broadcast_to(self, (*batch, high, rows)).swapaxes(-1, -2).reshape(prod(batch) * rows, high)
    product = (lib.times(single(lib, other), stacked, True)).reshape(*batch, columns, high)
    return xp.ascontiguousarray(product.swapaxes(-1, -2))


def _sparse_sparse(lib: ArrayLibrary, self: Any, other: Any) -> Any:
    layout = result_layout(self.layout, other.layout)
    batch = tuple(self.shape[:-2])
    _same_batch(batch, tuple(other.shape[:-2]))
    shape = (*batch, self.shape[-2], other.shape[-1])
    fits = layout == "sparse_bsr" and not batch and self.blocksize[1] == other.blocksize[0]
    if fits and lib.has_blocks:
        blocks = lib.matrix(self) @ lib.matrix(other)
        # SciPy's products have the columns of a row in any order; ours increase.
        blocks.sort_indices()
        compressed, plain = _int64(lib, blocks.indptr, blocks.indices)
        return BsrHandle(compressed, plain, blocks.data, shape)
    product = lib.multiply(_rows(lib, self), _rows(lib, other))
    if not batch and layout == "sparse_bsr":
        return lib.convert(product, layout, (self.blocksize[0], other.blocksize[1]))
    if not batch and layout == "sparse_csr":
        return product
    return _cut(lib, product, shape, layout)


def _rows(lib: ArrayLibrary, handle: Handle) -> CsrHandle:
    """Return a tensor as one CSR matrix."""
    matrix = single(lib, handle)
    return matrix if isinstance(matrix, CsrHandle) else lib.convert(matrix, "sparse_csr")


def _cut(lib: ArrayLibrary, product: CsrHandle, shape: tuple[int, ...], layout: str) -> Any:
    """Return a product as coordinates, or as a batch, of its shape."""
    xp = lib.xp
    *batch, rows, columns = shape
    count = max(prod(batch), 1)
    numbers = keys(lib, product)
    # A batch is one matrix with blocks along its diagonal, so a row has the columns of all matrices.
    row, column = numbers // max(count * columns, 1), product.plain
    indices = xp.empty((len(shape), len(numbers)), xp.int64)
    if batch:
        number = row // max(rows, 1)
        indices[: len(batch)] = xp.stack(xp.unravel_index(number, tuple(batch)))
        row, column = row - number * rows, column - number * columns
    indices[-2], indices[-1] = row, column
    whole = CooHandle(indices, product.values, shape, coalesced=True)
    if layout == "sparse_coo":
        return whole
    if 0 in batch:
        return CsrHandle(
            xp.zeros((*batch, rows + 1), xp.int64),
            column.reshape(*batch, 0),
            product.values.reshape(*batch, 0),
            shape,
        )
    counts = xp.diff(product.compressed[::rows]) if rows else xp.zeros(count, xp.int64)
    if bool((counts != counts[:1]).any()):
        raise errors.LayoutError(
            f"matmul(): the products of the matrices of a batch store {int(counts.min())} to {int(counts.max())} "
            f"elements; in a batch of the layout tt.{layout} all store equally many\n"
            "  try: x.to_sparse(), of each operand"
        )
    compressed = xp.concatenate(
        [product.compressed[:-1].reshape(count, rows), product.compressed[rows::rows, None]], axis=1
    )
    # Each matrix counts its elements from its own first.
    compressed = compressed - product.compressed[: count * rows : rows, None]
    nnz = product.nnz // count
    return CsrHandle(
        compressed.reshape(*batch, rows + 1),
        column.reshape(*batch, nnz),
        product.values.reshape(*batch, nnz),
        shape,
    )


def _same_batch(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    if first != second:
        raise errors.ShapeError(
            f"matmul(): the batches {list(first)} and {list(second)} of sparse and other matrices must be the same; "
            "they are not broadcast"
        )


def _int64(lib: ArrayLibrary, *indices: Any) -> list[Any]:
    return [index.astype(lib.xp.int64, copy=False) for index in indices]
