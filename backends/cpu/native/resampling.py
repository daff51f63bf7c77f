"""Native kernels of resampling."""

from __future__ import annotations

from typing import Final

from tt.backends.cpu.native.loading import load
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("resampling")

DTYPES: Final = ("float32", "float64")
TAKES: Final = ("self", "places", "weights", "dim")

if NATIVE is not None:
    cpu.kernel("_weighted_taps", NATIVE._weighted_taps, dtypes=DTYPES, takes=TAKES, native=True)
    cpu.kernel("_spread_taps", NATIVE._spread_taps, dtypes=DTYPES, takes=(*TAKES, "size"), native=True)


GRID: Final = load("grid")

GRID_TAKES: Final = ("input", "grid", "interpolation_mode", "padding_mode", "align_corners")

if GRID is not None:
    cpu.kernel("grid_sampler", GRID.grid_sampler, dtypes=DTYPES, takes=GRID_TAKES, native=True)
    cpu.kernel(
        "_grid_sampler_backward",
        GRID._grid_sampler_backward,
        dtypes=DTYPES,
        takes=("grad", *GRID_TAKES),
        native=True,
    )
