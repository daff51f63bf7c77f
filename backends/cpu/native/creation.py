"""Native kernels that make tensors, and move elements around."""

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
    add("tril", "tril", "self diagonal", half="native")
    add("triu", "triu", "self diagonal", half="native")

    # --- elements moved around -------------------------------------------------------------------------------------

    add("roll", "roll", "self shifts dims", half="native")
    add("constant_pad_nd", "constant_pad_nd", "self pad value", half="native")
    add("_pad_places", "pad_places", "self pad mode", half="native")
