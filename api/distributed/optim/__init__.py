"""Optimizers whose state is divided among ranks."""

from __future__ import annotations

from tt.distributed.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = ["ZeroRedundancyOptimizer"]
