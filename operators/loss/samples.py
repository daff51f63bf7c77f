"""Samples of loss functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import tt
from tt.core.types.dtype import float32, int32, int64
from tt.operators._samples.base import LAYOUTS, OUT_OF_RANGE, FamilyTable, Inputs, Sample

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

family = FamilyTable()

REDUCTIONS = ("mean", "sum", "none")


def legacy(make: Inputs, *args: Any) -> Iterator[Sample]:
    """Yield calls with the arguments from before there was `reduction`, where the operator has them."""
    if any(a.name == "reduce" for a in make.definition.signature.arguments):
        yield Sample(args, {"size_average": False}, "size_average False")
        yield Sample(args, {"reduce": False}, "reduce False")


# --- classes ---------------------------------------------------------------------------------------------------

CLASSES: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((4,), ()), ((3, 4), (3,)), ((2, 4, 3), (2, 3)), ((2, 4, 3, 2), (2, 3, 2)),
)  # fmt: skip


def classification(make: Inputs) -> Iterator[Sample]:
    """Yield class scores against class indices."""
    for shape, size in CLASSES:
        for reduction in REDUCTIONS:
            args = (make.tensor(*shape), make.indices(*size, limit=4))
            yield Sample(args, {"reduction": reduction}, f"shape {shape}, {reduction}")
    scores, target = make.tensor(3, 4), make.indices(3, limit=4)
    # Above zero: a mean over weights that cancel out would be unbounded.
    weight = make.tensor(4, low=0.5, high=2)
    for reduction in ("mean", "none"):
        single = (make.tensor(4), make.indices(1, limit=4), make.tensor(4, low=0.5, high=2))
        yield Sample(single, {"reduction": reduction}, f"no batch, a target of shape (1), {reduction}")
    yield Sample(
        (make.tensor(4), make.indices(2, limit=4)), name="error: two targets, no batch", error=ValueError
    )
    yield Sample((make.tensor(0, 4), make.indices(0, limit=4)), {"reduction": "sum"}, "no rows")
    # PyTorch's older arguments stand between those that are still used.
    yield Sample((scores, target, None, None, 0, None, "none"), name="by position")
    yield Sample((scores, target, weight), name="weight")
    yield from legacy(make, scores, target)
    yield Sample((scores, target, weight), {"reduction": "none"}, "weight, none")
    ignored: dict[str, Any] = {"ignore_index": 1}
    yield Sample((scores, make.of([0, 1, 3], target.dtype)), ignored, "ignored class")
    yield Sample((scores, make.of([0, 1, 3], target.dtype), weight), ignored, "ignored class, weight")
    yield Sample((scores, make.of([0, -100, 3], target.dtype)), name="default ignored class")
    yield Sample((scores.t(), make.indices(4, limit=3)), name="transposed")
    yield Sample((scores, make.of([0, 4, 1], target.dtype)), name="error: class", error=OUT_OF_RANGE)
    yield Sample((scores, make.indices(2, limit=4)), name="error: batch", error=ValueError)
    yield Sample((scores, target), {"reduction": "max"}, "error: reduction", ValueError)


@family("nll_loss")
def nll_loss(make: Inputs) -> Iterator[Sample]:
    yield from classification(make)


@family("cross_entropy")
def cross_entropy(make: Inputs) -> Iterator[Sample]:
    yield from classification(make)
    scores, target = make.tensor(3, 4), make.indices(3, limit=4)
    yield Sample((scores, target), {"label_smoothing": 0.1}, "label smoothing")
    for reduction in REDUCTIONS:
        args = (scores, make.tensor(3, 4, low=0, high=1))
        yield Sample(args, {"reduction": reduction}, f"probabilities, {reduction}")
    probabilities, weight = make.tensor(2, 4, 3, low=0, high=1), make.tensor(4, low=0.5, high=2)
    smooth = {"label_smoothing": 0.2}
    yield Sample((make.tensor(2, 4, 3), probabilities, weight), smooth, "probabilities, weight, smoothing")
    for reduction in REDUCTIONS:
        options = {"label_smoothing": 0.2, "reduction": reduction, "ignore_index": 2}
        yield Sample((scores, target, weight), options, f"weight, smoothing, ignored class, {reduction}")
    yield Sample((scores, target), {"label_smoothing": 1.5}, "error: smoothing", (ValueError, RuntimeError))


# --- differences -----------------------------------------------------------------------------------------------


def pairs(make: Inputs, **options: Any) -> Iterator[Sample]:
    """Yield inputs against targets of their shape, with every reduction and layout."""
    with_options = f", {options}" if options else ""
    for shape in ((), (3,), (2, 3), (0,)):
        for reduction in REDUCTIONS:
            if 0 in shape and reduction == "mean":
                continue
            args = (make.tensor(*shape), make.tensor(*shape))
            name = f"shape {shape}, {reduction}{with_options}"
            yield Sample(args, {"reduction": reduction, **options}, name)
    for layout in LAYOUTS:
        args = (make.tensor(2, 3, layout=layout), make.tensor(2, 3))
        yield Sample(args, {"reduction": "none", **options}, layout + with_options)
    if not options:
        yield from legacy(make, make.tensor(2, 3), make.tensor(2, 3))
        yield Sample((make.tensor(2, 3), make.tensor(2)), name="error: shapes", error=RuntimeError)
        yield Sample((make.tensor(3), make.tensor(3)), {"reduction": "max"}, "error: reduction", ValueError)


def weighted(make: Inputs, *shape: int) -> Iterator[Sample]:
    """Yield pairs with a weight for each element."""
    for reduction in REDUCTIONS:
        more = {"weight": make.tensor(*shape, low=0.5, high=2), "reduction": reduction}
        yield Sample((make.tensor(*shape), make.tensor(*shape)), more, f"weight, {reduction}")


@family("regression_loss")
def regression_loss(make: Inputs) -> Iterator[Sample]:
    yield from pairs(make)
    yield from weighted(make, 2, 3)
    args = (make.tensor(2, 3), make.tensor(2, 3))
    yield Sample(args, {"weight": make.tensor(3)}, "error: weight", ValueError)


@family("smooth_l1_loss")
def smooth_l1_loss(make: Inputs) -> Iterator[Sample]:
    yield from pairs(make)
    yield from pairs(make, beta=2.5)
    yield Sample((make.tensor(2, 3), make.tensor(2, 3)), {"beta": 0.0}, "beta 0")
    yield Sample((make.tensor(3), make.tensor(3)), {"beta": -1.0}, "error: beta", RuntimeError)


@family("huber_loss")
def huber_loss(make: Inputs) -> Iterator[Sample]:
    yield from pairs(make)
    yield from pairs(make, delta=2.5)
    yield from weighted(make, 2, 3)
    yield Sample((make.tensor(3), make.tensor(3)), {"delta": 0.0}, "error: delta", RuntimeError)


# --- probabilities ---------------------------------------------------------------------------------------------


@family("binary_cross_entropy", "binary_cross_entropy_with_logits")
def binary_cross_entropy(make: Inputs) -> Iterator[Sample]:
    logits = make.definition.name.endswith("with_logits")

    def inputs(*shape: int) -> Tensor:
        # Away from 0 and 1, where the logarithm has no finite slope.
        return make.tensor(*shape) if logits else make.tensor(*shape, low=0.05, high=0.95)

    def targets(*shape: int) -> Tensor:
        return make.tensor(*shape, low=0.1, high=0.9)

    for shape in ((), (3,), (2, 3)):
        for reduction in REDUCTIONS:
            yield Sample(
                (inputs(*shape), targets(*shape)), {"reduction": reduction}, f"shape {shape}, {reduction}"
            )
    for reduction in REDUCTIONS:
        for size in ((2, 3), (3,)):
            weight = make.tensor(*size, low=0.5, high=2)
            args = (inputs(2, 3), targets(2, 3), weight)
            yield Sample(args, {"reduction": reduction}, f"weight {size}, {reduction}")
            if logits:
                more = {"pos_weight": make.tensor(3, low=0.5, high=3), "reduction": reduction}
                yield Sample(args, more, f"weight {size}, pos_weight, {reduction}")
    yield from legacy(make, inputs(2, 3), targets(2, 3))
    if logits:
        # The exponential of these overflows unless it is avoided.
        extreme = make.of([-1e4, -50.0, 50.0, 1e4])
        yield Sample((extreme, make.of([0.0, 1.0, 0.5, 1.0])), {"reduction": "none"}, "large values")
    else:
        # PyTorch holds the logarithm above -100, so that these have finite losses.
        yield Sample((make.of([0.0, 1.0, 0.5]), make.of([1.0, 0.0, 1.0])), {"reduction": "none"}, "0 and 1")
        yield Sample(
            (make.of([0.5, 1.5]), make.of([1.0, 0.0])), name="error: no probability", error=RuntimeError
        )
    yield Sample((inputs(2, 3), targets(3)), name="error: shapes", error=ValueError)
    yield Sample((inputs(3), targets(3)), {"reduction": "max"}, "error: reduction", ValueError)


@family("kl_div")
def kl_div(make: Inputs) -> Iterator[Sample]:
    for shape in ((), (3,), (2, 3)):
        for reduction in (*REDUCTIONS, "batchmean"):
            for log_target in (False, True):
                target = make.tensor(*shape, low=-3 if log_target else 0.1, high=1)
                more = {"reduction": reduction, "log_target": log_target}
                yield Sample((make.tensor(*shape, low=-3, high=0), target), more, f"shape {shape}, {more}")
    # 0 times the logarithm of 0 counts as 0.
    yield Sample((make.of([-1.0, -2.0]), make.of([0.0, 1.0])), {"reduction": "none"}, "target 0")
    yield from legacy(make, make.tensor(2, 3, low=-3, high=0), make.tensor(2, 3, low=0.1, high=1))
    yield Sample((make.tensor(3), make.tensor(3)), {"reduction": "max"}, "error: reduction", ValueError)


@family("poisson_nll_loss")
def poisson_nll_loss(make: Inputs) -> Iterator[Sample]:
    for log_input in (True, False):
        for full in (False, True):
            for reduction in REDUCTIONS:
                # Targets on both sides of 1: `full` adds Stirling's term only above.
                args = (make.tensor(2, 3, low=0.1, high=3), make.tensor(2, 3, low=0, high=4))
                more = {"log_input": log_input, "full": full, "reduction": reduction}
                yield Sample(args, more, f"{more}")
    yield Sample((make.of([0.0]), make.of([2.0])), {"log_input": False, "eps": 0.5}, "eps")
    yield from legacy(make, make.tensor(2, 3, low=0.1, high=3), make.tensor(2, 3, low=0, high=4))
    yield Sample((make.tensor(3), make.tensor(3)), {"reduction": "max"}, "error: reduction", ValueError)


@family("gaussian_nll_loss")
def gaussian_nll_loss(make: Inputs) -> Iterator[Sample]:
    for size in ((2, 3), (2, 1), (2,)):
        for reduction in REDUCTIONS:
            args = (make.tensor(2, 3), make.tensor(2, 3), make.tensor(*size, low=0.5, high=3))
            yield Sample(args, {"reduction": reduction}, f"var {size}, {reduction}")
    args = (make.tensor(2, 3), make.tensor(2, 3), make.tensor(2, 3, low=0.5, high=3))
    yield Sample(args, {"full": True}, "full")
    yield Sample((make.tensor(3), make.tensor(3), 0.5), {"eps": 2.0}, "eps")
    yield Sample((make.tensor(3), make.tensor(3), 1.5), name="a number as var")
    yield Sample(
        (make.tensor(3), make.tensor(3), make.of([1, 1, -1])), name="error: negative", error=ValueError
    )
    yield Sample((make.tensor(3), make.tensor(3), make.of([1, 1])), name="error: size", error=ValueError)


# --- margins ---------------------------------------------------------------------------------------------------


def signs(make: Inputs, *shape: int) -> Tensor:
    """Return targets 1 and -1."""
    return make.of(1 - 2 * make.random.integers(0, 2, shape))


@family("soft_margin_loss")
def soft_margin_loss(make: Inputs) -> Iterator[Sample]:
    for shape in ((), (2, 3)):
        for reduction in REDUCTIONS:
            args = (make.tensor(*shape), signs(make, *shape))
            yield Sample(args, {"reduction": reduction}, f"shape {shape}, {reduction}")
    yield from legacy(make, make.tensor(2, 3), signs(make, 2, 3))


@family("hinge_embedding_loss")
def hinge_embedding_loss(make: Inputs) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        for margin in (1.0, 3.0):
            # Above zero: the loss is that of distances.
            args = (make.tensor(2, 3, low=0.1), signs(make, 2, 3), margin)
            yield Sample(args, {"reduction": reduction}, f"margin {margin}, {reduction}")
    yield from legacy(make, make.tensor(2, 3, low=0.1), signs(make, 2, 3))


@family("margin_ranking_loss")
def margin_ranking_loss(make: Inputs) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        for margin in (0.0, 1.5):
            args = (make.tensor(5), make.tensor(5), signs(make, 5), margin)
            yield Sample(args, {"reduction": reduction}, f"margin {margin}, {reduction}")
    yield from legacy(make, make.tensor(5), make.tensor(5), signs(make, 5))
    wrong = (make.tensor(5), make.tensor(1, 5), signs(make, 5))
    yield Sample(wrong, name="error: dimensions", error=RuntimeError)


@family("triplet_margin_loss")
def triplet_margin_loss(make: Inputs) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        for more in ({}, {"margin": 4.0, "p": 3.0}, {"swap": True}):
            args = (make.tensor(2, 3), make.tensor(2, 3), make.tensor(2, 3))
            yield Sample(args, {"reduction": reduction, **more}, f"{reduction}, {more}")
    args = (make.tensor(2, 3), make.tensor(2, 3), make.tensor(2, 3))
    yield Sample(args, {"eps": 0.5, "margin": 20.0}, "eps")
    yield from legacy(make, *args, 20.0)  # a margin at which no loss is zero
    yield Sample(args, {"margin": 0.0}, "error: margin", ValueError)


@family("cosine_embedding_loss")
def cosine_embedding_loss(make: Inputs) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        for margin in (0.0, 0.3):
            args = (make.tensor(4, 3), make.tensor(4, 3), signs(make, 4), margin)
            yield Sample(args, {"reduction": reduction}, f"margin {margin}, {reduction}")
    # Their cosine, 5/6, is above the margin.
    near, apart = make.of([[1.0, 1.0, 2.0]]), make.of([[1.0, 2.0, 1.0]])
    yield Sample((near, apart, make.of([-1]), 0.5), name="closer than the margin")
    yield Sample((make.tensor(3), make.tensor(3), signs(make)), name="one vector")
    yield from legacy(make, make.tensor(4, 3), make.tensor(4, 3), signs(make, 4))
    wrong = (make.tensor(4, 3), make.tensor(4, 3), signs(make, 4, 1))
    yield Sample(wrong, name="error: dimensions", error=RuntimeError)


# --- building blocks of the losses -----------------------------------------------------------------------------

KINDS = (
    ("square", 0.0), ("absolute", 0.0), ("smooth", 2.5), ("huber", 0.5), ("probability", 0.0), ("logit", 0.0),
    ("divergence", 0.0), ("log_divergence", 0.0),
)  # fmt: skip


def elementwise(make: Inputs) -> Iterator[tuple[str, tuple[Any, Any, str, str, float]]]:
    """Yield the arguments of an elementwise loss, with a name."""
    for kind, parameter in KINDS:
        for shape in ((), (3,), (2, 3)):
            x = make.tensor(*shape, low=0.1, high=0.9)
            for reduction in REDUCTIONS:
                target = make.tensor(*shape, low=0.1, high=0.9)
                yield f"{kind}, {reduction}, {list(shape)}", (x, target, kind, reduction, parameter)
    yield "empty", (make.tensor(0), make.tensor(0), "square", "sum", 0.0)
    for layout in LAYOUTS:
        yield layout, (make.tensor(2, 3, layout=layout), make.tensor(2, 3), "square", "none", 0.0)


@family("elementwise_loss")
def elementwise_loss(make: Inputs) -> Iterator[Sample]:
    for name, args in elementwise(make):
        yield Sample(args, name=name)
    x = make.tensor(3)
    yield Sample((x, make.tensor(2), "square", "sum", 0.0), name="error: shapes", error=ValueError)
    yield Sample((x, x, "cube", "sum", 0.0), name="error: kind", error=ValueError)
    yield Sample((x, x, "square", "max", 0.0), name="error: reduction", error=ValueError)


@family("elementwise_loss_backward")
def elementwise_loss_backward(make: Inputs) -> Iterator[Sample]:
    for name, args in elementwise(make):
        grad = make.tensor(*(args[0].shape if args[3] == "none" else ()))
        yield Sample((grad, *args), name=name)
    x = make.tensor(3)
    yield Sample((x, x, x, "square", "sum", 0.0), name="error: grad", error=RuntimeError)


def class_losses(make: Inputs) -> Iterator[tuple[Any, Any, Any, int, str, float]]:
    """Yield the arguments of a cross entropy with classes."""
    for shape, size in CLASSES:
        for reduction in REDUCTIONS:
            yield make.tensor(*shape), make.indices(*size, limit=4), None, -100, reduction, 0.0
    scores, target = make.tensor(3, 4), make.of([0, 1, 3], make.indices(1, limit=4).dtype)
    weight = make.tensor(4, low=0.5, high=2)
    for reduction in REDUCTIONS:
        yield scores, target, weight, 1, reduction, 0.0
        yield scores, target, weight, 1, reduction, 0.2
        yield scores, target, None, -100, reduction, 0.2
    yield make.tensor(4, 3).t(), target, weight, -100, "mean", 0.1


@family("class_loss")
def class_loss(make: Inputs) -> Iterator[Sample]:
    for number, args in enumerate(class_losses(make)):
        yield Sample(args, name=f"{number}: {list(args[0].shape)}, {args[4]}, smoothing {args[5]}")
    scores, target = make.tensor(3, 4), make.indices(3, limit=4)
    wrong = make.of([0, 4, 1], target.dtype)
    yield Sample((scores, wrong, None, -100, "sum", 0.0), name="error: class", error=OUT_OF_RANGE)
    yield Sample((scores, target[:2], None, -100, "sum", 0.0), name="error: batch", error=ValueError)


@family("class_loss_backward")
def class_loss_backward(make: Inputs) -> Iterator[Sample]:
    for number, (scores, target, weight, *rest) in enumerate(class_losses(make)):
        grad = make.tensor(*(target.shape if rest[1] == "none" else ()))
        total = scores.logsumexp(min(scores.ndim - 1, 1))
        name = f"{number}: {list(scores.shape)}, {rest[1]}, smoothing {rest[2]}"
        yield Sample((grad, scores, target, weight, total, *rest), name=name)
    scores, target = make.tensor(3, 4), make.indices(3, limit=4)
    wrong = (make.tensor(3), scores, target, None, scores.logsumexp(1), -100, "sum", 0.0)
    yield Sample(wrong, name="error: grad", error=RuntimeError)


LENGTHS = ((6, 5, 6), (3, 2, 0))
# Some equal labels follow each other, and need a blank in between.
LABELS = [[3, 1, 3, 2], [2, 2, 1, 1], [1, 2, 3, 4]]


def scores(make: Inputs, *shape: int) -> Tensor:
    x = make.tensor(*shape, low=-2, high=2)
    x = x if make.dtype.is_floating_point or make.dtype.is_complex else x.to(float32)
    # By tensors: log_softmax has no complex numbers.
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
        # Two equal labels in two steps leave no room for the blank between, so the loss is infinite.
        short = (x, targets, *given((6, 2, 1), (3, 2, 0)))
        yield Sample(
            short, {"reduction": reduction, "zero_infinity": True}, f"{reduction}, impossible targets"
        )
        one = (x[:, 0], targets[0, :3], *given((6,), (3,)))
        yield Sample(one, {"reduction": reduction}, f"no batch, {reduction}")
    yield Sample((x, make.of([3, 1, 3, 2, 2], int32), *usual), name="targets one after the other")
    # Shifted, so that the blank is the last class and 0 a label.
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


# --- losses ----------------------------------------------------------------------------------------------------


@family("multi_margin_loss")
def multi_margin_loss(make: Inputs) -> Iterator[Sample]:
    x, target, weight = make.tensor(3, 4), make.indices(3, limit=4), make.tensor(4, low=0.5, high=2)
    for reduction in REDUCTIONS:
        for p in (1, 2):
            more = {"p": p, "reduction": reduction}
            yield Sample((x, target), more, f"{more}")
            yield Sample((x, target), {**more, "margin": 6.0, "weight": weight}, f"{more}, margin, weight")
        yield Sample((x[0], target[0]), {"reduction": reduction}, f"one row, {reduction}")
    yield Sample((x[0], target[:1]), {"reduction": "none"}, "one row, one target")
    yield Sample((x[:0], target[:0]), {"reduction": "none"}, "no rows")
    for layout in LAYOUTS:
        yield Sample((make.tensor(3, 4, layout=layout), target), name=layout)
    yield from legacy(make, x, target)
    yield Sample((x, target, 3), name="error: p", error=ValueError)
    yield Sample((x, target, 1, 1.0, weight[None]), name="error: weight", error=ValueError)
    yield Sample((x, target, 1, 1.0, weight[:2]), name="error: classes", error=RuntimeError)
    yield Sample((x, target[:2]), name="error: batch", error=RuntimeError)
    yield Sample((x[None], target), name="error: dimensions", error=RuntimeError)
    yield Sample((x, make.of([0, 4, 1], int64)), name="error: class", error=OUT_OF_RANGE)
    yield Sample((x, make.of([0, 3, 1], int32)), name="error: dtype", error=RuntimeError)
    yield Sample((x, target), {"reduction": "max"}, "error: reduction", ValueError)


@family("multilabel_margin_loss")
def multilabel_margin_loss(make: Inputs) -> Iterator[Sample]:
    # Classes end at the first -1, and may be named twice.
    target = make.of([[3, 0, -1, 1], [-1, 2, 0, 1], [2, 2, 1, 0]], int64)
    x = make.tensor(3, 4)
    for reduction in REDUCTIONS:
        yield Sample((x, target), {"reduction": reduction}, reduction)
        yield Sample((x[0], target[0]), {"reduction": reduction}, f"one row, {reduction}")
    yield Sample((x[:0], target[:0]), {"reduction": "none"}, "no rows")
    for layout in LAYOUTS:
        yield Sample((make.tensor(3, 4, layout=layout), target), name=layout)
    yield from legacy(make, x, target)
    yield Sample((x, target[0]), name="error: shapes", error=RuntimeError)
    yield Sample((x[None], target[None]), name="error: dimensions", error=RuntimeError)
    yield Sample((x, make.of([[4, 0, 0, 0]] * 3, int64)), name="error: class", error=OUT_OF_RANGE)
    yield Sample((x, make.of([[-2, 0, 0, 0]] * 3, int64)), name="error: negative class", error=OUT_OF_RANGE)
    yield Sample((x, x), name="error: dtype", error=RuntimeError)
    yield Sample((x, target), {"reduction": "max"}, "error: reduction", ValueError)


def margins(make: Inputs) -> Iterator[tuple[Any, Any, int, float]]:
    """Yield scores, classes, power and margin."""
    for p in (1, 2):
        for margin in (1.0, 6.0):
            yield make.tensor(3, 4), make.indices(3, limit=4), p, margin
    for layout in LAYOUTS:
        yield make.tensor(3, 4, layout=layout), make.indices(3, limit=4), 2, 1.0
    yield make.tensor(0, 4), make.indices(0, limit=4), 1, 1.0
    # More classes than vectors of numbers or groups of threads hold.
    yield make.tensor(2, 70), make.indices(2, limit=70), 1, 1.0


@family("multi_margin")
def multi_margin(make: Inputs) -> Iterator[Sample]:
    for number, args in enumerate(margins(make)):
        yield Sample(args, name=f"{number}: {list(args[0].shape)}, p {args[2]}, margin {args[3]}")
    x, target = make.tensor(3, 4), make.indices(3, limit=4)
    yield Sample((x, target, 3, 1.0), name="error: p", error=ValueError)
    yield Sample((x, target[:2], 1, 1.0), name="error: batch", error=RuntimeError)
    yield Sample((x[0], target[0], 1, 1.0), name="error: dimensions", error=RuntimeError)
    yield Sample((x, make.of([0, 4, 1], int64), 1, 1.0), name="error: class", error=OUT_OF_RANGE)
    yield Sample((x, make.of([0, 3, 1], int32), 1, 1.0), name="error: dtype", error=RuntimeError)


@family("multi_margin_backward")
def multi_margin_backward(make: Inputs) -> Iterator[Sample]:
    for number, args in enumerate(margins(make)):
        grad = make.tensor(len(args[0]))
        yield Sample((grad, *args), name=f"{number}: {list(args[0].shape)}, p {args[2]}, margin {args[3]}")
    x, target = make.tensor(3, 4), make.indices(3, limit=4)
    yield Sample((make.tensor(2), x, target, 1, 1.0), name="error: grad", error=RuntimeError)
    wrong = (make.tensor(3), x, make.of([0, -1, 1], int64), 1, 1.0)
    yield Sample(wrong, name="error: class", error=OUT_OF_RANGE)


def named(make: Inputs) -> Iterator[tuple[Any, Any]]:
    """Yield scores and the classes that rows name."""
    target = make.of([[3, 0, -1, 1], [-1, 2, 0, 1], [2, 2, 1, 0]], int64)
    for layout in LAYOUTS:
        yield make.tensor(3, 4, layout=layout), target
    yield make.tensor(0, 4), target[:0]
    yield make.tensor(2, 1), make.of([[0], [-1]], int64)


@family("multilabel_margin")
def multilabel_margin(make: Inputs) -> Iterator[Sample]:
    for number, args in enumerate(named(make)):
        yield Sample(args, name=f"{number}: {list(args[0].shape)}")
    x, target = make.tensor(3, 4), make.of([[0, -1, 0, 0]] * 3, int64)
    yield Sample((x, target[0]), name="error: shapes", error=RuntimeError)
    yield Sample((x[0], target[0]), name="error: dimensions", error=RuntimeError)
    yield Sample((x, make.of([[0, -1, 4, 0]] * 3, int64)), name="error: class", error=OUT_OF_RANGE)
    yield Sample((x, target.to(int32)), name="error: dtype", error=RuntimeError)


@family("multilabel_margin_backward")
def multilabel_margin_backward(make: Inputs) -> Iterator[Sample]:
    for number, args in enumerate(named(make)):
        yield Sample((make.tensor(len(args[0])), *args), name=f"{number}: {list(args[0].shape)}")
    x, target = make.tensor(3, 4), make.of([[0, -1, 0, 0]] * 3, int64)
    yield Sample((make.tensor(2), x, target), name="error: grad", error=RuntimeError)
    yield Sample((make.tensor(3), x, target - 2), name="error: class", error=OUT_OF_RANGE)


@family("multilabel_soft_margin_loss")
def multilabel_soft_margin_loss(make: Inputs) -> Iterator[Sample]:
    x, target = make.tensor(3, 4), make.of([[1, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]])
    for reduction in REDUCTIONS:
        yield Sample((x, target), {"reduction": reduction}, reduction)
        yield Sample(
            (x, target, make.tensor(4, low=0.5, high=2)), {"reduction": reduction}, f"weight, {reduction}"
        )
        yield Sample((x[0], target[0]), {"reduction": reduction}, f"one row, {reduction}")
    yield Sample((make.of([[-1e4, 1e4]]), make.of([[1, 0]])), name="large values")
    broadcasting = (make.tensor(2, 3, 4), make.tensor(3, 4, low=0, high=1))
    yield Sample(broadcasting, {"reduction": "none"}, "target that broadcasts")
    yield from legacy(make, x, target)
    yield Sample((x, make.tensor(3, low=0, high=1)), name="error: shapes", error=RuntimeError)
    yield Sample((make.tensor(), make.tensor()), name="error: dimensions", error=IndexError)
    yield Sample((x, target), {"reduction": "max"}, "error: reduction", ValueError)


@family("linear_cross_entropy")
def linear_cross_entropy(make: Inputs) -> Iterator[Sample]:
    x, weight, target = (
        make.tensor(3, 4, low=-1, high=1),
        make.tensor(5, 4, low=-1, high=1),
        make.indices(3, limit=5),
    )
    for reduction in REDUCTIONS:
        more = {
            "linear_bias": make.tensor(5),
            "weight": make.tensor(5, low=0.5, high=2),
            "reduction": reduction,
        }
        yield Sample((x, weight, target), {"reduction": reduction}, reduction)
        yield Sample((x, weight, target), more, f"bias, weight, {reduction}")
        deep = (x, make.tensor(5, 2, 4, low=-1, high=1), make.indices(3, 2, limit=5))
        more = {"linear_bias": make.tensor(5, 2), "reduction": reduction}
        yield Sample(deep, more, f"several losses a row, {reduction}")
    yield Sample((x[0], weight, target[0]), name="one row")
    more = {"ignore_index": 1, "label_smoothing": 0.2}
    yield Sample((x, weight, make.of([0, 1, 4], int64)), more, "ignored class, smoothing")
    yield Sample((x, weight, make.tensor(3, 5, low=0, high=1)), name="probabilities")
    yield Sample((x[:, :3], weight, target), name="error: features", error=RuntimeError)
    yield Sample((x[None], weight, target), name="error: dimensions", error=RuntimeError)
    yield Sample((x, weight[0], target), name="error: weight", error=RuntimeError)
    yield Sample((x, weight, target), {"linear_bias": make.tensor(3)}, "error: bias", RuntimeError)
    yield Sample((x, weight, target), {"reduction": "max"}, "error: reduction", ValueError)
