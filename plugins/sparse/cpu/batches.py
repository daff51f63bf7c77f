"""Batches of matrices as one matrix, on the CPU.

Note [Batches as block diagonals]
---------------------------------
The matrices of a batch store equally many elements.  So a batch of B matrices is one matrix with the B matrices along
its diagonal: `flatten` returns that, and `unflatten` cuts it apart again.  Every conversion handles a single matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tt.core.library import errors
from tt.plugins.sparse.cpu.sorting import Array
from tt.plugins.sparse.layouts import CompressedHandle

__all__ = ["flatten", "same_count", "unflatten"]


def flatten(handle: CompressedHandle) -> Any:
    """Return a batch as one matrix; see Note [Batches as block diagonals]."""
    batch = handle.batch_shape
    if not batch:
        return handle
    count, nnz = prod(batch), handle.nnz
    rows, columns = handle.matrix_shape
    major, minor = handle.grid if handle.rows else handle.grid[::-1]
    number = np.arange(count, dtype=handle.compressed.dtype)[:, None]
    # Where a matrix ends the next one begins, so only the last end is stored.
    compressed = np.empty(count * major + 1, handle.compressed.dtype)
    compressed[:-1] = (handle.compressed.reshape(count, major + 1)[:, :-1] + number * nnz).reshape(-1)
    compressed[-1] = count * nnz
    plain = (handle.plain.reshape(count, nnz) + number * minor).reshape(-1)
    values = handle.values.reshape(count * nnz, *handle.values.shape[len(batch) + 1 :])
    dense = handle.shape[len(batch) + 2 :]
    return type(handle)(compressed, plain, values, (count * rows, count * columns, *dense))


def unflatten(handle: CompressedHandle, shape: Sequence[int], batch_ndim: int) -> Any:
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
    nnz = same_count(np.diff(starts))
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


def same_count(counts: Array) -> int:
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
