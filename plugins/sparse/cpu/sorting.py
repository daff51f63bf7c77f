"""Sorting coordinates on the CPU: by keys, or by counting, which SciPy does between its formats.

Note [Sorting by counting]
--------------------------
Comparing n coordinates takes n log n steps, counting them by rows and by columns n steps, and a step for each row and
column.  `rows_of_coordinates` counts.  Where rows are short, SciPy's own way is best: it counts rows and sorts each by
comparing.  Where they are long, elements are counted by columns, too.  The compiled kernels sort keys digit by digit,
which takes n steps for each digit; they go first.
"""

from __future__ import annotations

from math import prod
from typing import Any, Final

import numpy as np

from tt.core.library import errors
from tt.plugins.sparse.cpu.bounds import check_indices
from tt.plugins.sparse.cpu.native import NATIVE, rows_of, serves, sort_keys, starts_of
from tt.plugins.sparse.layouts import BsrHandle, CompressedHandle, CooHandle, CsrHandle

__all__ = [
    "SCIPY_DTYPES",
    "Array",
    "bare_array",
    "coalesce",
    "compress",
    "counts_soon",
    "in_scipy",
    "major_of",
    "positions",
    "rows_of_coordinates",
    "sums",
]

Array = np.ndarray[Any, Any]

SCIPY_DTYPES: Final = frozenset("?bBhHiIlLqQfdFD")
"""The characters of the dtypes that SciPy's routines support."""
LONG: Final = 64
"""The average number of elements per row from which counting is faster than comparing."""


# --- coalescing ----------------------------------------------------------------------------------------------------


def positions(handle: CooHandle) -> Array:
    """Return the row-major position of each coordinate among the sparse dimensions."""
    sizes = handle.shape[: handle.sparse_dim]
    if prod(sizes) >= 2**63:
        raise errors.ValueRangeError(
            f"the {handle.sparse_dim} sparse dimensions {list(sizes)} have more places than an int64 can count"
        )
    numbers = np.zeros(handle.nnz, np.int64)
    for size, row in zip(sizes, handle.indices, strict=True):
        numbers *= size
        numbers += row
    return numbers


def sums(values: Array, starts: Array) -> Array:
    """Return the sums of runs of values; half dtypes are added up in float32."""
    if values.dtype.itemsize == 2 and values.dtype.kind not in "iu":
        return np.add.reduceat(values.astype(np.float32), starts, axis=0).astype(values.dtype)
    return np.add.reduceat(values, starts, axis=0, dtype=values.dtype)


def coalesce(handle: CooHandle) -> CooHandle:
    """Return the same tensor with unique coordinates in row-major order; the values of equal ones are summed."""
    if handle.coalesced:
        return handle
    check_indices(handle)
    if handle.sparse_dim == 0:
        total = sums(handle.values, np.zeros(1, np.int64))
        return CooHandle(handle.indices[:, :1], total, handle.shape, coalesced=True)
    native = NATIVE is not None and handle.values.ndim == 1 and serves(handle.values)
    if not native and counts_soon(handle):
        rows = rows_of_coordinates(handle)
        indices = np.empty((2, rows.nnz), np.int64)
        indices[0], indices[1] = major_of(rows), rows.plain
        return CooHandle(indices, rows.values, handle.shape, coalesced=True)
    keys = positions(handle)
    # Many programs make their coordinates in order; to see that costs less than to sort.
    if (keys[1:] > keys[:-1]).all():
        return CooHandle(handle.indices, handle.values.copy(), handle.shape, coalesced=True)
    keys, order = sort_keys(keys, prod(handle.shape[: handle.sparse_dim]))
    if native:
        keys, values = NATIVE.sum_runs(keys, order, np.ascontiguousarray(handle.values))
        del order
        return CooHandle(_unravelled(keys, handle), values, handle.shape, coalesced=True)
    values = handle.values[order]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    if len(starts) < len(keys):
        keys, values = keys[starts], sums(values, starts)
    del order, starts
    return CooHandle(_unravelled(keys, handle), values, handle.shape, coalesced=True)


def _unravelled(keys: Array, handle: CooHandle) -> Array:
    """Return the coordinates of row-major positions, which are overwritten."""
    indices = np.empty((handle.sparse_dim, len(keys)), np.int64)
    for dim in range(handle.sparse_dim - 1, 0, -1):
        np.divmod(keys, handle.shape[dim], out=(keys, indices[dim]))
    indices[0] = keys
    return indices


def counts_soon(handle: CooHandle) -> bool:
    """Return whether the coordinates belong to a matrix that counting sorts faster than comparing."""
    return handle.sparse_dim == 2 and handle.nnz > 1000 and sum(handle.shape[:2]) <= 8 * handle.nnz


