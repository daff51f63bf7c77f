"""Composites of losses of classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import DimensionCountError, DtypeError, ShapeError, ValueRangeError
from tt.core.types.dtype import int64
from tt.operators.helpers import as_type, check_shapes, number, widened
from tt.operators.loss.composites import chosen, reduced

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

composites: Final = CompositeTable()
composite = composites.composite


@composite("nll_loss")
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    size_average: bool | None,
    ignore_index: int,
    reduce: bool | None,
    reduction: str,
) -> Tensor:
    reduction = chosen("nll_loss", reduction, size_average, reduce)
    check_shapes("nll_loss", input, target, weight)
    if target.dtype.name not in ("int64", "uint8"):
        raise DtypeError(f"nll_loss(): expected target dtype to be Long or Byte, but got {target.dtype}")
    dim = 1 if input.ndim > 1 else 0
    target = single_class(input, target)
    ignored = ops.eq(target, ignore_index)
    index = as_type(ops.where.default(ignored, 0, target), int64)
    picked = widened(ops.squeeze.dim(ops.gather(input, dim, ops.unsqueeze(index, dim)), dim))
    weights = _target_weights(picked, index, ignored, weight)
    # Multiplied by 0, an infinite log-probability of an ignored target would be NaN.
    loss = ops.where.default(ignored, number(0, picked), ops.mul(ops.neg(picked), weights))
    if reduction != "mean":
        return reduced(loss, reduction, input.dtype)
    # The mean by weights: ignored targets count in neither sum.
    return as_type(ops.div.default(ops.sum(loss), ops.sum(weights)), input.dtype)


def single_class(input: Tensor, target: Tensor) -> Tensor:
    """Return the target of scores without a batch without dimensions; it may have one, of one element."""
    single = input.ndim == 1 and tuple(target.shape) == (1,)
    return ops.reshape(target, ()) if single else target


def _target_weights(like: Tensor, place: Tensor, ignored: Tensor, weight: Tensor | None) -> Tensor:
    """Return the weight of each target, 0 for ignored ones."""
    kept = as_type(ops.logical_not(ignored), like.dtype)
    if weight is None:
        return kept
    chosen = ops.reshape(ops.index_select(weight, 0, ops.reshape(place, (-1,))), tuple(place.shape))
    return ops.mul(kept, chosen)


@composite("cross_entropy")
def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None, size_average: bool | None, ignore_index: int,
    reduce: bool | None, reduction: str, label_smoothing: float,
) -> Tensor:  # fmt: skip
    reduction = chosen("cross_entropy", reduction, size_average, reduce)
    if not 0.0 <= label_smoothing <= 1.0:
        raise ValueRangeError(f"cross_entropy(): label_smoothing is between 0 and 1, not {label_smoothing}")
    ndim = input.ndim
    if not ndim:
        raise DimensionCountError("cross_entropy(): expected an input of at least 1 dimension, got 0")
    if ndim == target.ndim and tuple(input.shape) == tuple(target.shape):
        dim = 0 if input.ndim == 1 else 1
        if not target.dtype.is_floating_point:
            raise DtypeError(
                f"cross_entropy(): a target in the shape of the input holds class probabilities, which are floating "
                f"point numbers, but got {target.dtype}"
            )
        if ignore_index >= 0:
            raise ValueRangeError("cross_entropy(): ignore_index has no meaning for class probabilities")
        log_probability = ops.log_softmax(input, dim)
        return _probability_loss(log_probability, target, weight, reduction, label_smoothing, dim)
    target = target if ndim > 1 else single_class(input, target)
    return ops._cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing)[0]


@composite("_cross_entropy")
def class_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
) -> tuple[Any, Any]:
    check_shapes("_cross_entropy", input, target, weight, ignore_index, reduction, label_smoothing)
    dim = 0 if input.ndim == 1 else 1
    log_probability = ops.log_softmax(input, dim)
    loss = ops.nll_loss(log_probability, target, weight, ignore_index=ignore_index, reduction=reduction)
    if label_smoothing:
        smooth = _smooth_loss(log_probability, target, weight, ignore_index, reduction, dim)
        classes = input.shape[dim]
        loss = ops.add(ops.mul(loss, 1 - label_smoothing), ops.mul(smooth, label_smoothing / classes))
    return loss, _logsumexp(input, log_probability, dim)


def _logsumexp(input: Tensor, log_probability: Tensor, dim: int) -> Tensor:
    """Return what log_softmax subtracted: read off at the largest score, where the difference loses least."""
    if not input.shape[dim]:
        return ops.logsumexp(input, dim)
    # NaN for infinite scores, whose loss is NaN: a gradient with numbers in it would hide that.
    return ops.sub(ops.amax(input, (dim,)), ops.amax(log_probability, (dim,)))


@composite("_cross_entropy_backward")
def class_loss_backward(
    grad: Tensor,
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    logsumexp: Tensor,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
) -> Tensor:
    check_shapes("_cross_entropy_backward", grad, input, target, weight, logsumexp, ignore_index, reduction)
    dim, x = 0 if input.ndim == 1 else 1, widened(input)
    ignored = ops.eq(target, ignore_index)
    index = as_type(ops.where.default(ignored, 0, target), int64)
    weights = _target_weights(x, index, ignored, None if weight is None else widened(weight))
    g = widened(grad)
    g = ops.div.default(g, ops.sum(weights)) if reduction == "mean" else g
    zero = number(0, x)
    # If all are ignored, g is NaN; ignored elements still have no gradient.
    own = ops.where.default(ignored, zero, ops.mul(ops.mul(weights, g), 1 - label_smoothing))
    classes = input.shape[dim]
    share, even = own, None
    if label_smoothing:
        even = ops.where.default(ignored, zero, ops.mul(g, label_smoothing / classes))
        total = classes if weight is None else ops.sum(widened(weight))
        share = ops.add(own, ops.mul(even, total))
    # What is not known of ignored rows is not known to any derivative.  Other rows of infinite or unknown scores have
    # NaN as their gradient, like their loss, even where the gradient of the loss is zero: forward mode begins there.
    difference = ops.where.default(
        ops.unsqueeze(ignored, dim), zero, ops.sub(x, ops.unsqueeze(widened(logsumexp), dim))
    )
    slope = ops.mul(ops.exp(difference), ops.unsqueeze(share, dim))
    slope = ops.scatter_add(slope, dim, ops.unsqueeze(index, dim), ops.unsqueeze(ops.neg(own), dim))
    if even is not None:
        even = ops.unsqueeze(even, dim)
        by_class = even if weight is None else ops.mul(even, widened(_class_weights(x, weight, dim)))
        slope = ops.sub(slope, by_class)
    return as_type(slope, input.dtype)


def _class_weights(self: Any, weight: Any, dim: int) -> Any:
    """Return the class weights in a shape that broadcasts along the dimension of the classes."""
    shape = [1] * self.ndim
    shape[dim] = -1
    return ops.reshape(weight, tuple(shape))


def _probability_loss(
    log_probability: Tensor, target: Tensor, weight: Any, reduction: str, label_smoothing: float, dim: int
) -> Tensor:
    classes = log_probability.shape[dim]
    if weight is not None and tuple(weight.shape) != (classes,):
        raise ShapeError(
            f"cross_entropy(): the weight must have shape [{classes}], a number for each class, but has "
            f"{list(weight.shape)}"
        )
    if label_smoothing > 0:
        target = ops.add(ops.mul(target, 1 - label_smoothing), label_smoothing / classes)
    product = ops.mul(log_probability, target)
    if weight is not None:
        product = ops.mul(product, _class_weights(log_probability, weight, dim))
    loss = ops.neg(ops.sum.dim(product, dim))
    if reduction == "mean":
        return ops.div.default(ops.sum(loss), log_probability.numel() // max(classes, 1))
    return reduced(loss, reduction)


def _smooth_loss(
    log_probability: Tensor, target: Tensor, weight: Any, ignore_index: int, reduction: str, dim: int
) -> Tensor:
    """Return the loss against all classes alike, which label smoothing mixes in."""
    weighted = log_probability
    if weight is not None:
        weighted = ops.mul(weighted, _class_weights(log_probability, weight, dim))
    ignored = ops.eq(target, ignore_index)
    loss = ops.masked_fill(ops.neg(ops.sum.dim(weighted, dim)), ignored, 0.0)
    if reduction != "mean":
        return reduced(loss, reduction)
    index = ops.where.default(ignored, 0, target)
    return ops.div.default(ops.sum(loss), ops.sum(_target_weights(log_probability, index, ignored, weight)))


# --- after a linear layer --------------------------------------------------------------------------------------


@composite("linear_cross_entropy")
def linear_cross_entropy(
    input: Tensor, linear_weight: Tensor, target: Tensor, linear_bias: Tensor | None, weight: Tensor | None,
    reduction: str, ignore_index: int | None, label_smoothing: float, options: Any,
) -> Tensor:  # fmt: skip
    op = "linear_cross_entropy"
    if input.ndim not in (1, 2):
        raise DimensionCountError(f"{op}(): expected an input of 1 or 2 dimensions, got {input.ndim}")
    if linear_weight.ndim < 2:
        raise DimensionCountError(
            f"{op}(): expected a linear_weight of at least 2 dimensions, got {linear_weight.ndim}"
        )
    outer, features = tuple(linear_weight.shape[:-1]), linear_weight.shape[-1]
    if input.shape[-1] != features:
        raise ShapeError(
            f"{op}(): the input has {input.shape[-1]} features, but linear_weight takes {features}"
        )
    if len(outer) > 1 and input.ndim == 1:
        raise ShapeError(
            f"{op}(): linear_weight {list(linear_weight.shape)} needs an input [batch, {features}], but it has "
            f"{list(input.shape)}"
        )
    if linear_bias is not None and tuple(linear_bias.shape) != outer:
        raise ShapeError(
            f"{op}(): expected a linear_bias of shape {list(outer)}, got {list(linear_bias.shape)}"
        )
    bias = None if linear_bias is None else ops.reshape(linear_bias, (-1,))
    scores = ops.linear(input, ops.reshape(linear_weight, (-1, features)), bias)
    scores = ops.reshape(scores, (*input.shape[:-1], *outer))
    if tuple(scores.shape) == tuple(target.shape) and ignore_index is not None:
        raise ValueRangeError(f"{op}(): ignore_index has no meaning for class probabilities")
    if not 0.0 <= label_smoothing <= 1.0:
        raise ValueRangeError(f"{op}(): label_smoothing is between 0 and 1, not {label_smoothing}")
    if weight is not None and tuple(weight.shape) != outer[:1]:
        raise ShapeError(
            f"{op}(): the weight must have shape {list(outer[:1])}, but has {list(weight.shape)}"
        )
    ignored = -100 if ignore_index is None else ignore_index
    return ops.cross_entropy(
        scores, target, weight, ignore_index=ignored, reduction=reduction, label_smoothing=label_smoothing
    )
