"""Optimizers of several ranks: with a divided state, and with averages of the parameters."""

from __future__ import annotations

from tt.distributed.optim.post_localSGD_optimizer import PostLocalSGDOptimizer
from tt.distributed.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = ["PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]
