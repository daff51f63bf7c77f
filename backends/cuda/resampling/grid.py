"""Samples at the points of a grid, and their gradients, by own kernels."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.layouts import THREADS, contiguous, grid_of, name_of, packed
from tt.backends.cuda.launch.programs import Program
from tt.backends.cuda.launch.reduction_launch import FLOATING, wide
from tt.backends.cuda.windows import three
from tt.core.library import KernelTable

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["PROGRAM", "kernel_names", "tables"]

PROGRAM: Final = Program("grid.cuh")

ENOUGH: Final = 1 << 18
"""Threads that keep a GPU busy; channels are only divided among threads if there are fewer points."""

HOW: Final = ("interpolation_mode", "padding_mode", "align_corners")


def kernel_names(dtype: str) -> list[str]:
    """Return the names of all kernels for a dtype."""
    variants = [(mode, dims) for dims in (2, 3) for mode in range(3 if dims == 2 else 2)]
    total = name_of(wide(np.dtype(np.float32))) if dtype in ("float16", "bfloat16") else dtype
    return [
        *(f"grid_samples<{dtype}, {mode}, {dims}>" for mode, dims in variants),
        *(f"grid_slopes<{dtype}, {total}, {mode}, {dims}>" for mode, dims in variants),
    ]


def tables(backend: CudaBackend) -> list[KernelTable]:
    """Return the kernels of this family."""
    table = KernelTable(device="cuda")
    options: dict[str, Any] = {"dtypes": FLOATING, "half": "native", "priority": 1, "check": True}

    @table.kernel("grid_sampler", takes=("input", "grid", *HOW), **options)
    def grid_sampler(
        input: StridedHandle, grid: StridedHandle, mode: int, padding: int, align_corners: bool
    ) -> StridedHandle:
        out = backend.empty((*input.shape[:2], *grid.shape[1:-1]), input.dtype)
        # A thread keeps its weights for several channels, if there are points enough for all threads.
        each, points = _points(input, grid, padding, align_corners)
        count = prod(out.shape) // input.shape[1] * -(-input.shape[1] // each) if prod(out.shape) else 0
        name = f"grid_samples<{name_of(input.dtype)}, {mode}, {input.ndim - 2}>"
        args = (contiguous(backend, input), contiguous(backend, grid), out, points)
        PROGRAM.kernel(name)(backend, grid_of(count), (THREADS,), args)
        return out

    @table.kernel("_grid_sampler_backward", takes=("grad", "input", "grid", *HOW), **options)
    def grid_sampler_backward(
        grad: StridedHandle,
        input: StridedHandle,
        grid: StridedHandle,
        mode: int,
        padding: int,
        align_corners: bool,
    ) -> tuple[StridedHandle, StridedHandle]:
        sums = wide(input.dtype)
        # Atomics add in float32 for half dtypes, which have none and would round at each addition.
        to_input = backend.normalise(backend.namespace.zeros(input.shape, dtype=sums))
        to_grid = backend.empty(grid.shape, grid.dtype)
        _, points = _points(input, grid, padding, align_corners)
        name = f"grid_slopes<{name_of(input.dtype)}, {name_of(sums)}, {mode}, {input.ndim - 2}>"
        inputs = (contiguous(backend, one) for one in (grad, input, grid))
        args = (*inputs, to_input, to_grid, points)
        PROGRAM.kernel(name)(backend, grid_of(prod(grid.shape[:-1])), (THREADS,), args)
        return to_input if sums == input.dtype else backend.cast(to_input, input.dtype), to_grid

    return [table]


def _points(input: StridedHandle, grid: StridedHandle, padding: int, align: bool) -> tuple[int, bytes]:
    """Return how many channels a thread has, and the struct `Points`."""
    batch, channels = input.shape[:2]
    points = prod(grid.shape[1:-1])
    groups = max(1, min(channels, ENOUGH // max(1, batch * points)))
    each = max(1, -(-channels // groups))
    return each, packed(batch, channels, each, points, *three(input.shape[2:], 1), padding, align)
