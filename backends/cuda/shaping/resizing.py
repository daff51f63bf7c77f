"""The kernel of CUDA that gives a tensor another size, in its memory as long as that is large enough."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tt.backends.array_api.namespace import ORDERS
from tt.backends.cuda.copies import copy_into
from tt.backends.cuda.handle import StridedHandle
from tt.core.library import KernelTable, contiguous_strides

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["resized", "tables"]


def resized(
    backend: CudaBackend, handle: StridedHandle, shape: tuple[int, ...], strides: Sequence[int]
) -> StridedHandle:
    """Return dense elements from the first one of a handle on, in new memory where there is too little behind it.

    The new memory has the contents of the old from its beginning on, so that other tensors there can move to it.
    """
    if min(shape, default=0) < 0:
        raise ValueError("a negative size")  # the shape rule explains it
    memory, room = handle.memory, handle.memory.nbytes(handle.owner)
    needed = handle.offset + prod(shape)
    # The memory stays if it suffices, so that other views of it see what is written.
    if 0 in shape or needed * handle.dtype.itemsize <= room:
        return handle.view(shape, strides)
    new = StridedHandle.empty(memory, (needed,), handle.dtype)
    if room:
        # As bytes, since the memory may be no multiple of the element's size.
        parts = [
            StridedHandle(memory, owner, (room,), (1,), 0, np.uint8) for owner in (new.owner, handle.owner)
        ]
        copy_into(backend, parts[0], parts[1])
    return new.view(shape, strides, handle.offset)


def tables(backend: CudaBackend) -> list[KernelTable]:
    """Return the kernels of this family."""
    table = KernelTable(device="cuda")

    @table.kernel("resize", half="native", priority=1)
    def resize(self: StridedHandle, size: Sequence[int]) -> StridedHandle:
        shape = tuple(size)
        return self if shape == self.shape else resized(backend, self, shape, contiguous_strides(shape))

    @table.kernel("resize", half="native", priority=1, check=True)
    def resize_in_format(
        self: StridedHandle, size: Sequence[int], memory_format: str | None
    ) -> StridedHandle:
        order = ORDERS.get(str(memory_format).rpartition(".")[2], range(len(size)))
        dense = contiguous_strides([size[d] for d in order])
        return resized(backend, self, tuple(size), tuple(dense[order.index(d)] for d in range(len(size))))

    return [table]
