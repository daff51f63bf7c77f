"""Native kernels that make views, join tensors, and move elements around."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from tt.backends.cpu.backend import Array
from tt.backends.cpu.native.loading import adder, load
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("shaping")
COPIES: Final = load("copies")
MOVING: Final = load("creation")

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


def flip(self: Array, dims: Sequence[int]) -> Array:
    """Return a copy with the elements along some dimensions in the opposite order."""
    if not self.ndim and (len(dims) > 1 or any(dim not in (0, -1) for dim in dims)):
        raise IndexError("dimensions that a number does not have")
    new: Array = COPIES.clone(np.flip(self, tuple(dims)) if self.ndim and dims else self)
    return new


if COPIES is not None:
    cpu.kernel("flip", flip, half="native", native=True)
    cpu.kernel("cat", COPIES.cat, takes=("tensors", "dim"), half="native", native=True)

if MOVING is not None:
    add = adder(cpu, MOVING)
    add("tril", "tril", "self diagonal", half="native")
    add("triu", "triu", "self diagonal", half="native")
    add("roll", "roll", "self shifts dims", half="native")
    add("constant_pad_nd", "constant_pad_nd", "self pad value", half="native")
    add("_pad_places", "pad_places", "self pad mode", half="native")
