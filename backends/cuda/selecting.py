"""Positions of nonzero elements: counted by blocks, added up and written, with one wait for their number."""

from __future__ import annotations

import struct
from math import prod
from typing import TYPE_CHECKING, Final

import numpy as np

from tt.backends.cuda.launch.layouts import THREADS, name_of

if TYPE_CHECKING:
    from tt.backends.cuda.handle import StridedHandle
    from tt.backends.cuda.launch.gather_scatter import Mover

__all__ = ["expect_mask", "true_places"]

_BLOCKS: Final = 2112
"""The maximum number of blocks that share the elements: a constant, so that launches depend only on sizes."""

_FEWEST: Final = 8 * THREADS
"""The elements that a block goes over at least."""

_MOST_DIMS: Final = 64
_COORDINATES: Final = struct.Struct(f"@{3 + _MOST_DIMS}q")


def true_places(mover: Mover, self: StridedHandle, op: str, columns: bool = False) -> StridedHandle:
    """Return the places of the elements that are not zero, in row-major order.

    Parameters
    ----------
    mover : Mover
        Makes handles; its backend's engine launches.
    self : StridedHandle
        Of any dtype.
    op : str
        What waits for their number.
    columns : bool
        Whether the result has a row for each dimension, instead of one for each place.
    """
    from tt.backends.cuda.launch.gather_scatter import INDEXING

    backend, ndim, count = mover.backend, self.ndim, prod(self.shape)
    backend.will_wait(f"{op}()")
    if not ndim:
        total = int(bool(self.array))
        return mover.empty((0, total) if columns else (total, 0), np.dtype(np.int64))
    total, chunk, blocks = 0, 0, 0
    if count:
        # Two passes: blocks count, and from the sums before them they know where to write.
        flat = mover.contiguous(self)
        chunk = max(_FEWEST, -(-count // (_BLOCKS * THREADS)) * THREADS)
        blocks = -(-count // chunk)
        counts = mover.empty((blocks + 1,), np.dtype(np.int64))
        name, grid, block = name_of(self.dtype), (blocks,), (THREADS,)
        counting = INDEXING.kernel(f"count_true<{name}, {THREADS}>")
        counting(backend, grid, block, (counts, flat, count, chunk))
        INDEXING.kernel(f"sum_before<{THREADS}>")(backend, (1,), block, (counts, blocks))
        # The shape of the result depends on the data, so the host waits here.
        total = int(counts.view((), (), blocks).array)
        backend.failures.raise_first()
    out = mover.empty((ndim, total) if columns else (total, ndim), np.dtype(np.int64))
    if total:
        steps = (1, total) if columns else (ndim, 1)
        room = (0,) * (_MOST_DIMS - ndim)
        layout = _COORDINATES.pack(ndim, *steps, *self.shape, *room)
        index = "int32" if count < 2**31 else "int64"
        writing = INDEXING.kernel(f"write_true<{name}, {index}, {THREADS}>")
        writing(backend, grid, block, (out, counts, flat, count, chunk, layout))
    return out


def expect_mask(mask: StridedHandle) -> None:
    """Refuse a mask that does not hold bools; the shape rule explains the error."""
    if mask.dtype.kind != "b":
        raise TypeError("a mask holds bools, as the shape rule says")
