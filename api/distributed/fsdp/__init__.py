"""Modules whose parameters are divided among ranks."""

from __future__ import annotations

from tt.distributed.fsdp.fully_shard import FSDPModule, clip_grad_norm_, fully_shard
from tt.distributed.fsdp.fully_sharded_data_parallel import FullyShardedDataParallel
from tt.distributed.fsdp.policies import (
    BackwardPrefetch,
    CPUOffload,
    CPUOffloadPolicy,
    MixedPrecision,
    MixedPrecisionPolicy,
    OffloadPolicy,
    ShardingStrategy,
)
from tt.distributed.fsdp.sharded_parameter import ShardedParameter, ShardedTensor

__all__ = [
    "BackwardPrefetch",
    "CPUOffload",
    "CPUOffloadPolicy",
    "FSDPModule",
    "FullyShardedDataParallel",
    "MixedPrecision",
    "MixedPrecisionPolicy",
    "OffloadPolicy",
    "ShardedParameter",
    "ShardedTensor",
    "ShardingStrategy",
    "clip_grad_norm_",
    "fully_shard",
]
