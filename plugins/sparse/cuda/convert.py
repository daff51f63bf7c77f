"""Conversions between all layouts by sorting keys, for any array library."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from tt.plugins.sparse.compute.elements import add_into, coordinates, elements, rebuilt
from tt.plugins.sparse.compute.library import ArrayLibrary
from tt.plugins.sparse.convert import Conversion
from tt.plugins.sparse.layouts import HANDLES, Array, CompressedHandle, CooHandle, Handle, SparseHandle

__all__ = ["conversion", "converted", "to_dense"]


def conversion(lib: ArrayLibrary, handle: Array | Handle, target: Conversion) -> Any:
    """Return an array or a sparse handle in another layout (or the same, with other blocks)."""
    if isinstance(handle, SparseHandle):
        if handle.layout == target.layout and target.blocksize in (None, getattr(handle, "blocksize", None)):
            return handle
        return converted(lib, handle, target.layout, target.blocksize, target.sparse_dim)
    xp = lib.xp
    sparse = handle.ndim - target.dense_dim if target.layout != "sparse_coo" else target.sparse_dim
    mask = handle != 0
    if sparse < handle.ndim:
        mask = mask.any(axis=tuple(range(sparse, handle.ndim)))
    # Without a sparse dimension there is one element or none.
    where = xp.stack(mask.nonzero()) if sparse else xp.zeros((0, int(mask)), xp.int64)
    values = handle[tuple(where)] if sparse else handle.reshape(1, *handle.shape)[: int(mask)]
    result = CooHandle(where, values, handle.shape, coalesced=True)
    if target.layout == "sparse_coo":
        return result
    return converted(lib, result, target.layout, target.blocksize, None)


def converted(
    lib: ArrayLibrary, handle: Handle, layout: str, blocksize: Sequence[int] | None, sparse_dim: int | None
) -> Any:
    """Return a sparse tensor in another sparse layout; equal coordinates are summed."""
    xp = lib.xp
    where = coordinates(lib, handle)
    dense = handle.shape[handle.ndim - handle.dense_dim :]
    values = elements(handle).reshape(-1, *dense)
    if isinstance(handle, CompressedHandle):
        size = xp.broadcast_shapes(*(index.shape for index in where))
        where = tuple(xp.broadcast_to(index, size).reshape(-1) for index in where)
    shape = handle.shape
    kind = HANDLES[layout]
    high, wide = (int(n) for n in blocksize) if blocksize is not None and layout != "sparse_coo" else (1, 1)
    like = _empty_like(lib, kind, shape, len(where), (high, wide), values)
    if layout == "sparse_coo":
        key = _key(xp, where, shape[: len(where)], len(values))
        return rebuilt(lib, like, *_summed(lib, key, values))
    *batch, row, column = where
    rows, columns = like.grid
    lines = [row // high, column // wide] if kind.rows else [column // wide, row // high]
    grid = [rows, columns] if kind.rows else [columns, rows]
    key = _key(xp, (*batch, *lines), (*shape[: len(batch)], *grid), len(values))
    if not kind.blocked:
        return rebuilt(lib, like, *_summed(lib, key, values))
    # Stable, so that equal places are added up in one order, and rounding does not change from run to run.
    order = xp.argsort(key, kind="stable")
    key = key[order]
    starts = _starts(xp, key)
    # The block of an element is the number of runs that have begun.
    block = xp.zeros(len(key), xp.int64)
    block[starts] = 1
    block = xp.cumsum(block) - 1
    filled = xp.zeros((len(starts), high, wide, *dense), values.dtype)
    lib.add_at(filled, (block, row[order] % high, column[order] % wide), values[order])
    return rebuilt(lib, like, key[starts], filled)


def to_dense(lib: ArrayLibrary, self: Handle, masked_grad: bool | None) -> Any:
    """Return a sparse tensor as an array."""
    return add_into(lib, lib.xp.zeros(self.shape, self.dtype), self)


def _empty_like(
    lib: ArrayLibrary, kind: Any, shape: Sequence[int], sparse: int, blocks: tuple[int, int], values: Array
) -> Any:
    """Return a tensor of a layout and a shape that stores nothing."""
    xp = lib.xp
    if kind is CooHandle:
        return CooHandle(xp.zeros((sparse, 0), xp.int64), values[:0], shape)
    batch = tuple(shape[: sparse - 2])
    axis = sparse - 2 if kind.rows else sparse - 1
    major = shape[axis] // blocks[0 if kind.rows else 1]
    block = blocks if kind.blocked else ()
    return kind(
        xp.zeros((*batch, major + 1), xp.int64),
        xp.zeros((*batch, 0), xp.int64),
        xp.zeros((*batch, 0, *block, *values.shape[1:]), values.dtype),
        shape,
    )


def _key(xp: ModuleType, where: Sequence[Any], sizes: Sequence[int], count: int) -> Any:
    numbers = xp.zeros(count, xp.int64)
    for size, index in zip(sizes, where, strict=True):
        numbers = numbers * size + index
    return numbers


def _starts(xp: ModuleType, key: Array) -> Any:
    """Return where runs of equal keys begin."""
    first = xp.ones(len(key), bool)
    first[1:] = key[1:] != key[:-1]
    return xp.flatnonzero(first)


def _summed(lib: ArrayLibrary, key: Array, values: Array) -> tuple[Any, Any]:
    """Return the keys in order, each once, and the sums of their values."""
    # Stable, so that equal places are added up in one order, and rounding does not change from run to run.
    order = lib.xp.argsort(key, kind="stable")
    key, values = key[order], values[order]
    starts = _starts(lib.xp, key)
    if len(starts) == len(key):
        return key, values
    return key[starts], lib.reduce_runs("add", values, starts)
