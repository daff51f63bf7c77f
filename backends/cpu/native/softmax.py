"""Native kernels of softmax."""

from __future__ import annotations

from typing import Final

from tt.backends.cpu.native.loading import load
from tt.backends.cpu.native.pointwise import FLOATING
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("softmax")

if NATIVE is not None:
    for _op in ("softmax", "log_softmax"):
        cpu.kernel(
            _op, getattr(NATIVE, _op), dtypes=FLOATING, takes=("self", "dim"), half="native", native=True
        )
        cpu.kernel(
            f"_{_op}_backward",
            getattr(NATIVE, f"{_op}_backward"),
            dtypes=FLOATING,
            takes=("grad", "output", "dim"),
            half="native",
            native=True,
        )
