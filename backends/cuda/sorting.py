"""The stable order of integers on CUDA, found without waiting, so that a graph can capture it; and searches."""

from __future__ import annotations

import struct
from math import prod
from typing import TYPE_CHECKING, Final

import numpy as np

from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.layouts import THREADS, contiguous, grid_of, name_of
from tt.backends.cuda.launch.programs import Program
from tt.core.library import KernelTable

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend
    from tt.backends.cuda.launch.gather_scatter import Mover

__all__ = ["SORTING", "stable_order", "tables"]

SORTING: Final = Program("sorting.cuh")

_DIGITS: Final = struct.Struct("@5q")
_BLOCK: Final = (256,)
_TILE: Final = 2048
_MOST_BLOCKS: Final = 4096
"""More would leave the one block that adds up their counts with too much to do."""


def stable_order(
    mover: Mover, keys: StridedHandle, most: int, bias: int = 0
) -> tuple[StridedHandle, StridedHandle]:
    """Return the keys in ascending order, and the number that each of them had.

    Parameters
    ----------
    mover : Mover
        Makes handles; its backend's engine launches.
    keys : StridedHandle
        A vector without gaps of int64 or uint64.
    most : int
        No key plus the bias is larger; the fewer bytes it has, the less work there is.
    bias : int
        Added to each key before they are compared, as numbers without sign: 1 where keys begin at -1.
    """
    backend, members = mover.backend, keys.shape[0]
    # Longer tiles for many keys, so that there are never too many blocks.
    tile = max(_TILE, -(-members // (_MOST_BLOCKS * 256)) * 256)
    blocks = -(-members // tile)
    counts = mover.empty((256 * blocks,), np.dtype(np.int64))
    order: StridedHandle | None = None
    # One pass for each byte that a key can have, from the lowest: each is stable, as a radix sort needs.
    for shift in range(0, max(most.bit_length(), 1), 8):
        digits = _DIGITS.pack(members, tile, blocks, shift, bias)
        SORTING.kernel("count_digits")(backend, (blocks,), _BLOCK, (counts, keys, digits))
        SORTING.kernel("begin_digits")(backend, (1,), _BLOCK, (counts, 256 * blocks))
        sorted_keys, moved = mover.empty(keys.shape, keys.dtype), mover.empty(keys.shape, np.dtype(np.int64))
        args = (sorted_keys, moved, keys, order, counts, digits)
        SORTING.kernel("move_digits")(backend, (blocks,), _BLOCK, args)
        keys, order = sorted_keys, moved
    assert order is not None  # there is at least one digit
    return keys, order


def tables(backend: CudaBackend) -> list[KernelTable]:
    """Return the kernels of this family."""
    table = KernelTable(device="cuda")

    @table.kernel("_searchsorted", dtypes="real_number", half="native", priority=1, check=True)
    def searchsorted(sorted_sequence: StridedHandle, self: StridedHandle, right: bool) -> StridedHandle:
        out, count = backend.empty(self.shape, np.dtype(np.int64)), prod(self.shape)
        columns = self.shape[-1] if self.ndim else 1
        rows, values = contiguous(backend, sorted_sequence), contiguous(backend, self)
        args = (
            rows,
            values,
            out,
            count,
            columns,
            sorted_sequence.shape[-1],
            sorted_sequence.ndim == 1,
            right,
        )
        SORTING.kernel(f"search_rows<{name_of(self.dtype)}>")(backend, grid_of(count), (THREADS,), args)
        return out

    return [table]
