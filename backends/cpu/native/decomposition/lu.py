"""The native kernels of factors L U, and of equations, inverses and determinants by them."""

from __future__ import annotations

from typing import Final

from tt.backends.cpu.native.loading import load
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("lu")

DTYPES: Final = ("float32", "float64")
TAKES: Final = {
    "linalg_inv": ("A",),
    "linalg_det": ("A",),
    "linalg_slogdet": ("A",),
    "linalg_solve": ("A", "B", "left"),
    "linalg_lu_factor_ex": ("A", "check_errors"),
    "lu_unpack": ("LU_data", "LU_pivots", "unpack_data", "unpack_pivots"),
    "linalg_lu_solve": ("LU", "pivots", "B", "left", "adjoint"),
    "cholesky_solve": ("self", "input2", "upper"),
    "cholesky_inverse": ("self", "upper"),
    "linalg_solve_triangular": ("A", "B", "upper", "left", "unitriangular"),
}

if NATIVE is not None:
    for _op, _takes in TAKES.items():
        cpu.kernel(_op, getattr(NATIVE, _op), dtypes=DTYPES, takes=_takes, native=True)
