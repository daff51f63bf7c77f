"""Distances of rows by own kernels, without a tensor of all differences."""

from __future__ import annotations

import math
from math import prod
from typing import TYPE_CHECKING, Final

import numpy as np

from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.gather_scatter import Mover
from tt.backends.cuda.launch.layouts import MOST_BLOCKS, name_of, packed
from tt.backends.cuda.launch.programs import Program
from tt.core.library import KernelTable

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["PROGRAM", "kernel_names", "tables"]

PROGRAM: Final = Program("linalg.cuh")

TILE: Final = 16
"""Rows and columns of the distances of a block, as in the source."""

DTYPES: Final = ("float32", "float64")
KINDS: Final = {0.0: 0, 1.0: 1, 2.0: 2, math.inf: 3}
"""Norms that have kernels of their own; POWERS serves the others."""
POWERS: Final = 4


def kernel_names(dtype: str) -> list[str]:
    """Return the names of all kernels for a dtype."""
    return [f"row_distances<{dtype}, {kind}>" for kind in (*KINDS.values(), POWERS)]


def tables(backend: CudaBackend) -> list[KernelTable]:
    """Return the kernels of this family."""
    table, mover = KernelTable(device="cuda"), Mover(backend)

    @table.kernel("cdist", dtypes=DTYPES, priority=1, check=True)
    def cdist(x1: StridedHandle, x2: StridedHandle, p: float, compute_mode: int | None) -> StridedHandle:
        lead = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
        (rows, columns), others = x1.shape[-2:], x2.shape[-2]
        out = backend.empty((*lead, rows, others), x1.dtype)
        one, two = (
            # Broadcast to full batches, since the kernel knows no strides.
            mover.contiguous(x1, (*lead, rows, columns)),
            mover.contiguous(x2, (*lead, others, columns)),
        )
        blocks = min(prod(lead) * -(-rows // TILE) * -(-others // TILE), MOST_BLOCKS)
        name = f"row_distances<{name_of(x1.dtype)}, {KINDS.get(float(p), POWERS)}>"
        args = (one, two, out, packed(prod(lead), rows, others, columns), float(p))
        PROGRAM.kernel(name)(backend, (blocks,), (TILE * TILE,), args)
        return out

    return [table]
