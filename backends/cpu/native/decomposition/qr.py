"""The native kernel of factors Q R."""

from __future__ import annotations

from typing import Final

from tt.backends.cpu.native.loading import load
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("qr")

if NATIVE is not None:
    cpu.kernel("linalg_qr", NATIVE.linalg_qr, dtypes=("float32", "float64"), takes=("A", "mode"), native=True)
