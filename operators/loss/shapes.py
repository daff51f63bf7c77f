"""Shape rules of loss functions."""

from __future__ import annotations

from typing import Final

from tt.core.errors import DtypeError, ShapeError, ValueRangeError
from tt.core.shapes.geometry import Described, broadcast
from tt.core.shapes.registry import RuleTable

rule = RuleTable()

Shape = tuple[int, ...]


def chosen_reduction(op: str, reduction: str, size_average: bool | None, reduce: bool | None) -> str:
    """Return the requested reduction of a loss: by its name, or by PyTorch's two older bools."""
    # Either of the older arguments overrules `reduction`, as in PyTorch.
    if size_average is not None or reduce is not None:
        if reduce is not None and not reduce:
            return "none"
        return "mean" if size_average is None or size_average else "sum"
    if reduction not in ("none", "mean", "sum"):
        raise ValueRangeError(f"{op}(): {reduction} is not a valid value for reduction (none, mean, sum)")
    return reduction


def reduced(op: str, shape: Shape, reduction: str, size_average: bool | None, reduce: bool | None) -> Shape:
    """Return the shape of a loss."""
    return tuple(shape) if chosen_reduction(op, reduction, size_average, reduce) == "none" else ()


@rule("same_shape_loss")
def same_shape_loss(
    input: Described,
    target: Described,
    weight: Described | None = None,
    pos_weight: Described | None = None,
    reduction: str = "mean",
    size_average: bool | None = None,
    reduce: bool | None = None,
    *,
    op: str,
) -> Shape:
    """A number for each element, their mean or their sum, of a target that does not broadcast."""
    chosen_reduction(op, reduction, size_average, reduce)
    if tuple(input.shape) != tuple(target.shape):
        raise ValueRangeError(
            f"{op}(): target and input must have one shape, but have {list(target.shape)} and {list(input.shape)}"
        )
    shape = tuple(input.shape)
    for name, tensor in (("weight", weight), ("pos_weight", pos_weight)):
        if tensor is not None and broadcast(op, shape, tensor.shape) != shape:
            raise ShapeError(
                f"{op}(): {name} {list(tensor.shape)} does not broadcast to the input {list(shape)}"
            )
    return reduced(op, shape, reduction, size_average, reduce)


@rule("nll_loss")
def nll_loss(
    input: Described,
    target: Described,
    weight: Described | None = None,
    reduction: str = "mean",
    size_average: bool | None = None,
    reduce: bool | None = None,
    *,
    op: str,
) -> Shape:
    """The negative log likelihood of a class index: (C), (N, C) or (N, C, ...) against () or (1), (N) or (N, ...)."""
    chosen_reduction(op, reduction, size_average, reduce)
    if not input.ndim:
        raise ValueRangeError(f"{op}(): the input must have at least 1 dimension, but has 0")
    if input.ndim > 1 and tuple(target.shape[:1]) != (input.shape[0],):
        actual = target.shape[0] if target.ndim else "no batch"
        raise ValueRangeError(
            f"{op}(): input and target must have one batch size, but have {input.shape[0]} and {actual}"
        )
    classes = input.shape[0] if input.ndim == 1 else input.shape[1]
    expected = () if input.ndim == 1 else (input.shape[0], *input.shape[2:])
    # The operators below cross_entropy get a target without dimensions.
    single = input.ndim == 1 and op == "nll_loss" and tuple(target.shape) == (1,)
    if tuple(target.shape) != expected and not single:
        known = "[] or [1]" if input.ndim == 1 else list(expected)
        # As in PyTorch, a ValueError for a wrong number of targets.
        raise (ValueRangeError if input.ndim == target.ndim == 1 else ShapeError)(
            f"{op}(): an input of shape {list(input.shape)} needs a target of shape {known}, but it has "
            f"{list(target.shape)}"
        )
    if weight is not None and tuple(weight.shape) != (classes,):
        raise ShapeError(
            f"{op}(): the weight must have shape [{classes}], a number for each class, but has "
            f"{list(weight.shape)}"
        )
    return reduced(op, expected, reduction, size_average, reduce)


# --- parts of losses -------------------------------------------------------------------------------

KINDS: Final = (
    "square", "absolute", "smooth", "huber", "probability", "logit", "divergence", "log_divergence",
)  # fmt: skip
"""The losses that `_elementwise_loss` computes."""


@rule("elementwise_loss")
def elementwise_loss(input: Described, target: Described, kind: str, reduction: str, *, op: str) -> Shape:
    """A number for each element, their mean or their sum."""
    if kind not in KINDS:
        raise ValueRangeError(f"{op}(): {kind!r} is not a kind of loss; there are {', '.join(KINDS)}")
    return same_shape_loss(input, target, reduction=reduction, op=op)


@rule("elementwise_loss_backward")
def elementwise_loss_backward(
    grad: Described, input: Described, target: Described, kind: str, reduction: str, *, op: str
) -> Shape:
    """The gradient of the input."""
    expect_gradient(op, grad, elementwise_loss(input, target, kind, reduction, op=op))
    return tuple(input.shape)


def expect_gradient(op: str, grad: Described, shape: Shape) -> None:
    """Raise unless a gradient has the shape of the loss."""
    if tuple(grad.shape) != shape:
        raise ShapeError(f"{op}(): grad {list(grad.shape)} has not the shape of the loss, {list(shape)}")


