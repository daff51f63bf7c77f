"""Batching rules of scattering along a dimension."""

from __future__ import annotations

from tt.plugins.autograd.transforms.batching.base import BatchingTable
from tt.plugins.autograd.transforms.batching.indexing import along_a_dim

__all__ = ["table"]

table = BatchingTable()
table.rule("scatter", "scatter_add", "scatter_reduce", "scatter.value", "scatter.value_reduce")(along_a_dim)
