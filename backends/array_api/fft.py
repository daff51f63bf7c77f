"""Kernels of Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt.backends.array_api.kernel_builder import KernelBuilder

__all__ = ["add_kernels"]


def add_kernels(builder: KernelBuilder) -> None:
    """Add the kernel of this family; transforms of real numbers use it."""
    xp = builder.xp

    @builder.kernel("_fft_c2c", needs="fft.fftn fft.ifftn", dtypes="linalg")
    def fft_c2c(self: Any, dim: Sequence[int], norm: str, forward: bool) -> Any:
        single = self.dtype in (xp.float32, xp.complex64)
        dtype = xp.complex64 if single else xp.complex128
        if not dim or 0 in self.shape:  # libraries refuse a transform of nothing
            return xp.astype(self, dtype)
        self, axes = xp.astype(self, dtype, copy=False), builder.axes(dim, self.ndim)
        return (xp.fft.fftn if forward else xp.fft.ifftn)(self, axes=axes, norm=norm)
