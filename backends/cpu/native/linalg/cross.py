"""The native kernel of cross products."""

from __future__ import annotations

from typing import Final

from tt.backends.cpu.native.loading import load
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("cross")

if NATIVE is not None:
    cpu.kernel(
        "linalg_cross",
        NATIVE.linalg_cross,
        dtypes=("float32", "float64"),
        takes=("self", "other", "dim"),
        native=True,
    )
