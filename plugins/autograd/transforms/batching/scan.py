"""Batching rules of what accumulates along one dim."""

from __future__ import annotations

from tt.plugins.autograd.transforms.batching.base import BatchingTable, along_dim

__all__ = ["table"]

table = BatchingTable()
table.rule("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp")(along_dim)