@rule("class_loss")
def class_loss(
    input: Described, target: Described, weight: Described | None = None, reduction: str = "mean", *, op: str
) -> tuple[Shape, Shape]:
    """The loss, and a number for each target."""
    # Messages name the public operator.
    op = op.lstrip("_")
    loss = nll_loss(input, target, weight, reduction, op=op)
    if target.dtype.name not in ("int64", "uint8"):
        raise DtypeError(f"{op}(): expected target dtype to be Long or Byte, but got {target.dtype}")
    return loss, tuple(target.shape)


@rule("class_loss_backward")
def class_loss_backward(
    grad: Described,
    input: Described,
    target: Described,
    weight: Described | None,
    logsumexp: Described,
    reduction: str,
    *,
    op: str,
) -> Shape:
    """The gradient of the scores."""
    loss, size = class_loss(input, target, weight, reduction, op=op)
    expect_gradient(op, grad, loss)
    if tuple(logsumexp.shape) != size:
        raise ShapeError(
            f"{op}(): logsumexp {list(logsumexp.shape)} has not the shape of target, {list(size)}"
        )
    return tuple(input.shape)


# --- losses with a margin ----------------------------------------------------------------------------------------


def _rows_of_scores(op: str, input: Described, target: Described, shape: Shape) -> None:
    """Raise unless there is a matrix of scores, with int64 classes of a shape."""
    if input.ndim != 2 or not input.shape[1]:
        raise ShapeError(
            f"{op}(): the input has the shape (batch, classes), but this one has {list(input.shape)}"
        )
    if tuple(target.shape) != shape:
        raise ShapeError(
            f"{op}(): an input of shape {list(input.shape)} needs a target of shape {list(shape)}, but it has "
            f"{list(target.shape)}"
        )
    if target.dtype.name != "int64":
        raise DtypeError(f"{op}(): expected target dtype to be Long, but got {target.dtype}")


@rule("multi_margin")
def multi_margin(input: Described, target: Described, p: int, *, op: str) -> Shape:
    """A number for each row."""
    _rows_of_scores(op, input, target, tuple(input.shape[:1]))
    if p not in (1, 2):
        raise ValueRangeError(f"{op}(): p must be 1 or 2, got {p}")
    return tuple(input.shape[:1])


@rule("multi_margin_backward")
def multi_margin_backward(grad: Described, input: Described, target: Described, p: int, *, op: str) -> Shape:
    """The gradient of the input."""
    expect_gradient(op, grad, multi_margin(input, target, p, op=op))
    return tuple(input.shape)


@rule("multilabel_margin")
def multilabel_margin(input: Described, target: Described, *, op: str) -> Shape:
    """A number for each row."""
    _rows_of_scores(op, input, target, tuple(input.shape))
    return tuple(input.shape[:1])


@rule("multilabel_margin_backward")
def multilabel_margin_backward(grad: Described, input: Described, target: Described, *, op: str) -> Shape:
    """The gradient of the input."""
    expect_gradient(op, grad, multilabel_margin(input, target, op=op))
    return tuple(input.shape)


def check_lengths(
    log_probs: Described, targets: Described, input_lengths: Shape, target_lengths: Shape
) -> None:
    """Raise unless there are lengths for each item, which steps and targets contain."""
    steps, batch = log_probs.shape[0], log_probs.shape[1]
    if targets.shape[0] != batch:
        raise ShapeError(
            f"ctc_loss(): there are {batch} items in log_probs, but {targets.shape[0]} in targets"
        )
    for name, lengths, most in (
        ("input_lengths", input_lengths, steps),
        ("target_lengths", target_lengths, targets.shape[1]),
    ):
        if len(lengths) != batch:
            raise ShapeError(f"ctc_loss(): {name} has a number for each of {batch} items, got {len(lengths)}")
        if any(not 0 <= n <= most for n in lengths):
            raise ShapeError(f"ctc_loss(): {name} must be numbers from 0 to {most}, got {list(lengths)}")


@rule("ctc_loss")
def ctc_loss(
    log_probs: Described, targets: Described, input_lengths: Shape, target_lengths: Shape, *, op: str
) -> tuple[Shape, Shape]:
    """A number for each item, and one for each item, step and state."""
    if log_probs.ndim != 3 or not log_probs.shape[0] or targets.ndim != 2 or targets.dtype.name != "int64":
        raise ShapeError(
            f"{op}(): expected log_probs (time, batch, classes) and int64 targets (batch, length), got "
            f"{list(log_probs.shape)} and {targets.dtype} {list(targets.shape)}"
        )
    check_lengths(log_probs, targets, tuple(input_lengths), tuple(target_lengths))
    batch = log_probs.shape[1]
    # The states are the labels, with a blank before, between and after them.
    return (batch,), (batch, log_probs.shape[0], 2 * targets.shape[1] + 1)


@rule("ctc_loss_backward")
def ctc_loss_backward(
    grad: Described,
    log_probs: Described,
    targets: Described,
    input_lengths: Shape,
    target_lengths: Shape,
    loss: Described,
    log_alpha: Described,
    *,
    op: str,
) -> Shape:
    """The gradient of log_probs."""
    one, states = ctc_loss(log_probs, targets, input_lengths, target_lengths, op=op)
    for name, tensor, shape in (("grad", grad, one), ("loss", loss, one), ("log_alpha", log_alpha, states)):
        if tuple(tensor.shape) != shape:
            raise ShapeError(f"{op}(): {name} must have the shape {list(shape)}, got {list(tensor.shape)}")
    if log_alpha.dtype is not log_probs.dtype:
        raise DtypeError(f"{op}(): log_alpha must have the dtype {log_probs.dtype}, got {log_alpha.dtype}")
    return tuple(log_probs.shape)
