"""Communication hooks of DistributedDataParallel; see `DistributedDataParallel.register_comm_hook`."""

from __future__ import annotations

from tt.distributed.algorithms.ddp_comm_hooks.registration import DDPCommHookType, register_ddp_comm_hook

__all__ = ["DDPCommHookType", "register_ddp_comm_hook"]
