"""Native kernels that copy, cast, fill, choose and join."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tt.backends.cpu.backend import Array
from tt.backends.cpu.copies import laid_out
from tt.backends.cpu.native.loading import load
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("copies")


def clone_in_format(self: Array, memory_format: str | None) -> Array:
    """Return a copy in a memory format."""
    new = laid_out(self.shape, self.dtype, memory_format, self)
    NATIVE.copy(new, self)
    return new


def to_copy_in_format(self: Array, dtype: np.dtype[Any], memory_format: str | None) -> Array:
    """Return a copy in another dtype and memory format."""
    if self.dtype.kind == "c" and dtype.kind not in "cb":
        self = NATIVE.to_copy(self, dtype)  # with a warning
    new = laid_out(self.shape, dtype, memory_format, self)
    NATIVE.copy(new, self)
    return new


if NATIVE is not None:
    cpu.kernel("clone", NATIVE.clone, takes=("self",), half="native", native=True)
    cpu.kernel("clone", clone_in_format, half="native", native=True)
    cpu.kernel("_to_copy", NATIVE.to_copy, takes=("self", "dtype"), native=True)
    cpu.kernel("_to_copy", to_copy_in_format, native=True)
    cpu.kernel("copy", NATIVE.copy, takes=("self", "src"), form="inplace", native=True)
    cpu.kernel("fill", NATIVE.fill, takes=("self", "value"), form="inplace", native=True)
    cpu.kernel("zero", lambda self: NATIVE.fill(self, 0), form="inplace", native=True)
