"""Combining values with elements at places, which scattering, indexing and gradients of pooling do.

Two ways, which Note [Two ways to combine] in sources/scattering.cuh compares: atomics add some dtypes at once;
everything else orders the values by their place first and gives the same bits in every run.
"""

from __future__ import annotations

import struct
from math import prod
from typing import TYPE_CHECKING, Final

from tt.backends.cuda.launch.gather_scatter import BLOCK, Indexed, Mover, integer_of, make_plan, places_along
from tt.backends.cuda.launch.layouts import grid_of, name_of
from tt.backends.cuda.launch.programs import Program
from tt.backends.cuda.runtime.device_asserts import kind_of
from tt.backends.cuda.sorting import stable_order
from tt.core.library import contiguous_strides

if TYPE_CHECKING:
    from tt.backends.cuda.handle import StridedHandle

__all__ = ["ATOMIC", "COMBINE", "SCATTERING", "Combiner", "part_of", "reduce_in_order"]

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
        # Sorted stably, so that values of one place are added in the order in which they were given.
        ordered, order = stable_order(self.mover, places, size, bias=1)  # -1 is for values to leave out
        packed = _SEGMENTS.pack(members, outer, size, inner, include, reduce == "mean", by_count, 0)
        count = members * outer * inner
        integer = integer_of(count, outer * size * inner)
        kernel = SCATTERING.kernel(f"combine_segments<{name_of(target.dtype)}, {COMBINE[reduce]}, {integer}>")
        args = (target, values, ordered, order, packed)
        kernel(backend, grid_of(count), BLOCK, args)


def part_of(src: StridedHandle, sizes: Shape) -> Shape:
    """Return the strides of the part of a source that has places; the shape rule explains a smaller source."""
    shape, strides = (src.shape, src.strides) if src.ndim else ((1,), (1,))
    if len(shape) != len(sizes) or any(n > limit for n, limit in zip(sizes, shape, strict=True)):
        raise ValueError("a larger index than source")
    return strides


def reduce_in_order(
    combiner: Combiner, self: StridedHandle, axis: int, index: StridedHandle, src: StridedHandle, reduce: str,
    include: bool, op: str,
) -> None:  # fmt: skip
    """Combine elements along a dimension in the order of the source."""
    mover = combiner.mover
    target = mover.contiguous(self)
    sizes, base, chosen = places_along(target, axis, index)
    strides = part_of(src, sizes)
    positions = mover.places(sizes, base, [(index, chosen)], op)
    values = src
    # Values are taken by number, one for each index, so a larger or strided source is copied first.
    if not (src.is_contiguous and (src.shape or (1,)) == sizes):
        values = mover.take(mover.empty(sizes, src.dtype), src, sizes, strides, contiguous_strides(sizes))
    combiner.segments(target, values, positions, (1, prod(target.shape), 1), reduce, include)
    if target is not self:
        mover.copy_into(self, target)
