"""Samples of operators that write to places which tensors name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tt.core.testing.samples.base import OUT_OF_RANGE, FamilyTable, Inputs, Sample
from tt.core.types.dtype import bool_, int32, int64

family = FamilyTable()

# Shape, dimension, shape of the index.
PLACES: tuple[tuple[tuple[int, ...], int, tuple[int, ...]], ...] = (
    ((5,), 0, (3,)), ((4, 3), 0, (2, 3)), ((4, 3), 1, (4, 2)), ((4, 3), -1, (2, 5)), ((2, 3, 4), 1, (2, 2, 4)),
    ((), 0, ()), ((4, 3), 0, (0, 3)),
)  # fmt: skip

# --- along one dimension ---------------------------------------------------------------------------------------


def _distinct(make: Inputs, shape: tuple[int, ...], dim: int, limit: int) -> Any:
    """Return indices that do not repeat along a dimension, so that writing has one result."""
    if not shape:
        return make.of(0, int64)
    order = np.argsort(make.random.random((*shape[:dim], limit, *shape[dim % len(shape) + 1 :])), axis=dim)
    return make.of(order.take(range(shape[dim]), axis=dim), int64)


def many_values(make: Inputs, *dim: int, **named: Any) -> Iterator[Sample]:
    """Yield a sample of many values for one place, whose sum is wrong in half precision."""
    if make.dtype.is_floating_point and make.dtype.itemsize == 2:
        index, values = make.of([1], int64).expand(600), make.of([0.3]).expand(600)
        yield Sample((make.tensor(2), *dim, index, values), named, "many values for one place")


@family("scatter", "scatter_value")
def scatter(make: Inputs) -> Iterator[Sample]:
    with_value = make.definition.name == "scatter.value"
    for shape, dim, places in (
        ((5,), 0, (3,)),
        ((4, 3), 0, (2, 3)),
        ((4, 3), 1, (4, 2)),
        ((2, 3, 4), 1, (2, 2, 4)),
        ((), 0, ()),
    ):
        index = _distinct(make, places, dim, shape[dim] if shape else 1)
        last = make.number if with_value else make.tensor(*places)
        yield Sample(
            (make.tensor(*shape), dim, index, last), name=f"shape {shape}, dim {dim}, index {places}"
        )
    index = make.of([0, 2, 0], int64)
    if make.definition.name == "scatter_add":
        yield Sample((make.tensor(3), 0, index, make.tensor(3)), name="repeated index")
        yield from many_values(make, 0)
    yield Sample(
        (
            make.tensor(2, 3, layout="transposed"),
            0,
            make.of([[0, 1, 0]], int64),
            make.number if with_value else make.tensor(2, 3),
        ),
        name="transposed",
    )
    last = make.number if with_value else make.tensor(1)
    yield Sample(
        (make.tensor(3), 0, make.of([3], int64), last), name="error: index too large", error=OUT_OF_RANGE
    )
    yield Sample(
        (make.tensor(2, 3), 0, make.of([0], int64), last), name="error: dimensions", error=RuntimeError
    )
    if not with_value:
        yield Sample(
            (make.tensor(3), 0, make.of([0, 1], int64), make.tensor(1)),
            name="error: source",
            error=RuntimeError,
        )


@family("scatter_reduced")
def scatter_reduced(make: Inputs) -> Iterator[Sample]:
    for reduce in ("add", "multiply"):
        for shape, dim, places in PLACES:
            index = make.indices(*places, limit=shape[dim] if shape else 1)
            args = (make.tensor(*shape), dim, index, make.tensor(*places, low=-2, high=2))
            yield Sample(args, {"reduce": reduce}, f"{reduce}, shape {shape}, dim {dim}, index {places}")
    yield Sample((make.tensor(3), 0, make.of([0], int64), make.tensor(1)), {"reduce": "amax"}, "error: reduce",
                 error=RuntimeError)  # fmt: skip


@family("scatter_value_reduced")
def scatter_value_reduced(make: Inputs) -> Iterator[Sample]:
    for reduce in ("add", "multiply"):
        index = make.of([[0, 1, 0], [0, 0, 1]], int64)
        yield Sample((make.tensor(2, 3), 0, index, make.number), {"reduce": reduce}, reduce)
    yield Sample((make.tensor(3), 0, make.of([0], int64), make.number), {"reduce": "mean"}, "error: reduce",
                 error=RuntimeError)  # fmt: skip


def reductions(make: Inputs) -> list[str]:
    """Return the reductions that a dtype has."""
    left_out = {"complex": ("amax", "amin"), "bool": ("mean",)}.get(make.dtype.kind, ())
    return [name for name in ("sum", "prod", "mean", "amax", "amin") if name not in left_out]


@family("scatter_reduce")
def scatter_reduce(make: Inputs) -> Iterator[Sample]:
    for reduce in reductions(make):
        for include_self in (True, False):
            how = {"include_self": include_self}
            for shape, dim, places in PLACES:
                index = make.indices(*places, limit=shape[dim] if shape else 1)
                src = make.tensor(*places, low=-2, high=2)
                name = f"{reduce}, include_self {include_self}, shape {shape}, dim {dim}, index {places}"
                yield Sample((make.tensor(*shape), dim, index, src, reduce), how, name)
            index = make.of([[0, 1, 0], [0, 0, 1]], int64)
            name = f"{reduce}, include_self {include_self}"
            args = (make.tensor(2, 3, layout="transposed"), 0, index, make.tensor(3, 4), reduce)
            yield Sample(args, how, f"{name}, transposed, larger source")
            if reduce == "prod":
                zeros = make.of([0, 2, 0, 3, 0])
                args = (make.tensor(3), 0, make.of([0, 0, 1, 1, 1], int64), zeros, reduce)
                yield Sample(args, how, f"{name}, zeros")
    if make.dtype.is_floating_point:
        values = make.of([float("nan"), 1.0, float("inf"), float("-inf")])
        for reduce in ("sum", "mean", "amax", "amin"):
            args = (make.tensor(2), 0, make.of([0, 0, 1, 1], int64), values, reduce)
            yield Sample(args, name=f"{reduce}, nan and infinities")
    x, index = make.tensor(3), make.of([0], int64)
    yield Sample((x, 0, index, make.tensor(1), "median"), name="error: reduce", error=RuntimeError)
    yield Sample((x, 0, make.of([3], int64), make.tensor(1), "sum"), name="error: index", error=OUT_OF_RANGE)
    yield Sample(
        (x, 0, make.of([0, 1], int64), make.tensor(1), "sum"), name="error: source", error=RuntimeError
    )


# --- slices ----------------------------------------------------------------------------------------------------


@family("index_add")
def index_add(make: Inputs) -> Iterator[Sample]:
    yield from many_values(make, 0)
    for shape, dim in (((5,), 0), ((4, 3), 0), ((4, 3), 1), ((2, 3, 4), -2)):
        source = list(shape)
        source[dim] = 4
        index = make.indices(4, limit=shape[dim])
        yield Sample(
            (make.tensor(*shape), dim, index, make.tensor(*source)), name=f"shape {shape}, dim {dim}"
        )
    if make.dtype is not bool_:
        yield Sample((make.tensor(3), 0, make.of([1, 1], int64), make.tensor(2)), {"alpha": 2}, "alpha")
    yield Sample(
        (make.tensor(3), 0, make.of([1], int64), make.tensor(2)), name="error: counts", error=RuntimeError
    )
    yield Sample(
        (make.tensor(3), 0, make.of([3], int64), make.tensor(1)),
        name="error: index too large",
        error=IndexError,
    )
    yield Sample(
        (make.tensor(2, 3), 0, make.of([1], int64), make.tensor(1, 2)),
        name="error: shapes",
        error=RuntimeError,
    )


@family("index_copy")
def index_copy(make: Inputs) -> Iterator[Sample]:
    for shape, dim in (((5,), 0), ((4, 3), 0), ((4, 3), 1), ((2, 3, 4), -2)):
        source = list(shape)
        source[dim] = 2
        index = _distinct(make, (2,), 0, shape[dim])
        yield Sample(
            (make.tensor(*shape), dim, index, make.tensor(*source)), name=f"shape {shape}, dim {dim}"
        )
    yield Sample((make.tensor(), 0, make.of([0], int64), make.tensor(1)), name="zero-dimensional")
    yield Sample(
        (make.tensor(4), 0, make.of(1, int64), make.tensor()), name="zero-dimensional index and source"
    )
    yield Sample((make.tensor(4, 3), 1, make.of([], int64), make.tensor(4, 0)), name="nothing")
    x = make.tensor(3)
    yield Sample((x, 0, make.of([3], int64), make.tensor(1)), name="error: index too large", error=IndexError)
    yield Sample((x, 0, make.of([-1], int64), make.tensor(1)), name="error: negative index", error=IndexError)
    yield Sample((x, 0, make.of([0], int64), make.tensor(2)), name="error: counts", error=IndexError)
    yield Sample((x, 0, make.of([0], int32), make.tensor(1)), name="error: int32", error=RuntimeError)
    yield Sample((make.tensor(2, 3), 0, make.of([1], int64), make.tensor(1, 2)), name="error: shapes",
                 error=RuntimeError)  # fmt: skip


@family("index_fill")
def index_fill(make: Inputs) -> Iterator[Sample]:
    for shape, dim in (((5,), 0), ((4, 3), 0), ((4, 3), 1), ((2, 3, 4), -2)):
        index = make.indices(2, limit=shape[dim])
        yield Sample((make.tensor(*shape), dim, index, make.number), name=f"shape {shape}, dim {dim}")
    index = make.of([0, -1, 0], int64)
    yield Sample((make.tensor(4, 3), 1, index, make.tensor()), name="zero-dimensional value, negative index")
    yield Sample((make.tensor(), 0, make.of([0], int64), make.number), name="zero-dimensional")
    yield Sample((make.tensor(4), 0, make.of(1, int64), make.number), name="zero-dimensional index")
    yield Sample((make.tensor(4, 3, layout="transposed"), 1, index, make.number), name="transposed")
    yield Sample((make.tensor(3), 0, make.of([3], int64), make.number), name="error: index", error=IndexError)
    yield Sample(
        (make.tensor(3), 0, make.of([0], int64), make.tensor(1)), name="error: value", error=RuntimeError
    )


@family("index_reduce")
def index_reduce(make: Inputs) -> Iterator[Sample]:
    for reduce in reductions(make):
        if reduce == "sum":
            continue
        for include_self in (True, False):
            for shape, dim in (((5,), 0), ((4, 3), 1), ((2, 3, 4), -2)):
                source = list(shape)
                source[dim] = 4
                index = make.indices(4, limit=shape[dim])
                args = (make.tensor(*shape), dim, index, make.tensor(*source, low=-2, high=2), reduce)
                name = f"{reduce}, include_self {include_self}, shape {shape}, dim {dim}"
                yield Sample(args, {"include_self": include_self}, name)
    index = make.of([0], int64)
    yield Sample((make.tensor(3), 0, index, make.tensor(1), "sum"), name="error: reduce", error=RuntimeError)


# --- flat places and masks -------------------------------------------------------------------------------------


@family("put")
def put(make: Inputs) -> Iterator[Sample]:
    for shape in ((5,), (4, 3)):
        index = make.of([[1, 4], [0, -2]], int64)
        for accumulate in (False, True):
            args = (make.tensor(*shape), index, make.tensor(4), accumulate)
            yield Sample(args, name=f"shape {shape}, accumulate {accumulate}")
    yield from many_values(make, accumulate=True)
    yield Sample((make.tensor(), make.of(0, int64), make.tensor()), name="zero-dimensional")
    yield Sample(
        (make.tensor(4, 3, layout="transposed"), make.of([1, 5], int64), make.tensor(2)), name="transposed"
    )
    yield Sample((make.tensor(4), make.of([1, 1], int64), make.tensor(2), True), name="repeated place")
    yield Sample((make.tensor(4), make.of([], int64), make.tensor(0)), name="nothing")
    yield Sample((make.tensor(3), make.of([3], int64), make.tensor(1)), name="error: place", error=IndexError)
    yield Sample(
        (make.tensor(3), make.of([0], int64), make.tensor(2)), name="error: counts", error=IndexError
    )
    yield Sample(
        (make.tensor(3), make.of([0], int32), make.tensor(1)), name="error: int32", error=RuntimeError
    )


@family("masked_scatter")
def masked_scatter(make: Inputs) -> Iterator[Sample]:
    for shape in ((), (3,), (2, 3), (2, 0)):
        yield Sample((make.tensor(*shape), make.mask(*shape), make.tensor(7)), name=f"shape {shape}")
    yield Sample((make.tensor(2, 3), make.mask(3), make.tensor(2, 3)), name="broadcast mask")
    yield Sample((make.tensor(3), make.mask(2, 3), make.tensor(2, 3)), name="broadcast self")
    yield Sample((make.tensor(2, 3, layout="transposed"), make.mask(2, 3), make.tensor(6)), name="transposed")
    few = (make.tensor(3), make.of([True] * 3, bool_), make.tensor(2))
    yield Sample(few, name="error: too few values", error=RuntimeError)
    yield Sample(
        (make.tensor(2), make.indices(2, limit=2), make.tensor(2)), name="error: mask", error=RuntimeError
    )
