"""Composites of losses of several classes and of distances, whose parts are compared with a margin."""

from __future__ import annotations

from typing import Any, Final

from tt.core.composites.helpers import as_type, check_shapes, number, widened
from tt.core.composites.loss import chosen, reduced
from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.dispatch.resolve.dtypes import common_dtype
from tt.core.errors import DimensionCountError, DimensionError, DtypeError, ShapeError, ValueRangeError
from tt.core.types.dtype import int64

composites: Final = CompositeTable()
composite = composites.composite

# --- one class -------------------------------------------------------------------------------------------------


def _rows(op: str, input: Any) -> tuple[int, int]:
    """Return how many rows of scores there are, and how many classes."""
    if input.ndim > 2 or (input.ndim and not input.shape[-1]):
        raise DimensionCountError(
            f"{op}(): the input has the shape (classes) or (batch, classes), and only the batch may be empty, but this "
            f"one has the shape {list(input.shape)}"
        )
    return (input.shape[0] if input.ndim == 2 else 1), (input.shape[-1] if input.ndim else 1)


def _expect_classes(op: str, target: Any) -> None:
    if target.dtype is not int64:
        raise DtypeError(f"{op}(): expected target dtype to be Long, but got {target.dtype}")


@composite("multi_margin_loss")
def multi_margin_loss(
    input: Any, target: Any, p: Any, margin: Any, weight: Any, size_average: Any, reduce: Any, reduction: str
) -> Any:
    op = "multi_margin_loss"
    found = chosen(op, reduction, size_average, reduce)
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
    return reduced(ops.reshape(loss, tuple(target.shape)), found, input.dtype)


def _lacking(x: Any, target: Any, margin: float) -> tuple[Any, Any]:
    """Return by how much each row's class falls short of a margin over the others, and where it does.

    The class itself does not count, and the slope is 0 where nothing lacks.
    """
    place = ops.unsqueeze(target, 1)
    lacking = ops.add(ops.sub(x, ops.gather(x, 1, place)), margin)
    return lacking, ops.logical_and(
        ops.gt(lacking, 0), ops.ne(ops.arange(x.shape[1], device=x.device), place)
    )


@composite("_multi_margin")
def multi_margin(input: Any, target: Any, p: int, margin: float) -> Any:
    check_shapes("_multi_margin", input, target, p, margin)
    x = widened(input)
    lacking, counts = _lacking(x, target, margin)
    loss = ops.where.default(counts, ops.square(lacking) if p == 2 else lacking, number(0, x))
    return as_type(ops.div.default(ops.sum.dim(loss, 1), x.shape[1]), input.dtype)


@composite("_multi_margin_backward")
def multi_margin_backward(grad: Any, input: Any, target: Any, p: int, margin: float) -> Any:
    check_shapes("_multi_margin_backward", grad, input, target, p, margin)
    x = widened(input)
    share = ops.unsqueeze(ops.div.default(widened(grad), x.shape[1]), 1)
    lacking, counts = _lacking(x, target, margin)
    slopes = ops.where.default(counts, ops.mul(ops.mul(lacking, 2), share) if p == 2 else share, number(0, x))
    lost = ops.neg(ops.sum.dim(slopes, 1, True))
    return as_type(ops.scatter_add(slopes, 1, ops.unsqueeze(target, 1), lost), input.dtype)


# --- several classes -------------------------------------------------------------------------------------------


@composite("multilabel_margin_loss")
def multilabel_margin_loss(input: Any, target: Any, size_average: Any, reduce: Any, reduction: str) -> Any:
    op = "multilabel_margin_loss"
    found = chosen(op, reduction, size_average, reduce)
    rows, classes = _rows(op, input)
    if tuple(target.shape) != tuple(input.shape):
        raise ShapeError(
            f"{op}(): an input of shape {list(input.shape)} needs a target of that shape, not {list(target.shape)}"
        )
    _expect_classes(op, target)
    x, t = ops.reshape(widened(input), (rows, classes)), ops.reshape(target, (rows, classes))
    loss = ops.reshape(ops._multilabel_margin(x, t), tuple(input.shape[:-1]))
    return reduced(loss, found, input.dtype)


def _pairs(x: Any, t: Any) -> tuple[Any, Any, Any]:
    """Return, for classes that rows name and all classes, what the former lack, where that counts, and the former.

    (rows, named, classes), twice, and (rows, named), where numbers that name no class are 0.
    """
    # The classes of a row are those before the first -1.
    listed = ops.eq(ops.cumsum(ops.lt(t, 0), 1), 0)
    place = ops.where.default(ops.eq(t, -1), 0, t)  # an invalid class is refused where it is looked up
    named = ops.gt(ops.scatter_add(ops.zeros_like(t), 1, place, as_type(listed, int64)), 0)
    lacking = ops.add(ops.sub(ops.unsqueeze(x, 1), ops.unsqueeze(ops.gather(x, 1, place), 2)), 1)
    pairs = ops.logical_and(ops.unsqueeze(listed, 2), ops.unsqueeze(ops.logical_not(named), 1))
    return lacking, ops.logical_and(pairs, ops.gt(lacking, 0)), place


@composite("_multilabel_margin")
def multilabel_margin(input: Any, target: Any) -> Any:
    check_shapes("_multilabel_margin", input, target)
    x = widened(input)
    lacking, counts, _ = _pairs(x, target)
    loss = ops.sum.dim(ops.where.default(counts, lacking, number(0, x)), (1, 2))
    return as_type(ops.div.default(loss, x.shape[1]), input.dtype)


@composite("_multilabel_margin_backward")
def multilabel_margin_backward(grad: Any, input: Any, target: Any) -> Any:
    check_shapes("_multilabel_margin_backward", grad, input, target)
    x = widened(input)
    _, counts, place = _pairs(x, target)
    share = ops.reshape(ops.div.default(widened(grad), x.shape[1]), (-1, 1, 1))
    shares = ops.where.default(counts, share, number(0, x))
    lost = ops.neg(ops.sum.dim(shares, 2))
    return as_type(ops.scatter_add(ops.sum.dim(shares, 1), 1, place, lost), input.dtype)


@composite("multilabel_soft_margin_loss")
def multilabel_soft_margin_loss(
    input: Any, target: Any, weight: Any, size_average: Any, reduce: Any, reduction: str
) -> Any:
    found = chosen("multilabel_soft_margin_loss", reduction, size_average, reduce)
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
    return reduced(ops.div.default(total, input.shape[-1]), found, dtype)
