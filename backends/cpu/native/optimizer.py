"""Native kernels that take steps of optimizers and unscale their gradients."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tt.backends.cpu.backend import Array
from tt.backends.cpu.native.loading import adder, load
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("optimizer")

add = adder(cpu, NATIVE)


def fused_step(*args: Any) -> None:
    """Take a step by rule; arrays with gaps, or in another order than their parameter, are copied."""
    # False means that some array is not contiguous; then it works on copies, and results are written back.
    if NATIVE.fused_step(*args):
        return
    *lists, rule, numbers, maximize = args
    # np.ascontiguousarray makes a number a vector, and a step count has no dimensions.
    copies = [[np.ascontiguousarray(array).reshape(array.shape) for array in arrays] for arrays in lists]
    if not NATIVE.fused_step(*copies, rule, numbers, maximize):
        raise ValueError("lists that the shape rule refuses")
    for arrays, changed in zip(lists, copies, strict=True):
        for array, new in zip(arrays, changed, strict=True):
            if array is not new and array.flags.writeable:
                array[...] = new


def amp_unscale(self: list[Array], found_inf: Array, inv_scale: Array) -> None:
    """Unscale gradients and look for what is not finite; arrays with gaps are copied."""
    if NATIVE.amp_unscale(self, found_inf, inv_scale):
        return
    copies = [np.ascontiguousarray(array).reshape(array.shape) for array in self]
    if not NATIVE.amp_unscale(copies, found_inf, inv_scale):
        raise ValueError("arguments that the shape rule refuses")
    for array, new in zip(self, copies, strict=True):
        if array is not new:
            array[...] = new


def amp_update_scale(self: Array, *args: Any) -> Array:
    """Update the scale, and return it."""
    if not NATIVE.amp_update_scale(self, *args):
        raise ValueError("arguments that the shape rule refuses")
    return self


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
    cpu.kernel(
        "_fused_step_",
        fused_step,
        dtypes=("float32", "float64"),
        takes=("self", "grads", "first", "second", "third", "rule", "numbers", "maximize"),
        native=True,
        form="inplace",
    )
    add(
        "_fused_adagrad_",
        "fused_adagrad",
        "self grads state_sums state_steps lr lr_decay weight_decay eps maximize grad_scale found_inf",
        form="inplace",
    )
    cpu.kernel(
        "_amp_foreach_non_finite_check_and_unscale_",
        amp_unscale,
        takes=("self", "found_inf", "inv_scale"),
        native=True,
        form="inplace",
        half="native",
    )
    cpu.kernel(
        "_amp_update_scale_",
        amp_update_scale,
        takes=(
            "self", "growth_tracker", "found_inf", "scale_growth_factor", "scale_backoff_factor", "growth_interval",
        ),
        native=True,
        form="inplace",
    )  # fmt: skip
