"""Formulas of loss functions.  g is the gradient of the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt.core.library import Tensor, ops
from tt.plugins.autograd.formulas.helpers import size_of
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()


def reduction_of(reduction: str, size_average: bool | None, reduce: bool | None) -> str:
    """Return the effective reduction; the two bools are PyTorch's older way to choose it."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def takes_mean(reduction: str, size_average: bool | None, reduce: bool | None) -> bool:
    """Return whether a loss is a mean; the two bools are PyTorch's older way to choose it."""
    if size_average is None and reduce is None:
        return reduction == "mean"
    return size_average is not False and reduce is not False


# --- classes ---------------------------------------------------------------------------------------------------


def nll_loss_input(
    g: Tensor, input_shape: Sequence[int], target: Tensor, weight: Any, ignore_index: int, size_average: Any,
    reduce: Any, reduction: str,
) -> Tensor:  # fmt: skip
    """-weight of the class at the place of the target, 0 elsewhere and where the target is ignored."""
    classes = 0 if len(input_shape) == 1 else 1
    if not classes:
        target = ops.reshape(target, ())  # it may have a dimension of one element
    counts = target != ignore_index
    # `ignore_index` may lie outside of the classes, and is no index then.
    safe = ops.where(counts, target, 0).long()
    factor = counts.to(g.dtype)
    if weight is not None:
        chosen = ops.index_select(weight, 0, ops.reshape(safe, (-1,)))
        factor = factor * ops.reshape(chosen, tuple(safe.shape))
    slope = -g * factor / ops.sum(factor) if takes_mean(reduction, size_average, reduce) else -g * factor
    slope = ops.where(counts, slope, 0)  # if all are ignored, their mean is NaN
    zeros = ops.new_zeros(g, input_shape)
    return ops.scatter(zeros, classes, ops.unsqueeze(safe, classes), ops.unsqueeze(slope, classes))


d.of("nll_loss", input=nll_loss_input)


def cross_entropy_input(
    gs: Sequence[Tensor | None], input: Tensor, target: Tensor, weight: Tensor | None, logsumexp: Tensor,
    ignore_index: int, reduction: str, label_smoothing: float,
) -> Any:  # fmt: skip
    """Softmax less one at the place of the target, weighted; through the logarithm of the sum, softmax."""
    g, to_sum = gs
    grad = None
    if g is not None:
        grad = ops._cross_entropy_backward(
            g, input, target, weight, logsumexp, ignore_index, reduction, label_smoothing
        )
    if to_sum is None:
        return grad
    dim = 0 if input.ndim == 1 else 1
    difference = input - ops.unsqueeze(logsumexp, dim)
    # What is not known of ignored rows is not known to any derivative.
    unknown = ops.unsqueeze(target == ignore_index, dim) & ops.isnan(difference)
    more = ops.unsqueeze(to_sum, dim) * ops.exp(ops.where(unknown, 0, difference))
    return more if grad is None else grad + more


d.of("_cross_entropy", input=cross_entropy_input)

# --- element by element ----------------------------------------------------------------------------------------


def elementwise_target(
    g: Tensor, input: Tensor, target: Tensor, kind: str, reduction: str, parameter: float
) -> Tensor:
    """Of what depends on differences alone, the negative gradient of the input."""
    if kind in ("square", "absolute", "smooth", "huber"):
        return -ops._elementwise_loss_backward(g, input, target, kind, reduction, parameter)
    g = g / size_of(input.shape, None) if reduction == "mean" else g
    if kind == "probability":
        return g * (ops.log1p(-input) - ops.log(input))
    if kind == "logit":
        return g * -input
    if kind == "log_divergence":
        return g * ops.exp(target) * (target - input + 1)
    zero = target == 0
    return g * (ops.where(zero, 0, ops.log(ops.where(zero, 1, target)) + 1) - input)


d.of("_elementwise_loss",
     input=lambda g, input, target, kind, reduction, parameter:
     ops._elementwise_loss_backward(g, input, target, kind, reduction, parameter),
     target=elementwise_target)  # fmt: skip

