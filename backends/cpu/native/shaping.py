"""Native kernels that make views."""

from __future__ import annotations

from typing import Final

from tt.backends.cpu.native.loading import load
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("shaping")

VIEWS: Final = {
    "alias": ("self",),
    "view": ("self", "size"),
    "transpose": ("self", "dim0", "dim1"),
    "t": ("self",),
    "permute": ("self", "dims"),
    "expand": ("self", "size"),
    "unsqueeze": ("self", "dim"),
    "squeeze": ("self",),
    "squeeze.dim": ("self", "dim"),
    "select": ("self", "dim", "index"),
    "slice": ("self", "dim", "start", "end", "step"),
    "diagonal": ("self", "offset", "dim1", "dim2"),
    "unfold": ("self", "dimension", "size", "step"),
    "split": ("self", "split_size", "dim"),
    "split.sizes": ("self", "split_size", "dim"),
    "unbind": ("self", "dim"),
}

if NATIVE is not None:
    for _op, _takes in VIEWS.items():
        cpu.kernel(_op, getattr(NATIVE, _op.replace(".", "_")), takes=_takes, half="native", native=True)
