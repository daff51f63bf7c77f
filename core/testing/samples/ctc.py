"""Samples of the loss of sequences whose alignment is unknown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tt
from tt.core.testing.samples.base import OUT_OF_RANGE, FamilyTable, Inputs, Sample
from tt.core.testing.samples.loss import REDUCTIONS
from tt.core.types.dtype import float32, int32, int64

family = FamilyTable()

LENGTHS = ((6, 5, 6), (3, 2, 0))
LABELS = [[3, 1, 3, 2], [2, 2, 1, 1], [1, 2, 3, 4]]


def scores(make: Inputs, *shape: int) -> Any:
    x = make.tensor(*shape, low=-2, high=2)
    x = x if make.dtype.is_floating_point or make.dtype.is_complex else x.to(float32)
    return x - x.exp().sum(-1, keepdim=True).log()


@family("ctc_loss")
def ctc_loss(make: Inputs) -> Iterator[Sample]:
    def given(*lengths: tuple[int, ...]) -> tuple[Any, ...]:
        """Return lengths as the overload takes them; tensors of them may be on the CPU, where they are read."""
        if make.definition.signature.overload:
            return lengths
        return tuple(tt.tensor(some, dtype=int32, device="cpu") for some in lengths)

    x, targets, usual = scores(make, 6, 3, 5), make.of(LABELS, int64), given(*LENGTHS)
    for reduction in REDUCTIONS:
        yield Sample((x, targets, *usual), {"reduction": reduction}, reduction)
        short = (x, targets, *given((6, 2, 1), (3, 2, 0)))
        yield Sample(
            short, {"reduction": reduction, "zero_infinity": True}, f"{reduction}, impossible targets"
        )
        one = (x[:, 0], targets[0, :3], *given((6,), (3,)))
        yield Sample(one, {"reduction": reduction}, f"no batch, {reduction}")
    yield Sample((x, make.of([3, 1, 3, 2, 2], int32), *usual), name="targets one after the other")
    yield Sample((x, targets - 1, *usual, 4), name="blank")
    yield Sample((x.transpose(0, 1).contiguous().transpose(0, 1), targets, *usual), name="transposed")
    yield Sample((x, targets, *given((0, 6, 0), (0, 2, 0))), {"reduction": "none"}, "no steps")
    for name, lengths in (
        ("input length", ((6, 7, 6), (3, 2, 0))), ("negative length", ((6, -1, 6), (3, 2, 0))),
        ("target length", ((6, 5, 6), (5, 2, 0))), ("input lengths", ((6, 5), (3, 2, 0))),
    ):  # fmt: skip
        yield Sample((x, targets, *given(*lengths)), name=f"error: {name}", error=RuntimeError)
    yield Sample((x, targets[:2], *usual), name="error: targets", error=RuntimeError)
    yield Sample((x, targets, *usual, 5), name="error: blank", error=RuntimeError)
    yield Sample((x, targets + 4, *usual), name="error: class", error=OUT_OF_RANGE)
    yield Sample((x[0, 0], targets, *usual), name="error: dimensions", error=RuntimeError)
    yield Sample((x, targets, *usual), {"reduction": "max"}, "error: reduction", ValueError)
    if not make.definition.signature.overload:
        wrong = (x, targets, usual[0].float(), usual[1])
        yield Sample(wrong, name="error: dtype", error=RuntimeError)


def calls(make: Inputs) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield the arguments of the loss of each item, with a name."""
    x, targets = scores(make, 6, 3, 5), make.of(LABELS, int64)
    for zero in (False, True):
        yield f"zero_infinity {zero}", (x, targets, *LENGTHS, 0, zero)
        yield f"blank, zero_infinity {zero}", (x, targets - 1, *LENGTHS, 4, zero)
    yield "impossible targets", (x, targets, (6, 2, 1), (4, 2, 1), 0, True)
    yield "no steps", (x, targets, (0, 6, 0), (0, 2, 3), 0, True)
    yield "no labels", (x, targets[:, :0], (6, 5, 1), (0, 0, 0), 0, False)
    yield "one step", (x[:1], targets, (1, 1, 1), (1, 0, 1), 0, False)
    yield "empty batch", (x[:, :0], targets[:0], (), (), 0, False)
    yield "transposed", (x.transpose(0, 1).contiguous().transpose(0, 1), targets, *LENGTHS, 0, False)


@family("ctc_loss_of_items")
def ctc_loss_of_items(make: Inputs) -> Iterator[Sample]:
    for name, args in calls(make):
        yield Sample(args, name=name)
    x, targets = scores(make, 6, 3, 5), make.of(LABELS, int64)
    yield Sample((x[0], targets, *LENGTHS, 0, False), name="error: dimensions", error=RuntimeError)
    yield Sample((x, targets, (7, 6, 6), (3, 2, 0), 0, False), name="error: length", error=RuntimeError)


@family("ctc_loss_backward")
def ctc_loss_backward(make: Inputs) -> Iterator[Sample]:
    for name, args in calls(make):
        loss, log_alpha = tt.ops._ctc_loss(*args)
        grad = make.tensor(args[0].shape[1], low=0.5, high=2)
        yield Sample((grad, *args[:4], loss, log_alpha, *args[4:]), name=name)
    wrong = (grad, *args[:4], loss[:1], log_alpha, *args[4:])
    yield Sample(wrong, name="error: loss", error=RuntimeError)


@family("ctc_alpha_backward")
def ctc_alpha_backward(make: Inputs) -> Iterator[Sample]:
    if make.dtype.is_complex:
        return  # there is no log_alpha of complex numbers
    for name, args in calls(make):
        log_alpha = tt.ops._ctc_loss(*args)[1]
        grad = make.tensor(*log_alpha.shape, low=0.5, high=2)
        yield Sample((grad, *args[:4], log_alpha, args[4]), name=name)
