"""CUDA kernels that write to indexed places, or combine values with the existing ones.

Two ways to combine, which Note [Two ways to combine] in sources/scattering.cuh compares: sums of `scatter_add` and
`index_add` in float32, float64, complex numbers, int32 and int64 are made by atomics; everything else orders the values
by their place first and gives the same bits in every run.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.indexing import choose, one_value, places_along
from tt.backends.cuda.launch.gather_scatter import (
    BLOCK,
    Indexed,
    Mover,
    along_dim,
    broadcast_strides,
    bytes_of,
    integer_of,
    make_plan,
    slices_of,
)
from tt.backends.cuda.launch.layouts import axis_of, grid_of, name_of
from tt.backends.cuda.launch.programs import Program
from tt.backends.cuda.runtime.device_asserts import kind_of
from tt.backends.cuda.sorting import stable_order
from tt.core.library import DETERMINISM, KernelTable, contiguous_strides, errors

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["ATOMIC", "Combiner", "reduce_in_order", "tables"]

SCATTERING: Final = Program("scattering.cuh")

ATOMIC: Final = {
    "float32": ("float32", 1), "float64": ("float64", 1), "int32": ("int32", 1), "int64": ("int64", 1),
    "complex64": ("float32", 2), "complex128": ("float64", 2),
}  # fmt: skip
"""Dtypes that atomics add: the type of their parts, and how many there are."""

COMBINE: Final = {
    "sum": "Adding", "mean": "Adding", "prod": "Multiplying", "amax": "Largest", "amin": "Smallest",
}  # fmt: skip

_SEGMENTS: Final = struct.Struct("@4q4i")

Shape = tuple[int, ...]


def tables(backend: CudaBackend) -> list[KernelTable]:
    """Return the kernels of this family."""
    table = KernelTable(device="cuda")
    combiner = Combiner(Mover(backend))
    _along(table, combiner)
    _slices(table, combiner)
    _places(table, combiner)
    _embedding(table, combiner)
    return [table]


def _ordered(dtype: np.dtype[Any]) -> bool:
    """Return whether sums must be made in a fixed order; those of integers are the same in any."""
    return DETERMINISM.required and dtype.kind in "fc"


class Combiner:
    """Combines values with elements of handles.

    Parameters
    ----------
    mover : Mover
        Moves elements; its backend's engine launches.
    """

    def __init__(self, mover: Mover) -> None:
        self.mover, self.backend = mover, mover.backend

    def add_atomically(
        self, self_: StridedHandle, values: StridedHandle, sizes: Shape, base: Shape, other: Shape,
        index: tuple[StridedHandle, Indexed], op: str, factor: bytes,
    ) -> None:  # fmt: skip
        """Add values times a factor, read with the strides `other`, at the places of an index."""
        if 0 in sizes:
            return
        plan = make_plan(sizes, base, other, (index[1],), self_.dtype.itemsize, 1, kind_of(op))
        part, parts = ATOMIC[name_of(self_.dtype)]
        kernel = SCATTERING.kernel(f"add_places<{part}, {plan.integer}, 1, {parts}>")
        kernel(
            self.backend, plan.grid, BLOCK, (self_, values, plan.layout, self.mover.pointed([index], factor))
        )
        self.backend.failures.launched()

    def segments(
        self, target: StridedHandle, values: StridedHandle, places: StridedHandle, shape: tuple[int, int, int],
        reduce: str = "sum", include: bool = True, by_count: bool = False,
    ) -> None:  # fmt: skip
        """Combine values with elements of a target, both without gaps, in the order of the values.

        The target has `shape`, (outer, size, inner), and the values (outer, members, inner); `places` names a place
        along the second dimension for each of the members.
        """
        outer, size, inner = shape
        members = places.shape[0]
        if not members or not outer * inner:
            return
        backend = self.backend
        ordered, order = stable_order(self.mover, places, size, bias=1)  # -1 is for values to leave out
        packed = _SEGMENTS.pack(members, outer, size, inner, include, reduce == "mean", by_count, 0)
        count = members * outer * inner
        integer = integer_of(count, outer * size * inner)
        kernel = SCATTERING.kernel(f"combine_segments<{name_of(target.dtype)}, {COMBINE[reduce]}, {integer}>")
        args = (target, values, ordered, order, packed)
        kernel(backend, grid_of(count), BLOCK, args)


@cache
def _one(dtype: np.dtype[Any]) -> bytes:
    """Return 1 in the type of the parts of a dtype."""
    return np.ones((), np.dtype(ATOMIC[name_of(dtype)][0])).tobytes()


# --- along one dimension ---------------------------------------------------------------------------------------


def _part_of(src: StridedHandle, sizes: Shape) -> Shape:
    """Return the strides of the part of a source that has places; the shape rule explains a smaller source."""
    shape, strides = (src.shape, src.strides) if src.ndim else ((1,), (1,))
    if len(shape) != len(sizes) or any(n > limit for n, limit in zip(sizes, shape, strict=True)):
        raise ValueError("a larger index than source")
    return strides


def _along(table: KernelTable, combiner: Combiner) -> None:
    mover = combiner.mover

    @table.kernel("scatter", form="inplace", half="native", priority=1)
    def scatter(self: StridedHandle, dim: int, index: StridedHandle, src: StridedHandle) -> None:
        axis = axis_of(dim, self.ndim)
        if 0 not in index.shape:
            sizes, base, chosen = places_along(self, axis, index)
            mover.put(self, src, sizes, base, _part_of(src, sizes), [(index, chosen)], "scatter")

    @table.kernel("scatter.value", form="inplace", half="native", priority=1)
    def scatter_value(self: StridedHandle, dim: int, index: StridedHandle, value: Any) -> None:
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
            strides, one = _part_of(src, sizes), _one(self.dtype)
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
        refused = {"c": ("amax", "amin"), "b": ("mean",)}.get(self.dtype.kind, ())
        if reduce not in COMBINE or reduce in refused:
            raise ValueError("a reduction that the shape rule refuses")
        axis = axis_of(dim, self.ndim)
        if 0 not in index.shape:
            reduce_in_order(combiner, self, axis, index, src, reduce, include_self, "scatter_reduce")


def reduce_in_order(
    combiner: Combiner, self: StridedHandle, axis: int, index: StridedHandle, src: StridedHandle, reduce: str,
    include: bool, op: str,
) -> None:  # fmt: skip
    """Combine elements along a dimension in the order of the source."""
    mover = combiner.mover
    target = mover.contiguous(self)
    sizes, base, chosen = places_along(target, axis, index)
    strides = _part_of(src, sizes)
    places = mover.places(sizes, base, [(index, chosen)], op)
    values = src
    if not (src.is_contiguous and (src.shape or (1,)) == sizes):
        values = mover.take(mover.empty(sizes, src.dtype), src, sizes, strides, contiguous_strides(sizes))
    combiner.segments(target, values, places, (1, prod(target.shape), 1), reduce, include)
    if target is not self:
        mover.copy_into(self, target)


# --- slices ----------------------------------------------------------------------------------------------------


def _source_strides(source: StridedHandle, sizes: Shape) -> Shape:
    """Return the strides of a source that has the shape of the slices, or is one number."""
    if source.shape == sizes:
        return source.strides
    if not source.ndim and prod(sizes) == 1:
        return (0,) * len(sizes)
    raise ValueError("a source of another shape, which the shape rule refuses")


def _slices(table: KernelTable, combiner: Combiner) -> None:
    mover = combiner.mover

    @table.kernel("index_add", form="inplace", half="native", priority=1)
    def index_add(
        self: StridedHandle, dim: int, index: StridedHandle, source: StridedHandle, alpha: Any
    ) -> None:
        axis = axis_of(dim, self.ndim)
        if source.ndim != self.ndim:
            raise ValueError("a source of other dimensions, which the shape rule refuses")
        sizes, base, chosen = slices_of(self, axis, index)
        strides = _source_strides(source, sizes)
        atomic = name_of(self.dtype) in ATOMIC and not _ordered(self.dtype)
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
        target = mover.contiguous(self)
        values = mover.take(
            mover.empty(sizes, source.dtype), source, sizes, strides, contiguous_strides(sizes)
        )
        shape = (prod(sizes[:axis]), chosen.size, prod(sizes[axis + 1 :]))
        combiner.segments(target, values, _vector(mover, index, chosen, "index_add"), shape)
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
    def index_fill(self: StridedHandle, dim: int, index: StridedHandle, value: Any) -> None:
        axis = axis_of(dim, self.ndim)
        if index.dtype != np.int64:
            raise ValueError("an index of another kind, which the shape rule refuses")
        given = value.dtype.kind == "c" if isinstance(value, StridedHandle) else isinstance(value, complex)
        if given and self.dtype.kind != "c":
            raise ValueError("a complex number, which the shape rule refuses")
        sizes, base, chosen = slices_of(self, axis, index)
        filling = one_value(mover, self, value)
        mover.put(self, filling, sizes, base, (0,) * len(sizes), [(index, chosen)], "index_fill", wraps=True)


def _scaled(mover: Mover, values: StridedHandle, alpha: Any) -> StridedHandle:
    """Return values multiplied by a number of their dtype; half precision as it multiplies in float32."""
    number = np.frombuffer(bytes_of(alpha, values.dtype), values.dtype)[0]
    if values.dtype.kind in "biuc":
        return mover.backend.normalise((values.array * number).astype(values.dtype))
    wide = mover.backend.cast(values, np.dtype(np.float32))
    return mover.backend.cast(mover.backend.normalise(wide.array * np.float32(number)), values.dtype)


def _vector(mover: Mover, index: StridedHandle, chosen: Indexed, op: str, skipped: int = -1) -> StridedHandle:
    """Return a vector of indices as places along their dimension, -1 for those out of range."""
    sizes, strides = (index.shape, index.strides) if index.ndim else ((1,), (0,))
    plain = chosen._replace(strides=strides, step=1)
    return mover.places(sizes, (0,) * len(sizes), [(index, plain)], op, skipped=skipped)


# --- places in full --------------------------------------------------------------------------------------------


def _places(table: KernelTable, combiner: Combiner) -> None:
    mover = combiner.mover

    @table.kernel("index_put", form="inplace", half="native", priority=1)
    def index_put(
        self: StridedHandle, indices: Sequence[StridedHandle | None], values: StridedHandle, accumulate: bool
    ) -> None:
        target = mover.contiguous(self) if accumulate else self
        chosen = choose(mover, target, indices)
        if values.dtype != self.dtype:
            values = mover.backend.cast(values, self.dtype)
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
        pairs = [
            (array, i._replace(strides=i.strides[:kept], step=i.step // inner)) for array, i in chosen.indices
        ]
        base = tuple(stride // inner for stride in chosen.base[:kept])
        places = mover.places(sizes, base, pairs, "index_put", wraps=True)
        whole = mover.contiguous(values, chosen.shape)
        combiner.segments(target, whole, places, (1, prod(target.shape) // inner, inner))
        if target is not self:
            mover.copy_into(self, target)

    @table.kernel("put", form="inplace", half="native", priority=1)
    def put(self: StridedHandle, index: StridedHandle, source: StridedHandle, accumulate: bool) -> None:
        if index.dtype != np.int64 or prod(index.shape) != prod(source.shape):
            raise ValueError("an index of another kind, which the shape rule refuses")
        if 0 in index.shape:
            return
        target, values = mover.contiguous(self), mover.contiguous(source)
        strides, base = contiguous_strides(index.shape), (0,) * index.ndim
        chosen = Indexed(index.strides, prod(self.shape), 1, 0, True)
        if accumulate:
            places = mover.places(index.shape, base, [(index, chosen)], "put", wraps=True)
            combiner.segments(target, values, places, (1, prod(self.shape), 1))
        else:
            mover.put(target, values, index.shape, base, strides, [(index, chosen)], "put", wraps=True)
        if target is not self:
            mover.copy_into(self, target)


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
        places = _vector(mover, indices, chosen, "embedding_dense_backward", max(padding_idx, -1))
        values = mover.contiguous(grad_output)
        combiner.segments(out, values, places, (1, num_weights, columns), by_count=scale_grad_by_freq)
        return out
