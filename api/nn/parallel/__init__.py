"""Modules on several devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tt.core.lazy import attach
from tt.nn.parallel.data_parallel import DataParallel, data_parallel
from tt.nn.parallel.parallel_apply import parallel_apply
from tt.nn.parallel.replicate import replicate
from tt.nn.parallel.scatter_gather import gather, scatter

if TYPE_CHECKING:
    from tt.nn.parallel.distributed import DistributedDataParallel as DistributedDataParallel

__all__ = [
    "DataParallel",
    "data_parallel",
    "gather",
    "parallel_apply",
    "replicate",
    "scatter",
    *attach(__name__, {".distributed": "DistributedDataParallel"}),  # which loads tt.distributed
]
