"""Kernels that take steps of optimizers, array by array."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Final

import numpy as np

from tt.backends.cpu.backend import Array
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu", by="NumPy")

Arrays = Sequence[Array]


def _expect_lists(self: Arrays, *others: Arrays) -> None:
    """Raise unless each list has an array of the shape and dtype of each parameter; the shape rule explains it."""
    for arrays in others:
        if len(arrays) != len(self) or not self:
            raise ValueError("lists of other lengths, which the shape rule refuses")
        for one, other in zip(self, arrays, strict=True):
            if one.shape != other.shape or one.dtype != other.dtype:
                raise ValueError("arrays of another shape or dtype, which the shape rule refuses")


def _widened(array: Array) -> Array:
    return array if array.itemsize >= 4 else array.astype(np.float32)


def _number(value: Array | float) -> float:
    return float(value.item() if isinstance(value, np.ndarray) else value)


def _gradient(
    param: Array, grad: Array, grad_scale: Array | None, maximize: bool, weight_decay: float
) -> Array:
    """Return the gradient with which a step is taken; unscaled in place."""
    if grad_scale is not None:
        # PyTorch's fused steps, too, leave the unscaled gradient behind.
        grad[...] = _widened(grad) / _widened(grad).dtype.type(_number(grad_scale))
    wide = _widened(grad)
    if maximize:
        wide = -wide
    return wide + _widened(param) * wide.dtype.type(weight_decay) if weight_decay else wide


@cpu.kernel("_fused_sgd_", form="inplace")
def fused_sgd(
    self: Arrays,
    grads: Arrays,
    momentum_buffer_list: Arrays,
    weight_decay: float,
    momentum: float,
    lr: Array | float,
    dampening: float,
    nesterov: bool,
    maximize: bool,
    is_first_step: bool,
    grad_scale: Array | None,
    found_inf: Array | None,
) -> None:
    _expect_lists(self, grads, *([momentum_buffer_list] if momentum else []))
    # Mixed precision: a step with infinite gradients is left out, without a branch in the program.
    if found_inf is not None and _number(found_inf) == 1:
        return
    rate = _number(lr)
    for number, (param, gradient) in enumerate(zip(self, grads, strict=True)):
        grad = _gradient(param, gradient, grad_scale, maximize, weight_decay)
        kind = grad.dtype.type
        if momentum:
            buffer = momentum_buffer_list[number]
            # As in PyTorch, the first step fills the buffer without dampening.
            moved = grad if is_first_step else _widened(buffer) * kind(momentum) + grad * kind(1 - dampening)
            buffer[...] = moved
            grad = grad + moved * kind(momentum) if nesterov else moved
        param[...] = _widened(param) - grad * kind(rate)


def _adam(
    decoupled: bool,
    self: Arrays,
    grads: Arrays,
    exp_avgs: Arrays,
    exp_avg_sqs: Arrays,
    max_exp_avg_sqs: Arrays,
    state_steps: Arrays,
    lr: Array | float,
    beta1: float,
    beta2: float,
    weight_decay: float,
    eps: float,
    amsgrad: bool,
    maximize: bool,
    grad_scale: Array | None,
    found_inf: Array | None,
) -> None:
    _expect_lists(self, grads, exp_avgs, exp_avg_sqs, *([max_exp_avg_sqs] if amsgrad else []))
    if len(state_steps) != len(self):
        raise ValueError("lists of other lengths, which the shape rule refuses")
    if found_inf is not None and _number(found_inf) == 1:
        return
    rate = _number(lr)
    for number, param in enumerate(self):
        grad = _gradient(param, grads[number], grad_scale, maximize, 0.0 if decoupled else weight_decay)
        kind, start = grad.dtype.type, _widened(param)
        if decoupled and weight_decay:
            # AdamW decays the parameter itself, before the step; Adam adds the decay to the gradient.
            start = start * kind(1 - rate * weight_decay)
        step = _number(state_steps[number])
        first, second = _widened(exp_avgs[number]), _widened(exp_avg_sqs[number])
        # The form of lerp, which PyTorch uses: beta1 * first + (1 - beta1) * grad rounds differently.
        first = first + (grad - first) * kind(1 - beta1)
        second = second * kind(beta2) + grad * grad * kind(1 - beta2)
        exp_avgs[number][...] = first
        exp_avg_sqs[number][...] = second
        if amsgrad:
            second = np.maximum(_widened(max_exp_avg_sqs[number]), second)
            max_exp_avg_sqs[number][...] = second
        # As in PyTorch, eps is added after the bias correction of the root.
        divisor = np.sqrt(second) / kind(math.sqrt(1 - beta2**step)) + kind(eps)
        param[...] = start - kind(rate / (1 - beta1**step)) * first / divisor


fused_adam = partial(_adam, False)
fused_adamw = partial(_adam, True)
cpu.kernel("_fused_adam_", fused_adam, form="inplace")
cpu.kernel("_fused_adamw_", fused_adamw, form="inplace")


@cpu.kernel("_fused_adagrad_", form="inplace")
def fused_adagrad(
    self: Arrays,
    grads: Arrays,
    state_sums: Arrays,
    state_steps: Arrays,
    lr: Array | float,
    lr_decay: float,
    weight_decay: float,
    eps: float,
    maximize: bool,
    grad_scale: Array | None,
    found_inf: Array | None,
) -> None:
    _expect_lists(self, grads, state_sums)
    if len(state_steps) != len(self):
        raise ValueError("lists of other lengths, which the shape rule refuses")
    if found_inf is not None and _number(found_inf) == 1:
        return
    for param, gradient, total, count in zip(self, grads, state_sums, state_steps, strict=True):
        grad = _gradient(param, gradient, grad_scale, maximize, weight_decay)
        summed = _widened(total) + grad * grad
        total[...] = summed
        # The caller has counted this step already, and the first one has the full rate.
        rate = _number(lr) / (1 + (_number(count) - 1) * lr_decay)
        kind = grad.dtype.type
        param[...] = _widened(param) - kind(rate) * grad / (np.sqrt(summed) + kind(eps))
