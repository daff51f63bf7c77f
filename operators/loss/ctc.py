"""Composites of the loss of sequences whose alignment is unknown (Graves et al. 2006)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import (
    DataDependentError,
    DimensionCountError,
    DtypeError,
    PlaceError,
    ShapeError,
    ValueRangeError,
)
from tt.core.types.dtype import int64
from tt.operators.helpers import as_type, check_shapes, number, python_value, widened
from tt.operators.loss.composites import chosen
from tt.operators.loss.shapes import check_lengths

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

composites: Final = CompositeTable()
composite = composites.composite

# --- the arguments ---------------------------------------------------------------------------------------------


def _lengths(name: str, value: Any, unknown: tuple[int, ...]) -> tuple[int, ...]:
    """Return lengths as numbers, other ones for a tensor without data."""
    count = len(unknown)
    if not isinstance(value, (list, tuple)):
        if value.dtype.kind not in ("signed", "unsigned"):
            raise DtypeError(f"ctc_loss(): {name} must be integers, got {value.dtype}")
        if value.numel() != count:
            raise ShapeError(
                f"ctc_loss(): {name} has a number for each of {count} items, got {value.numel()}"
            )
        try:
            value = ops.reshape(value, (-1,)).tolist()
        except DataDependentError:
            # `item` has transforms run the call for one example after the other, where `tolist` fails.
            if python_value(ops.sum(value)) is not None:
                raise
            return unknown
    if len(value) != count:
        raise ShapeError(f"ctc_loss(): {name} has a number for each of {count} items, got {len(value)}")
    return tuple(map(int, value))


def _shares(targets: Tensor, batch: int) -> tuple[int, ...]:
    """Return lengths that targets can have."""
    if targets.ndim == 2:
        return (targets.shape[1],) * batch
    return tuple((targets.shape[0] + i) // batch for i in range(batch))


def _padded(targets: Tensor, lengths: Sequence[int]) -> Tensor:
    """Return targets that follow one another as rows of one length."""
    if sum(lengths) != targets.shape[0]:
        raise ShapeError(
            f"ctc_loss(): the lengths of the targets add to {sum(lengths)}, but there are {targets.shape[0]} targets"
        )
    longest = max(lengths, default=0)
    rows = ops.split(targets, lengths, 0)
    return ops.stack([ops.constant_pad_nd(row, (0, longest - row.shape[0]), 0) for row in rows])


@composite("ctc_loss")
def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int], blank: int, reduction: str, zero_infinity: bool,
) -> Tensor:  # fmt: skip
    reduction = chosen("ctc_loss", reduction)
    if log_probs.ndim not in (2, 3) or not log_probs.numel():
        raise DimensionCountError(
            f"ctc_loss(): log_probs has the shape (time, batch, classes), or (time, classes), and elements; this one "
            f"has the shape {list(log_probs.shape)}"
        )
    if targets.ndim not in (1, 2) or targets.dtype.kind == "bool" or targets.dtype.is_complex:
        raise ShapeError(
            f"ctc_loss(): targets are numbers in 1 or 2 dimensions, got {targets.dtype} {list(targets.shape)}"
        )
    x: Any = log_probs if log_probs.ndim == 3 else ops.unsqueeze(log_probs, 1)
    steps, batch, classes = x.shape
    if not 0 <= blank < classes:
        raise ValueRangeError(f"ctc_loss(): blank is a class from 0 to {classes - 1}, got {blank}")
    inputs = _lengths("input_lengths", input_lengths, (steps,) * batch)
    lengths = _lengths("target_lengths", target_lengths, _shares(targets, batch))
    labels: Any = as_type(targets, int64)
    labels = labels if labels.ndim == 2 else _padded(labels, lengths)
    check_lengths(x, labels, inputs, lengths)
    own = ops.lt(_range(labels.shape[1], labels), ops.unsqueeze(_column(lengths, labels), 1))
    # What lies behind the end of a target may be anything, also no class at all.
    labels = ops.where.default(own, labels, blank)
    loss = ops._ctc_loss(x, labels, inputs, lengths, blank, zero_infinity)[0]
    if zero_infinity:
        loss = ops.where.default(ops.eq(loss, math.inf), number(0, loss), loss)
    # PyTorch's mean: each loss over the length of its target, then over the batch.
    if reduction == "mean":
        return ops.mean(ops.div.default(loss, as_type(ops.clamp(_column(lengths, x), min=1), loss.dtype)))
    if reduction == "sum":
        return ops.sum(loss)
    return loss if log_probs.ndim == 3 else ops.squeeze.dim(loss, 0)


def _range(count: int, like: Tensor) -> Tensor:
    return ops.arange(count, device=like.device)


def _column(numbers: Sequence[int], like: Tensor) -> Tensor:
    """Return integers as a tensor."""
    if not numbers:
        return ops.zeros((0,), dtype=int64, device=like.device)
    return ops.stack([ops.full((), n, dtype=int64, device=like.device) for n in numbers])


# --- along the steps -------------------------------------------------------------------------------------------


def _classes_of(labels: Tensor, lengths: Sequence[int], blank: int, classes: int) -> Tensor:
    """Return labels with blanks behind the end of each target, or raise for one that is not a class."""
    own = ops.lt(_range(labels.shape[1], labels), ops.unsqueeze(_column(lengths, labels), 1))
    labels = ops.where.default(own, labels, blank)
    wrong = ops.logical_or(ops.lt(labels, 0), ops.ge(labels, classes))
    if python_value(ops.any(wrong)):
        label = python_value(ops.select(ops.masked_select(labels, wrong), 0, 0))
        raise PlaceError(f"ctc_loss(): the target {label} is not one of {classes} classes")
    return labels


class _Lattice:
    """The states of all items: before, between and behind the labels there are blanks."""

    def __init__(
        self,
        x: Tensor,
        labels: Tensor,
        input_lengths: Sequence[int],
        target_lengths: Sequence[int],
        blank: int,
    ) -> None:
        steps, batch, _ = x.shape
        labels = _classes_of(labels, target_lengths, blank, x.shape[2])
        # Blanks and labels alternate, so that odd states are labels.
        self.states = 2 * labels.shape[1] + 1
        blanks = ops.full((batch, labels.shape[1], 1), blank, dtype=int64, device=x.device)
        pairs = ops.reshape(ops.cat([blanks, ops.unsqueeze(labels, 2)], 2), (batch, self.states - 1))
        last = ops.full((batch, 1), blank, dtype=int64, device=x.device)
        self.labels = ops.cat([pairs, last], 1)
        self.spread = ops.expand(ops.unsqueeze(self.labels, 0), (steps, batch, self.states))
        self.emitted = ops.gather(x, 2, self.spread)
        number_of = _range(self.states, x)
        odd = ops.eq(ops.remainder(number_of, 2), 1)
        before = ops.constant_pad_nd(self.labels, (2, 0), -1)
        # A label may follow another one directly unless they are the same.
        skips = ops.ne(self.labels, ops.slice(before, 1, 0, self.states, 1))
        self.skips = ops.logical_and(ops.logical_and(skips, odd), ops.ge(number_of, 2))
        self.nothing = number(-math.inf, x)
        self.input_lengths = ops.unsqueeze(_column(input_lengths, x), 1)
        self.ends = ops.mul(ops.unsqueeze(_column(target_lengths, x), 1), 2)
        self.used = ops.le(number_of, self.ends)
        # A path ends in the last label or in the blank behind it.
        self.final = ops.logical_or(
            ops.eq(number_of, self.ends), ops.logical_and(odd, ops.eq(number_of, ops.sub(self.ends, 1)))
        )
        self.first = ops.le(number_of, 1)

    def moved(self, row: Tensor, by: int, fill: float = -math.inf) -> Tensor:
        """Return the states shifted to the right, or to the left; `fill` comes in from the other side."""
        wide = ops.constant_pad_nd(row, (by, 0) if by > 0 else (0, -by), fill)
        return (
            ops.slice(wide, 1, 0, self.states, 1) if by > 0 else ops.slice(wide, 1, -by, self.states - by, 1)
        )

    def masked(self, row: Tensor, condition: Tensor) -> Tensor:
        return ops.where.default(condition, row, self.nothing)


def _total(parts: Sequence[Any]) -> Tensor:
    """Return the logarithm of the sum of exponentials: -inf where all parts are, inf where one is."""
    largest = parts[0]
    for part in parts[1:]:
        largest = ops.maximum(largest, part)
    none = ops.isinf(largest)
    # The largest part cancels, so its derivative does too; taken along, it would only add rounding.
    safe = ops.detach(ops.where.default(none, number(0, largest), largest))
    total = ops.exp(ops.sub(parts[0], safe))
    for part in parts[1:]:
        total = ops.add(total, ops.exp(ops.sub(part, safe)))
    # The logarithm of zero has no slope: a part that is not there must not make the gradient NaN.
    log_sum = ops.log(ops.where.default(none, number(1, total), total))
    return ops.where.default(none, largest, ops.add(log_sum, safe))


composite("ctc_loss.IntList", ctc_loss)


@composite("_ctc_loss")
def forward(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    blank: int,
    zero_infinity: bool,
) -> tuple[Any, Any]:
    check_shapes("_ctc_loss", log_probs, targets, input_lengths, target_lengths)
    x = widened(log_probs)
    lattice = _Lattice(x, targets, input_lengths, target_lengths, blank)
    row = lattice.masked(ops.select(lattice.emitted, 0, 0), ops.logical_and(lattice.first, lattice.used))
    rows = [row]
    for step in range(1, x.shape[0]):
        # A state is reached from itself, from the one before, and past a blank from the one before that.
        skipped = lattice.masked(lattice.moved(row, 2), lattice.skips)
        row = ops.add(_total([row, lattice.moved(row, 1), skipped]), ops.select(lattice.emitted, 0, step))
        row = lattice.masked(row, lattice.used)
        rows.append(row)
    time = ops.reshape(_range(x.shape[0], x), (1, -1, 1))
    log_alpha = lattice.masked(ops.stack(rows, 1), ops.lt(time, ops.unsqueeze(lattice.input_lengths, 2)))
    # Items end at different steps; each is read where its own input ends.
    index = ops.clamp(ops.sub(lattice.input_lengths, 1), min=0)
    index = ops.expand(ops.unsqueeze(index, 2), (x.shape[1], 1, lattice.states))
    last = lattice.masked(ops.squeeze.dim(ops.gather(log_alpha, 1, index), 1), lattice.final)
    loss = ops.neg(_total(list(ops.unbind(last, 1))))
    # Without any step, nothing but an empty target fits.
    empty = ops.logical_and(ops.eq(lattice.input_lengths, 0), ops.eq(lattice.ends, 0))
    loss = ops.where.default(ops.squeeze.dim(empty, 1), number(0, loss), loss)
    return as_type(loss, log_probs.dtype), as_type(log_alpha, log_probs.dtype)


@composite("_ctc_loss_backward")
def backward(
    grad: Tensor, log_probs: Tensor, targets: Tensor, input_lengths: Sequence[int], target_lengths: Sequence[int],
    loss: Tensor, log_alpha: Tensor, blank: int, zero_infinity: bool,
) -> Tensor:  # fmt: skip
    check_shapes(
        "_ctc_loss_backward", grad, log_probs, targets, input_lengths, target_lengths, loss, log_alpha
    )
    x, alpha = widened(log_probs), widened(log_alpha)
    steps, batch = x.shape[:2]
    lattice = _Lattice(x, targets, input_lengths, target_lengths, blank)
    # Backwards, a state may be skipped into from two before; so the marks move by two, too.
    skips = ops.slice(ops.constant_pad_nd(lattice.skips, (0, 2), False), 1, 2, lattice.states + 2, 1)
    row = ops.full((batch, lattice.states), -math.inf, dtype=x.dtype, device=x.device)
    shares = []
    for step in range(steps - 1, -1, -1):
        skipped = lattice.masked(lattice.moved(row, -2), skips)
        row = _total([row, lattice.moved(row, -1), skipped])
        start = ops.logical_and(ops.eq(lattice.input_lengths, step + 1), lattice.final)
        row = ops.where.default(start, number(0, x), row)
        # Of all ways through a state; without the emission of the state itself, which is in log_alpha, too.
        way = ops.add(ops.select(alpha, 1, step), row)
        possible = ops.ne(way, -math.inf)
        share = ops.exp(lattice.masked(ops.add(way, ops.unsqueeze(widened(loss), 1)), possible))
        shares.append(ops.where.default(possible, share, number(0, x)))
        row = ops.add(row, ops.select(lattice.emitted, 0, step))
    shares.reverse()
    # The slope is that of the logarithms of probabilities which add to 1: PyTorch's definition.
    slope = ops.scatter_add(ops.exp(x), 2, lattice.spread, ops.neg(ops.stack(shares)))
    infinite = ops.eq(loss, math.inf)
    slope = ops.where.default(
        ops.reshape(infinite, (1, -1, 1)), number(0 if zero_infinity else math.nan, x), slope
    )
    slope = ops.mul(slope, ops.reshape(widened(grad), (1, -1, 1)))
    time = ops.reshape(_range(steps, x), (-1, 1, 1))
    inside = ops.lt(time, ops.reshape(lattice.input_lengths, (1, -1, 1)))
    return as_type(ops.where.default(inside, slope, number(0, x)), log_probs.dtype)


@composite("_ctc_alpha_backward")
def alpha_backward(
    grad: Tensor,
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    log_alpha: Tensor,
    blank: int,
) -> Tensor:
    check_shapes("_ctc_loss", log_probs, targets, input_lengths, target_lengths, blank)
    x, alpha, g = widened(log_probs), widened(log_alpha), widened(grad)
    lattice = _Lattice(x, targets, input_lengths, target_lengths, blank)
    expected = (x.shape[1], x.shape[0], lattice.states)
    for name, tensor in (("grad", g), ("log_alpha", alpha)):
        if tuple(tensor.shape) != expected:
            raise ShapeError(
                f"_ctc_alpha_backward(): {name} must have the shape {list(expected)}, got {list(tensor.shape)}"
            )
    zero = number(0, x)
    row = ops.zeros((x.shape[1], lattice.states), dtype=x.dtype, device=x.device)
    slopes = []
    for step in range(x.shape[0] - 1, -1, -1):
        here = ops.select(alpha, 1, step)
        row = ops.where.default(ops.ne(here, -math.inf), ops.add(row, ops.select(g, 1, step)), zero)
        slopes.append(row)
        if not step:
            break
        # The parts of the states before in the sum, by how far behind they are.
        before, total = ops.select(alpha, 1, step - 1), ops.sub(here, ops.select(lattice.emitted, 0, step))
        back = []
        for by in range(3):
            source = before if by == 0 else lattice.moved(before, by)
            possible = ops.logical_and(ops.ne(source, -math.inf), ops.ne(here, -math.inf))
            possible = ops.logical_and(possible, lattice.skips) if by == 2 else possible
            part = ops.mul(row, ops.exp(lattice.masked(ops.sub(source, total), possible)))
            back.append(part if by == 0 else lattice.moved(part, -by, 0.0))
        row = ops.add(ops.add(back[0], back[1]), back[2])
    slopes.reverse()
    slope = ops.scatter_add(ops.zeros_like(x), 2, lattice.spread, ops.stack(slopes))
    return as_type(slope, log_probs.dtype)
