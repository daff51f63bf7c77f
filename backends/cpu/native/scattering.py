"""Native kernels that write to places which arrays name."""

from __future__ import annotations

from typing import Final

from tt.backends.cpu.native.loading import adder, load
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("scattering")
READING: Final = load("indexing")

add = adder(cpu, NATIVE)

if NATIVE is not None:
    # --- along one dimension ---------------------------------------------------------------------------------------

    add("scatter", "scatter", "self dim index src", form="inplace", half="native")
    add("scatter.value", "scatter_value", "self dim index value", form="inplace", half="native")
    add("scatter_add", "scatter_add", "self dim index src", form="inplace")
    add("scatter_add", "scatter_added", "self dim index src")
    add("scatter_reduce", "scatter_reduce", "self dim index src reduce include_self", form="inplace")

    # --- slices ----------------------------------------------------------------------------------------------------

    add("index_add", "index_add", "self dim index source alpha", form="inplace")
    add("index_copy", "index_copy", "self dim index source", form="inplace", half="native")
    add("index_fill", "index_fill", "self dim index value", form="inplace", half="native")

    # --- flat places and masks -------------------------------------------------------------------------------------

    add("put", "put", "self index source accumulate", form="inplace")
    add("masked_scatter", "masked_scatter", "self mask source", form="inplace", half="native")

    # --- embedding and its gradient --------------------------------------------------------------------------------

    add(
        "_embedding_bag",
        "embedding_bag",
        "weight indices offsets per_sample_weights mode include_last_offset padding_idx scale_grad_by_freq sparse",
        dtypes=("float32", "float64"),
    )
    add(
        "embedding_dense_backward",
        "embedding_dense_backward",
        "grad_output indices num_weights padding_idx scale_grad_by_freq",
        dtypes="floating_complex",
    )

if READING is not None:
    adder(cpu, READING)(
        "_embedding", "embedding", "weight indices padding_idx scale_grad_by_freq sparse", half="native"
    )
