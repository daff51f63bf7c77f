"""The hooks of this package by name, and their registration."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any

from tt.distributed.algorithms.ddp_comm_hooks import (
    debugging_hooks,
    default_hooks,
    powerSGD_hook,
    quantization_hooks,
)

if TYPE_CHECKING:
    from tt.distributed.process_group import ProcessGroup
    from tt.nn.parallel import DistributedDataParallel

__all__ = ["DDPCommHookType", "register_ddp_comm_hook"]


def _hook(model: DistributedDataParallel, state: object, hook: Callable[..., Any]) -> None:
    model.register_comm_hook(state, hook)


def _power(model: Any, state: ProcessGroup | None, hook: Any, rank: int) -> None:
    model.register_comm_hook(powerSGD_hook.PowerSGDState(state, matrix_approximation_rank=rank), hook)


class DDPCommHookType(Enum):
    """The hooks by name; a value is called with ``model`` and ``state``, the process group, and registers the hook."""

    ALLREDUCE = partial(_hook, hook=default_hooks.allreduce_hook)
    FP16_COMPRESS = partial(_hook, hook=default_hooks.fp16_compress_hook)
    BF16_COMPRESS = partial(_hook, hook=default_hooks.bf16_compress_hook)
    QUANTIZE_PER_TENSOR = partial(_hook, hook=quantization_hooks.quantization_pertensor_hook)
    QUANTIZE_PER_CHANNEL = partial(_hook, hook=quantization_hooks.quantization_perchannel_hook)
    POWER_SGD = partial(_power, hook=powerSGD_hook.powerSGD_hook, rank=1)
    POWER_SGD_RANK2 = partial(_power, hook=powerSGD_hook.powerSGD_hook, rank=2)
    BATCHED_POWER_SGD = partial(_power, hook=powerSGD_hook.batched_powerSGD_hook, rank=1)
    BATCHED_POWER_SGD_RANK2 = partial(_power, hook=powerSGD_hook.batched_powerSGD_hook, rank=2)
    NOOP = partial(_hook, hook=debugging_hooks.noop_hook)


def register_ddp_comm_hook(
    comm_hook_type: DDPCommHookType, model: DistributedDataParallel, state: object = None
) -> None:
    """Register a hook of this package with a `DistributedDataParallel`.

    Parameters
    ----------
    comm_hook_type : DDPCommHookType
        The hook.
    model : DistributedDataParallel
        The module whose gradients it averages.
    state : ProcessGroup, optional
        The ranks; by default all.

    Raises
    ------
    TypeError
        The first argument is no DDPCommHookType.

    Examples
    --------
    >>> import tt
    >>> from tt.distributed.algorithms.ddp_comm_hooks import DDPCommHookType, register_ddp_comm_hook
    >>> def train():
    ...     model = tt.nn.parallel.DistributedDataParallel(tt.nn.Linear(1, 1))
    ...     register_ddp_comm_hook(DDPCommHookType.BF16_COMPRESS, model)
    ...     model(tt.full((1, 1), float(tt.distributed.get_rank()))).sum().backward()
    ...     return model.module.weight.grad.item()
    >>> tt.distributed.run_threads(train, 3)
    [1.0, 1.0, 1.0]
    """
    if not isinstance(comm_hook_type, DDPCommHookType):
        raise TypeError(
            f"register_ddp_comm_hook: expected a DDPCommHookType, got {type(comm_hook_type).__name__}"
        )
    comm_hook_type.value(model=model, state=state)