# --- probabilities ---------------------------------------------------------------------------------------------


def each(g: Tensor, input: Tensor, weight: Any, size_average: Any, reduce: Any, reduction: str) -> Tensor:
    """Return the gradient of each element's loss."""
    g = g if weight is None else g * weight
    return g / size_of(input.shape, None) if takes_mean(reduction, size_average, reduce) else g


def bce_input(
    g: Tensor, input: Tensor, target: Tensor, weight: Any, size_average: Any, reduce: Any, reduction: str
) -> Tensor:
    """(input - target) / (input (1 - input)), where the denominator is at least 1e-12."""
    # One kernel for the usual case: the general way below makes five temporaries.
    if weight is None and input.dtype is target.dtype is g.dtype:
        reduction = reduction_of(reduction, size_average, reduce)
        return ops._elementwise_loss_backward(g, input, target, "probability", reduction, 0.0)
    slope = (input - target) / ops.clamp((1 - input) * input, 1e-12)
    return each(g, input, weight, size_average, reduce, reduction) * slope


def bce_target(
    g: Tensor, input: Tensor, weight: Any, size_average: Any, reduce: Any, reduction: str
) -> Tensor:
    """log(1 - input) - log(input)."""
    slope = ops.log1p(-input) - ops.log(input)
    return each(g, input, weight, size_average, reduce, reduction) * slope


d.of("binary_cross_entropy", input=bce_input, target=bce_target)


def bce_with_logits_input(
    g: Tensor,
    input: Tensor,
    target: Tensor,
    weight: Any,
    pos_weight: Any,
    size_average: Any,
    reduce: Any,
    reduction: str,
) -> Tensor:
    """sigmoid(input) - target; positive targets weighted."""
    if weight is None and pos_weight is None and input.dtype is target.dtype is g.dtype:
        reduction = reduction_of(reduction, size_average, reduce)
        return ops._elementwise_loss_backward(g, input, target, "logit", reduction, 0.0)
    if pos_weight is None:
        slope = ops.sigmoid(input) - target
    else:
        slope = (1 - target) - (1 + (pos_weight - 1) * target) * ops.sigmoid(-input)
    return each(g, input, weight, size_average, reduce, reduction) * slope


def bce_with_logits_target(
    g: Tensor, input: Tensor, weight: Any, pos_weight: Any, size_average: Any, reduce: Any, reduction: str
) -> Tensor:
    """-input; positive targets weighted."""
    slope = -input
    if pos_weight is not None:
        softplus = ops.logaddexp(-input, ops.zeros_like(input))  # as a whole: no kink at 0
        slope = slope + (pos_weight - 1) * softplus
    return each(g, input, weight, size_average, reduce, reduction) * slope


d.of("binary_cross_entropy_with_logits", input=bce_with_logits_input, target=bce_with_logits_target)


# --- margins ---------------------------------------------------------------------------------------------------

d.of("_multi_margin",
     input=lambda g, input, target, p, margin: ops._multi_margin_backward(g, input, target, p, margin))  # fmt: skip
d.of("_multilabel_margin", input=lambda g, input, target: ops._multilabel_margin_backward(g, input, target))


def ctc_loss(
    gs: Sequence[Tensor | None], log_probs: Tensor, targets: Tensor, input_lengths: Sequence[int],
    target_lengths: Sequence[int], loss: Tensor, log_alpha: Tensor, blank: int, zero_infinity: bool,
) -> Any:  # fmt: skip
    """Through the losses; and through log_alpha, which the gradient of the losses takes: second derivatives."""
    g, to_alpha = gs
    result = None
    if g is not None:
        result = ops._ctc_loss_backward(
            g, log_probs, targets, input_lengths, target_lengths, loss, log_alpha, blank, zero_infinity
        )
    if to_alpha is None:
        return result
    slope = ops._ctc_alpha_backward(
        to_alpha, log_probs, targets, input_lengths, target_lengths, log_alpha, blank
    )
    return slope if result is None else result + slope


d.of("_ctc_loss", log_probs=ctc_loss)
