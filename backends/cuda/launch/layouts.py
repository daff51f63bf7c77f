"""Memory layouts for launches of all families: joinable dimensions, order, dtypes, and the number of blocks."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend
    from tt.backends.cuda.handle import StridedHandle

__all__ = [
    "MOST_BLOCKS",
    "THREADS",
    "axis_of",
    "contiguous",
    "grid_of",
    "joined",
    "name_of",
    "packed",
    "uploaded",
]

THREADS: Final = 256
"""The threads of a block in which each thread computes its own elements."""

MOST_BLOCKS: Final = 1 << 16
"""The maximum number of such blocks; their threads continue with the next elements."""


def grid_of(count: int, threads: int = THREADS) -> tuple[int, ...]:
    """Return how many blocks go over so many elements, one a thread.

    Examples
    --------
    >>> from tt.backends.cuda.launch.layouts import grid_of
    >>> grid_of(0), grid_of(257), grid_of(1 << 40)
    ((0,), (2,), (65536,))
    """
    return (min(-(-count // threads), MOST_BLOCKS),)


@cache
def name_of(dtype: np.dtype[Any]) -> str:
    """Return the name of a dtype; NumPy builds it each time, which takes longer than a launch."""
    return np.dtype(dtype).name


def contiguous(backend: CudaBackend, handle: StridedHandle) -> StridedHandle:
    """Return a handle in row-major order, itself if it is so."""
    return handle if handle.is_contiguous else backend.clone(handle)


def axis_of(dim: int, ndim: int) -> int:
    """Return a dimension counted from the front; the shape rule explains the IndexError to the user."""
    limit = ndim or 1
    if not -limit <= dim < limit:
        raise IndexError(f"dimension {dim} of {ndim}")
    return dim % limit


def packed(*numbers: int) -> bytes:
    """Return numbers as a struct of int64."""
    return struct.pack(f"@{len(numbers)}q", *numbers)


def joined(
    sizes: Sequence[int], rows: Sequence[Sequence[int]], kept: int = 0
) -> tuple[list[int], list[list[int]]]:
    """Return sizes and strides without dimensions of one element, neighbours joined where every array allows it.

    Parameters
    ----------
    sizes : sequence of int
        The shape that is walked.
    rows : sequence of sequences of int
        The strides of each array in it.
    kept : int
        How many of the last dimensions stay as they are.

    Examples
    --------
    >>> from tt.backends.cuda.launch.layouts import joined
    >>> joined((2, 3, 4), [(12, 4, 1)]), joined((2, 3, 4), [(12, 4, 1), (0, 0, 1)])
    (([24], [[1]]), ([6, 4], [[4, 1], [0, 1]]))
    """
    shape: list[int] = []
    steps: list[list[int]] = [[] for _ in rows]
    last = len(sizes) - kept
    for d, size in enumerate(sizes):
        if size == 1 and d < last:
            continue
        # Neighbours join if a step of the outer one is as long as the whole inner one, in all arrays.
        if shape and d < last and all(f[-1] == row[d] * size for f, row in zip(steps, rows, strict=True)):
            shape[-1] *= size
            for f, row in zip(steps, rows, strict=True):
                f[-1] = row[d]
        else:
            shape.append(size)
            for f, row in zip(steps, rows, strict=True):
                f.append(row[d])
    return shape, steps


def uploaded(backend: CudaBackend, array: np.ndarray[Any, Any]) -> StridedHandle:
    """Return a table of the host on the device; while a graph is captured, by a copy that it keeps and repeats."""
    if backend.transfers.captured is None:
        return backend.normalise(backend.namespace.asarray(array))
    locked = backend.transfers.pinned(array.shape, array.dtype)
    locked[...] = array
    return backend.transfers.upload(locked, backend.current_device(), non_blocking=True)
