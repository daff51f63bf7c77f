"""Products of dense matrices where a sparse one stores something, and of a sparse and a dense one with other sums."""

from __future__ import annotations

from math import prod
from typing import Any, Final

from tt.core.library import errors
from tt.plugins.sparse.compute.elements import coordinates
from tt.plugins.sparse.compute.library import CHUNK, ArrayLibrary
from tt.plugins.sparse.compute.products import single
from tt.plugins.sparse.layouts import Array, CompressedHandle, Handle

__all__ = ["REDUCTIONS", "mm_reduce", "mm_reduce_backward", "sampled_mm"]

REDUCTIONS: Final = ("sum", "mean", "amax", "amin")


def sampled_mm(lib: ArrayLibrary, self: Handle, mat1: Array, mat2: Array) -> Any:
    """Return mat1 @ mat2 where a sparse matrix (of a batch) stores something, and nothing elsewhere."""
    xp = lib.xp
    if (
        self.dense_dim
        or tuple(self.shape) != (*mat1.shape[:-1], mat2.shape[-1])
        or mat1.shape[-1] != mat2.shape[-2]
    ):
        raise errors.ShapeError(
            f"sampled_addmm(): the product of {list(mat1.shape)} and {list(mat2.shape)} does not have the size "
            f"{list(self.shape)} of the sparse matrix without dense dimensions"
        )
    *batch, rows, inner = mat1.shape
    columns = mat2.shape[-1]
    *number, row, column = coordinates(lib, self)
    shape = xp.broadcast_shapes(row.shape, column.shape)
    row, column = (xp.broadcast_to(index, shape).reshape(-1) for index in (row, column))
    # The matrices of a batch under each other, so that one call serves them all.
    if batch:
        flat = xp.zeros((), xp.int64)
        for size, index in zip(batch, number, strict=True):
            flat = flat * size + index
        flat = xp.broadcast_to(flat, shape).reshape(-1)
        row, column = flat * rows + row, flat * columns + column
    left = xp.ascontiguousarray(mat1).reshape(prod(batch) * rows, inner)
    right = xp.ascontiguousarray(mat2.swapaxes(-1, -2)).reshape(prod(batch) * columns, inner)
    products = lib.sampled(row, column, left, right)
    return self.with_values(products.reshape(self.values.shape))


# --- other sums --------------------------------------------------------------------------------------------------


def mm_reduce(lib: ArrayLibrary, self: CompressedHandle, mat2: Array, reduce: str) -> tuple[Any, Any]:
    """Multiply a matrix by a dense one and reduce the products of each row by "sum", "mean", "amax" or "amin".

    Rows without elements give zeros.  The second result is the index of the extreme among the stored elements, or -1.
    """
    xp = lib.xp
    if reduce not in REDUCTIONS:
        raise errors.ValueRangeError(f"mm(): reduce must be one of {', '.join(REDUCTIONS)}, not {reduce!r}")
    rows, wide = self.shape[0], mat2.shape[1]
    lengths = xp.diff(self.compressed)
    if reduce in ("sum", "mean"):
        result = lib.times(single(lib, self), mat2)
        if reduce == "mean":
            result = result / xp.maximum(lengths, 1).astype(result.dtype)[:, None]
        return result.astype(mat2.dtype, copy=False), xp.full((0,), -1, xp.int64)
    how = "maximum" if reduce == "amax" else "minimum"
    result = xp.zeros((rows, wide), mat2.dtype)
    chosen = xp.full((rows, wide), -1, xp.int64)
    filled = xp.flatnonzero(lengths)
    # Rows are taken in parts, so that the products of elements stay within CHUNK.
    per_row = max(int(lengths.max()) if rows else 1, 1) * max(wide, 1)
    step = max(CHUNK // per_row, 1)
    for start in range(0, len(filled), step):
        part = filled[start : start + step]
        first, last = int(self.compressed[part[0]]), int(self.compressed[part[-1] + 1])
        products = self.values[first:last, None] * mat2[self.plain[first:last]]
        starts = self.compressed[part] - first
        best = lib.reduce_runs(how, products, starts)
        result[part] = best
        # NaN, the extreme of its row, is not equal to itself.
        hit = (products == lib.repeat_rows(best, lengths[part])) | (products != products)
        numbers = xp.where(hit, xp.arange(first, last)[:, None], self.nnz)
        chosen[part] = lib.reduce_runs("minimum", numbers, starts)
    return result, chosen


def mm_reduce_backward(
    lib: ArrayLibrary, self: CompressedHandle, g: Array, mat2: Array, chosen: Array
) -> tuple[Any, Any]:
    """Return the gradients of the stored elements and of the dense matrix of `mm_reduce` by an extreme."""
    xp = lib.xp
    taken = chosen >= 0
    at, wide = chosen[taken], xp.broadcast_to(xp.arange(mat2.shape[1]), chosen.shape)[taken]
    row, gradient = self.plain[at], g[taken]
    stored, dense = xp.zeros(self.nnz, g.dtype), xp.zeros(mat2.shape, g.dtype)
    lib.add_at(stored, at, gradient * xp.conj(mat2[row, wide]))
    lib.add_at(dense, (row, wide), gradient * xp.conj(self.values[at]))
    return stored, dense
