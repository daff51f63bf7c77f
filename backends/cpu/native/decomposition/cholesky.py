"""The native kernels of Cholesky factors."""

from __future__ import annotations

from typing import Final

from tt.backends.cpu.native.loading import load
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("cholesky")

DTYPES: Final = ("float32", "float64")

if NATIVE is not None:
    cpu.kernel("linalg_cholesky", NATIVE.linalg_cholesky, dtypes=DTYPES, takes=("A", "upper"), native=True)
    cpu.kernel(
        "linalg_cholesky_ex",
        NATIVE.linalg_cholesky_ex,
        dtypes=DTYPES,
        takes=("A", "upper", "check_errors"),
        native=True,
    )
