"""Kernels that make tensors."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tt.backends.array_api.creation import arange_size
from tt.backends.cpu.backend import Array
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

# --- of one value ----------------------------------------------------------------------------------------------

cpu.kernel("empty", np.empty, takes=("size", "dtype"))
cpu.kernel("zeros", np.zeros, takes=("size", "dtype"))  # asks the system for zeros and does not write them

# --- of increasing numbers -------------------------------------------------------------------------------------


def numbers(start: Any, end: Any, step: Any, dtype: Any) -> Array:
    """Return the numbers from start to before end."""
    count = arange_size(start, end, step)
    if type(start) is int and type(end) is int and type(step) is int:
        found: Array = np.arange(start, end, step, dtype=np.int64)
    else:
        # Multiplied in double precision, not added up: no error grows with the length.
        found = np.arange(count, dtype=np.float64)
        found *= step
        found += start
    return found.astype(dtype, copy=False)


cpu.kernel("arange", lambda end, dtype: numbers(0, end, 1, dtype), half="native")
cpu.kernel("arange.start", lambda start, end, dtype: numbers(start, end, 1, dtype), half="native")
cpu.kernel("arange.start_step", numbers, half="native")
