"""Native kernels of products of vectors, matrices and batches of matrices."""

from __future__ import annotations

from typing import Final

from tt.backends.cpu.native.loading import load
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("products")

DTYPES: Final = ("float32", "float64")
ATTENTION: Final = ("query", "key", "value", "mask", "is_causal", "scale")
TAKES: Final = {
    "mm": ("self", "mat2"),
    "mv": ("self", "vec"),
    "dot": ("self", "tensor"),
    "bmm": ("self", "mat2"),
    "outer": ("self", "vec2"),
    "matmul": ("self", "other"),
    "_attention": ATTENTION,
    "_attention_backward": ("grad", *ATTENTION[:4], "output", "logsumexp", *ATTENTION[4:]),
    "linear": ("input", "weight", "bias"),
}

if NATIVE is not None:
    for _op, _takes in TAKES.items():
        cpu.kernel(_op, getattr(NATIVE, _op), dtypes=DTYPES, takes=_takes, native=True)
    for _takes in (("self", "mat1", "mat2"), ("self", "mat1", "mat2", "beta", "alpha")):
        cpu.kernel("addmm", NATIVE.addmm, dtypes=DTYPES, takes=_takes, native=True)
