"""Kernels of CUDA that read and write at places which arrays name: one launch each, without waiting for the device.

The kernels check index arrays themselves and record faults; see "Indices that are out of range" in
docs/design/cuda.md.  Only masks wait, since the host has to know how many elements they select.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.gather_scatter import (
    Indexed,
    Mover,
    along_dim,
    broadcast_strides,
    bytes_of,
    is_wide,
    joint_shape,
    slices_of,
)
from tt.backends.cuda.launch.layouts import axis_of
from tt.backends.cuda.selecting import true_places
from tt.core.library import KernelTable, contiguous_strides, warn_user

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["Chosen", "choose", "one_value", "tables"]

Shape = tuple[int, ...]


def tables(backend: CudaBackend) -> list[KernelTable]:
    """Return the kernels of this family."""
    table, mover = KernelTable(device="cuda"), Mover(backend)
    _along(table, mover)
    _full(table, mover)
    _masks(table, mover)
    return [table]


# --- along one dimension ---------------------------------------------------------------------------------------


def _along(table: KernelTable, mover: Mover) -> None:
    @table.kernel("gather", half="native", priority=1)
    def gather(
        self: StridedHandle, dim: int, index: StridedHandle, sparse_grad: bool = False
    ) -> StridedHandle:
        axis = axis_of(dim, self.ndim)
        out = mover.empty(index.shape, self.dtype)
        if 0 in index.shape:
            return out
        sizes, base, chosen = places_along(self, axis, index)
        return mover.take(out, self, sizes, base, contiguous_strides(sizes), [(index, chosen)], "gather")

    @table.kernel("index_select", half="native", priority=1)
    def index_select(self: StridedHandle, dim: int, index: StridedHandle) -> StridedHandle:
        axis = axis_of(dim, self.ndim)
        sizes, base, chosen = slices_of(self, axis, index)
        if not self.ndim and sizes != (1,):
            raise ValueError("one index for a number")
        out = mover.empty(sizes if self.ndim else (), self.dtype)
        return mover.take(
            out, self, sizes, base, contiguous_strides(sizes), [(index, chosen)], "index_select"
        )

    @table.kernel("take", half="native", priority=1)
    def take(self: StridedHandle, index: StridedHandle) -> StridedHandle:
        if index.dtype != np.int64:
            raise TypeError("an index of another dtype, which the shape rule refuses")
        flat = mover.contiguous(self)
        chosen = Indexed(index.strides, prod(self.shape), 1, 0, True)
        base = (0,) * index.ndim
        out = mover.empty(index.shape, self.dtype)
        return mover.take(out, flat, index.shape, base, out.strides, [(index, chosen)], "take", wraps=True)

    @table.kernel("_embedding", half="native", priority=1)
    def embedding(
        weight: StridedHandle,
        indices: StridedHandle,
        padding_idx: Any,
        scale_grad_by_freq: bool,
        sparse: bool,
    ) -> StridedHandle:
        if weight.ndim != 2:
            raise ValueError("a weight of other dimensions, which the shape rule refuses")
        out = mover.empty((*indices.shape, weight.shape[1]), weight.dtype)
        chosen = along_dim(weight, 0, indices, (*indices.strides, 0))
        base = (*(0,) * indices.ndim, weight.strides[1])
        return mover.take(out, weight, out.shape, base, out.strides, [(indices, chosen)], "_embedding")


def places_along(self: StridedHandle, axis: int, index: StridedHandle) -> tuple[Shape, Shape, Indexed]:
    """Return the shape of the places that gather reads and scatter writes, the strides around the index, and the index.

    The shape rule explains the ValueError of an index that does not fit.
    """
    shape, strides = (self.shape, self.strides) if self.ndim else ((1,), (1,))
    sizes, along = (index.shape, index.strides) if index.ndim else ((1,), (1,))
    if len(sizes) != len(shape):
        raise ValueError("an index of other dimensions")
    if any(size > limit for d, (size, limit) in enumerate(zip(sizes, shape, strict=True)) if d != axis):
        raise ValueError("a larger index")
    base = (*strides[:axis], 0, *strides[axis + 1 :])
    return sizes, base, Indexed(along, shape[axis], strides[axis], axis, is_wide(index))


# --- in full ---------------------------------------------------------------------------------------------------


class Chosen:
    """The elements chosen by an advanced index.

    Attributes
    ----------
    shape : tuple of int
        Of the result.
    base : tuple of int
        The strides of the indexed array in the dimensions of the result.
    indices : list
        Pairs of an index array and how it is read.
    rows : int
        How many of the last dimensions no index touches, where the indices are the first ones.
    """

    def __init__(
        self, shape: Shape, base: Shape, indices: list[tuple[StridedHandle, Indexed]], rows: int
    ) -> None:
        self.shape, self.base, self.indices, self.rows = shape, base, indices, rows


def choose(mover: Mover, self: StridedHandle, indices: Sequence[StridedHandle | None]) -> Chosen:
    """Return what an advanced index chooses; the shape rule explains the IndexError of one that does not fit."""
    found, whole = _integers(mover, self, indices)
    given = [d for d, item in enumerate(found) if item is not None]
    arrays = [*(item for item in found if item is not None), *whole]
    try:
        common: Shape = ()
        if arrays:
            common = arrays[0].shape if len(arrays) == 1 else np.broadcast_shapes(*(a.shape for a in arrays))
    except ValueError as error:
        raise IndexError("indices that do not broadcast") from error
    together = given == list(range(given[0], given[-1] + 1)) if given else True
    before = given[0] if given and together else 0
    kept = [d for d in range(self.ndim) if found[d] is None]
    ahead = [d for d in kept if d < before]
    behind = [d for d in kept if d >= before]
    shape = (*(self.shape[d] for d in ahead), *common, *(self.shape[d] for d in behind))
    base = (*(self.strides[d] for d in ahead), *(0,) * len(common), *(self.strides[d] for d in behind))
    if 0 not in shape and any(self.shape[d] == 0 for d in given):
        raise IndexError("an index into nothing")
    pairs = []
    for d in given:
        item = found[d]
        assert item is not None  # for the type checker: `given` implies it
        strides = (
            *(0,) * len(ahead),
            *broadcast_strides(item.shape, item.strides, common),
            *(0,) * len(behind),
        )
        pairs.append((item, along_dim(self, d, item, strides)))
    leading = given == list(range(len(given)))
    return Chosen(shape, base, pairs, len(behind) if leading else 0)


def _integers(
    mover: Mover, self: StridedHandle, indices: Sequence[StridedHandle | None]
) -> tuple[list[StridedHandle | None], list[StridedHandle]]:
    """Return an array of integers, or None, for each dimension: masks as the places of their true elements.

    Masks without dimensions select all or nothing: each is one more array, of one element or none.
    """
    backend = mover.backend
    found: list[StridedHandle | None] = []
    whole: list[StridedHandle] = []
    for item in indices:
        if item is None:
            found.append(None)
        elif item.dtype.kind == "b" or item.dtype == np.uint8:
            if item.dtype == np.uint8:
                warn_user("indexing with dtype uint8 is deprecated, use a dtype bool instead")
            if item.shape != self.shape[len(found) : len(found) + item.ndim]:
                raise IndexError("a mask of another shape")
            if item.ndim:
                places = true_places(mover, item, "index", columns=True)
                count = places.shape[1]
                found += [places.view((count,), (1,), d * count) for d in range(item.ndim)]
            else:
                backend.will_wait("index()")
                whole.append(mover.empty((int(bool(item.array)),), np.int64))
        else:
            if len(found) >= self.ndim:
                raise IndexError("too many indices")
            is_wide(item)
            found.append(item)
    if len(found) > self.ndim:
        raise IndexError("too many indices")
    return found + [None] * (self.ndim - len(found)), whole


def _full(table: KernelTable, mover: Mover) -> None:
    @table.kernel("nonzero", half="native", priority=1)
    def nonzero(self: StridedHandle) -> StridedHandle:
        return true_places(mover, self, "nonzero")

    @table.kernel("index", half="native", priority=1)
    def index(self: StridedHandle, indices: Sequence[StridedHandle | None]) -> StridedHandle:
        chosen = choose(mover, self, indices)
        out = mover.empty(chosen.shape, self.dtype)
        return mover.take(
            out, self, chosen.shape, chosen.base, out.strides, chosen.indices, "index", wraps=True
        )


# --- masks -----------------------------------------------------------------------------------------------------


def one_value(mover: Mover, self: StridedHandle, value: Any) -> StridedHandle | bytes:
    """Return one value that fills an array: a number by its bytes, a tensor in the dtype of the array."""
    if not isinstance(value, StridedHandle):
        return bytes_of(value, self.dtype)
    if value.ndim:
        raise ValueError("one value, which the shape rule demands")
    return value if value.dtype == self.dtype else mover.backend.cast(value, self.dtype)


def _masks(table: KernelTable, mover: Mover) -> None:
    @table.kernel("masked_fill", half="native", priority=1)
    def masked_fill(self: StridedHandle, mask: StridedHandle, value: Any) -> StridedHandle:
        _expect_mask(mask)
        shape = joint_shape(self.shape, mask.shape)
        return mover.fill_masked(mover.empty(shape, self.dtype), self, mask, one_value(mover, self, value))

    @table.kernel("masked_fill", form="inplace", half="native", priority=1)
    def masked_fill_inplace(self: StridedHandle, mask: StridedHandle, value: Any) -> None:
        _expect_mask(mask)
        mover.fill_masked(self, self, mask, one_value(mover, self, value))

    @table.kernel("masked_scatter", form="inplace", half="native", priority=1)
    def masked_scatter_inplace(self: StridedHandle, mask: StridedHandle, source: StridedHandle) -> None:
        _expect_mask(mask)
        where = mover.contiguous(mask, self.shape)
        namespace, backend = mover.backend.namespace, mover.backend
        if 0 not in self.shape:
            flat = where.view((prod(where.shape),), (1,))
            ranks = backend.normalise(namespace.cumulative_sum(flat.array, dtype=namespace.int64))
            mover.scatter_masked(self, mover.contiguous(source), where, ranks)

    @table.kernel("masked_scatter", half="native", priority=1)
    def masked_scatter(self: StridedHandle, mask: StridedHandle, source: StridedHandle) -> StridedHandle:
        _expect_mask(mask)
        shape = joint_shape(self.shape, mask.shape)
        out = mover.empty(shape, self.dtype)
        mover.take(out, self, shape, broadcast_strides(self.shape, self.strides, shape), out.strides)
        masked_scatter_inplace(out, mask, source)
        return out


def _expect_mask(mask: StridedHandle) -> None:
    if mask.dtype.kind != "b":
        raise TypeError("a mask holds bools, as the shape rule says")
