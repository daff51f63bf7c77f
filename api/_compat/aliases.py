"""Modules of PyTorch whose names tt has in a module at another place: older places, and those of the implementation."""

from __future__ import annotations

from typing import Final

__all__ = ["ALIASES"]

ALIASES: Final = {
    "functorch.experimental.control_flow": "tt._functions.control_flow",
    "torch._C._fft": "tt._compat.torch._C._nn",
    "torch._C._linalg": "tt._compat.torch._C._nn",
    "torch._C._special": "tt._compat.torch._C._nn",
    "torch._functorch.apis": "tt.func",
    "torch._functorch.eager_transforms": "tt.func",
    "torch._functorch.functional_call": "tt.func",
    "torch._higher_order_ops.cond": "tt._functions.control_flow",
    "torch._higher_order_ops.while_loop": "tt._functions.control_flow",
    "torch.cuda.amp.autocast_mode": "tt.cuda.amp",
    "torch.cuda.amp.grad_scaler": "tt.cuda.amp",
    "torch.distributed._composable.fsdp": "tt.distributed.fsdp",
    "torch.distributed._composable.fsdp.fully_shard": "tt.distributed.fsdp",
    "torch.distributed.fsdp._fully_shard": "tt.distributed.fsdp",
    "torch.distributed.fsdp.api": "tt.distributed.fsdp",
    "torch.profiler.profiler": "tt.profiler",
    "torch.utils.tensorboard.writer": "tt.utils.tensorboard",
}
"""The name of a module in PyTorch, and the module of tt that serves it."""
