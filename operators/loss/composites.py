"""Composites of loss functions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import DimensionCountError, DimensionError, DtypeError, ShapeError, ValueRangeError
from tt.core.tensor.common_dtype import common_dtype
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.dtype import int64
from tt.core.types.user_warnings import warn_user
from tt.operators.helpers import (
    as_type,
    check_shapes,
    is_integral,
    log1p_exp,
    number,
    python_value,
    widened,
)
from tt.operators.loss.shapes import chosen_reduction

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

composites: Final = CompositeTable()
composite = composites.composite

# --- reductions ------------------------------------------------------------------------------------------------


def chosen(op: str, reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> str:
    """Return the requested reduction of a loss, with a warning for the two old bools."""
    result = chosen_reduction(op, reduction, size_average, reduce)
    if size_average is not None or reduce is not None:
        warn_user(f"{op}(): size_average and reduce are deprecated; use reduction={result!r}")
    return result


def reduced(loss: Tensor, reduction: str, dtype: Dtype | None = None) -> Tensor:
    """Return a loss reduced by a known name, in a dtype unless it is an integer dtype."""
    if reduction != "none":
        loss = ops.mean(loss) if reduction == "mean" else ops.sum(loss)
    return loss if dtype is None or is_integral(dtype) else as_type(loss, dtype)


def warn_of_sizes(op: str, input: Tensor, target: Any) -> None:
    """Warn of a target that broadcasts, which is seldom meant."""
    if tuple(input.shape) != tuple(target.shape):
        warn_user(
            f"{op}(): the target size {list(target.shape)} is not the input size {list(input.shape)}; they broadcast, "
            f"which is seldom meant. Please ensure they have the same size."
        )


def expect_floating(op: str, *tensors: Any) -> Any:
    """Return the dtype to which tensors promote, which must be a real floating point one."""
    dtype = common_dtype(*tensors)
    if not dtype.is_floating_point:
        raise DtypeError(
            f"{op}(): expected floating point tensors, got {' and '.join(str(t.dtype) for t in tensors)}"
        )
    return dtype


def at_least_zero(value: Tensor) -> Tensor:
    return ops.clamp(value, 0)


# --- differences -----------------------------------------------------------------------------------------------


def _fused(input: Tensor, target: Tensor, reduction: str, *others: Any) -> bool:
    """Return whether one operator can compute a loss: of one shape and dtype, with no more than a reduction."""
    return (
        all(other is None for other in others)
        and reduction in ("mean", "sum", "none")
        and input.dtype is target.dtype
        and input.dtype.is_floating_point
        and input.shape == target.shape
    )


def _regression(
    op: str,
    input: Tensor,
    target: Any,
    weight: Any,
    reduction: str,
    measure: Any,
    *,
    mean_by_weight: bool = True,
) -> Any:
    """Return a loss that measures the differences of input and target."""
    warn_of_sizes(op, input, target)
    dtype = common_dtype(input, target)
    # In float32 at least: a difference of half precision numbers has few digits left.
    loss = measure(ops.sub(widened(input), widened(target)))
    if weight is None:
        return reduced(loss, reduction, dtype.to_real())
    if tuple(weight.shape) != tuple(input.shape):
        raise ValueRangeError(
            f"{op}(): weight must have the shape of the input, {list(input.shape)}, got {list(weight.shape)}"
        )
    loss, dtype = ops.mul(loss, widened(weight)), common_dtype(dtype.to_real(), weight.dtype)
    if reduction == "mean" and mean_by_weight:
        return as_type(ops.div.default(ops.sum(loss), ops.sum(widened(weight))), dtype)
    return reduced(loss, reduction, dtype)


def _numbers(op: str, input: Tensor, target: Any) -> tuple[Any, Any]:
    """Return input and target, of which one is floating point, with bools as numbers."""
    dtype = expect_floating(op, input, target)
    return as_number(input, dtype), as_number(target, dtype)


def as_number(x: Tensor, dtype: Any) -> Any:
    """Return a tensor, in a dtype if its elements are bools."""
    return as_type(x, dtype) if x.dtype.kind == "bool" else x


@composite("mse_loss")
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None,
    reduce: bool | None,
    reduction: str,
    weight: Tensor | None,
) -> Any:
    # One kernel for the usual case, where the parts would write three tensors.
    if _fused(input, target, reduction, size_average, reduce, weight):
        return ops._elementwise_loss(input, target, "square", reduction, 0.0)
    reduction = chosen("mse_loss", reduction, size_average, reduce)
    input, target = _numbers("mse_loss", input, target)
    return _regression("mse_loss", input, target, weight, reduction, ops.square)


@composite("l1_loss")
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None,
    reduce: bool | None,
    reduction: str,
    weight: Tensor | None,
) -> Any:
    if _fused(input, target, reduction, size_average, reduce, weight):
        return ops._elementwise_loss(input, target, "absolute", reduction, 0.0)
    reduction = chosen("l1_loss", reduction, size_average, reduce)
    return _regression("l1_loss", input, target, weight, reduction, ops.abs)


@composite("smooth_l1_loss")
def smooth_l1_loss(
    input: Tensor, target: Tensor, size_average: bool | None, reduce: bool | None, reduction: str, beta: float
) -> Any:
    if beta < 0:
        raise ValueRangeError(f"smooth_l1_loss(): beta must not be negative, got {beta}")
    if beta and _fused(input, target, reduction, size_average, reduce):
        return ops._elementwise_loss(input, target, "smooth", reduction, float(beta))
    reduction = chosen("smooth_l1_loss", reduction, size_average, reduce)
    input, target = _numbers("smooth_l1_loss", input, target)

    def measure(difference: Any) -> Any:
        size = ops.abs(difference)
        square = ops.mul(ops.square(difference), 0.5 / beta)  # of the size, it would have no curvature at 0
        return ops.where.default(ops.lt(size, beta), square, ops.sub(size, beta / 2))

    return _regression("smooth_l1_loss", input, target, None, reduction, measure if beta else ops.abs)


@composite("huber_loss")
def huber_loss(input: Tensor, target: Tensor, reduction: str, delta: float, weight: Tensor | None) -> Any:
    if delta <= 0:
        raise ValueRangeError(f"huber_loss(): delta must be positive, got {delta}")
    if _fused(input, target, reduction, weight):
        return ops._elementwise_loss(input, target, "huber", reduction, float(delta))
    reduction = chosen("huber_loss", reduction)
    input, target = _numbers("huber_loss", input, target)

    def measure(difference: Any) -> Any:
        size = ops.abs(difference)
        linear = ops.mul(ops.sub(size, delta / 2), delta)
        # The square of the size would have no curvature at 0.
        return ops.where.default(ops.le(size, delta), ops.mul(ops.square(difference), 0.5), linear)

    # PyTorch divides weighted Huber losses by their number, and others by the sum of the weights.
    return _regression("huber_loss", input, target, weight, reduction, measure, mean_by_weight=False)


# --- probabilities ---------------------------------------------------------------------------------------------


@composite("binary_cross_entropy")
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    size_average: bool | None,
    reduce: bool | None,
    reduction: str,
) -> Tensor:
    check_shapes("binary_cross_entropy", input, target, weight, size_average, reduce, reduction)
    reduction = chosen("binary_cross_entropy", reduction, size_average, reduce)
    inside = ops.logical_and(ops.ge(input, 0), ops.le(input, 1))
    if python_value(ops.all(inside)) is False:
        raise ValueRangeError("binary_cross_entropy(): all elements of input should be between 0 and 1")
    x, t = widened(input), widened(target)
    # PyTorch's bound: at probability 0 or 1 the loss stays finite, and so does its mean.
    lowest = number(-100, x)
    yes, no = ops.maximum(ops.log(x), lowest), ops.maximum(ops.log1p(ops.neg(x)), lowest)
    loss = ops.sub(ops.mul(ops.sub(t, 1), no), ops.mul(t, yes))
    return reduced(loss if weight is None else ops.mul(loss, widened(weight)), reduction, input.dtype)


@composite("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    size_average: bool | None,
    reduce: bool | None,
    reduction: str,
    pos_weight: Tensor | None,
) -> Tensor:
    op = "binary_cross_entropy_with_logits"
    check_shapes(op, input, target, weight, size_average, reduce, reduction, pos_weight)
    reduction = chosen(op, reduction, size_average, reduce)
    dtype = expect_floating(op, *(v for v in (input, target, weight, pos_weight) if v is not None))
    x, t = widened(as_type(input, dtype)), widened(as_type(target, dtype))
    # log(1 + exp(-x)) without an exponential that overflows.
    no = log1p_exp(ops.neg(x))
    if pos_weight is not None:
        no = ops.mul(no, ops.add(ops.mul(ops.sub(widened(pos_weight), 1), t), 1))
    loss = ops.add(ops.mul(ops.rsub(t, 1), x), no)
    return reduced(loss if weight is None else ops.mul(loss, widened(weight)), reduction, dtype)


@composite("kl_div")
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None,
    reduce: bool | None,
    reduction: str,
    log_target: bool,
) -> Tensor:
    by_batch = reduction == "batchmean" and size_average is None and reduce is None
    reduction = chosen("kl_div", "sum" if by_batch else reduction, size_average, reduce)
    if reduction == "mean":
        warn_user(
            "kl_div(): reduction='mean' divides by the number of elements, reduction='batchmean' by that of the "
            "examples, as the divergence is defined"
        )
    dtype = expect_floating("kl_div", input, target)
    if _fused(input, target, reduction):
        total = ops._elementwise_loss(
            input, target, "log_divergence" if log_target else "divergence", reduction, 0.0
        )
        return ops.div.default(total, input.shape[0]) if by_batch and input.ndim else total
    x, t = widened(input), widened(target)
    loss = ops.mul(ops.exp(t), ops.sub(t, x)) if log_target else ops.sub(_x_log_x(t), ops.mul(t, x))
    if by_batch and input.ndim:
        return as_type(ops.div.default(ops.sum(loss), input.shape[0]), dtype)
    return reduced(loss, reduction, dtype)


def _x_log_x(x: Tensor) -> Tensor:
    """Return x log(x), 0 for 0."""
    zero = ops.eq(x, 0)
    return ops.mul(x, ops.log(ops.where.default(zero, number(1, x), x)))


@composite("poisson_nll_loss")
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool,
    full: bool,
    size_average: bool | None,
    eps: float,
    reduce: bool | None,
    reduction: str,
) -> Tensor:
    reduction = chosen("poisson_nll_loss", reduction, size_average, reduce)
    dtype = common_dtype(input, target)
    x, t = widened(input), widened(target)
    loss = (
        ops.sub(ops.exp(x), ops.mul(t, x)) if log_input else ops.sub(x, ops.mul(t, ops.log(ops.add(x, eps))))
    )
    if full:
        # Stirling's approximation of log(target!), for targets above 1 only.
        many = ops.gt(t, 1)
        n = ops.where.default(many, t, ops.ones_like(t))
        log_n = ops.log(n)
        term = ops.add(ops.sub(ops.mul(n, log_n), n), ops.mul(ops.add(log_n, math.log(2 * math.pi)), 0.5))
        loss = ops.add(loss, ops.where.default(many, term, ops.zeros_like(term)))
    return reduced(loss, reduction, dtype)


@composite("gaussian_nll_loss")
def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Any, full: bool, eps: float, reduction: str
) -> Tensor:
    reduction = chosen("gaussian_nll_loss", reduction)
    if not hasattr(var, "shape"):
        var = ops.full(tuple(input.shape), var, dtype=input.dtype, device=input.device)
    if python_value(ops.any(ops.lt(var, 0))):
        raise ValueRangeError("gaussian_nll_loss(): var has negative entries")
    shape, size = tuple(var.shape), tuple(input.shape)
    if shape != size:
        if size[:-1] == shape:
            var = ops.unsqueeze(var, -1)
        elif len(shape) != len(size) or sum(v for n, v in zip(size, shape, strict=True) if n != v) != 1:
            raise ValueRangeError(
                f"gaussian_nll_loss(): var must have the shape of the input, {list(size)}, or one number a row; got "
                f"{list(shape)}"
            )
    dtype = common_dtype(input, target, var)
    # The bound is not part of the derivative: below it, var keeps its slope.
    lift = ops.detach(ops.where.default(ops.lt(var, eps), ops.rsub(var, eps), number(0, var)))
    v = widened(ops.add(var, lift))
    loss = ops.add(ops.log(v), ops.div.default(ops.square(ops.sub(widened(input), widened(target))), v))
    loss = ops.mul(loss, 0.5)
    return reduced(ops.add(loss, 0.5 * math.log(2 * math.pi)) if full else loss, reduction, dtype)


# --- element by element ----------------------------------------------------------------------------------------


def _measure(x: Tensor, t: Tensor, kind: str, parameter: float) -> Tensor:
    """Return the loss of each element."""
    if kind == "square":
        return ops.square(ops.sub(x, t))
    if kind in ("absolute", "smooth", "huber"):
        difference = ops.sub(x, t)
        size = ops.abs(difference)
        if kind == "absolute":
            return size
        # The square of the size would have no curvature at 0.
        if kind == "huber":
            linear = ops.mul(ops.sub(size, parameter / 2), parameter)
            return ops.where.default(ops.le(size, parameter), ops.mul(ops.square(difference), 0.5), linear)
        square = ops.mul(ops.square(difference), 0.5 / parameter)
        return ops.where.default(ops.lt(size, parameter), square, ops.sub(size, parameter / 2))
    if kind == "probability":
        lowest = number(-100, x)
        yes, no = ops.maximum(ops.log(x), lowest), ops.maximum(ops.log1p(ops.neg(x)), lowest)
        return ops.sub(ops.mul(ops.sub(t, 1), no), ops.mul(t, yes))
    if kind == "logit":
        return ops.add(ops.mul(ops.rsub(t, 1), x), log1p_exp(ops.neg(x)))
    if kind == "divergence":
        return ops.sub(_x_log_x(t), ops.mul(t, x))
    return ops.mul(ops.exp(t), ops.sub(t, x))


def _slope(x: Tensor, t: Tensor, kind: str, parameter: float) -> Tensor:
    """Return the derivative of the loss of each element by its input."""
    difference = ops.sub(x, t)
    if kind == "square":
        return ops.mul(difference, 2)
    if kind in ("absolute", "smooth", "huber"):
        sign = ops.sign(difference)
        if kind == "absolute":
            return sign
        size = ops.abs(difference)
        if kind == "huber":
            return ops.where.default(ops.le(size, parameter), difference, ops.mul(sign, parameter))
        return ops.where.default(ops.lt(size, parameter), ops.div.default(difference, parameter), sign)
    if kind == "probability":
        # PyTorch's bound: at probability 0 or 1 the slope stays finite.
        return ops.div.default(difference, ops.clamp(ops.mul(ops.rsub(x, 1), x), 1e-12))
    if kind == "logit":
        return ops.sub(ops.sigmoid(x), t)
    return ops.neg(t if kind == "divergence" else ops.exp(t))


@composite("_elementwise_loss")
def elementwise_loss(input: Tensor, target: Tensor, kind: str, reduction: str, parameter: float) -> Tensor:
    check_shapes("_elementwise_loss", input, target, kind, reduction, parameter)
    return reduced(_measure(widened(input), widened(target), kind, parameter), reduction, input.dtype)


@composite("_elementwise_loss_backward")
def elementwise_loss_backward(
    grad: Tensor, input: Tensor, target: Tensor, kind: str, reduction: str, parameter: float
) -> Tensor:
    check_shapes("_elementwise_loss_backward", grad, input, target, kind, reduction, parameter)
    g = widened(grad)
    if reduction == "mean":
        g = ops.div.default(g, max(input.shape.numel(), 1))
    slope = _slope(widened(input), widened(target), kind, parameter)
    return as_type(ops.mul(slope, g), input.dtype)


# --- margins ---------------------------------------------------------------------------------------------------


@composite("soft_margin_loss")
def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None, reduce: bool | None, reduction: str
) -> Tensor:
    reduction = chosen("soft_margin_loss", reduction, size_average, reduce)
    dtype = common_dtype(input, target)
    return reduced(log1p_exp(ops.neg(ops.mul(widened(target), widened(input)))), reduction, dtype)


@composite("hinge_embedding_loss")
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float,
    size_average: bool | None,
    reduce: bool | None,
    reduction: str,
) -> Tensor:
    reduction = chosen("hinge_embedding_loss", reduction, size_average, reduce)
    x = widened(input)
    zero = number(0, x)
    lacking = ops.where.default(ops.ne(target, 1), at_least_zero(ops.rsub(x, margin)), zero)
    loss = ops.add(lacking, ops.where.default(ops.ne(target, -1), x, zero))
    return reduced(loss, reduction, input.dtype)


@composite("margin_ranking_loss")
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float,
    size_average: bool | None,
    reduce: bool | None,
    reduction: str,
) -> Tensor:
    reduction = chosen("margin_ranking_loss", reduction, size_average, reduce)
    if not input1.ndim == input2.ndim == target.ndim:
        raise ShapeError(
            f"margin_ranking_loss(): the tensors must have the same number of dimensions, got {list(input1.shape)}, "
            f"{list(input2.shape)} and {list(target.shape)}"
        )
    dtype = common_dtype(input1, input2, target)
    difference = ops.sub(widened(input1), widened(input2))
    loss = at_least_zero(ops.add(ops.neg(ops.mul(widened(target), difference)), margin))
    return reduced(loss, reduction, dtype)


@composite("triplet_margin_loss")
def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float, p: float, eps: float, swap: bool,
    size_average: bool | None, reduce: bool | None, reduction: str,
) -> Tensor:  # fmt: skip
    reduction = chosen("triplet_margin_loss", reduction, size_average, reduce)
    if margin <= 0:
        raise ValueRangeError(f"triplet_margin_loss(): margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise ShapeError(
            f"triplet_margin_loss(): the tensors must have the same number of dimensions, got {list(anchor.shape)}, "
            f"{list(positive.shape)} and {list(negative.shape)}"
        )
    dtype = common_dtype(anchor, positive, negative).to_real()
    a, b, c = widened(anchor), widened(positive), widened(negative)

    def distance(one: Tensor, other: Tensor) -> Tensor:
        # PyTorch adds eps to each difference: the norm of zeros has no derivative.
        return ops.linalg_vector_norm(ops.add(ops.sub(one, other), eps), p, -1)

    far = distance(a, c)
    # The "distance swap": the negative may be harder for the positive (Balntas et al. 2016).
    if swap:
        far = ops.minimum(far, distance(b, c))
    return reduced(at_least_zero(ops.add(ops.sub(distance(a, b), far), margin)), reduction, dtype)


@composite("cosine_embedding_loss")
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float,
    size_average: bool | None,
    reduce: bool | None,
    reduction: str,
) -> Tensor:
    reduction = chosen("cosine_embedding_loss", reduction, size_average, reduce)
    if target.ndim not in (0, 1) or input1.ndim != target.ndim + 1 or input2.ndim != target.ndim + 1:
        raise ShapeError(
            f"cosine_embedding_loss(): expected inputs (D) with a target () or (N, D) with (N), got "
            f"{list(input1.shape)}, {list(input2.shape)} and {list(target.shape)}"
        )
    dtype = common_dtype(input1, input2, 1.0)
    x, y = widened(as_type(input1, dtype)), widened(as_type(input2, dtype))
    tiny = 1e-12  # of PyTorch: a vector of zeros has the cosine 0 with every other
    lengths = ops.mul(
        ops.add(ops.sum.dim(ops.square(x), -1), tiny), ops.add(ops.sum.dim(ops.square(y), -1), tiny)
    )
    cosine = ops.div.default(ops.sum.dim(ops.mul(x, y), -1), ops.sqrt(lengths))
    zero = number(0, cosine)
    alike = ops.where.default(ops.eq(target, 1), ops.rsub(cosine, 1), zero)
    apart = ops.where.default(ops.eq(target, -1), at_least_zero(ops.sub(cosine, margin)), zero)
    return reduced(ops.add(alike, apart), reduction, dtype)


# --- one class -------------------------------------------------------------------------------------------------


def _rows(op: str, input: Tensor) -> tuple[int, int]:
    """Return how many rows of scores there are, and how many classes."""
    if input.ndim > 2 or (input.ndim and not input.shape[-1]):
        raise DimensionCountError(
            f"{op}(): the input has the shape (classes) or (batch, classes), and only the batch may be empty, but this "
            f"one has the shape {list(input.shape)}"
        )
    return (input.shape[0] if input.ndim == 2 else 1), (input.shape[-1] if input.ndim else 1)


def _expect_classes(op: str, target: Tensor) -> None:
    if target.dtype is not int64:
        raise DtypeError(f"{op}(): expected target dtype to be Long, but got {target.dtype}")


@composite("multi_margin_loss")
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: Any,
    margin: Any,
    weight: Tensor | None,
    size_average: bool | None,
    reduce: bool | None,
    reduction: str,
) -> Tensor:
    op = "multi_margin_loss"
    reduction = chosen(op, reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueRangeError(f"{op}(): p must be 1 or 2, got {p}")
    if weight is not None and weight.ndim != 1:
        raise ValueRangeError(f"{op}(): weight must have one dimension, got {list(weight.shape)}")
    rows, classes = _rows(op, input)
    if target.ndim > 1 or target.numel() != rows:
        raise ShapeError(
            f"{op}(): an input of shape {list(input.shape)} needs a target of shape [{rows}], but it has "
            f"{list(target.shape)}"
        )
    if weight is not None and weight.shape[0] != classes:
        raise ShapeError(f"{op}(): weight must have shape [{classes}], but has {list(weight.shape)}")
    _expect_classes(op, target)
    if isinstance(margin, complex):
        raise ValueRangeError(f"{op}(): margin must be a real number, got {margin}")
    x, classes_of = ops.reshape(widened(input), (rows, classes)), ops.reshape(target, (rows,))
    loss = ops._multi_margin(x, classes_of, int(p), float(margin))
    if weight is not None:
        loss = ops.mul(loss, ops.index_select(widened(weight), 0, classes_of))
    return reduced(ops.reshape(loss, tuple(target.shape)), reduction, input.dtype)


def _lacking(x: Tensor, target: Tensor, margin: float) -> tuple[Any, Any]:
    """Return by how much each row's class falls short of a margin over the others, and where it does.

    The class itself does not count, and the slope is 0 where nothing lacks.
    """
    index = ops.unsqueeze(target, 1)
    lacking = ops.add(ops.sub(x, ops.gather(x, 1, index)), margin)
    return lacking, ops.logical_and(
        ops.gt(lacking, 0), ops.ne(ops.arange(x.shape[1], device=x.device), index)
    )


@composite("_multi_margin")
def multi_margin(input: Tensor, target: Tensor, p: int, margin: float) -> Tensor:
    check_shapes("_multi_margin", input, target, p, margin)
    x = widened(input)
    lacking, counts = _lacking(x, target, margin)
    loss = ops.where.default(counts, ops.square(lacking) if p == 2 else lacking, number(0, x))
    return as_type(ops.div.default(ops.sum.dim(loss, 1), x.shape[1]), input.dtype)


@composite("_multi_margin_backward")
def multi_margin_backward(grad: Tensor, input: Tensor, target: Tensor, p: int, margin: float) -> Tensor:
    check_shapes("_multi_margin_backward", grad, input, target, p, margin)
    x = widened(input)
    share = ops.unsqueeze(ops.div.default(widened(grad), x.shape[1]), 1)
    lacking, counts = _lacking(x, target, margin)
    slopes = ops.where.default(counts, ops.mul(ops.mul(lacking, 2), share) if p == 2 else share, number(0, x))
    # What pushes the others down pulls the class of the row up by the sum.
    lost = ops.neg(ops.sum.dim(slopes, 1, True))
    return as_type(ops.scatter_add(slopes, 1, ops.unsqueeze(target, 1), lost), input.dtype)


# --- several classes -------------------------------------------------------------------------------------------


@composite("multilabel_margin_loss")
def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None, reduce: bool | None, reduction: str
) -> Tensor:
    op = "multilabel_margin_loss"
    reduction = chosen(op, reduction, size_average, reduce)
    rows, classes = _rows(op, input)
    if tuple(target.shape) != tuple(input.shape):
        raise ShapeError(
            f"{op}(): an input of shape {list(input.shape)} needs a target of that shape, not {list(target.shape)}"
        )
    _expect_classes(op, target)
    x, t = ops.reshape(widened(input), (rows, classes)), ops.reshape(target, (rows, classes))
    loss = ops.reshape(ops._multilabel_margin(x, t), tuple(input.shape[:-1]))
    return reduced(loss, reduction, input.dtype)


def _pairs(x: Tensor, t: Tensor) -> tuple[Any, Any, Any]:
    """Return, for classes that rows name and all classes, what the former lack, where that counts, and the former.

    (rows, named, classes), twice, and (rows, named), where numbers that name no class are 0.
    """
    # The classes of a row are those before the first -1.
    listed = ops.eq(ops.cumsum(ops.lt(t, 0), 1), 0)
    index = ops.where.default(ops.eq(t, -1), 0, t)  # an invalid class is refused where it is looked up
    named = ops.gt(ops.scatter_add(ops.zeros_like(t), 1, index, as_type(listed, int64)), 0)
    lacking = ops.add(ops.sub(ops.unsqueeze(x, 1), ops.unsqueeze(ops.gather(x, 1, index), 2)), 1)
    pairs = ops.logical_and(ops.unsqueeze(listed, 2), ops.unsqueeze(ops.logical_not(named), 1))
    return lacking, ops.logical_and(pairs, ops.gt(lacking, 0)), index


@composite("_multilabel_margin")
def multilabel_margin(input: Tensor, target: Tensor) -> Tensor:
    check_shapes("_multilabel_margin", input, target)
    x = widened(input)
    lacking, counts, _ = _pairs(x, target)
    loss = ops.sum.dim(ops.where.default(counts, lacking, number(0, x)), (1, 2))
    return as_type(ops.div.default(loss, x.shape[1]), input.dtype)


@composite("_multilabel_margin_backward")
def multilabel_margin_backward(grad: Tensor, input: Tensor, target: Tensor) -> Tensor:
    check_shapes("_multilabel_margin_backward", grad, input, target)
    x = widened(input)
    _, counts, index = _pairs(x, target)
    share = ops.reshape(ops.div.default(widened(grad), x.shape[1]), (-1, 1, 1))
    shares = ops.where.default(counts, share, number(0, x))
    lost = ops.neg(ops.sum.dim(shares, 2))
    return as_type(ops.scatter_add(ops.sum.dim(shares, 1), 1, index, lost), input.dtype)


@composite("multilabel_soft_margin_loss")
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    size_average: bool | None,
    reduce: bool | None,
    reduction: str,
) -> Tensor:
    reduction = chosen("multilabel_soft_margin_loss", reduction, size_average, reduce)
    dtype = common_dtype(*(t for t in (input, target, weight) if t is not None))
    x, t = widened(input), widened(target)
    # Two logarithms: with the one of `_elementwise_loss` the loss of an infinite score is NaN, not infinite.
    loss = ops.neg(
        ops.add(ops.mul(t, ops.logsigmoid(x)), ops.mul(ops.rsub(t, 1), ops.logsigmoid(ops.neg(x))))
    )
    if weight is not None:
        loss = ops.mul(loss, widened(weight))
    if not input.ndim:
        raise DimensionError("multilabel_soft_margin_loss", -1, 0)
    # A target or weight that has more dimensions, or is longer, changes the sum, not the divisor.
    total = ops.sum.dim(loss, [input.ndim - 1])
    return reduced(ops.div.default(total, input.shape[-1]), reduction, dtype)
