"""Samples of neural-network operators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tt.core.testing.samples.base import OUT_OF_RANGE, FamilyTable, Inputs, Sample

family = FamilyTable()


@family("linear")
def linear(make: Inputs) -> Iterator[Sample]:
    for shape in ((3,), (2, 3), (4, 2, 3), (0, 3)):
        for bias in (None, make.tensor(5, low=-2, high=2)):
            args = (make.tensor(*shape, low=-2, high=2), make.tensor(5, 3, low=-2, high=2), bias)
            yield Sample(args, name=f"shape {shape}, bias {bias is not None}")
    yield Sample((make.tensor(2, 4), make.tensor(5, 3)), name="error: shapes", error=RuntimeError)
    yield Sample(
        (make.tensor(2, 3), make.tensor(5, 3), make.tensor(4)), name="error: bias", error=RuntimeError
    )


# --- losses ----------------------------------------------------------------------------------------------------

CLASSES: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((4,), ()), ((3, 4), (3,)), ((2, 4, 3), (2, 3)), ((2, 4, 3, 2), (2, 3, 2)),
)  # fmt: skip


def classification(make: Inputs) -> Iterator[Sample]:
    """Yield class scores against class indices."""
    for shape, places in CLASSES:
        for reduction in ("mean", "sum", "none"):
            args = (make.tensor(*shape), make.indices(*places, limit=4))
            yield Sample(args, {"reduction": reduction}, f"shape {shape}, {reduction}")
    scores, target = make.tensor(3, 4), make.indices(3, limit=4)
    weight = make.tensor(4, low=0.5, high=2)
    yield Sample((scores, target, weight), name="weight")
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
    for reduction in ("mean", "sum", "none"):
        args = (scores, make.tensor(3, 4, low=0, high=1))
        yield Sample(args, {"reduction": reduction}, f"probabilities, {reduction}")


@family("mse_loss")
def mse_loss(make: Inputs) -> Iterator[Sample]:
    for shape in ((), (3,), (2, 3)):
        for reduction in ("mean", "sum", "none"):
            yield Sample(
                (make.tensor(*shape), make.tensor(*shape)),
                {"reduction": reduction},
                f"shape {shape}, {reduction}",
            )
    yield Sample((make.tensor(2, 3), make.tensor(2)), name="error: shapes", error=RuntimeError)
