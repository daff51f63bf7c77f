"""Native kernels of ranks and counts."""

from __future__ import annotations

from typing import Final

from tt.backends.cpu.native.loading import adder, load
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("sorting")

add = adder(cpu, NATIVE)

if NATIVE is not None:
    add("kthvalue", "kthvalue", "self k dim keepdim", dtypes="real_number")
    add("median.dim", "median_dim", "self dim keepdim", dtypes="real_number")
    add("median", "median", "self", dtypes="real_number")
    add("_bincount", "bincount", "self minlength", dtypes="integral")
    add("histc", "histc", "self bins min max", dtypes=("float32", "float64"))
