"""Native products of matrices of int8 and uint8, with sums in int32."""

from __future__ import annotations

from typing import Final

from tt.backends.cpu.native.loading import load
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("byte_products")

if NATIVE is not None:
    cpu.kernel("_int_mm", NATIVE._int_mm, dtypes=("int8", "uint8"), takes=("self", "mat2"), native=True)
