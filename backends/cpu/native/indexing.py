"""Native kernels that read and write at places which arrays name."""

from __future__ import annotations

from typing import Final

from tt.backends.cpu.native.loading import adder, load
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("indexing")

add = adder(cpu, NATIVE)

if NATIVE is not None:
    # --- along one dimension ---------------------------------------------------------------------------------------

    add("gather", "gather", "self dim index sparse_grad", half="native")
    add("index_select", "index_select", "self dim index", half="native")
    add("take", "take", "self index", half="native")
    add("repeat_interleave.Tensor", "repeat_interleave", "repeats output_size")

    # --- in full ---------------------------------------------------------------------------------------------------

    add("index", "index", "self indices", half="native")
    add("index_put", "index_put", "self indices values accumulate", form="inplace", half="native")

    # --- masks -----------------------------------------------------------------------------------------------------

    add("masked_fill", "masked_fill", "self mask value", half="native")
    add("masked_fill", "masked_fill_inplace", "self mask value", form="inplace", half="native")
    add("masked_select", "masked_select", "self mask", half="native")
    add("nonzero", "nonzero", "self", half="native")
