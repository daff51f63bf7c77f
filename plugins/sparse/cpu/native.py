"""The compiled kernels of sparse matrices, where they are built; NumPy and SciPy serve where not."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tt.core.library import REGISTRY
from tt.plugins.sparse.layouts import Array, CompressedHandle, CooHandle

__all__ = [
    "NATIVE",
    "finds_rows",
    "in_order",
    "moves",
    "rows_of",
    "serves",
    "sort_keys",
    "starts_of",
    "takes_dense",
]

NATIVE: Final = REGISTRY.backend("cpu").extension("sparse")  # type: ignore[attr-defined]  # the CPU's own method
"""The extension, or None."""


def serves(*arrays: Any) -> bool:
    """Return whether the compiled kernels take arrays of these dtypes."""
    dtype = arrays[0].dtype
    return NATIVE is not None and dtype.char in "fd" and all(a.dtype == dtype for a in arrays)


def in_order(array: Array) -> bool:
    """Return whether elements lie one after the other, each where C may read it."""
    flags = array.flags
    return bool(flags.c_contiguous and flags.aligned)


def moves(handle: CompressedHandle) -> bool:
    """Return whether the compiled conversions take a single matrix: they move elements of 4 and 8 bytes."""
    return bool(
        NATIVE is not None
        and handle.values.ndim == 1
        and handle.values.itemsize in (4, 8)
        and all(in_order(part) for part in handle.components.values())
    )


def takes_dense(array: Array) -> bool:
    """Return whether the compiled conversion takes a dense array: a matrix of real numbers of 4 or 8 bytes."""
    return bool(NATIVE is not None and array.ndim == 2 and array.dtype.char in "fdilq" and in_order(array))


def finds_rows(handle: CooHandle) -> bool:
    """Return whether the compiled search for the beginnings of rows takes the coordinates of a matrix."""
    indices = handle.indices
    return bool(
        NATIVE is not None
        and indices.dtype == np.int64
        and in_order(indices)
        and len(handle.values) == indices.shape[1]
    )


def starts_of(rows: Array, count: int) -> Any:
    """Return where each of `count` rows begins, given the int64 row of each element."""
    if NATIVE is not None:
        return NATIVE.starts_of(np.require(rows, requirements=["C", "A"]), count)
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=count), out=starts[1:])
    return starts


def rows_of(starts: Array) -> Any:
    """Return the row of each element, given where rows begin."""
    if NATIVE is not None and starts.dtype == np.int64 and in_order(starts):
        return NATIVE.rows_of(starts)
    counts = np.diff(starts)
    return np.repeat(np.arange(len(counts), dtype=starts.dtype), counts)


def sort_keys(keys: Array, bound: int) -> tuple[Any, Any]:
    """Return int64 keys below a bound in order, and where each of them was; equal keys keep their order."""
    if NATIVE is not None:
        result: tuple[Any, Any] = NATIVE.sort_keys(keys, bound)
        return result
    order = np.argsort(keys, kind="stable")
    return keys[order], order
