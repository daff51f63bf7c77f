"""Native kernels that sort and search."""

from __future__ import annotations

from typing import Final

from tt.backends.cpu.native.loading import adder, load
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("sorting")

add = adder(cpu, NATIVE)

if NATIVE is not None:
    # --- sorting ---------------------------------------------------------------------------------------------------

    add("sort", "sort", "self dim descending", dtypes="real")
    add("sort", "sort", "self dim descending stable", dtypes="real")
    add("argsort", "argsort", "self dim descending stable", dtypes="real")
    add("topk", "topk", "self k dim largest sorted", dtypes="real_number")

    # --- searching, distinct elements ------------------------------------------------------------------------------

    add("_searchsorted", "searchsorted", "sorted_sequence self right", dtypes="real_number")
    add("_unique2", "unique", "self sorted return_inverse return_counts", dtypes="real")
    add(
        "_unique_consecutive",
        "unique_consecutive",
        "self return_inverse return_counts",
        dtypes="real",
        half="native",
    )
