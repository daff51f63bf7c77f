"""Native kernels of what accumulates along a dimension."""

from __future__ import annotations

from typing import Final

from tt.backends.cpu.native.loading import load
from tt.backends.cpu.native.pointwise import FLOATING
from tt.backends.cpu.native.reduction import INTEGRAL
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("scan")

if NATIVE is not None:
    for _op, _dtypes in (
        ("cumsum", (*FLOATING, "int64")),
        ("cumprod", (*FLOATING, "int64")),
        ("cummax", (*FLOATING, *INTEGRAL)),
        ("cummin", (*FLOATING, *INTEGRAL)),
        ("logcumsumexp", FLOATING),
    ):
        cpu.kernel(
            _op, getattr(NATIVE, _op), dtypes=_dtypes, takes=("self", "dim"), half="native", native=True
        )
