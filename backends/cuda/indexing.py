"""Kernels of CUDA that read and write at places which arrays name: one launch each, without waiting for the device.

The kernels check index arrays themselves and record faults; see "Indices that are out of range" in
docs/design/cuda.md.  Only masks wait, since the host has to know how many elements they select.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tt.backends.cuda.combining import Combiner
from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.gather_scatter import (
    Indexed,
    Mover,
    along_dim,
    broadcast_strides,
    is_wide,
    joint_shape,
    one_value,
    places_along,
    slices_of,
)
from tt.backends.cuda.launch.layouts import axis_of
from tt.backends.cuda.selecting import expect_mask, true_places
from tt.core.library import KernelTable, Scalar, contiguous_strides, errors, warn_user

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["Chosen", "choose", "tables"]

Shape = tuple[int, ...]


def tables(backend: CudaBackend) -> list[KernelTable]:
    """Return the kernels of this family."""
    table, mover = KernelTable(device="cuda"), Mover(backend)
    _along(table, mover)
    _full(table, mover)
    _masks(table, mover)
    _places(table, Combiner(mover))
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
        # Indices count row-major elements, whatever the layout is.
        flat = mover.contiguous(self)
        chosen = Indexed(index.strides, prod(self.shape), 1, 0, True)
        base = (0,) * index.ndim
        out = mover.empty(index.shape, self.dtype)
        return mover.take(out, flat, index.shape, base, out.strides, [(index, chosen)], "take", wraps=True)


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
    items, whole = _integers(mover, self, indices)
    indexed = [d for d, item in enumerate(items) if item is not None]
    arrays = [*(item for item in items if item is not None), *whole]
    try:
        common: Shape = ()
        if arrays:
            common = arrays[0].shape if len(arrays) == 1 else np.broadcast_shapes(*(a.shape for a in arrays))
    except ValueError as error:
        raise IndexError("indices that do not broadcast") from error
    # As in NumPy, indices that stand apart put their dimensions first, and neighbouring ones stay in place.
    together = indexed == list(range(indexed[0], indexed[-1] + 1)) if indexed else True
    before = indexed[0] if indexed and together else 0
    kept = [d for d in range(self.ndim) if items[d] is None]
    ahead = [d for d in kept if d < before]
    behind = [d for d in kept if d >= before]
    shape = (*(self.shape[d] for d in ahead), *common, *(self.shape[d] for d in behind))
    base = (*(self.strides[d] for d in ahead), *(0,) * len(common), *(self.strides[d] for d in behind))
    # The result has elements, and there are none to read.
    if 0 not in shape and any(self.shape[d] == 0 for d in indexed):
        raise IndexError("an index into nothing")
    pairs = []
    for d in indexed:
        item = items[d]
        assert item is not None  # for the type checker: `indexed` implies it
        strides = (
            *(0,) * len(ahead),
            *broadcast_strides(item.shape, item.strides, common),
            *(0,) * len(behind),
        )
        pairs.append((item, along_dim(self, d, item, strides)))
    leading = indexed == list(range(len(indexed)))
    return Chosen(shape, base, pairs, len(behind) if leading else 0)


def _integers(
    mover: Mover, self: StridedHandle, indices: Sequence[StridedHandle | None]
) -> tuple[list[StridedHandle | None], list[StridedHandle]]:
    """Return an array of integers, or None, for each dimension: masks as the places of their true elements.

    Masks without dimensions select all or nothing: each is one more array, of one element or none.
    """
    backend = mover.backend
    items: list[StridedHandle | None] = []
    whole: list[StridedHandle] = []
    for item in indices:
        if item is None:
            items.append(None)
        elif item.dtype.kind == "b" or item.dtype == np.uint8:
            if item.dtype == np.uint8:
                warn_user("indexing with dtype uint8 is deprecated, use a dtype bool instead")
            if item.shape != self.shape[len(items) : len(items) + item.ndim]:
                raise IndexError("a mask of another shape")
            if item.ndim:
                positions = true_places(mover, item, "index", columns=True)
                count = positions.shape[1]
                # A mask stands for the positions of its true elements, one index for each of its
                # dimensions.
                items += [positions.view((count,), (1,), d * count) for d in range(item.ndim)]
            else:
                # The host has to know the value, since it decides the shape of the result.
                backend.will_wait("index()")
                whole.append(mover.empty((int(bool(item.array)),), np.int64))
        else:
            if len(items) >= self.ndim:
                raise IndexError("too many indices")
            is_wide(item)
            items.append(item)
    if len(items) > self.ndim:
        raise IndexError("too many indices")
    return items + [None] * (self.ndim - len(items)), whole


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


def _masks(table: KernelTable, mover: Mover) -> None:
    @table.kernel("masked_fill", half="native", priority=1)
    def masked_fill(self: StridedHandle, mask: StridedHandle, value: StridedHandle | Scalar) -> StridedHandle:
        expect_mask(mask)
        shape = joint_shape(self.shape, mask.shape)
        return mover.fill_masked(mover.empty(shape, self.dtype), self, mask, one_value(mover, self, value))

    @table.kernel("masked_fill", form="inplace", half="native", priority=1)
    def masked_fill_inplace(self: StridedHandle, mask: StridedHandle, value: StridedHandle | Scalar) -> None:
        expect_mask(mask)
        mover.fill_masked(self, self, mask, one_value(mover, self, value))


# --- writing -------------------------------------------------------------------------------------------


def _places(table: KernelTable, combiner: Combiner) -> None:
    mover = combiner.mover

    @table.kernel("index_put", form="inplace", half="native", priority=1)
    def index_put(
        self: StridedHandle, indices: Sequence[StridedHandle | None], values: StridedHandle, accumulate: bool
    ) -> None:
        # Segments are added in row-major memory, so a tensor with gaps is copied, and written back at the
        # end.
        target = mover.contiguous(self) if accumulate else self
        chosen = choose(mover, target, indices)
        if values.dtype != self.dtype:
            values = mover.backend.cast(values, self.dtype)
        # Leading dimensions of size 1 beyond those of the target are dropped, as in PyTorch.
        while values.ndim > len(chosen.shape) and values.shape[0] == 1:
            values = values.view(values.shape[1:], values.strides[1:])
        try:
            strides = broadcast_strides(values.shape, values.strides, chosen.shape)
        except ValueError as error:
            raise errors.ShapeError(
                f"values of shape {list(values.shape)} do not broadcast to the shape {list(chosen.shape)} that the "
                f"indices select"
            ) from error
        if not accumulate:
            mover.put(
                self, values, chosen.shape, chosen.base, strides, chosen.indices, "index_put", wraps=True
            )
            return
        # Whole rows have one index if the indices are for the first dimensions.
        kept = len(chosen.shape) - chosen.rows
        sizes, inner = chosen.shape[:kept], prod(chosen.shape[kept:])
        if 0 in chosen.shape:
            return
        # Places are counted in rows, because whole rows are added.
        pairs = [
            (array, i._replace(strides=i.strides[:kept], step=i.step // inner)) for array, i in chosen.indices
        ]
        base = tuple(stride // inner for stride in chosen.base[:kept])
        positions = mover.places(sizes, base, pairs, "index_put", wraps=True)
        whole = mover.contiguous(values, chosen.shape)
        combiner.segments(target, whole, positions, (1, prod(target.shape) // inner, inner))
        if target is not self:
            mover.copy_into(self, target)
