"""Composites of neural networks."""

from __future__ import annotations

import warnings
from typing import Any, Final

from tt.core.composites.helpers import as_type, check_shapes, expect_reduction, reduced
from tt.core.dispatch.registry import ops
from tt.core.dispatch.tables import CompositeTable
from tt.core.errors import DtypeError, ShapeError, ValueRangeError

composites: Final = CompositeTable()
composite = composites.composite

# --- layers ----------------------------------------------------------------------------------------------------


@composite("linear")
def linear(input: Any, weight: Any, bias: Any) -> Any:
    if weight.ndim not in (1, 2):
        raise ShapeError(f"linear(): weight must be 1D or 2D, got {weight.ndim}D")
    if bias is not None and input.ndim == 2:
        return ops.addmm(bias, input, ops.t(weight))
    product = ops.matmul(input, ops.t(weight))
    return product if bias is None else ops.add(product, bias)


# --- losses ----------------------------------------------------------------------------------------------------


@composite("mse_loss")
def mse_loss(self: Any, target: Any, reduction: str) -> Any:
    if tuple(self.shape) != tuple(target.shape):
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({self.shape}). This will "
            f"likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            UserWarning,
            stacklevel=2,
        )
    return reduced(ops.square(ops.sub(self, target)), reduction)


@composite("nll_loss")
def nll_loss(self: Any, target: Any, weight: Any, ignore_index: int, reduction: str) -> Any:
    expect_reduction(reduction)
    check_shapes("nll_loss", self, target, weight, ignore_index, reduction)
    if target.dtype.name not in ("int64", "uint8"):
        raise DtypeError(f"nll_loss(): expected target dtype to be Long or Byte, but got {target.dtype}")
    dim = 1 if self.ndim > 1 else 0
    ignored = ops.eq(target, ignore_index)
    place = ops.where.default(ignored, 0, target)
    picked = ops.squeeze.dim(ops.gather(self, dim, ops.unsqueeze(place, dim)), dim)
    weights = _target_weights(self, place, ignored, weight)
    # Multiplied by 0, an infinite log-probability of an ignored target would be NaN.
    zero = ops.zeros((), dtype=self.dtype, device=self.device)
    loss = ops.where.default(ignored, zero, ops.mul(ops.neg(picked), weights))
    if reduction == "none":
        return loss
    total = ops.sum(loss)
    return total if reduction == "sum" else ops.div.default(total, ops.sum(weights))


def _target_weights(self: Any, place: Any, ignored: Any, weight: Any) -> Any:
    """Return the weight of each target, 0 for ignored ones."""
    kept = as_type(ops.logical_not(ignored), self.dtype)
    if weight is None:
        return kept
    chosen = ops.reshape(ops.index_select(weight, 0, ops.reshape(place, (-1,))), tuple(place.shape))
    return ops.mul(kept, chosen)


@composite("cross_entropy")
def cross_entropy(
    self: Any, target: Any, weight: Any, ignore_index: int, reduction: str, label_smoothing: float
) -> Any:
    expect_reduction(reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise ValueRangeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if not self.ndim:
        raise ShapeError("cross_entropy(): expected an input of at least 1 dimension, got 0")
    dim = 0 if self.ndim == 1 else 1
    if tuple(self.shape) == tuple(target.shape) and target.dtype.is_floating_point:
        return _probability_loss(ops.log_softmax(self, dim), target, weight, reduction, label_smoothing, dim)
    log_probability = ops.log_softmax(self, dim)
    loss = ops.nll_loss(log_probability, target, weight, ignore_index=ignore_index, reduction=reduction)
    if label_smoothing == 0:
        return loss
    smooth = _smooth_loss(log_probability, target, weight, ignore_index, reduction, dim)
    classes = self.shape[dim]
    return ops.add(ops.mul(loss, 1 - label_smoothing), ops.mul(smooth, label_smoothing / classes))


def _class_weights(self: Any, weight: Any, dim: int) -> Any:
    """Return the class weights in a shape that broadcasts along the dimension of the classes."""
    shape = [1] * self.ndim
    shape[dim] = -1
    return ops.reshape(weight, tuple(shape))


def _probability_loss(
    log_probability: Any, target: Any, weight: Any, reduction: str, label_smoothing: float, dim: int
) -> Any:
    classes = log_probability.shape[dim]
    if label_smoothing > 0:
        target = ops.add(ops.mul(target, 1 - label_smoothing), label_smoothing / classes)
    product = ops.mul(log_probability, target)
    if weight is not None:
        product = ops.mul(product, _class_weights(log_probability, weight, dim))
    loss = ops.neg(ops.sum.dim(product, dim))
    if reduction == "mean":
        return ops.div.default(ops.sum(loss), max(log_probability.numel() // max(classes, 1), 0))
    return reduced(loss, reduction)


def _smooth_loss(
    log_probability: Any, target: Any, weight: Any, ignore_index: int, reduction: str, dim: int
) -> Any:
    """Return the loss against all classes alike, which label smoothing mixes in."""
    weighted = log_probability
    if weight is not None:
        weighted = ops.mul(weighted, _class_weights(log_probability, weight, dim))
    ignored = ops.eq(target, ignore_index)
    loss = ops.masked_fill(ops.neg(ops.sum.dim(weighted, dim)), ignored, 0.0)
    if reduction != "mean":
        return reduced(loss, reduction)
    place = ops.where.default(ignored, 0, target)
    return ops.div.default(ops.sum(loss), ops.sum(_target_weights(log_probability, place, ignored, weight)))
