"""The tables of kernels over tensors, for any device."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any, Final

from tt.core.library import KernelTable
from tt.plugins.sparse.convert import Conversion, conversion_kernel
from tt.plugins.sparse.layouts import COMPRESSED, LAYOUTS
from tt.plugins.sparse.structure import compressed, coo, copies, making, whole

__all__ = ["structure_tables"]

COO: Final[dict[str, Callable[..., Any]]] = {
    "cat": coo.cat, "flip": coo.flip, "index": coo.index, "index_select": coo.index_select, "permute": coo.permute,
    "reshape": coo.reshape, "select": coo.select, "slice": coo.slice_, "squeeze": coo.squeeze,
    "squeeze.dim": coo.squeeze_dim, "t": coo.t, "transpose": coo.transpose, "unsqueeze": coo.unsqueeze,
}  # fmt: skip
"""Operators of tensors of the layout sparse_coo."""
COMPRESSED_ONES: Final[dict[str, Callable[..., Any]]] = {
    "cat": compressed.cat, "index": coo.index, "index_select": compressed.index_select, "permute": compressed.permute,
    "select": compressed.select, "slice": compressed.slice_, "squeeze": compressed.squeeze,
    "squeeze.dim": compressed.squeeze_dim, "t": compressed.t, "transpose": compressed.transpose,
    "unsqueeze": compressed.unsqueeze,
}  # fmt: skip
"""Operators of tensors of the compressed layouts."""


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
        for op in ("equal", "allclose"):
            table.kernel(op, getattr(whole, op), tensors=True)
    for op, function in COO.items():
        tables["sparse_coo"].kernel(op, function, tensors=True)
    tables["sparse_coo"].kernel("sparse::resize", whole.resize_, form="inplace", tensors=True)
    tables["sparse_coo"].kernel("sparse::clear", whole.resize_and_clear_, form="inplace", tensors=True)
    tables["sparse_coo"].kernel("sparse::indices", making.indices, tensors=True)
    for name in COMPRESSED:
        for op, function in COMPRESSED_ONES.items():
            tables[name].kernel(op, function, tensors=True)
        tables[name].kernel(
            "resize", compressed.resize_, form="inplace", takes=("self", "size"), tensors=True
        )
        tables[name].kernel("fill", copies.fill_, form="inplace", tensors=True)
        tables[name].kernel("sparse::compressed_indices", making.compressed_indices, tensors=True)
        tables[name].kernel("sparse::plain_indices", making.plain_indices, tensors=True)
    for layouts in combinations(("strided", *LAYOUTS), 2):
        mixed = KernelTable(device, layouts)
        mixed.kernel("copy", copies.copy_, form="inplace", takes=("self", "src"), tensors=True)
        if "strided" in layouts:
            for op in ("index_select", "index"):
                mixed.kernel(op, (COO if "sparse_coo" in layouts else COMPRESSED_ONES)[op], tensors=True)
        else:
            for op in ("equal", "allclose"):
                mixed.kernel(op, getattr(whole, op), tensors=True)
        tables["+".join(layouts)] = mixed
    return [strided, *tables.values()]
