"""The options that PyTorch's `FullyShardedDataParallel` takes for its state dicts, as data.

tt.distributed.checkpoint writes what is divided among ranks; programs name these options before they know whether they
need them.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "FullOptimStateDictConfig", "FullStateDictConfig", "LocalOptimStateDictConfig", "LocalStateDictConfig",
    "OptimStateDictConfig", "OptimStateKeyType", "ShardedOptimStateDictConfig", "ShardedStateDictConfig",
    "StateDictConfig", "StateDictSettings", "StateDictType",
]  # fmt: skip


class StateDictType(enum.Enum):
    """What a state dict holds: whole tensors, a rank's flat part, or sharded tensors."""

    FULL_STATE_DICT = enum.auto()
    LOCAL_STATE_DICT = enum.auto()
    SHARDED_STATE_DICT = enum.auto()


class OptimStateKeyType(enum.Enum):
    """What the state of an optimizer is keyed by."""

    PARAM_NAME = enum.auto()
    PARAM_ID = enum.auto()


@dataclass
class StateDictConfig:
    """Options of the state dict of a module."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """Options of one with whole tensors."""

    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """Options of one with a rank's flat part."""


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Options of one with sharded tensors."""

    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    """Options of the state dict of an optimizer."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """Options of one with whole tensors."""

    rank0_only: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """Options of one with a rank's flat part."""

    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Options of one with sharded tensors."""

    _use_dtensor: bool = False


@dataclass
class StateDictSettings:
    """A kind of state dicts and its options."""

    state_dict_type: StateDictType
    state_dict_config: StateDictConfig
    optim_state_dict_config: Any = field(default_factory=OptimStateDictConfig)
