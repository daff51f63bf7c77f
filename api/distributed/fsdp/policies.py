"""How modules are sharded: which ones, their dtypes for computing and communicating, and where parts are kept."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

__all__ = [
    "BackwardPrefetch", "CPUOffload", "CPUOffloadPolicy", "MixedPrecision", "MixedPrecisionPolicy", "OffloadPolicy",
    "ShardingStrategy",
]  # fmt: skip


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


@dataclass(frozen=True)
class OffloadPolicy:
    """Keeps the parts of `fully_shard` where the parameters were."""


@dataclass(frozen=True)
class CPUOffloadPolicy(OffloadPolicy):
    """Keeps the parts of `fully_shard`, their gradients and so the optimizer's state in the memory of the CPU.

    Attributes
    ----------
    pin_memory : bool
        Whether the memory is pinned where modules compute on a GPU, which makes copies faster.
    """

    pin_memory: bool = True


@dataclass
class CPUOffload:
    """Whether a `FullyShardedDataParallel` keeps its parts in the memory of the CPU.

    Attributes
    ----------
    offload_params : bool
        Parameters and their gradients.
    """

    offload_params: bool = False


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


class BackwardPrefetch(Enum):
    """When backward gathers the next module's parameters: parameters are always gathered ahead, so both run alike."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


class ShardingStrategy(Enum):
    """What of a module is divided among ranks.

    ``FULL_SHARD`` frees parameters after forward and gathers them again in backward; ``SHARD_GRAD_OP`` keeps them until
    backward has ended.  ``HYBRID_SHARD`` and ``_HYBRID_SHARD_ZERO2`` do the same within groups of ranks (by default the
    ranks of a machine), and the groups have the same parameters.  ``NO_SHARD`` is not served.
    """

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()
