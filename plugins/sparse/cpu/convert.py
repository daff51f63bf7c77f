"""Conversions between the layouts on the CPU.

Note [Memory of conversions]
----------------------------
Index arrays are large: of ten million elements 80 MB each.  Conversions make no array that is not part of the result,
save one for the order where something is sorted, and share with their argument what stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tt.plugins.sparse.convert import Conversion
from tt.plugins.sparse.cpu.batches import flatten, unflatten
from tt.plugins.sparse.cpu.bounds import check_ends, check_indices
from tt.plugins.sparse.cpu.dense import dense_to_blocks, dense_to_compressed, dense_to_coo
from tt.plugins.sparse.cpu.native import NATIVE, finds_rows, moves
from tt.plugins.sparse.cpu.sorting import (
    SCIPY_DTYPES,
    bare_array,
    coalesce,
    compress,
    counts_soon,
    in_scipy,
    major_of,
    rows_of_coordinates,
)
from tt.plugins.sparse.layouts import (
    HANDLES,
    BsrHandle,
    CompressedHandle,
    CooHandle,
    CsrHandle,
)

__all__ = [
    "compressed_to_coo",
    "convert",
    "coo_to_blocks",
    "coo_to_compressed",
    "other_order",
    "regrouped",
]

# --- single matrices -----------------------------------------------------------------------------------------------


def other_order(handle: CompressedHandle, kind: type[CompressedHandle]) -> Any:
    """Return a single matrix with columns compressed instead of rows, or vice versa."""
    major, minor = handle.grid if handle.rows else handle.grid[::-1]
    if moves(handle):
        check_ends(handle)
        starts, plain, moved = NATIVE.transpose(*handle.components.values(), minor)
        return kind(starts, plain, moved, handle.shape)
    check_indices(handle)
    # SciPy moves numbers of its own dtypes only: of other values it gets the positions, by which they are moved then.
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
    if kind.rows and handle.coalesced and finds_rows(handle):
        indices = handle.indices  # columns are shared unseen: whatever reads them looks at them
        starts = NATIVE.starts_of(indices[0], handle.shape[0])
        return kind(starts, indices[1], handle.values, handle.shape)
    check_indices(handle)
    if kind.rows:
        if not handle.coalesced and NATIVE is None and counts_soon(handle):
            converted = rows_of_coordinates(handle)
            return kind(converted.compressed, converted.plain, converted.values, handle.shape)
        handle = coalesce(handle)
        rows = handle.indices[0]
        return kind(compress(rows, handle.shape[0]), handle.indices[1], handle.values, handle.shape)
    if handle.coalesced:
        return other_order(coo_to_compressed(handle, CsrHandle), kind)
    turned = CooHandle(
        handle.indices[::-1], handle.values, (handle.shape[1], handle.shape[0], *handle.shape[2:])
    )
    converted = coo_to_compressed(turned, CsrHandle)
    return kind(converted.compressed, converted.plain, converted.values, handle.shape)


def compressed_to_coo(handle: CompressedHandle) -> CooHandle:
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
    # Blocks of one row, or a single block, list their elements in row-major order.
    sorted_already = handle.rows and (not handle.blocked or high == 1 or handle.nnz < 2)
    result = CooHandle(indices, values, handle.shape, coalesced=sorted_already)
    return result if sorted_already else coalesce(result)


# --- blocks --------------------------------------------------------------------------------------------------------


def coo_to_blocks(handle: CooHandle, kind: type[CompressedHandle], blocksize: Sequence[int]) -> Any:
    """Return a tensor with two sparse dimensions by compressed rows or columns of blocks."""
    check_indices(handle)
    # Elements of one place would overwrite each other.
    if not handle.coalesced:
        handle = coalesce(handle)
    high, wide = blocksize
    rows, columns = handle.indices
    grid = (handle.shape[0] // high, handle.shape[1] // wide)
    row, r = np.divmod(rows, high)
    column, c = np.divmod(columns, wide)
    major, minor, width = (row, column, grid[1]) if kind.rows else (column, row, grid[0])
    keys, block = np.unique(major * width + minor, return_inverse=True)
    values = np.zeros((len(keys), high, wide, *handle.values.shape[1:]), handle.dtype)
    values[block, r, c] = handle.values
    major, minor = np.divmod(keys, max(width, 1))
    return kind(compress(major, grid[0 if kind.rows else 1]), minor, values, handle.shape)


def regrouped(handle: CsrHandle, kind: type[CompressedHandle], blocksize: Sequence[int]) -> Any:
    """Return a single CSR matrix by blocks."""
    if handle.values.ndim == 1 and handle.dtype.char in SCIPY_DTYPES:
        converted = in_scipy(handle).tobsr(tuple(blocksize))
        # Blocks come in the order in which they were met; without the flag SciPy sorts for certain.
        converted.has_sorted_indices = False
        converted.sort_indices()
        index = handle.compressed.dtype
        blocks = BsrHandle(
            converted.indptr.astype(index, copy=False),
            converted.indices.astype(index, copy=False),
            converted.data,
            handle.shape,
        )
        return blocks if kind is BsrHandle else other_order(blocks, kind)
    return coo_to_blocks(compressed_to_coo(handle), kind, blocksize)


# --- any layout to any other ---------------------------------------------------------------------------------------


def convert(handle: Any, target: Conversion) -> Any:
    """Return an array or a sparse handle in another layout (or the same, with other blocks)."""
    kind = HANDLES[target.layout]
    if isinstance(handle, np.ndarray):
        if kind is CooHandle:
            return dense_to_coo(handle, target.sparse_dim)
        if target.blocksize is not None:
            return dense_to_blocks(handle, kind, target.blocksize, target.dense_dim)
        return dense_to_compressed(handle, kind, target.dense_dim)
    if type(handle) is kind and (target.blocksize is None or target.blocksize == handle.blocksize):
        return handle
    if kind is CooHandle:
        return compressed_to_coo(handle)
    if isinstance(handle, CooHandle):
        if target.blocksize is not None:
            return coo_to_blocks(handle, kind, target.blocksize)
        return coo_to_compressed(handle, kind)
    return unflatten(_single(flatten(handle), kind, target.blocksize), handle.shape, handle.batch_ndim)


def _single(handle: CompressedHandle, kind: type[CompressedHandle], blocksize: tuple[int, int] | None) -> Any:
    """Return a single matrix in another compressed layout."""
    if handle.blocksize == (blocksize or (1, 1)) and handle.blocked == kind.blocked:
        return other_order(handle, kind)
    if type(handle) is CsrHandle and blocksize is not None:
        return regrouped(handle, kind, blocksize)
    coordinates = compressed_to_coo(handle)
    if blocksize is not None:
        return coo_to_blocks(coordinates, kind, blocksize)
    return coo_to_compressed(coordinates, kind)
