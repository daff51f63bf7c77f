"""Native kernels that take steps of optimizers."""

from __future__ import annotations

from typing import Any, Final

from tt.backends.cpu.native.loading import load
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("optimizer")


def add(op: str, function: str, takes: str, **options: Any) -> None:
    """Register a function of the extension under the name of an operator."""
    cpu.kernel(op, getattr(NATIVE, function), takes=takes.split(), native=True, **options)


if NATIVE is not None:
    ADAM: Final = (
        "self grads exp_avgs exp_avg_sqs max_exp_avg_sqs state_steps lr beta1 beta2 weight_decay eps amsgrad maximize "
        "grad_scale found_inf"
    )
    add(
        "_fused_sgd_",
        "fused_sgd",
        "self grads momentum_buffer_list weight_decay momentum lr dampening nesterov maximize is_first_step grad_scale "
        "found_inf",
        form="inplace",
    )
    add("_fused_adam_", "fused_adam", ADAM, form="inplace")
    add("_fused_adamw_", "fused_adamw", ADAM, form="inplace")
    add(
        "_fused_adagrad_",
        "fused_adagrad",
        "self grads state_sums state_steps lr lr_decay weight_decay eps maximize grad_scale found_inf",
        form="inplace",
    )
