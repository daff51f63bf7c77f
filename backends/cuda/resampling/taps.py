"""Sums of weighted elements along a dimension, of which resampling is made, and their gradients, by own kernels."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.gather_scatter import Mover
from tt.backends.cuda.launch.layouts import THREADS, axis_of, contiguous, grid_of, name_of, packed
from tt.backends.cuda.launch.programs import Program
from tt.backends.cuda.launch.reduction_launch import FLOATING
from tt.backends.cuda.runtime.device_asserts import kind_of
from tt.backends.cuda.sorting import stable_order
from tt.core.library import KernelTable

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["PROGRAM", "kernel_names", "tables"]

PROGRAM: Final = Program("resampling.cuh")

_INT64, _FLOAT64 = np.dtype(np.int64), np.dtype(np.float64)


def kernel_names(dtype: str) -> list[str]:
    """Return the names of all kernels for a dtype."""
    return [f"weighted_taps<{dtype}>", f"spread_taps<{dtype}>"]


def tables(backend: CudaBackend) -> list[KernelTable]:
    """Return the kernels of this family."""
    table, mover = KernelTable(device="cuda"), Mover(backend)
    options: dict[str, Any] = {"dtypes": FLOATING, "half": "native", "priority": 1, "check": True}

    def of(handle: StridedHandle, dtype: np.dtype[Any]) -> StridedHandle:
        return contiguous(backend, handle if handle.dtype == dtype else backend.cast(handle, dtype))

    def launch(op: str, out: StridedHandle, x: StridedHandle, taps: list[StridedHandle], how: bytes) -> None:
        name = f"{op.removeprefix('_')}<{name_of(x.dtype)}>"
        args = (contiguous(backend, x), *taps, out, how, np.uint64(backend.failures.address), kind_of(op))
        PROGRAM.kernel(name)(backend, grid_of(prod(out.shape)), (THREADS,), args)
        backend.failures.launched()

    @table.kernel("_weighted_taps", takes=("self", "places", "weights", "dim"), **options)
    def weighted_taps(
        x: StridedHandle, places: StridedHandle, weights: StridedHandle, dim: int
    ) -> StridedHandle:
        dim = axis_of(dim, x.ndim)
        outer, inner, fresh = prod(x.shape[:dim]), prod(x.shape[dim + 1 :]), places.shape[1]
        out = backend.empty((*x.shape[:dim], fresh, *x.shape[dim + 1 :]), x.dtype)
        how = packed(outer, x.shape[dim], fresh, inner, places.shape[0])
        launch("_weighted_taps", out, x, [of(places, _INT64), of(weights, _FLOAT64)], how)
        return out

    @table.kernel("_spread_taps", takes=("self", "places", "weights", "dim", "size"), **options)
    def spread_taps(
        x: StridedHandle, places: StridedHandle, weights: StridedHandle, dim: int, size: int
    ) -> StridedHandle:
        dim = axis_of(dim, x.ndim)
        outer, inner, fresh = prod(x.shape[:dim]), prod(x.shape[dim + 1 :]), places.shape[1]
        out = backend.empty((*x.shape[:dim], size, *x.shape[dim + 1 :]), x.dtype)
        keys = of(places, _INT64)
        # Several outputs read one input: sorted by input, a thread adds up each without atomics, always in
        # one order.
        ordered = stable_order(mover, keys.view((prod(keys.shape),), (1,)), max(size - 1, 0))
        how = packed(outer, size, fresh, inner, places.shape[0])
        launch("_spread_taps", out, x, [*ordered, of(weights, _FLOAT64)], how)
        return out

    return [table]
