"""Kernels of sparse tensors on the CPU: arithmetic by NumPy and SciPy, coalescing, and dense tensors of sparse ones."""

from __future__ import annotations

from typing import Final

from tt.core.library import KernelTable
from tt.plugins.sparse.compute.tables import arithmetic_tables
from tt.plugins.sparse.cpu.dense import compressed_to_dense, coo_to_dense
from tt.plugins.sparse.cpu.library import LIBRARY
from tt.plugins.sparse.cpu.sorting import coalesce
from tt.plugins.sparse.layouts import COMPRESSED

__all__ = ["tables"]


def tables() -> list[KernelTable]:
    """Return the tables of the CPU."""
    return [*arithmetic_tables(LIBRARY), _coalescing, *_to_dense]


_coalescing: Final = KernelTable(device="cpu", layout="sparse_coo")
_coalescing.kernel("sparse::coalesce", coalesce, takes=("self",), half="native")

_to_dense: Final = [
    KernelTable(device="cpu", layout=name, result="strided") for name in ("sparse_coo", *COMPRESSED)
]
_to_dense[0].kernel("sparse::to_dense", lambda self, masked_grad: coo_to_dense(self), half="native")
for _table in _to_dense[1:]:
    _table.kernel("sparse::to_dense", lambda self, masked_grad: compressed_to_dense(self), half="native")
