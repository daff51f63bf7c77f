"""Batching rules of activation functions."""

from __future__ import annotations

from tt.plugins.autograd.transforms.batching.base import BatchingTable, along_dim

__all__ = ["table"]

table = BatchingTable()
table.rule("softmax", "log_softmax")(along_dim)
