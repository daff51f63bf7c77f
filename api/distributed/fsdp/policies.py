"""In which dtypes sharded modules compute and communicate."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

__all__ = ["MixedPrecision", "MixedPrecisionPolicy", "ShardingStrategy"]


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes of a module that `fully_shard` shards.

    Attributes
    ----------
    param_dtype : dtype, optional
        That in which parameters are gathered and computed with; by default their own.
    reduce_dtype : dtype, optional
        That in which gradients are averaged; by default `param_dtype`.
    output_dtype : dtype, optional
        That of floating point outputs.
    cast_forward_inputs : bool
        Whether floating point inputs become `param_dtype`.
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class MixedPrecision:
    """The dtypes of a `FullyShardedDataParallel`.

    Attributes
    ----------
    param_dtype, reduce_dtype : dtype, optional
        As of `MixedPrecisionPolicy`.
    buffer_dtype : dtype, optional
        That of floating point buffers.
    keep_low_precision_grads : bool
        Unused: gradients have their parameters' dtype.
    cast_forward_inputs : bool
        Whether inputs of inner modules are cast.
    cast_root_forward_inputs : bool
        Whether inputs of the outermost module are cast.
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True


class ShardingStrategy(Enum):
    """What of a module is divided among ranks.

    ``FULL_SHARD`` frees parameters after forward and gathers them again in backward; ``SHARD_GRAD_OP`` keeps them until
    backward has ended.  The others of PyTorch are not served.
    """

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()
