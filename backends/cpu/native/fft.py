"""Native kernels of Fourier transforms, of lengths up to some millions."""

from __future__ import annotations

from typing import Final

from tt.backends.cpu.native.loading import load
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("fourier")

REAL: Final = ("float32", "float64")
COMPLEX: Final = ("complex64", "complex128")

if NATIVE is not None:
    cpu.kernel(
        "_fft_c2c",
        NATIVE._fft_c2c,
        dtypes=REAL + COMPLEX,
        takes=("self", "dim", "norm", "forward"),
        native=True,
    )
    cpu.kernel("_fft_r2c", NATIVE._fft_r2c, dtypes=REAL, takes=("self", "dim", "norm"), native=True)
    cpu.kernel(
        "_fft_c2r",
        NATIVE._fft_c2r,
        dtypes=COMPLEX,
        takes=("self", "dim", "norm", "last_dim_size"),
        native=True,
    )
