"""Native kernels of sampling at the points of a grid."""

from __future__ import annotations

from typing import Final

from tt.backends.cpu.native.loading import load
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("grid")

DTYPES: Final = ("float32", "float64")
TAKES: Final = ("input", "grid", "interpolation_mode", "padding_mode", "align_corners")

if NATIVE is not None:
    cpu.kernel("grid_sampler", NATIVE.grid_sampler, dtypes=DTYPES, takes=TAKES, native=True)
    cpu.kernel(
        "_grid_sampler_backward",
        NATIVE._grid_sampler_backward,
        dtypes=DTYPES,
        takes=("grad", *TAKES),
        native=True,
    )