def rows_of_coordinates(handle: CooHandle) -> CsrHandle:
    """Return a tensor with two sparse dimensions, coalesced or not, by compressed rows.

    Elements are sorted by columns, then by rows, with the order of equal ones kept: SciPy does either by counting, in a
    conversion between its formats.
    """
    import scipy.sparse  # takes longer to import than all of tt, and few programs need it

    (rows, columns), nnz = handle.shape[:2], handle.nnz
    # SciPy computes faster with indices of 32 bits, where they hold all positions.
    index = np.int32 if max(rows, columns, nnz) < 2**31 - 1 else np.int64
    plain = handle.values.ndim == 1 and handle.dtype.char in SCIPY_DTYPES
    if plain and handle.dtype != np.bool_ and nnz < LONG * rows:
        counted = _counted_rows(handle, index)
        return CsrHandle(
            counted.indptr.astype(np.int64), counted.indices.astype(np.int64), counted.data, handle.shape
        )
    data = handle.values if plain else np.arange(nnz, dtype=np.int64)
    # A matrix with one element in each row: by columns, its rows are the order of the elements.
    each = bare_array(
        scipy.sparse.csr_array,
        (nnz, columns),
        data,
        handle.indices[1].astype(index),
        np.arange(nnz + 1, dtype=index),
    ).tocsc()
    row = handle.indices[0].astype(index)[each.indices]
    matrix = bare_array(scipy.sparse.csc_array, (rows, columns), each.data, row, each.indptr)
    del each, row
    matrix = matrix.tocsr()
    if plain and handle.dtype != np.bool_:
        matrix.has_sorted_indices = True
        matrix.sum_duplicates()
        values = matrix.data
    else:
        values = handle.values[matrix.data] if not plain else matrix.data
        values = _sum_equal(matrix, values)
    return CsrHandle(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), values, handle.shape)


def _counted_rows(handle: CooHandle, index: type[np.integer[Any]]) -> Any:
    """Return coordinates as rows of SciPy, which sorts each row and sums equal ones."""
    import scipy.sparse

    array = scipy.sparse.coo_array(handle.shape, dtype=handle.dtype)
    array.coords, array.data = tuple(handle.indices.astype(index)), handle.values
    array.has_canonical_format = False
    return array.tocsr()


def in_scipy(handle: Any) -> Any:
    """Return a single matrix as an array of scipy.sparse that shares its components.

    The constructors of SciPy would copy indices that fit into int32.
    """
    import scipy.sparse  # takes longer to import than all of tt, and few programs need it

    check_indices(handle)
    if type(handle) is BsrHandle:
        array = scipy.sparse.bsr_array(handle.shape, blocksize=handle.blocksize, dtype=handle.dtype)
        array.data, array.indices, array.indptr = handle.values, handle.plain, handle.compressed
        return array
    kind = scipy.sparse.csr_array if handle.rows else scipy.sparse.csc_array
    return bare_array(kind, handle.shape, handle.values, handle.plain, handle.compressed)


def bare_array(kind: Any, shape: tuple[int, ...], data: Array, indices: Array, indptr: Array) -> Any:
    """Return a SciPy array over these arrays: its constructor would copy and check them."""
    array = kind(shape, dtype=data.dtype)
    array.data, array.indices, array.indptr = data, indices, indptr
    return array


def _sum_equal(matrix: Any, values: Array) -> Array:
    """Leave one of each run of equal places in a sorted matrix; return the sums of the values of the runs."""
    first = np.empty(len(values), np.bool_)
    first[:1] = True
    np.not_equal(matrix.indices[1:], matrix.indices[:-1], out=first[1:])
    begins = matrix.indptr[:-1]
    # Equal columns in neighbouring rows are different elements.
    first[begins[begins < len(first)]] = True
    starts = np.flatnonzero(first)
    if len(starts) == len(values):
        return values
    before = np.concatenate([[0], np.cumsum(first)])
    matrix.indptr = before[matrix.indptr]
    matrix.indices = matrix.indices[starts]
    return sums(values, starts)


# --- rows ---------------------------------------------------------------------------------------------------------


def major_of(handle: CompressedHandle) -> Array:
    """Return the row (or column, where columns are compressed) of each element of a single matrix."""
    rows: Array = rows_of(handle.compressed)
    return rows


def compress(major: Array, count: int, dtype: np.dtype[Any] | type[np.int64] = np.int64) -> Array:
    """Return where each of `count` rows begins, given the row of each element."""
    if dtype == major.dtype == np.int64:
        starts: Array = starts_of(major, count)
        return starts
    compressed = np.zeros(count + 1, dtype)
    np.cumsum(np.bincount(major, minlength=count), out=compressed[1:])
    return compressed
