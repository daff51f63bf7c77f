"""ShardedGradScaler: a GradScaler for gradients of which each rank has a part."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import tt
import tt.distributed as dist
from tt.amp.grad_scaler import GradScaler

if TYPE_CHECKING:
    from tt.distributed.process_group import ProcessGroup
    from tt.optim import Optimizer

__all__ = ["ShardedGradScaler"]


class ShardedGradScaler(GradScaler):
    """A `tt.amp.GradScaler` whose ranks agree: an infinite gradient on one of them leaves the step out on all.

    With `DistributedDataParallel` all ranks have the same gradients, and a `GradScaler` is enough.  With
    `FullyShardedDataParallel` and `fully_shard` each has a part, and would decide for itself.  A scaled loss keeps its
    dtype, and gradients in float16, which mixed precision of these leaves, are unscaled.

    Parameters
    ----------
    device, init_scale, backoff_factor, growth_factor, growth_interval, enabled
        As of `tt.amp.GradScaler`.
    process_group : ProcessGroup, optional
        The ranks among which the gradients are divided; all by default.

    Examples
    --------
    >>> import tt
    >>> import tt.distributed as dist
    >>> from tt.distributed.engines.threads import run_threads
    >>> from tt.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
    >>> def program():
    ...     weight = tt.ones(1, requires_grad=True)
    ...     optimizer, scaler = tt.optim.SGD([weight], lr=1.0), ShardedGradScaler("cpu", init_scale=8.0)
    ...     factor = float("inf") if dist.get_rank() == 1 else 1.0
    ...     scaler.scale(weight * factor).sum().backward()
    ...     scaler.step(optimizer)
    ...     scaler.update()
    ...     return weight.item(), scaler.get_scale()
    >>> run_threads(program, 2)
    [(1.0, 4.0), (1.0, 4.0)]
    """

    _unscales_float16: ClassVar[bool] = True

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        backoff_factor: float = 0.5,
        growth_factor: float = 2.0,
        growth_interval: int = 2000,
        enabled: bool = True,
        process_group: ProcessGroup | None = None,
    ) -> None:
        super().__init__(device, init_scale, growth_factor, backoff_factor, growth_interval, enabled)
        self.process_group = process_group

    def _scaled(self, value: tt.Tensor, scale: tt.Tensor) -> tt.Tensor:
        return super()._scaled(value, scale).to(value.dtype)

    def _unscale_grads_(
        self, optimizer: Optimizer, inv_scale: tt.Tensor, found_inf: tt.Tensor, allow_fp16: bool
    ) -> dict[tt.device, tt.Tensor]:
        """Unscale this rank's gradients; return whether one of any rank was not finite."""
        flags = super()._unscale_grads_(optimizer, inv_scale, found_inf, allow_fp16)
        # One flag and one collective for each rank, also for one whose parameters have no gradients here: ranks with
        # parameters on other devices than their neighbours would wait for each other.
        home = found_inf.device
        agreed = found_inf
        for flag in flags.values():
            agreed = tt.maximum(agreed, flag.to(home))
        # The parts may be on the CPU between steps, and the ranks' engine serve the devices of the training only.
        shared = agreed.to(self._device)
        dist.all_reduce(shared, op=dist.ReduceOp.MAX, group=self.process_group)
        return {device: shared.to(device) for device in (flags or [home])}
