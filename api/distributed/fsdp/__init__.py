"""Modules whose parameters are divided among ranks."""

from __future__ import annotations

from tt.distributed.fsdp.fully_shard import FSDPModule, clip_grad_norm_, fully_shard
from tt.distributed.fsdp.policies import MixedPrecisionPolicy
from tt.distributed.fsdp.sharded_parameter import ShardedParameter

__all__ = ["FSDPModule", "MixedPrecisionPolicy", "ShardedParameter", "clip_grad_norm_", "fully_shard"]
