"""Conversions between the layouts on the CPU.

Note [Batches as block diagonals]
---------------------------------
The matrices of a batch store equally many elements.  So a batch of B matrices is one matrix with the B matrices along
its diagonal: `flatten` returns that, and `unflatten` cuts it apart again.  Every conversion handles a single matrix.

Note [Memory of conversions]
----------------------------
Index arrays are large: of ten million elements 80 MB each.  Conversions make no array that is not part of the result,
save one for the order where something is sorted, and share with their argument what stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tt.core.library import errors
from tt.plugins.sparse.convert import Conversion
from tt.plugins.sparse.cpu.bounds import check_ends, check_indices
from tt.plugins.sparse.cpu.native import NATIVE, moves
from tt.plugins.sparse.cpu.sorting import (
    SCIPY_DTYPES,
    Array,
    bare_array,
    coalesce,
    compress,
    counts_soon,
    major_of,
    positions,
    rows_of_coordinates,
    sums,
)
from tt.plugins.sparse.layouts import (
    HANDLES,
    BsrHandle,
    CompressedHandle,
    CooHandle,
    CsrHandle,
)

__all__ = [
    "Array",
    "coalesce",
    "compressed_to_coo",
    "compressed_to_dense",
    "convert",
    "coo_to_blocks",
    "coo_to_compressed",
    "coo_to_dense",
    "dense_to_blocks",
    "dense_to_compressed",
    "dense_to_coo",
    "flatten",
    "in_scipy",
    "major_of",
    "other_order",
    "positions",
    "regrouped",
    "rows_of_coordinates",
    "sums",
    "unflatten",
]

# --- coordinates and dense arrays ----------------------------------------------------------------------------------


def dense_to_coo(array: Array, sparse_dim: int) -> CooHandle:
    """Return the elements (slices, if there are dense dimensions) of an array that are not zero."""
    if sparse_dim == 0:
        count = int(bool((array != 0).any()))
        return CooHandle(
            np.zeros((0, count), np.int64), array.reshape(1, *array.shape)[:count].copy(), array.shape, True
        )
    mask = array != 0
    if sparse_dim < array.ndim:
        mask = mask.any(axis=tuple(range(sparse_dim, array.ndim)))
    flat = np.flatnonzero(mask)
    values = np.ascontiguousarray(array).reshape(prod(array.shape[:sparse_dim]), *array.shape[sparse_dim:])[
        flat
    ]
    indices = np.empty((sparse_dim, len(flat)), np.int64)
    for dim in range(sparse_dim - 1, 0, -1):
        np.divmod(flat, max(array.shape[dim], 1), out=(flat, indices[dim]))
    indices[0] = flat
    return CooHandle(indices, values, array.shape, coalesced=True)


def coo_to_dense(handle: CooHandle, into: Array | None = None) -> Array:
    """Return the tensor as an array, or add it to a contiguous one in place."""
    dense = np.zeros(handle.shape, handle.dtype) if into is None else into
    if not handle.nnz:
        return dense
    check_indices(handle)
    if handle.sparse_dim == 0:
        dense += sums(handle.values, np.zeros(1, np.int64))[0]
        return dense
    places = positions(handle)
    if into is None and handle.coalesced:
        _rows_of(dense, handle.sparse_dim)[places] = handle.values
    elif dense.dtype.itemsize == 2 and dense.dtype.kind not in "iu":
        whole = dense.astype(np.float32)
        np.add.at(_rows_of(whole, handle.sparse_dim), places, handle.values.astype(np.float32))
        dense[...] = whole.astype(dense.dtype)
    else:
        np.add.at(_rows_of(dense, handle.sparse_dim), places, handle.values)
    return dense


def _rows_of(dense: Array, sparse_dim: int) -> Array:
    """Return a contiguous array with its sparse dimensions as one."""
    return dense.reshape(prod(dense.shape[:sparse_dim]), *dense.shape[sparse_dim:])


# --- batches -------------------------------------------------------------------------------------------------------


def flatten(handle: Any) -> Any:
    """Return a batch as one matrix; see Note [Batches as block diagonals]."""
    batch = handle.batch_shape
    if not batch:
        return handle
    count, nnz = prod(batch), handle.nnz
    rows, columns = handle.matrix_shape
    major, minor = handle.grid if handle.rows else handle.grid[::-1]
    number = np.arange(count, dtype=handle.compressed.dtype)[:, None]
    compressed = np.empty(count * major + 1, handle.compressed.dtype)
    compressed[:-1] = (handle.compressed.reshape(count, major + 1)[:, :-1] + number * nnz).reshape(-1)
    compressed[-1] = count * nnz
    plain = (handle.plain.reshape(count, nnz) + number * minor).reshape(-1)
    values = handle.values.reshape(count * nnz, *handle.values.shape[len(batch) + 1 :])
    dense = handle.shape[len(batch) + 2 :]
    return type(handle)(compressed, plain, values, (count * rows, count * columns, *dense))


def unflatten(handle: Any, shape: Sequence[int], batch_ndim: int) -> Any:
    """Return a matrix with matrices along its diagonal as a batch.

    Parameters
    ----------
    handle : CompressedHandle
        As `flatten` returns it.
    shape : sequence of int
        Of the whole.
    batch_ndim : int
        The number of its batch dimensions.

    Raises
    ------
    LayoutError
        When the matrices do not store equally many elements.
    """
    if not batch_ndim:
        return handle
    batch = tuple(shape[:batch_ndim])
    count = prod(batch)
    (high, wide), (rows, columns) = handle.blocksize, shape[batch_ndim : batch_ndim + 2]
    grid = (rows // high, columns // wide)
    major, minor = grid if handle.rows else grid[::-1]
    starts = handle.compressed[::major] if major else np.zeros(count + 1, handle.compressed.dtype)
    nnz = _same_count(np.diff(starts))
    number = np.arange(count, dtype=handle.compressed.dtype)[:, None]
    compressed = np.empty((count, major + 1), handle.compressed.dtype)
    compressed[:, :-1] = handle.compressed[:-1].reshape(count, major) - number * nnz
    compressed[:, -1] = nnz
    plain = handle.plain.reshape(count, nnz) - number * minor
    return type(handle)(
        compressed.reshape(*batch, major + 1),
        plain.reshape(*batch, nnz),
        handle.values.reshape(*batch, nnz, *handle.values.shape[1:]),
        shape,
    )


def _same_count(counts: Array) -> int:
    """Return how many elements each matrix of a batch stores; refuse different numbers."""
    nnz = int(counts[0]) if len(counts) else 0
    different = np.flatnonzero(counts != nnz)
    if len(different):
        at = int(different[0])
        raise errors.LayoutError(
            f"Expect the same number of specified elements per batch: matrix 0 has {nnz}, matrix {at} has "
            f"{counts[at]}\n  try: x.to_sparse(), whose layout tt.sparse_coo has no such condition"
        )
    return nnz


# --- single matrices -----------------------------------------------------------------------------------------------


def in_scipy(handle: Any) -> Any:
    """Return a single matrix as an array of scipy.sparse that shares its components.

    The constructors of SciPy would copy indices that fit into int32.
    """
    import scipy.sparse  # takes longer to import than all of tt, and few programs need it

    check_indices(handle)
    if type(handle) is BsrHandle:
        made = scipy.sparse.bsr_array(handle.shape, blocksize=handle.blocksize, dtype=handle.dtype)
        made.data, made.indices, made.indptr = handle.values, handle.plain, handle.compressed
        return made
    kind = scipy.sparse.csr_array if handle.rows else scipy.sparse.csc_array
    return bare_array(kind, handle.shape, handle.values, handle.plain, handle.compressed)


def other_order(handle: Any, kind: type[CompressedHandle]) -> Any:
    """Return a single matrix with columns compressed instead of rows, or vice versa."""
    major, minor = handle.grid if handle.rows else handle.grid[::-1]
    if moves(handle):
        check_ends(handle)
        starts, plain, moved = NATIVE.transpose(*handle.components.values(), minor)
        return kind(starts, plain, moved, handle.shape)
    check_indices(handle)
    scalars = handle.values.ndim == 1 and handle.dtype.char in SCIPY_DTYPES
    data = handle.values if scalars else np.arange(handle.nnz, dtype=np.int64)
    plain, compressed = handle.plain, handle.compressed
    if max(major, minor, handle.nnz) < 2**31 - 1:  # SciPy would cast its results
        plain, compressed = plain.astype(np.int32, copy=False), compressed.astype(np.int32, copy=False)
    import scipy.sparse

    turned = bare_array(scipy.sparse.csr_array, (major, minor), data, plain, compressed).tocsc()
    values = turned.data if scalars else handle.values[turned.data]
    index = handle.compressed.dtype
    return kind(
        turned.indptr.astype(index, copy=False),
        turned.indices.astype(index, copy=False),
        values,
        handle.shape,
    )


def coo_to_compressed(handle: CooHandle, kind: type[CompressedHandle]) -> Any:
    """Return a tensor with two sparse dimensions by compressed rows or columns."""
    check_indices(handle)
    if kind.rows:
        if not handle.coalesced and NATIVE is None and counts_soon(handle):
            found = rows_of_coordinates(handle)
            return kind(found.compressed, found.plain, found.values, handle.shape)
        handle = coalesce(handle)
        rows = handle.indices[0]
        return kind(compress(rows, handle.shape[0]), handle.indices[1].copy(), handle.values, handle.shape)
    if handle.coalesced:
        return other_order(coo_to_compressed(handle, CsrHandle), kind)
    turned = CooHandle(
        handle.indices[::-1], handle.values, (handle.shape[1], handle.shape[0], *handle.shape[2:])
    )
    found = coo_to_compressed(turned, CsrHandle)
    return kind(found.compressed, found.plain, found.values, handle.shape)


def compressed_to_coo(handle: Any) -> CooHandle:
    """Return a tensor of a compressed layout by its coordinates; explicit zeros of blocks stay."""
    batch, (high, wide) = handle.batch_shape, handle.blocksize
    dense = handle.shape[len(batch) + 2 :]
    check_indices(handle)
    flat = flatten(handle)
    rows, columns, values = major_of(flat), flat.plain, flat.values
    if not handle.rows:
        rows, columns = columns, rows
    if handle.blocked:
        rows = (rows[:, None, None] * high + np.arange(high)[:, None] + np.zeros(wide, np.int64)).reshape(-1)
        columns = (
            columns[:, None, None] * wide + np.zeros(high, np.int64)[:, None] + np.arange(wide)
        ).reshape(-1)
        values = values.reshape(len(rows), *dense)
    indices = np.empty((len(batch) + 2, len(rows)), np.int64)
    if batch:
        number, rows = np.divmod(rows, max(handle.matrix_shape[0], 1))
        columns = columns - number * handle.matrix_shape[1]
        indices[: len(batch)] = np.unravel_index(number, batch)
    indices[-2], indices[-1] = rows, columns
    sorted_already = handle.rows and (not handle.blocked or high == 1 or handle.nnz < 2)
    found = CooHandle(indices, values, handle.shape, coalesced=sorted_already)
    return found if sorted_already else coalesce(found)


# --- blocks --------------------------------------------------------------------------------------------------------


def coo_to_blocks(handle: CooHandle, kind: type[CompressedHandle], blocksize: Sequence[int]) -> Any:
    """Return a tensor with two sparse dimensions by compressed rows or columns of blocks."""
    check_indices(handle)
    high, wide = blocksize
    rows, columns = handle.indices
    grid = (handle.shape[0] // high, handle.shape[1] // wide)
    row, r = np.divmod(rows, high)
    column, c = np.divmod(columns, wide)
    major, minor, width = (row, column, grid[1]) if kind.rows else (column, row, grid[0])
    keys, block = np.unique(major * width + minor, return_inverse=True)
    values = np.zeros((len(keys), high, wide, *handle.values.shape[1:]), handle.dtype)
    if handle.coalesced:
        values[block, r, c] = handle.values
    else:
        whole = coalesce(handle)
        return coo_to_blocks(whole, kind, blocksize)
    major, minor = np.divmod(keys, max(width, 1))
    return kind(compress(major, grid[0 if kind.rows else 1]), minor, values, handle.shape)


def regrouped(handle: CsrHandle, kind: type[CompressedHandle], blocksize: Sequence[int]) -> Any:
    """Return a single CSR matrix by blocks."""
    if handle.values.ndim == 1 and handle.dtype.char in SCIPY_DTYPES:
        made = in_scipy(handle).tobsr(tuple(blocksize))
        made.has_sorted_indices = False
        made.sort_indices()
        index = handle.compressed.dtype
        blocks = BsrHandle(
            made.indptr.astype(index, copy=False),
            made.indices.astype(index, copy=False),
            made.data,
            handle.shape,
        )
        return blocks if kind is BsrHandle else other_order(blocks, kind)
    return coo_to_blocks(compressed_to_coo(handle), kind, blocksize)


# --- dense arrays --------------------------------------------------------------------------------------------------


def dense_to_compressed(array: Array, kind: type[CompressedHandle], dense_dim: int) -> Any:
    """Return the elements of a (batch of) matrices that are not zero, by compressed rows or columns."""
    end = array.ndim - dense_dim
    batch, (rows, columns), dense = array.shape[: end - 2], array.shape[end - 2 : end], array.shape[end:]
    stack = array.reshape(prod(batch), rows, columns, *dense)
    if not kind.rows:
        stack = stack.swapaxes(1, 2)
    major, minor = (rows, columns) if kind.rows else (columns, rows)
    mask = stack != 0
    if dense:
        mask = mask.any(axis=tuple(range(3, stack.ndim)))
    return _compressed(
        kind,
        mask,
        np.ascontiguousarray(stack).reshape(prod(stack.shape[:3]), *dense),
        array.shape,
        batch,
        (major, minor),
    )


def _compressed(
    kind: type[CompressedHandle],
    mask: Array,
    flat_values: Array,
    shape: tuple[int, ...],
    batch: tuple[int, ...],
    grid: tuple[int, int],
) -> Any:
    """Return the compressed tensor of the elements (or blocks) where a mask of shape (batch, major, minor) is true."""
    major, minor = grid
    count = prod(batch)
    counts = np.count_nonzero(mask, axis=2)
    nnz = _same_count(counts.sum(axis=1))
    compressed = np.zeros((count, major + 1), np.int64)
    np.cumsum(counts, axis=1, out=compressed[:, 1:])
    places = np.flatnonzero(mask)
    values = flat_values[places]
    plain = np.remainder(places, max(minor, 1), out=places).reshape(*batch, nnz)
    return kind(
        compressed.reshape(*batch, major + 1), plain, values.reshape(*batch, nnz, *values.shape[1:]), shape
    )


def dense_to_blocks(
    array: Array, kind: type[CompressedHandle], blocksize: Sequence[int], dense_dim: int
) -> Any:
    """Return the blocks of a (batch of) matrices that are not all zero, by compressed rows or columns."""
    high, wide = blocksize
    end = array.ndim - dense_dim
    batch, (rows, columns), dense = array.shape[: end - 2], array.shape[end - 2 : end], array.shape[end:]
    grid = (rows // high, columns // wide)
    blocks = array.reshape(prod(batch), grid[0], high, grid[1], wide, *dense).swapaxes(2, 3)
    if not kind.rows:
        blocks = blocks.swapaxes(1, 2)
    mask = (blocks != 0).any(axis=tuple(range(3, blocks.ndim)))
    flat = np.ascontiguousarray(blocks).reshape(prod(blocks.shape[:3]), high, wide, *dense)
    return _compressed(kind, mask, flat, array.shape, batch, grid if kind.rows else grid[::-1])


def compressed_to_dense(handle: Any) -> Array:
    """Return a tensor of a compressed layout as an array."""
    flat = flatten(handle)
    count, (high, wide) = prod(handle.batch_shape), handle.blocksize
    dense = handle.shape[handle.batch_ndim + 2 :]
    rows, columns = handle.grid
    if handle.rows and not handle.blocked and not handle.batch_shape and moves(handle):
        check_ends(handle)
        made: Array = NATIVE.to_dense(*handle.components.values(), columns)
        return made
    check_indices(handle)
    row, column = major_of(flat), flat.plain
    if not handle.rows:
        row, column = column, row
    if count != 1:
        column = column % max(columns, 1)
    if handle.blocked:
        out = np.zeros((count * rows, high, columns, wide, *dense), handle.dtype)
        out[row, :, column] = flat.values
    elif (
        not dense
        and handle.rows
        and handle.dtype.char in SCIPY_DTYPES
        and count == 1
        and not handle.batch_shape
    ):
        found: Array = in_scipy(handle).toarray()
        return found
    else:
        out = np.zeros((count * rows, columns, *dense), handle.dtype)
        out[row, column] = flat.values
    return out.reshape(handle.shape)


# --- any layout to any other ---------------------------------------------------------------------------------------


def convert(handle: Any, wanted: Conversion) -> Any:
    """Return an array or a sparse handle in another layout (or the same, with other blocks)."""
    kind = HANDLES[wanted.layout]
    if isinstance(handle, np.ndarray):
        if kind is CooHandle:
            return dense_to_coo(handle, wanted.sparse_dim)
        if wanted.blocksize is not None:
            return dense_to_blocks(handle, kind, wanted.blocksize, wanted.dense_dim)
        return dense_to_compressed(handle, kind, wanted.dense_dim)
    if type(handle) is kind and (wanted.blocksize is None or wanted.blocksize == handle.blocksize):
        return handle
    if kind is CooHandle:
        return compressed_to_coo(handle)
    if isinstance(handle, CooHandle):
        if wanted.blocksize is not None:
            return coo_to_blocks(handle, kind, wanted.blocksize)
        return coo_to_compressed(handle, kind)
    return unflatten(_single(flatten(handle), kind, wanted.blocksize), handle.shape, handle.batch_ndim)


def _single(handle: Any, kind: type[CompressedHandle], blocksize: tuple[int, int] | None) -> Any:
    """Return a single matrix in another compressed layout."""
    if handle.blocksize == (blocksize or (1, 1)) and handle.blocked == kind.blocked:
        return other_order(handle, kind)
    if type(handle) is CsrHandle and blocksize is not None:
        return regrouped(handle, kind, blocksize)
    coordinates = compressed_to_coo(handle)
    if blocksize is not None:
        return coo_to_blocks(coordinates, kind, blocksize)
    return coo_to_compressed(coordinates, kind)
