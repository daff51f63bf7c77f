"""Native kernels of convolutions, their transposes, and the gradients of their filters."""

from __future__ import annotations

from typing import Final

from tt.backends.cpu.native.loading import load
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("convolution")

DTYPES: Final = ("float32", "float64")
FORWARD: Final = ("input", "weight", "bias", "stride", "padding", "dilation", "groups")
TRANSPOSED: Final = ("input", "weight", "bias", "stride", "padding", "output_padding", "groups", "dilation")
WEIGHT: Final = ("input", "grad", "weight_size", "stride", "padding", "dilation", "groups")

if NATIVE is not None:
    for _dims in (1, 2, 3):
        for _op, _takes in ((f"conv{_dims}d", FORWARD), (f"conv_transpose{_dims}d", TRANSPOSED)):
            cpu.kernel(_op, getattr(NATIVE, _op), dtypes=DTYPES, takes=_takes, native=True)
    cpu.kernel("_conv_weight", NATIVE._conv_weight, dtypes=DTYPES, takes=WEIGHT, native=True)
