"""Rows of a table, as they are or reduced in bags, by own kernels.

Wrong indices and offsets are recorded on the device and raised when the host next waits for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.gather_scatter import Mover, along_dim
from tt.backends.cuda.launch.layouts import THREADS, contiguous, grid_of, name_of, packed
from tt.backends.cuda.launch.programs import Program
from tt.backends.cuda.launch.reduction_launch import FLOATING, wide
from tt.backends.cuda.runtime.device_asserts import kind_of
from tt.core.library import KernelTable, errors

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["PROGRAM", "kernel_names", "tables"]

PROGRAM: Final = Program("embedding.cuh")

MODES: Final = {"sum": 0, "mean": 1, "max": 2}
_INT64: Final = np.dtype(np.int64)


def kernel_names(dtype: str) -> list[str]:
    """Return the names of all kernels for a dtype."""
    return [f"reduce_bags<{dtype}, {mode}>" for mode in MODES.values()]


def tables(backend: CudaBackend) -> list[KernelTable]:
    """Return the kernels of this family."""
    table, mover = KernelTable(device="cuda"), Mover(backend)

    def of(handle: StridedHandle, dtype: np.dtype[Any]) -> StridedHandle:
        return contiguous(backend, handle if handle.dtype == dtype else backend.cast(handle, dtype))

    @table.kernel("_embedding_bag", dtypes=FLOATING, half="native", priority=1, check=True)
    def embedding_bag(
        weight: StridedHandle, indices: StridedHandle, offsets: StridedHandle,
        per_sample_weights: StridedHandle | None, mode: str, include_last_offset: bool, padding_idx: int | None,
        scale_grad_by_freq: bool, sparse: bool,
    ) -> tuple[StridedHandle, StridedHandle]:  # fmt: skip
        (rows, columns), length = weight.shape, offsets.shape[0]
        if include_last_offset and not length:
            raise errors.ShapeError(
                "embedding_bag(): include_last_offset: number of offsets should be at least 1"
            )
        bags = length - include_last_offset
        out = backend.empty((bags, columns), weight.dtype)
        # Only the gradient of the maximum needs them.
        positions = backend.empty((bags, columns) if mode == "max" else (0,), _INT64)
        weights = None if per_sample_weights is None else of(per_sample_weights, wide(weight.dtype))
        how = packed(
            bags, columns, rows, indices.shape[0], length, -1 if padding_idx is None else padding_idx
        )
        name = f"reduce_bags<{name_of(weight.dtype)}, {MODES[mode]}>"
        failure = np.uint64(backend.failures.address), kind_of("embedding_bag")
        args = (
            contiguous(backend, weight),
            of(indices, _INT64),
            of(offsets, _INT64),
            weights,
            out,
            positions,
            how,
        )
        PROGRAM.kernel(name)(backend, grid_of(bags * columns), (THREADS,), (*args, *failure))
        backend.failures.launched()
        return out, positions

    @table.kernel("_embedding", half="native", priority=1)
    def embedding(
        weight: StridedHandle,
        indices: StridedHandle,
        padding_idx: int,
        scale_grad_by_freq: bool,
        sparse: bool,
    ) -> StridedHandle:
        if weight.ndim != 2:
            raise ValueError("a weight of other dimensions, which the shape rule refuses")
        out = mover.empty((*indices.shape, weight.shape[1]), weight.dtype)
        # Gathering rows: the index has no stride along the columns.
        chosen = along_dim(weight, 0, indices, (*indices.strides, 0))
        base = (*(0,) * indices.ndim, weight.strides[1])
        return mover.take(out, weight, out.shape, base, out.strides, [(indices, chosen)], "_embedding")

    return [table]
