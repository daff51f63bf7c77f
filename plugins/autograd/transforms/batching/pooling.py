"""Batching rules of pooling: examples become part of the batch."""

from __future__ import annotations

from tt.plugins.autograd.transforms.batching.base import BatchingTable, merged

__all__ = ["table"]

table = BatchingTable()

for _count in (1, 2, 3):
    for _name in (
        f"max_pool{_count}d_with_indices",
        f"avg_pool{_count}d",
        f"adaptive_avg_pool{_count}d",
        f"adaptive_max_pool{_count}d_with_indices",
    ):
        # An example has its channels and the dims of the windows, and maybe a batch.
        table.rules[_name] = merged(_count + 1)
