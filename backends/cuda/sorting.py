"""The stable order of integers on CUDA, found without waiting, so that a graph can capture it."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

import numpy as np

from tt.backends.cuda.launch.programs import Program

if TYPE_CHECKING:
    from tt.backends.cuda.handle import StridedHandle
    from tt.backends.cuda.launch.gather_scatter import Mover

__all__ = ["SORTING", "stable_order"]

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
    tile = max(_TILE, -(-members // (_MOST_BLOCKS * 256)) * 256)
    blocks = -(-members // tile)
    counts = mover.empty((256 * blocks,), np.dtype(np.int64))
    order: StridedHandle | None = None
    for shift in range(0, max(most.bit_length(), 1), 8):
        digits = _DIGITS.pack(members, tile, blocks, shift, bias)
        SORTING.kernel("count_digits")(backend, (blocks,), _BLOCK, (counts, keys, digits))
        SORTING.kernel("begin_digits")(backend, (1,), _BLOCK, (counts, 256 * blocks))
        found, moved = mover.empty(keys.shape, keys.dtype), mover.empty(keys.shape, np.dtype(np.int64))
        args = (found, moved, keys, order, counts, digits)
        SORTING.kernel("move_digits")(backend, (blocks,), _BLOCK, args)
        keys, order = found, moved
    assert order is not None  # there is at least one digit
    return keys, order
