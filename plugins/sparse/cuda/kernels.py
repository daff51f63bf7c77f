"""Kernels of sparse tensors on CUDA: the CPU's, over CuPy."""

from __future__ import annotations

from typing import Any

from tt.core.library import KernelTable
from tt.plugins.sparse.compute.tables import arithmetic_tables
from tt.plugins.sparse.convert import Conversion
from tt.plugins.sparse.cuda.convert import conversion, to_dense
from tt.plugins.sparse.cuda.library import CudaLibrary
from tt.plugins.sparse.layouts import LAYOUTS

__all__ = ["convert", "tables"]


def tables(library: CudaLibrary) -> list[KernelTable]:
    """Return the tables of CUDA; nothing of CuPy is imported."""
    kernels = arithmetic_tables(library)
    for layout in LAYOUTS:
        dense = KernelTable(library.device, layout, result="strided")
        dense.kernel("sparse::to_dense", library.bind(to_dense), takes=("self", "masked_grad"), half="native")
        kernels.append(dense)
    coalescing = KernelTable(library.device, "sparse_coo")
    coalescing.kernel(
        "sparse::coalesce", library.bind(lambda lib, self: lib.coalesce(self)), takes=("self",), half="native"
    )
    return [*kernels, coalescing]


def convert(library: CudaLibrary) -> Any:
    """Return the conversion of handles of the device, for `structure_tables`."""

    def convert_handle(handle: Any, wanted: Conversion) -> Any:
        result = conversion(library, library.enter(handle), wanted)
        return library.leave(result)

    return convert_handle
