"""Kernels of CUDA that copy elements to other places: joined, reversed, shifted, cut to a triangle."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Final

from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.gather_scatter import BLOCK, INDEXING, UNITS, Mover, integer_of
from tt.backends.cuda.launch.layouts import axis_of, grid_of
from tt.core.library import KernelTable, contiguous_strides

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["tables"]

JOINED: Final = 120
"""The maximum number of arrays joined by one launch, limited by the size of a kernel's arguments."""

_JOINED: Final = struct.Struct(f"@{JOINED}Q{JOINED}q4q")


def tables(backend: CudaBackend) -> list[KernelTable]:
    """Return the kernels of this family."""
    table, mover = KernelTable(device="cuda"), Mover(backend)

    @table.kernel("tril", half="native", priority=1)
    def tril(self: StridedHandle, diagonal: int) -> StridedHandle:
        if self.ndim < 2:
            raise ValueError("tril() takes matrices")
        return mover.triangle(self, diagonal, upper=False)

    @table.kernel("triu", half="native", priority=1)
    def triu(self: StridedHandle, diagonal: int) -> StridedHandle:
        if self.ndim < 2:
            raise ValueError("triu() takes matrices")
        return mover.triangle(self, diagonal, upper=True)

    @table.kernel("flip", half="native", priority=1)
    def flip(self: StridedHandle, dims: Sequence[int]) -> StridedHandle:
        axes = {axis_of(dim, self.ndim) for dim in dims}
        if len(axes) < len(dims):
            raise ValueError("a dimension is named twice")
        out = mover.empty(self.shape, self.dtype)
        if 0 in self.shape or not self.ndim:
            return mover.take(out, self, self.shape, self.strides, out.strides)
        # Read from the last element with negative strides, so that flipping is an ordinary copy.
        last = sum((self.shape[d] - 1) * self.strides[d] for d in axes)
        strides = tuple(-stride if d in axes else stride for d, stride in enumerate(self.strides))
        return mover.take(
            out, self.view(self.shape, strides, self.offset + last), self.shape, strides, out.strides
        )

    @table.kernel("roll", half="native", priority=1)
    def roll(self: StridedHandle, shifts: Sequence[int], dims: Sequence[int]) -> StridedHandle:
        if not dims:
            if len(shifts) != 1:
                raise ValueError("one shift without dimensions")
            flat = mover.contiguous(self).view((prod(self.shape),), (1,))
            return mover.rolled(flat, (shifts[0] % max(flat.shape[0], 1),)).view(
                self.shape, contiguous_strides(self.shape)
            )
        if len(shifts) != len(dims) or not self.ndim:
            raise ValueError("a shift for each dimension")
        total = [0] * self.ndim
        for shift, dim in zip(shifts, dims, strict=True):
            total[axis_of(dim, self.ndim)] += shift
        return mover.rolled(
            self, tuple(shift % max(size, 1) for shift, size in zip(total, self.shape, strict=True))
        )

    @table.kernel("cat", half="native", priority=1)
    def cat(tensors: Sequence[StridedHandle], dim: int) -> StridedHandle:
        # A vector without elements joins anything, for compatibility.
        kept = [tensor for tensor in tensors if tensor.shape != (0,)]
        if not kept:
            kept, dim = list(tensors[:1]), 0
        if not kept or not kept[0].ndim:
            raise ValueError("cat() of nothing or of numbers")
        axis = axis_of(dim, kept[0].ndim)
        rest = (kept[0].shape[:axis], kept[0].shape[axis + 1 :])
        if any((t.shape[:axis], t.shape[axis + 1 :]) != rest for t in kept):
            raise ValueError("tensors of other shapes, which the shape rule refuses")
        out = mover.empty((*rest[0], sum(t.shape[axis] for t in kept), *rest[1]), kept[0].dtype)
        if 0 not in out.shape:
            _join(backend, out, [mover.contiguous(t) for t in kept if t.shape[axis]], axis)
        return out

    return [table]


def _join(backend: CudaBackend, out: StridedHandle, parts: Sequence[StridedHandle], axis: int) -> None:
    """Write arrays without gaps one behind the other along a dimension."""
    rows, inner = prod(out.shape[:axis]), prod(out.shape[axis + 1 :]) * out.dtype.itemsize
    widths = [part.shape[axis] * inner for part in parts]  # in bytes
    unit = 16
    # All addresses and widths in one number: a unit that divides it divides each of them.
    aligned = out.data_ptr
    for part, width in zip(parts, widths, strict=True):
        aligned |= part.data_ptr | width
    while aligned % unit:
        unit //= 2
    row = sum(widths) // unit
    kernel = INDEXING.kernel(f"join_rows<{UNITS[unit]}, {integer_of(rows * row)}>")
    first = 0
    # The arguments of a kernel have room for so many addresses; further parts take further launches.
    for start in range(0, len(parts), JOINED):
        some, ends, end = parts[start : start + JOINED], [], first
        for width in widths[start : start + JOINED]:
            end += width // unit
            ends.append(end)
        room = (0,) * (JOINED - len(some))
        count = rows * (end - first)
        packed = _JOINED.pack(
            *(part.data_ptr for part in some), *room, *ends, *room, count, row, first, len(some)
        )
        kernel(backend, grid_of(count), BLOCK, (out, packed))
        first = end
