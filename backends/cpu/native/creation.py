"""Native kernels that make tensors."""

from __future__ import annotations

from typing import Final

from tt.backends.cpu.native.loading import adder, load
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("creation")

add = adder(cpu, NATIVE)

if NATIVE is not None:
    # --- of one value, and of increasing ones ----------------------------------------------------------------------

    add("empty", "empty", "size dtype")
    add("full", "full", "size fill_value dtype", half="native")
    add("ones", "ones", "size dtype")
    add("eye", "eye", "n m dtype")
    add("arange", "arange", "end dtype", dtypes="real_number", half="native")
    add("arange.start", "arange", "start end dtype", dtypes="real_number", half="native")
    add("arange.start_step", "arange", "start end step dtype", dtypes="real_number", half="native")
    add("linspace", "linspace", "start end steps dtype", dtypes="number", half="native")

    # --- triangles -------------------------------------------------------------------------------------------------

    add("tril_indices", "tril_indices", "row col offset dtype")
    add("triu_indices", "triu_indices", "row col offset dtype")
