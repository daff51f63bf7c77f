"""Samples of losses of several classes, and of distances."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tt.core.testing.samples.base import LAYOUTS, OUT_OF_RANGE, FamilyTable, Inputs, Sample
from tt.core.testing.samples.loss import REDUCTIONS, legacy
from tt.core.types.dtype import float32, int32, int64

family = FamilyTable()

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


# --- distances -------------------------------------------------------------------------------------------------


@family("pairwise_distance")
def pairwise_distance(make: Inputs) -> Iterator[Sample]:
    x, y = make.tensor(3, 4, low=-2, high=0), make.tensor(3, 4, low=1, high=3)
    if make.dtype.kind == "bool":
        x, y = x.to(float32), y.to(float32)
    for p in (2.0, 1.0, 3.5, 0.0, float("inf")):
        yield Sample((x, y, p), name=f"p {p}")
    yield Sample((x, y, 2.0, 0.5, True), name="eps, keepdim")
    yield Sample((x, y[0]), name="one vector")
    yield Sample((x[0], y[0]), name="two vectors")
    yield Sample((x[:0], y[:0]), name="no vectors")
    yield Sample((x.t(), y.t()), name="transposed")
    yield Sample((x, y[:, :3]), name="error: sizes", error=RuntimeError)


@family("pdist")
def pdist(make: Inputs) -> Iterator[Sample]:
    x = make.tensor(5, 3)
    for p in (2.0, 1.0, 3.5, 0.0, float("inf")):
        yield Sample((x, p), name=f"p {p}")
    for rows in (0, 1, 2):
        yield Sample((x[:rows],), name=f"{rows} rows")
    yield Sample((x[:, :0],), name="no columns")
    yield Sample((make.tensor(4, 3, layout="transposed"),), name="transposed")
    yield Sample((x[0],), name="error: dimensions", error=RuntimeError)
    yield Sample((x, -1.0), name="error: p", error=RuntimeError)
