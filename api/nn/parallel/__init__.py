"""Modules on several devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tt.nn.parallel.data_parallel import DataParallel, data_parallel
from tt.nn.parallel.parallel_apply import parallel_apply
from tt.nn.parallel.replicate import replicate
from tt.nn.parallel.scatter_gather import gather, scatter

if TYPE_CHECKING:
    from tt.nn.parallel.distributed import DistributedDataParallel as DistributedDataParallel

__all__ = [
    "DataParallel",
    "DistributedDataParallel",
    "data_parallel",
    "gather",
    "parallel_apply",
    "replicate",
    "scatter",
]


def __getattr__(name: str) -> Any:
    if name == "DistributedDataParallel":  # when asked for: it loads tt.distributed
        from tt.nn.parallel.distributed import DistributedDataParallel

        return DistributedDataParallel
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
