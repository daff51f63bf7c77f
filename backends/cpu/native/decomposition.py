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
    "linalg_inv": ("A",),
    "linalg_det": ("A",),
    "linalg_solve": ("A", "B", "left"),
    "linalg_lu_factor_ex": ("A", "check_errors"),
    "linalg_solve_triangular": ("A", "B", "upper", "left", "unitriangular"),
    "linalg_cross": ("self", "other", "dim"),
}

if NATIVE is not None:
    for _op, _takes in TAKES.items():
        cpu.kernel(_op, getattr(NATIVE, _op), dtypes=DTYPES, takes=_takes, native=True)
