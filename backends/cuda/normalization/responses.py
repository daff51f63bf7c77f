"""Normalization by neighbouring channels on CUDA by own kernels: a thread for each element."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.layouts import THREADS, contiguous, grid_of, name_of, packed
from tt.backends.cuda.launch.reduction_launch import FLOATING, wide
from tt.backends.cuda.pooling.powers import PROGRAM
from tt.core.library import KernelTable

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["PROGRAM", "kernel_names", "tables"]


def kernel_names(dtype: str) -> list[str]:
    """Return the names of all kernels for a dtype."""
    return [f"neighbours_{what}<{dtype}>" for what in ("divide", "shares", "slopes")]


def tables(backend: CudaBackend) -> list[KernelTable]:
    """Return the kernels of this family."""
    table = KernelTable(device="cuda")
    options: dict[str, Any] = {"dtypes": FLOATING, "half": "native", "priority": 1, "check": True}

    def launch(name: str, dtype: np.dtype[Any], count: int, *args: Any) -> None:
        PROGRAM.kernel(f"{name}<{name_of(dtype)}>")(backend, grid_of(count), (THREADS,), args)

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
        # Each element's share is needed by all its neighbours, so it is computed once, and wide.
        shares, out = backend.empty(x.shape, wide(x.dtype)), backend.empty(x.shape, x.dtype)
        launch("neighbours_shares", x.dtype, count, g, x, shares, *how)
        launch("neighbours_slopes", x.dtype, count, g, x, shares, out, *how)
        return out

    return [table]
