"""Native kernels of distances between rows."""

from __future__ import annotations

from typing import Final

from tt.backends.cpu.native.loading import load
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("distances")

if NATIVE is not None:
    cpu.kernel(
        "cdist",
        NATIVE.cdist,
        dtypes=("float32", "float64"),
        takes=("x1", "x2", "p", "compute_mode"),
        check=True,
        native=True,
    )
