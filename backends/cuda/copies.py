"""Copies and conversions between any layouts and dtypes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.backends.array_api.namespace import ORDERS
from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.elementwise import POINTWISE, Layout, collapse, run
from tt.backends.cuda.pointwise.arithmetic import fill
from tt.core.library import (
    KernelTable,
    Scalar,
    errors,
    fitted_number,
    from_numpy_dtype,
    warn_user,
)

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["cast", "copy_into", "duplicate", "in_rows", "tables"]

WORDS: Final = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64", 16: "complex128"}
"""Size of an element -> a type of that size, which a transposition moves."""

TILE: Final = 32
_MAX_GRID: Final = (1 << 16) - 1


def duplicate(backend: CudaBackend, handle: StridedHandle) -> StridedHandle:
    """Return a copy in its own memory, whose dimensions have the same order."""
    return run(backend, "Copy", [handle], handle.dtype)


def in_rows(backend: CudaBackend, handle: StridedHandle) -> StridedHandle:
    """Return a copy in its own memory, in row-major order."""
    copy = backend.empty(handle.shape, handle.dtype)
    copy_into(backend, copy, handle)
    return copy


def cast(backend: CudaBackend, handle: StridedHandle, dtype: np.dtype[Any]) -> StridedHandle:
    """Return the elements in another dtype; of complex numbers the real part, if the dtype is real."""
    _warn_of_lost_parts(handle.dtype, np.dtype(dtype))
    return run(backend, "Copy", [handle], dtype)


def _warn_of_lost_parts(source: np.dtype[Any], target: np.dtype[Any]) -> None:
    if source.kind == "c" and target.kind not in "cb":
        warn_user("complex numbers become real ones, and their imaginary parts are lost")


def copy_into(backend: CudaBackend, target: StridedHandle, source: StridedHandle) -> None:
    """Write the source, converted and broadcast, into the target.

    Raises
    ------
    ShapeError
        When it does not broadcast.
    """
    if source.shape != target.shape:
        lead = target.ndim - source.ndim
        fits = lead >= 0 and all(a in (1, b) for a, b in zip(source.shape, target.shape[lead:], strict=True))
        if not fits:
            raise errors.ShapeError(f"the shape {source.shape} does not broadcast to {target.shape}")
        # A stride of 0 repeats a dimension, so the kernel needs no broadcast copy of the source.
        strides = [0 if a == 1 else s for a, s in zip(source.shape, source.strides, strict=True)]
        source = source.view(target.shape, (*[0] * lead, *strides))
    _warn_of_lost_parts(source.dtype, target.dtype)
    if not _transposed(backend, target, source):
        run(backend, "Copy", [source], target.dtype, (), target)


def _transposed(backend: CudaBackend, target: StridedHandle, source: StridedHandle) -> bool:
    """Copy by tiles in shared memory if the layouts need it; return whether it was done."""
    # Tiles only move words, so they convert nothing, and they would read what they already wrote if the two
    # overlap.
    if source.dtype != target.dtype or 0 in target.shape or source.shares_memory(target):
        return False
    tiles = _tiles(collapse(target.shape, [target.strides, source.strides]))
    if tiles is None:
        return False
    sizes, numbers = tiles
    batches, rows, columns = sizes
    across, down = -(-columns // TILE), -(-rows // TILE)
    # The second and third axis of a grid end at 65,535; the kernel's loops take what lies beyond.
    POINTWISE.kernel(f"transpose_tiles<{WORDS[target.dtype.itemsize]}>")(
        backend, (across, min(down, _MAX_GRID), min(batches, _MAX_GRID)), (TILE, 8), (target, source, rows, *numbers)
    )  # fmt: skip
    return True


def _tiles(layout: Layout) -> tuple[tuple[int, int, int], tuple[int, ...]] | None:
    """Return batches, rows and columns of a transposition, and what follows the rows in its kernel's parameters."""
    sizes, (out, own) = layout
    # Tiles pay only when writes and reads are each contiguous in another dimension; with short rows most of
    # a tile would stay empty.
    if len(sizes) not in (2, 3) or out[-1] != 1 or own[-1] == 1 or sizes[-1] < TILE // 2:
        return None
    try:
        down = own.index(1)
    except ValueError:
        return None
    if sizes[down] < TILE // 2 or out[down] <= 0:
        return None
    others = [d for d in range(len(sizes) - 1) if d != down]
    batches = sizes[others[0]] if others else 1
    in_batch, out_batch = (own[others[0]], out[others[0]]) if others else (0, 0)
    return (batches, sizes[down], sizes[-1]), (sizes[-1], own[-1], in_batch, out[down], out_batch, batches)


# --- kernels ---------------------------------------------------------------------------------------------------


def tables(backend: CudaBackend) -> list[KernelTable]:
    """Return the kernels of this family; nothing is compiled."""
    table = KernelTable(device="cuda")

    def laid_out(like: StridedHandle, dtype: np.dtype[Any], memory_format: str | None) -> StridedHandle:
        """Return a copy in a memory format."""
        name = str(memory_format).rpartition(".")[2]
        if name in ("preserve_format", "None"):
            return cast(backend, like, dtype)
        order = ORDERS.get(name)
        if order is None:
            result = backend.empty(like.shape, dtype)
        else:
            dense = backend.empty([like.shape[d] for d in order], dtype)
            result = dense.view(like.shape, [dense.strides[order.index(d)] for d in range(len(order))])
        copy_into(backend, result, like)
        return result

    @table.kernel("clone", half="native", priority=1)
    def clone(self: StridedHandle) -> StridedHandle:
        return duplicate(backend, self)

    @table.kernel("clone", half="native", priority=1, check=True)
    def clone_in_format(self: StridedHandle, memory_format: str | None) -> StridedHandle:
        return laid_out(self, self.dtype, memory_format)

    @table.kernel("_to_copy", half="native", priority=1)
    def to_copy(self: StridedHandle, dtype: np.dtype[Any]) -> StridedHandle:
        return cast(backend, self, dtype)

    @table.kernel("_to_copy", half="native", priority=1, check=True)
    def to_copy_in_format(
        self: StridedHandle, dtype: np.dtype[Any], memory_format: str | None
    ) -> StridedHandle:
        return laid_out(self, dtype, memory_format)

    @table.kernel("copy", form="inplace", half="native", priority=1)
    def copy(self: StridedHandle, src: StridedHandle) -> None:
        copy_into(backend, self, src)

    @table.kernel("fill", form="inplace", half="native", priority=1)
    def filled(self: StridedHandle, value: StridedHandle | Scalar) -> None:
        if isinstance(value, StridedHandle):
            if value.ndim:
                raise errors.ShapeError(
                    f"fill_(): the value is a number or a tensor without dimensions, not one with {value.ndim}"
                )
            copy_into(backend, self, value)
            return
        if isinstance(value, complex) and self.dtype.kind != "c":
            value = fitted_number(value, from_numpy_dtype(self.dtype))
        fill(backend, self, value)

    return [table]
