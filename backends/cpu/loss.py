"""Kernels of loss functions."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tt.backends.cpu.backend import Array, in_rows
from tt.backends.cpu.indexing import held
from tt.core.library import KernelTable, errors

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu", by="NumPy")


def check_reduction(reduction: str) -> None:
    """Raise unless a reduction has a known name."""
    if reduction not in ("none", "mean", "sum"):
        raise errors.ValueRangeError(f"{reduction} is not a valid value for reduction (none, mean, sum)")


def reduced(loss: Array, reduction: str) -> Any:
    """Return a loss with the requested reduction."""
    if reduction == "none":
        return loss
    total = np.add.reduce(loss, axis=None)
    return np.true_divide(total, loss.dtype.type(loss.size)) if reduction == "mean" else total


# --- probabilities ---------------------------------------------------------------------------------------------


def _check_sizes(input: Array, target: Array, reduction: str, *weights: Array | None) -> None:
    """Raise, for the shape rule to explain."""
    check_reduction(reduction)
    if input.shape != target.shape:
        raise ValueError("a target of another shape")
    for weight in weights:
        if weight is not None and weight.shape != input.shape:
            np.broadcast_to(weight, input.shape)


@cpu.kernel("binary_cross_entropy_with_logits", dtypes="floating")
def binary_cross_entropy_with_logits(
    input: Array, target: Array, weight: Array | None, reduction: str, pos_weight: Array | None
) -> Any:
    _check_sizes(input, target, reduction, weight, pos_weight)
    # exp of a number that is not positive cannot overflow.
    no = np.log1p(np.exp(-np.abs(input)))
    no -= np.minimum(input, 0)  # log(1 + exp(-input))
    if pos_weight is not None:
        no = no * ((pos_weight - 1) * target + 1)
    loss = (1 - target) * input + no
    return reduced(loss if weight is None else loss * weight, reduction)


# --- classes ---------------------------------------------------------------------------------------------------


def _places(
    input: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str, op: str
) -> tuple[Array, Array]:
    """Return which targets are ignored, and the class of each, which is the first one for those."""
    check_reduction(reduction)
    if target.dtype not in (np.int64, np.uint8):
        raise errors.DtypeError(f"{op}(): expected target dtype to be Long or Byte, but got {target.dtype}")
    axis = 1 if input.ndim > 1 else 0
    rest = input.shape[:axis] + input.shape[axis + 1 :]
    if (
        not input.ndim
        or target.shape != rest
        or (weight is not None and weight.shape != input.shape[axis : axis + 1])
    ):
        raise ValueError("sizes that do not fit, which the shape rule refuses")
    ignored = target == ignore_index
    wrong = ((target < 0) | (target >= input.shape[axis])) & ~ignored
    if wrong.any():
        raise errors.IndexValueError(f"Target {target[wrong].flat[0]} is out of bounds.")
    return ignored, np.where(ignored, 0, target)


def _rows(input: Array, target: Array) -> Array | None:
    """Return the numbers of the rows where every row of a matrix has a class of its own; else None."""
    if input.ndim != 2 or target.dtype != np.int64 or target.shape != input.shape[:1] or not len(target):
        return None
    if np.maximum.reduce(target.view(np.uint64)) >= input.shape[1]:
        return None  # as unsigned numbers, negative ones are large
    return np.arange(len(target))


@cpu.kernel("nll_loss", dtypes="floating")
def nll_loss_of_rows(input: Array, target: Array) -> Any:
    """Serve the most frequent call: rows of classes, no weights, the mean."""
    target = held(target)
    rows = _rows(input, target)
    if rows is None:
        return nll_loss(input, target, None, -100, "mean")
    picked = input[rows, target]
    return np.divide(-np.add.reduce(picked), picked.dtype.type(len(target)))


@cpu.kernel("nll_loss", dtypes="floating")
def nll_loss(input: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str) -> Any:
    if input.ndim == 1 and target.shape == (1,):
        target = target.reshape(())  # scores without a batch may have a target with a dimension
    ignored, class_index = _places(
        input, held(target), weight, int(np.int64(ignore_index)), reduction, "nll_loss"
    )
    if input.ndim == 1:
        picked = input[class_index]
    elif input.ndim == 2:
        picked = input[np.arange(len(input)), class_index]
    else:
        picked = np.take_along_axis(input, class_index[:, None], axis=1)[:, 0]
    loss = -picked
    if weight is not None:
        chosen = weight[class_index]
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


# --- classes, from scores --------------------------------------------------------------------------------------


@cpu.kernel("_cross_entropy", dtypes="floating")
def cross_entropy(
    input: Array,
    target: Array,
    weight: Array | None,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
) -> tuple[Any, Any]:
    target = held(target)
    if weight is None and reduction == "mean" and not label_smoothing and ignore_index < 0:
        # The usual call of a classifier: one gather and no arrays of weights or masks.
        rows = _rows(input, target)
        if rows is not None:
            # Shifted by the maximum, exponentials cannot overflow and their sum is at least 1.
            largest = np.maximum.reduce(input, axis=1, keepdims=True)
            # Infinite or NaN maxima need the general way, which has a rule for them.
            if np.isfinite(largest).all():
                shifted = np.subtract(input, largest)
                sums = np.log(np.add.reduce(np.exp(shifted), 1))
                each = sums - shifted[rows, target]
                return np.true_divide(np.add.reduce(each), each.dtype.type(len(rows))), sums + largest[:, 0]
    ignored, class_index = _places(input, target, weight, ignore_index, reduction, "cross_entropy")
    scores = np.moveaxis(input, 1, -1) if input.ndim > 1 else input
    if not scores.shape[-1]:
        log_probability, logsumexp = np.zeros((*target.shape, 1), input.dtype), np.full(target.shape, -np.inf)
        logsumexp = logsumexp.astype(input.dtype)
    else:
        largest = np.maximum.reduce(scores, -1, keepdims=True)
        log_probability = scores - largest
        sums = np.log(np.add.reduce(np.exp(log_probability), -1, keepdims=True))
        log_probability = np.subtract(log_probability, sums)
        # NaN for infinite scores, like their loss.
        logsumexp = (largest + sums)[..., 0]
    weights = _weights(input, class_index, ignored, weight)
    picked = np.take_along_axis(log_probability, class_index[..., None].astype(np.int64), -1)[..., 0]
    zero = input.dtype.type(0)
    # Multiplied by 0, an infinite log-probability of an ignored target would be NaN.
    loss = _reduced(np.where(ignored, zero, -picked * weights), weights, reduction)
    if label_smoothing:
        spread = log_probability if weight is None else log_probability * weight
        even = np.where(ignored, zero, -np.add.reduce(spread, -1))
        loss = loss * (1 - label_smoothing)
        loss = loss + _reduced(even, weights, reduction) * (label_smoothing / max(scores.shape[-1], 1))
    return loss, logsumexp


def _weights(input: Array, place: Array, ignored: Array, weight: Array | None) -> Array:
    """Return the weight of each target, 0 for ignored ones."""
    return np.where(ignored, input.dtype.type(0), input.dtype.type(1) if weight is None else weight[place])


def _reduced(loss: Array, weights: Array, reduction: str) -> Any:
    if reduction == "none":
        return loss
    total = np.add.reduce(loss, None)
    return np.true_divide(total, np.add.reduce(weights, None)) if reduction == "mean" else total


@cpu.kernel("_cross_entropy_backward", dtypes="floating")
def cross_entropy_backward(
    grad: Array,
    input: Array,
    target: Array,
    weight: Array | None,
    logsumexp: Array,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
) -> Any:
    if logsumexp.shape != target.shape or grad.shape != (target.shape if reduction == "none" else ()):
        raise ValueError("sizes that do not fit, which the shape rule refuses")
    target = held(target)
    if weight is None and reduction != "none" and not label_smoothing and ignore_index < 0:
        rows = _rows(input, target)
        if rows is not None:
            check_reduction(reduction)
            share = grad / input.dtype.type(len(rows)) if reduction == "mean" else grad
            if share:
                slope = np.exp(input - logsumexp[:, None])
                slope[rows, target] -= 1
                return np.multiply(slope, share, slope)
    ignored, class_index = _places(input, target, weight, ignore_index, reduction, "cross_entropy")
    axis = 1 if input.ndim > 1 else 0
    weights = _weights(input, class_index, ignored, weight)
    scale = grad / np.add.reduce(weights, None) if reduction == "mean" else grad
    # If all are ignored, scale is NaN; ignored elements still have no gradient.
    own = np.where(ignored, input.dtype.type(0), weights * scale * (1 - label_smoothing))
    share = own
    if label_smoothing:
        classes = input.shape[axis]
        even = np.where(ignored, input.dtype.type(0), scale) * (label_smoothing / max(classes, 1))
        share = own + even * (classes if weight is None else np.add.reduce(weight))
    share = np.expand_dims(share, axis)
    slope = np.exp(input - np.expand_dims(logsumexp, axis))
    # What is not known of ignored rows is not known to their gradient; that of other rows is NaN, like their loss.
    slope[np.broadcast_to(np.expand_dims(ignored, axis), slope.shape) & ~np.isfinite(slope)] = 0
    slope = in_rows(slope * share, input)
    if not slope.size:
        return slope
    at = np.expand_dims(class_index, axis).astype(np.int64)
    np.put_along_axis(slope, at, np.take_along_axis(slope, at, axis) - np.expand_dims(own, axis), axis)
    if label_smoothing:
        along = 1 if weight is None else weight.reshape([-1 if i == axis else 1 for i in range(input.ndim)])
        slope -= np.expand_dims(even, axis) * along
    return slope
