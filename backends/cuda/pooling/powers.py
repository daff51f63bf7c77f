"""Pooling by powers, and normalization by neighbouring channels, on CUDA by own kernels: a thread for each element."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.layouts import THREADS, contiguous, grid_of, name_of, packed
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
    families = {"power": ("means", "shares", "slopes"), "neighbours": ("divide", "shares", "slopes")}
    return [f"{family}_{what}<{dtype}>" for family, parts in families.items() for what in parts]


def tables(backend: CudaBackend) -> list[KernelTable]:
    """Return the kernels of this family."""
    table = KernelTable(device="cuda")
    options: dict[str, Any] = {"dtypes": FLOATING, "half": "native", "priority": 1, "check": True}

    def launch(name: str, dtype: np.dtype[Any], count: int, *args: Any) -> None:
        PROGRAM.kernel(f"{name}<{name_of(dtype)}>")(backend, grid_of(count), (THREADS,), args)

    @table.kernel("_lp_pool", **options)
    def lp_pool(
        input: StridedHandle, norm_type: float, kernel_size: Any, stride: Any, ceil_mode: bool
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
        kernel_size: Any,
        stride: Any,
        ceil_mode: bool,
    ) -> StridedHandle:
        windows = Windows.over(input, len(kernel_size), kernel_size, stride, 0, 1, ceil_mode)
        x, how = contiguous(backend, input), (float(norm_type), windows.packed)
        shares, out = backend.empty(grad.shape, wide(x.dtype)), backend.empty(x.shape, x.dtype)
        launch("power_shares", x.dtype, prod(grad.shape), contiguous(backend, grad), x, shares, *how)
        launch("power_slopes", x.dtype, prod(x.shape), shares, x, out, *how)
        return out

    def neighbours(input: StridedHandle, size: int) -> bytes:
        """Return the struct `Neighbours`."""
        return packed(prod(input.shape), input.shape[1], prod(input.shape[2:]), size)

    @table.kernel("_local_response_norm", **options)
    def local_response_norm(
        input: StridedHandle, size: int, alpha: float, beta: float, k: float
    ) -> StridedHandle:
        y = backend.empty(input.shape, input.dtype)
        args = (contiguous(backend, input), y, float(alpha), float(beta), float(k), neighbours(input, size))
        launch("neighbours_divide", input.dtype, prod(y.shape), *args)
        return y

    @table.kernel("_local_response_norm_backward", **options)
    def local_response_norm_backward(
        grad: StridedHandle, input: StridedHandle, size: int, alpha: float, beta: float, k: float
    ) -> StridedHandle:
        g, x, count = contiguous(backend, grad), contiguous(backend, input), prod(input.shape)
        how = (float(alpha), float(beta), float(k), neighbours(input, size))
        shares, out = backend.empty(x.shape, wide(x.dtype)), backend.empty(x.shape, x.dtype)
        launch("neighbours_shares", x.dtype, count, g, x, shares, *how)
        launch("neighbours_slopes", x.dtype, count, g, x, shares, out, *how)
        return out

    return [table]
