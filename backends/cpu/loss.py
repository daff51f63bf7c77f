"""Kernels of loss functions."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tt.backends.cpu.backend import Array
from tt.core.library import KernelTable, errors

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")


def check_reduction(reduction: str) -> None:
    """Raise unless a reduction has a known name."""
    if reduction not in ("none", "mean", "sum"):
        raise errors.ValueRangeError(f"{reduction} is not a valid value for reduction (none, mean, sum)")


def reduced(loss: Array, reduction: str) -> Any:
    """Return a loss reduced as its caller asks."""
    if reduction == "none":
        return loss
    total = np.add.reduce(loss, axis=None)
    return np.true_divide(total, loss.dtype.type(loss.size)) if reduction == "mean" else total


# --- probabilities ---------------------------------------------------------------------------------------------


def _check_sizes(input: Array, target: Array, reduction: str, *weights: Array | None) -> None:
    """Raise what the shape rule explains."""
    check_reduction(reduction)
    if input.shape != target.shape:
        raise ValueError("a target of another shape")
    for weight in weights:
        if weight is not None and weight.shape != input.shape:
            np.broadcast_to(weight, input.shape)


@cpu.kernel("binary_cross_entropy", dtypes="floating")
def binary_cross_entropy(input: Array, target: Array, weight: Array | None, reduction: str) -> Any:
    _check_sizes(input, target, reduction, weight)
    if input.size and not (
        np.minimum.reduce(input, axis=None) >= 0 and np.maximum.reduce(input, axis=None) <= 1
    ):
        raise errors.ValueRangeError(
            "binary_cross_entropy(): all elements of input should be between 0 and 1"
        )
    yes, no = np.maximum(np.log(input), -100), np.maximum(np.log1p(-input), -100)
    loss = (target - 1) * no - target * yes
    return reduced(loss if weight is None else loss * weight, reduction)


@cpu.kernel("binary_cross_entropy_with_logits", dtypes="floating")
def binary_cross_entropy_with_logits(
    input: Array, target: Array, weight: Array | None, reduction: str, pos_weight: Array | None
) -> Any:
    _check_sizes(input, target, reduction, weight, pos_weight)
    no = np.log1p(np.exp(-np.abs(input)))
    no -= np.minimum(input, 0)  # log(1 + exp(-input))
    if pos_weight is not None:
        no = no * ((pos_weight - 1) * target + 1)
    loss = (1 - target) * input + no
    return reduced(loss if weight is None else loss * weight, reduction)


# --- classes ---------------------------------------------------------------------------------------------------


@cpu.kernel("nll_loss", dtypes="floating")
def nll_loss_of_rows(input: Array, target: Array) -> Any:
    """Serve the most frequent call: rows of classes, no weights, the mean."""
    if input.ndim != 2 or target.dtype != np.int64 or target.shape != input.shape[:1] or not len(target):
        return nll_loss(input, target, None, -100, "mean")
    if (
        np.maximum.reduce(target.view(np.uint64)) >= input.shape[1]
    ):  # as unsigned numbers, negative ones are large
        return nll_loss(input, target, None, -100, "mean")
    picked = input[np.arange(len(target)), target]
    return np.divide(-np.add.reduce(picked), picked.dtype.type(len(target)))


@cpu.kernel("nll_loss", dtypes="floating")
def nll_loss(input: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str) -> Any:
    check_reduction(reduction)
    if target.dtype not in (np.int64, np.uint8):
        raise errors.DtypeError(
            f"nll_loss(): expected target dtype to be Long or Byte, but got {target.dtype}"
        )
    axis = 1 if input.ndim > 1 else 0
    beside = input.shape[:axis] + input.shape[axis + 1 :]
    if (
        not input.ndim
        or target.shape != beside
        or (weight is not None and weight.shape != input.shape[axis : axis + 1])
    ):
        raise ValueError("sizes that do not fit, which the shape rule refuses")
    classes = input.shape[axis]
    ignored = target == ignore_index
    wrong = ((target < 0) | (target >= classes)) & ~ignored
    if wrong.any():
        raise errors.IndexValueError(f"Target {target[wrong].flat[0]} is out of bounds.")
    place = np.where(ignored, 0, target)
    if input.ndim == 1:
        picked = input[place]
    elif input.ndim == 2:
        picked = input[np.arange(len(input)), place]
    else:
        picked = np.take_along_axis(input, place[:, None], axis=1)[:, 0]
    loss = -picked
    if weight is not None:
        chosen = weight[place]
        loss = loss * chosen
    loss = np.where(ignored, input.dtype.type(0), loss)
    if reduction == "none":
        return loss
    total = loss.sum(dtype=input.dtype)
    if reduction == "sum":
        return total
    if weight is None:
        count = input.dtype.type(ignored.size - np.count_nonzero(ignored))
    else:
        count = np.where(ignored, input.dtype.type(0), chosen).sum(dtype=input.dtype)
    return np.true_divide(total, count)
