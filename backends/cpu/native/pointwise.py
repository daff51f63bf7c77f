"""Native kernels of functions that work element by element."""

from __future__ import annotations

from typing import Final

from tt.backends.cpu.native.loading import load
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("pointwise")

FLOATING: Final = ("float16", "bfloat16", "float32", "float64")

if NATIVE is not None:
    # --- functions of one argument -----------------------------------------------------------------------------

    for _op in ("exp",):
        for _form in ("functional", "out"):
            cpu.kernel(
                _op,
                getattr(NATIVE, _op),
                dtypes=FLOATING,
                form=_form,
                takes=("self",),
                half="native",
                native=True,
            )
