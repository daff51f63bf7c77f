"""CUDA kernels that write to indexed places, or combine values with the existing ones.

Sums of `scatter_add` and `index_add` in float32, float64, complex numbers, int32 and int64 are made by atomics;
everything else orders the values by their place first and gives the same bits in every run (see `combining`).
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tt.backends.cuda.combining import ATOMIC, COMBINE, Combiner, part_of, reduce_in_order
from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.gather_scatter import (
    Indexed,
    Mover,
    along_dim,
    broadcast_strides,
    bytes_of,
    joint_shape,
    one_value,
    places_along,
    slices_of,
)
from tt.backends.cuda.launch.layouts import axis_of, name_of
from tt.backends.cuda.selecting import expect_mask
from tt.core.library import DETERMINISM, KernelTable, Scalar, contiguous_strides

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["tables"]

Shape = tuple[int, ...]


def tables(backend: CudaBackend) -> list[KernelTable]:
    """Return the kernels of this family."""
    table = KernelTable(device="cuda")
    combiner = Combiner(Mover(backend))
    _along(table, combiner)
    _slices(table, combiner)
    _places(table, combiner)
    _masks(table, combiner.mover)
    _embedding(table, combiner)
    return [table]


@cache
def _one(dtype: np.dtype[Any]) -> bytes:
    """Return 1 in the type of the parts of a dtype."""
    return np.ones((), np.dtype(ATOMIC[name_of(dtype)][0])).tobytes()


def _ordered(dtype: np.dtype[Any]) -> bool:
    """Return whether sums must be made in a fixed order; those of integers are the same in any."""
    return DETERMINISM.required and dtype.kind in "fc"


# --- along one dimension ---------------------------------------------------------------------------------------


def _along(table: KernelTable, combiner: Combiner) -> None:
    mover = combiner.mover

    @table.kernel("scatter", form="inplace", half="native", priority=1)
    def scatter(self: StridedHandle, dim: int, index: StridedHandle, src: StridedHandle) -> None:
        axis = axis_of(dim, self.ndim)
        if 0 not in index.shape:
            sizes, base, chosen = places_along(self, axis, index)
            mover.put(self, src, sizes, base, part_of(src, sizes), [(index, chosen)], "scatter")

    @table.kernel("scatter.value", form="inplace", half="native", priority=1)
    def scatter_value(self: StridedHandle, dim: int, index: StridedHandle, value: Scalar) -> None:
        number, axis = bytes_of(value, self.dtype), axis_of(dim, self.ndim)
        if 0 not in index.shape:
            sizes, base, chosen = places_along(self, axis, index)
            mover.put(self, number, sizes, base, (0,) * len(sizes), [(index, chosen)], "scatter")

    @table.kernel("scatter_add", form="inplace", half="native", priority=1)
    def scatter_add(self: StridedHandle, dim: int, index: StridedHandle, src: StridedHandle) -> None:
        axis = axis_of(dim, self.ndim)
        if 0 in index.shape:
            return
        if name_of(self.dtype) in ATOMIC and not _ordered(self.dtype):
            sizes, base, chosen = places_along(self, axis, index)
            strides, one = part_of(src, sizes), _one(self.dtype)
            combiner.add_atomically(self, src, sizes, base, strides, (index, chosen), "scatter_add", one)
        else:
            reduce_in_order(combiner, self, axis, index, src, "sum", True, "scatter_add")

    @table.kernel("scatter_reduce", form="inplace", half="native", priority=1)
    def scatterreduce_in_order(
        self: StridedHandle,
        dim: int,
        index: StridedHandle,
        src: StridedHandle,
        reduce: str,
        include_self: bool,
    ) -> None:
        # Complex numbers have no order, and a mean of bools is none.
        refused = {"c": ("amax", "amin"), "b": ("mean",)}.get(self.dtype.kind, ())
        if reduce not in COMBINE or reduce in refused:
            raise ValueError("a reduction that the shape rule refuses")
        axis = axis_of(dim, self.ndim)
        if 0 not in index.shape:
            reduce_in_order(combiner, self, axis, index, src, reduce, include_self, "scatter_reduce")


# --- slices ----------------------------------------------------------------------------------------------------


def _source_strides(source: StridedHandle, sizes: Shape) -> Shape:
    """Return the strides of a source that has the shape of the slices, or is one number."""
    if source.shape == sizes:
        return source.strides
    # PyTorch takes a scalar for one element.
    if not source.ndim and prod(sizes) == 1:
        return (0,) * len(sizes)
    raise ValueError("a source of another shape, which the shape rule refuses")


def _slices(table: KernelTable, combiner: Combiner) -> None:
    mover = combiner.mover

    @table.kernel("index_add", form="inplace", half="native", priority=1)
    def index_add(
        self: StridedHandle, dim: int, index: StridedHandle, source: StridedHandle, alpha: Scalar
    ) -> None:
        axis = axis_of(dim, self.ndim)
        if source.ndim != self.ndim:
            raise ValueError("a source of other dimensions, which the shape rule refuses")
        sizes, base, chosen = slices_of(self, axis, index)
        strides = _source_strides(source, sizes)
        atomic = name_of(self.dtype) in ATOMIC and not _ordered(self.dtype)
        # The kernel multiplies each part of a number by the factor, which is no product of complex numbers.
        if atomic and (alpha == 1 or self.dtype.kind != "c"):
            factor = _one(self.dtype) if alpha == 1 else bytes_of(alpha, self.dtype)
            combiner.add_atomically(self, source, sizes, base, strides, (index, chosen), "index_add", factor)
            return
        if alpha != 1:
            source = _scaled(mover, source, alpha)
            strides = _source_strides(source, sizes)
        if atomic:
            one = _one(self.dtype)
            combiner.add_atomically(self, source, sizes, base, strides, (index, chosen), "index_add", one)
            return
        # Elements that cannot be added atomically, or whose order must not change, are sorted by slices and then added.
        target = mover.contiguous(self)
        values = mover.take(
            mover.empty(sizes, source.dtype), source, sizes, strides, contiguous_strides(sizes)
        )
        shape = (prod(sizes[:axis]), chosen.size, prod(sizes[axis + 1 :]))
        combiner.segments(target, values, _vector(mover, index, chosen, "index_add"), shape)
        # Only a copy of a tensor with gaps has to be written back.
        if target is not self:
            mover.copy_into(self, target)

    @table.kernel("index_copy", form="inplace", half="native", priority=1)
    def index_copy(self: StridedHandle, dim: int, index: StridedHandle, source: StridedHandle) -> None:
        axis = axis_of(dim, self.ndim)
        if index.dtype != np.int64 or (self.ndim and source.ndim not in (0, self.ndim)):
            raise ValueError("an index or source of another kind, which the shape rule refuses")
        sizes, base, chosen = slices_of(self, axis, index)
        strides = _source_strides(source, sizes)
        mover.put(self, source, sizes, base, strides, [(index, chosen)], "index_copy")

    @table.kernel("index_fill", form="inplace", half="native", priority=1)
    def index_fill(
        self: StridedHandle, dim: int, index: StridedHandle, value: StridedHandle | Scalar
    ) -> None:
        axis = axis_of(dim, self.ndim)
        if index.dtype != np.int64:
            raise ValueError("an index of another kind, which the shape rule refuses")
        is_complex = (
            value.dtype.kind == "c" if isinstance(value, StridedHandle) else isinstance(value, complex)
        )
        if is_complex and self.dtype.kind != "c":
            raise ValueError("a complex number, which the shape rule refuses")
        sizes, base, chosen = slices_of(self, axis, index)
        filling = one_value(mover, self, value)
        mover.put(self, filling, sizes, base, (0,) * len(sizes), [(index, chosen)], "index_fill", wraps=True)


def _scaled(mover: Mover, values: StridedHandle, alpha: Scalar) -> StridedHandle:
    """Return values multiplied by a number of their dtype; half precision as it multiplies in float32."""
    # Rounded to the dtype first, as PyTorch multiplies by a number of the tensor's own dtype.
    number = np.frombuffer(bytes_of(alpha, values.dtype), values.dtype)[0]
    if values.dtype.kind in "biuc":
        return mover.backend.normalise((values.array * number).astype(values.dtype))
    # Half precision rounds once, after the product.
    wide = mover.backend.cast(values, np.dtype(np.float32))
    return mover.backend.cast(mover.backend.normalise(wide.array * np.float32(number)), values.dtype)


def _vector(mover: Mover, index: StridedHandle, chosen: Indexed, op: str, skipped: int = -1) -> StridedHandle:
    """Return a vector of indices as places along their dimension, -1 for those out of range."""
    sizes, strides = (index.shape, index.strides) if index.ndim else ((1,), (0,))
    # A step of 1 gives the numbers of the places instead of their offsets in memory.
    plain = chosen._replace(strides=strides, step=1)
    return mover.places(sizes, (0,) * len(sizes), [(index, plain)], op, skipped=skipped)


# --- places in full --------------------------------------------------------------------------------------------


def _places(table: KernelTable, combiner: Combiner) -> None:
    mover = combiner.mover

    @table.kernel("put", form="inplace", half="native", priority=1)
    def put(self: StridedHandle, index: StridedHandle, source: StridedHandle, accumulate: bool) -> None:
        if index.dtype != np.int64 or prod(index.shape) != prod(source.shape):
            raise ValueError("an index of another kind, which the shape rule refuses")
        if 0 in index.shape:
            return
        target, values = mover.contiguous(self), mover.contiguous(source)
        strides, base = contiguous_strides(index.shape), (0,) * index.ndim
        chosen = Indexed(index.strides, prod(self.shape), 1, 0, True)
        # Places may repeat and have to be added, so they are sorted and summed by segments.
        if accumulate:
            positions = mover.places(index.shape, base, [(index, chosen)], "put", wraps=True)
            combiner.segments(target, values, positions, (1, prod(self.shape), 1))
        else:
            mover.put(target, values, index.shape, base, strides, [(index, chosen)], "put", wraps=True)
        if target is not self:
            mover.copy_into(self, target)


# --- masks ---------------------------------------------------------------------------------------------


def _masks(table: KernelTable, mover: Mover) -> None:
    @table.kernel("masked_scatter", form="inplace", half="native", priority=1)
    def masked_scatter_inplace(self: StridedHandle, mask: StridedHandle, source: StridedHandle) -> None:
        expect_mask(mask)
        where = mover.contiguous(mask, self.shape)
        namespace, backend = mover.backend.namespace, mover.backend
        if 0 not in self.shape:
            flat = where.view((prod(where.shape),), (1,))
            # The n-th True takes the n-th element of the source: a running count gives each its place.
            ranks = backend.normalise(namespace.cumulative_sum(flat.array, dtype=namespace.int64))
            mover.scatter_masked(self, mover.contiguous(source), where, ranks)

    @table.kernel("masked_scatter", half="native", priority=1)
    def masked_scatter(self: StridedHandle, mask: StridedHandle, source: StridedHandle) -> StridedHandle:
        expect_mask(mask)
        shape = joint_shape(self.shape, mask.shape)
        out = mover.empty(shape, self.dtype)
        mover.take(out, self, shape, broadcast_strides(self.shape, self.strides, shape), out.strides)
        masked_scatter_inplace(out, mask, source)
        return out


# --- the gradient of embedding ---------------------------------------------------------------------------------


def _embedding(table: KernelTable, combiner: Combiner) -> None:
    mover = combiner.mover

    @table.kernel("embedding_dense_backward", dtypes="floating_complex", half="native", priority=1)
    def embedding_dense_backward(
        grad_output: StridedHandle, indices: StridedHandle, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
    ) -> StridedHandle:  # fmt: skip
        if grad_output.shape[:-1] != indices.shape or grad_output.ndim != indices.ndim + 1 or num_weights < 0:
            raise ValueError("a gradient of another shape, which the shape rule refuses")
        columns = grad_output.shape[-1]
        dtype = grad_output.dtype
        out = mover.fill(mover.empty((num_weights, columns), dtype), bytes(dtype.itemsize))
        if 0 in indices.shape:
            return out
        chosen = along_dim(out, 0, indices, ())._replace(step=1)
        # Padding rows get no gradient, so their places are left out; -1 stands for none.
        positions = _vector(mover, indices, chosen, "embedding_dense_backward", max(padding_idx, -1))
        values = mover.contiguous(grad_output)
        combiner.segments(out, values, positions, (1, num_weights, columns), by_count=scale_grad_by_freq)
        return out
