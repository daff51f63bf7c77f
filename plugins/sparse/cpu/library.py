"""NumPy and scipy.sparse for the kernels of sparse tensors on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any, Final

import numpy as np

from tt.plugins.sparse.compute import products, reduction
from tt.plugins.sparse.compute.library import ArrayLibrary
from tt.plugins.sparse.convert import Conversion
from tt.plugins.sparse.cpu.bounds import check_ends, check_indices
from tt.plugins.sparse.cpu.convert import convert
from tt.plugins.sparse.cpu.native import NATIVE, in_order, serves, starts_of
from tt.plugins.sparse.cpu.sorting import coalesce, in_scipy
from tt.plugins.sparse.layouts import Array, CompressedHandle, CooHandle, CsrHandle, Handle, SparseHandle

__all__ = ["LIBRARY", "CpuLibrary"]


def _in_order(handle: CompressedHandle) -> list[Any]:
    """Return the arrays of a single matrix as C reads them; the program may have made it of strided ones."""
    parts = (handle.compressed, handle.plain, handle.values)
    return [part if in_order(part) else np.require(part, requirements=["C", "A"]) for part in parts]


class CpuLibrary(ArrayLibrary):
    """NumPy arrays: handles hold them as they are."""

    device = "cpu"
    xp = np

    @property
    def sp(self) -> Any:
        """scipy.sparse, which takes as long to import as all of tt."""
        import scipy.sparse

        return scipy.sparse

    def repeat(self, array: Array, counts: Array) -> Any:
        """Return each element repeated by its count."""
        return np.repeat(array, counts)

    def add_at(self, target: Array, index: Array | tuple[Array, ...], values: Array) -> None:
        """Add values to the elements that an index names."""
        np.add.at(target, index, values)

    def reduce_runs(self, how: str, values: Array, starts: Array) -> Any:
        """Reduce runs of values along the first dimension."""
        # In the dtype of the values: NumPy adds small integers in int64.
        return getattr(np, how).reduceat(values, starts, axis=0, dtype=values.dtype)

    def starts_of(self, rows: Array, count: int) -> Any:
        """Return where each of `count` rows begins, given the row of each element."""
        return starts_of(rows, count)

    def coalesce(self, handle: CooHandle) -> CooHandle:
        """Return the same tensor with unique coordinates in row-major order."""
        return coalesce(handle)

    def convert(self, handle: Handle, layout: str, blocksize: Sequence[int] | None = None) -> Any:
        """Return a sparse tensor in another sparse layout."""
        blocks = None if blocksize is None else (int(blocksize[0]), int(blocksize[1]))
        return convert(handle, Conversion(layout, 2, blocks, handle.dense_dim))

    def matrix(self, handle: SparseHandle) -> Any:
        """Return a single CSR, CSC or BSR matrix as SciPy's."""
        return in_scipy(handle)

    # --- products ------------------------------------------------------------------------------------------------

    def times(self, handle: CompressedHandle, dense: Array, transposed: bool = False) -> Any:
        """Multiply a single CSR, CSC or BSR matrix, or its transpose, by a dense vector or matrix."""
        if not serves(handle.values, dense) or handle.blocked:
            return super().times(handle, dense, transposed)
        check_ends(handle)
        parts = (*_in_order(handle), np.ascontiguousarray(dense))
        if handle.rows is not transposed:
            return NATIVE.times(*parts)
        return NATIVE.transposed_times(*parts, handle.shape[1 if handle.rows else 0])

    def multiply(self, first: CsrHandle, second: CsrHandle) -> CsrHandle:
        """Multiply two single CSR matrices."""
        if not serves(first.values, second.values) or first.plain.dtype != second.plain.dtype:
            return super().multiply(first, second)
        check_ends(first)
        check_ends(second)
        starts, columns, values = NATIVE.multiply(*_in_order(first), *_in_order(second), second.shape[1])
        return CsrHandle(starts, columns, values, (first.shape[0], second.shape[1]))

    def sampled(self, rows: Array, columns: Array, left: Array, right: Array) -> Any:
        """Return the products of rows of two matrices, pair by pair."""
        if not serves(left, right):
            return super().sampled(rows, columns, left, right)
        return NATIVE.sampled(
            np.ascontiguousarray(rows, np.int64), np.ascontiguousarray(columns, np.int64), left, right
        )

    def solve(self, matrix: Any, right: Array) -> Any:
        """Solve a system of equations by SuperLU."""
        from scipy.sparse.linalg import splu

        return splu(matrix).solve(np.ascontiguousarray(right))

    def bind(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a kernel: the arrays of handles are NumPy's already, and their indices are looked at."""
        bound = partial(function, self)
        if function in LOOK_THEMSELVES:
            return bound

        @wraps(function)
        def checked(*args: Any) -> Any:
            for value in args:
                if isinstance(value, SparseHandle):
                    check_indices(value)
            return bound(*args)

        return checked


LOOK_THEMSELVES: Final = frozenset((products.matmul, reduction.sum_values))
"""Kernels that read no index, or look at those that they read."""

LIBRARY: Final = CpuLibrary()
