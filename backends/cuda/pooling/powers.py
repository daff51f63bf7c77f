"""Pooling by powers on CUDA by own kernels: a thread for each element."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.layouts import THREADS, contiguous, grid_of, name_of
from tt.backends.cuda.launch.programs import Program
from tt.backends.cuda.launch.reduction_launch import FLOATING, wide
from tt.backends.cuda.pooling.pools import Windows
from tt.core.library import KernelTable

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["PROGRAM", "kernel_names", "tables"]

PROGRAM: Final = Program("unpooling.cuh")


def kernel_names(dtype: str) -> list[str]:
    """Return the names of all kernels for a dtype."""
    return [f"power_{what}<{dtype}>" for what in ("means", "shares", "slopes")]


def tables(backend: CudaBackend) -> list[KernelTable]:
    """Return the kernels of this family."""
    table = KernelTable(device="cuda")
    options: dict[str, Any] = {"dtypes": FLOATING, "half": "native", "priority": 1, "check": True}

    def launch(name: str, dtype: np.dtype[Any], count: int, *args: Any) -> None:
        PROGRAM.kernel(f"{name}<{name_of(dtype)}>")(backend, grid_of(count), (THREADS,), args)

    @table.kernel("_lp_pool", **options)
    def lp_pool(
        input: StridedHandle,
        norm_type: float,
        kernel_size: Sequence[int],
        stride: int | Sequence[int] | None,
        ceil_mode: bool,
    ) -> StridedHandle:
        windows = Windows.over(input, len(kernel_size), kernel_size, stride, 0, 1, ceil_mode)
        y = backend.empty((*windows.lead, *windows.out), input.dtype)
        args = (contiguous(backend, input), y, float(norm_type), windows.packed)
        launch("power_means", input.dtype, prod(y.shape), *args)
        return y

    @table.kernel("_lp_pool_backward", **options)
    def lp_pool_backward(
        grad: StridedHandle,
        input: StridedHandle,
        norm_type: float,
        kernel_size: Sequence[int],
        stride: int | Sequence[int] | None,
        ceil_mode: bool,
    ) -> StridedHandle:
        windows = Windows.over(input, len(kernel_size), kernel_size, stride, 0, 1, ceil_mode)
        x, how = contiguous(backend, input), (float(norm_type), windows.packed)
        # Windows may overlap, so the factor of each window is computed once before inputs gather theirs.
        shares, out = backend.empty(grad.shape, wide(x.dtype)), backend.empty(x.shape, x.dtype)
        launch("power_shares", x.dtype, prod(grad.shape), contiguous(backend, grad), x, shares, *how)
        launch("power_slopes", x.dtype, prod(x.shape), shares, x, out, *how)
        return out

    return [table]
