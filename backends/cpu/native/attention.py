"""Native kernels of attention, which lie among those of products."""

from __future__ import annotations

from typing import Final

from tt.backends.cpu.native.loading import load
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("products")

DTYPES: Final = ("float32", "float64")
TAKES: Final = ("query", "key", "value", "mask", "is_causal", "scale")

if NATIVE is not None:
    cpu.kernel("_attention", NATIVE._attention, dtypes=DTYPES, takes=TAKES, native=True)
    cpu.kernel(
        "_attention_backward",
        NATIVE._attention_backward,
        dtypes=DTYPES,
        takes=("grad", *TAKES[:4], "output", "logsumexp", *TAKES[4:]),
        native=True,
    )
