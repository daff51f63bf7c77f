"""Kernels of Fourier transforms: those of SciPy, which compute in the precision of their input and in threads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

import numpy as np

from tt.backends.cpu.backend import Array
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

_WORTH_THREADS: Final = 2**16
"""Elements from which on threads gain more than starting them costs."""


def workers(self: Array) -> int:
    """Return how many threads a transform uses."""
    return (os.cpu_count() or 1) if self.size >= _WORTH_THREADS else 1


@cpu.kernel("_fft_c2c", dtypes="linalg")
def fft_c2c(self: Array, dim: Sequence[int], norm: str, forward: bool) -> Array:
    from scipy import fft  # SciPy takes as long to import as NumPy, and few programs need it

    if not self.size or not dim:
        return self.astype(np.result_type(self, np.complex64))
    if len(dim) == 1:
        transform = fft.fft if forward else fft.ifft
        found: Array = transform(self, axis=dim[0], norm=norm, workers=workers(self))
    else:
        several = fft.fftn if forward else fft.ifftn
        found = several(self, axes=dim, norm=norm, workers=workers(self))
    if forward and self.dtype.kind == "f":
        found += 0  # of real numbers SciPy mirrors half of the result, with -0 where others have 0
    return found


@cpu.kernel("_fft_r2c", dtypes=("float32", "float64"))
def fft_r2c(self: Array, dim: Sequence[int], norm: str) -> Array:
    from scipy import fft

    if not self.size:
        shape = list(self.shape)
        shape[dim[-1]] = shape[dim[-1]] // 2 + 1
        return np.empty(shape, np.result_type(self, np.complex64))
    if len(dim) == 1:
        return fft.rfft(self, axis=dim[0], norm=norm, workers=workers(self))  # type: ignore[no-any-return]
    return fft.rfftn(self, axes=dim, norm=norm, workers=workers(self))  # type: ignore[no-any-return]


@cpu.kernel("_fft_c2r", dtypes="linalg")
def fft_c2r(self: Array, dim: Sequence[int], norm: str, last_dim_size: int) -> Array:
    from scipy import fft

    if not last_dim_size >= 1 or last_dim_size // 2 + 1 != self.shape[dim[-1]]:
        raise ValueError("a number of real values that these frequencies do not have")
    if not self.size:
        shape = list(self.shape)
        shape[dim[-1]] = last_dim_size
        return np.empty(shape, self.real.dtype)
    if len(dim) == 1:
        line: Array = fft.irfft(self, last_dim_size, axis=dim[0], norm=norm, workers=workers(self))
        return line
    sizes = (*(self.shape[d] for d in dim[:-1]), last_dim_size)
    return fft.irfftn(self, sizes, axes=dim, norm=norm, workers=workers(self))  # type: ignore[no-any-return]
