"""Native kernels of batches of small matrices, and of vectors in space."""

from __future__ import annotations

from typing import Final

from tt.backends.cpu.native.loading import load
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("decomposition")

DTYPES: Final = ("float32", "float64")
TAKES: Final = {
    "linalg_cross": ("self", "other", "dim"),
}

if NATIVE is not None:
    for _op, _takes in TAKES.items():
        cpu.kernel(_op, getattr(NATIVE, _op), dtypes=DTYPES, takes=_takes, native=True)
