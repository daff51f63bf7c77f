"""Native kernels that make tensors, and move elements around."""

from __future__ import annotations

from typing import Any, Final

from tt.backends.cpu.native.loading import load
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("creation")


def add(op: str, function: str, takes: str, **options: Any) -> None:
    """Register a function of the extension under the name of an operator."""
    cpu.kernel(op, getattr(NATIVE, function), takes=takes.split(), native=True, **options)


if NATIVE is not None:
    # --- of one value, and of increasing ones ----------------------------------------------------------------------

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
