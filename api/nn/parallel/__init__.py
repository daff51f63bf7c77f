"""Modules on several devices."""

from __future__ import annotations

from tt.nn.parallel.data_parallel import DataParallel, data_parallel
from tt.nn.parallel.parallel_apply import parallel_apply
from tt.nn.parallel.replicate import replicate
from tt.nn.parallel.scatter_gather import gather, scatter

__all__ = ["DataParallel", "data_parallel", "gather", "parallel_apply", "replicate", "scatter"]
