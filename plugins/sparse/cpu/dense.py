"""Sparse tensors of dense arrays, and dense arrays of sparse tensors, on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tt.plugins.sparse.cpu.batches import flatten, same_count
from tt.plugins.sparse.cpu.bounds import check_ends, check_indices
from tt.plugins.sparse.cpu.native import NATIVE, moves, takes_dense
from tt.plugins.sparse.cpu.sorting import SCIPY_DTYPES, Array, in_scipy, major_of, positions, sums
from tt.plugins.sparse.layouts import CompressedHandle, CooHandle

__all__ = ["compressed_to_dense", "coo_to_dense", "dense_to_blocks", "dense_to_compressed", "dense_to_coo"]

# --- coordinates ---------------------------------------------------------------------------------------------------


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
    indices = positions(handle)
    if into is None and handle.coalesced:
        _rows_of(dense, handle.sparse_dim)[indices] = handle.values
    # Equal coordinates are added up in float32: half precision would round after each.
    elif dense.dtype.itemsize == 2 and dense.dtype.kind not in "iu":
        whole = dense.astype(np.float32)
        np.add.at(_rows_of(whole, handle.sparse_dim), indices, handle.values.astype(np.float32))
        dense[...] = whole.astype(dense.dtype)
    else:
        np.add.at(_rows_of(dense, handle.sparse_dim), indices, handle.values)
    return dense


def _rows_of(dense: Array, sparse_dim: int) -> Array:
    """Return a contiguous array with its sparse dimensions as one."""
    return dense.reshape(prod(dense.shape[:sparse_dim]), *dense.shape[sparse_dim:])


# --- compressed rows and columns -------------------------------------------------------------------------------------


def dense_to_compressed(array: Array, kind: type[CompressedHandle], dense_dim: int) -> Any:
    """Return the elements of a (batch of) matrices that are not zero, by compressed rows or columns."""
    if kind.rows and dense_dim == 0 and takes_dense(array):
        starts, plain, values = NATIVE.from_dense(array)
        return kind(starts, plain, values, array.shape)
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
    nnz = same_count(counts.sum(axis=1))
    compressed = np.zeros((count, major + 1), np.int64)
    np.cumsum(counts, axis=1, out=compressed[:, 1:])
    indices = np.flatnonzero(mask)
    values = flat_values[indices]
    plain = np.remainder(indices, max(minor, 1), out=indices).reshape(*batch, nnz)
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


def compressed_to_dense(handle: CompressedHandle) -> Array:
    """Return a tensor of a compressed layout as an array."""
    flat = flatten(handle)
    count, (high, wide) = prod(handle.batch_shape), handle.blocksize
    dense = handle.shape[handle.batch_ndim + 2 :]
    rows, columns = handle.grid
    if handle.rows and not handle.blocked and not handle.batch_shape and moves(handle):
        check_ends(handle)
        whole: Array = NATIVE.to_dense(*handle.components.values(), columns)
        return whole
    check_indices(handle)
    row, column = major_of(flat), flat.plain
    if not handle.rows:
        row, column = column, row
    # The columns of a batch were counted through all its matrices.
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
        array: Array = in_scipy(handle).toarray()
        return array
    else:
        out = np.zeros((count * rows, columns, *dense), handle.dtype)
        out[row, column] = flat.values
    return out.reshape(handle.shape)
