"""The batching rules of all operators."""

from __future__ import annotations

from typing import Final

from tt.plugins.autograd.transforms.batching import indexing, matrices, neural, scans, statistics, views
from tt.plugins.autograd.transforms.batching.base import BatchingRule

__all__ = ["RULES"]

RULES: Final[dict[str, BatchingRule]] = {}
for _part in (views, scans, matrices, indexing, neural, statistics):
    RULES.update(_part.table.rules)
