"""The tables of kernels over tensors, for any device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tt.core.library import KernelTable
from tt.plugins.sparse.convert import Conversion, conversion_kernel
from tt.plugins.sparse.layouts import COMPRESSED, LAYOUTS
from tt.plugins.sparse.structure import copies, making

__all__ = ["structure_tables"]


def structure_tables(device: str, convert: Callable[[Any, Conversion], Any]) -> list[KernelTable]:
    """Return the tables of a device.

    Parameters
    ----------
    device : str
        For instance "cpu".
    convert : callable
        Converts a handle of the device; see `conversion_kernel`.
    """
    to_layout = conversion_kernel(convert)
    strided = KernelTable(device, "strided")
    strided.kernel("sparse::coo", making.coo, tensors=True)
    strided.kernel("sparse::compressed", making.compressed, tensors=True)
    strided.kernel("sparse::to_layout", to_layout, tensors=True)
    tables = {name: KernelTable(device, name) for name in LAYOUTS}
    for table in tables.values():
        table.kernel("sparse::to_layout", to_layout, tensors=True)
        table.kernel("sparse::values", making.values, tensors=True)
        table.kernel("alias", lambda self: self)
        table.kernel("clone", copies.clone, tensors=True)
        table.kernel("_to_copy", copies.to_copy, tensors=True)
        table.kernel("copy", copies.copy_, form="inplace", takes=("self", "src"), tensors=True)
        table.kernel("zero", copies.zero_, form="inplace", tensors=True)
        for op, factory in copies.factories_of(table.layouts[0]).items():
            table.kernel(op, factory, tensors=True)
    tables["sparse_coo"].kernel("sparse::indices", making.indices, tensors=True)
    for name in COMPRESSED:
        tables[name].kernel("fill", copies.fill_, form="inplace", tensors=True)
        tables[name].kernel("sparse::compressed_indices", making.compressed_indices, tensors=True)
        tables[name].kernel("sparse::plain_indices", making.plain_indices, tensors=True)
    return [strided, *tables.values()]
