"""Samples of operators that index with tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tt.core.dtype import bool_, float32, int32
from tt.core.testing.samples.base import LAYOUTS, OPTION, OUT_OF_RANGE, SHAPES, FamilyTable, Inputs, Sample

family = FamilyTable()

PLACES: tuple[tuple[tuple[int, ...], int, tuple[int, ...]], ...] = (
    ((5,), 0, (3,)), ((4, 3), 0, (2, 3)), ((4, 3), 0, (2, 2)), ((4, 3), 1, (4, 5)), ((4, 3), -1, (1, 2)),
    ((2, 3, 4), 1, (2, 5, 4)),
    ((4, 3), 0, (0, 3)), ((), 0, ()), ((), 0, (3,)),
)  # fmt: skip


@family("gather")
def gather(make: Inputs) -> Iterator[Sample]:
    for shape, dim, places in PLACES:
        index = make.indices(*places, limit=shape[dim] if shape else 1)
        yield Sample((make.tensor(*shape), dim, index), name=f"shape {shape}, dim {dim}, index {places}")
    for layout in LAYOUTS:
        x = make.tensor(4, 3, layout=layout)
        yield Sample((x, 1, make.indices(4, 2, limit=3)), name=layout)
    yield Sample(
        (make.tensor(3), 0, make.of([0, 3], dtype=_long())), name="error: index too large", error=OUT_OF_RANGE
    )
    yield Sample(
        (make.tensor(3), 0, make.of([0, -1], dtype=_long())), name="error: negative index", error=OUT_OF_RANGE
    )
    yield Sample(
        (make.tensor(3), 0, make.of([0, 1], dtype=float32)), name="error: float index", error=RuntimeError
    )
    yield Sample(
        (make.tensor(2, 3), 0, make.indices(2, limit=2)), name="error: dimensions", error=RuntimeError
    )
    yield Sample((make.tensor(2, 3), 0, make.indices(2, 4, limit=2)), name="error: sizes", error=RuntimeError)
    yield Sample((make.tensor(2, 3), 2, make.indices(2, 3, limit=2)), name="error: dim", error=IndexError)


def _long() -> Any:
    from tt.core.dtype import int64

    return int64


def _distinct(make: Inputs, shape: tuple[int, ...], dim: int, limit: int) -> Any:
    """Return indices that do not repeat along a dimension, so that writing has one result."""
    import numpy as np

    if not shape:
        return make.of(0, _long())
    order = np.argsort(make.random.random((*shape[:dim], limit, *shape[dim % len(shape) + 1 :])), axis=dim)
    return make.of(order.take(range(shape[dim]), axis=dim), _long())


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
    index = make.of([0, 2, 0], _long())
    if make.definition.name == "scatter_add":
        yield Sample((make.tensor(3), 0, index, make.tensor(3)), name="repeated index")
    yield Sample(
        (
            make.tensor(2, 3, layout="transposed"),
            0,
            make.of([[0, 1, 0]], _long()),
            make.number if with_value else make.tensor(2, 3),
        ),
        name="transposed",
    )
    last = make.number if with_value else make.tensor(1)
    yield Sample(
        (make.tensor(3), 0, make.of([3], _long()), last), name="error: index too large", error=OUT_OF_RANGE
    )
    yield Sample(
        (make.tensor(2, 3), 0, make.of([0], _long()), last), name="error: dimensions", error=RuntimeError
    )
    if not with_value:
        yield Sample(
            (make.tensor(3), 0, make.of([0, 1], _long()), make.tensor(1)),
            name="error: source",
            error=RuntimeError,
        )


@family("index_select")
def index_select(make: Inputs) -> Iterator[Sample]:
    for shape, dim in (((5,), 0), ((4, 3), 0), ((4, 3), 1), ((2, 3, 4), -2)):
        for count in (0, 1, 4):
            index = make.indices(count, limit=shape[dim])
            yield Sample((make.tensor(*shape), dim, index), name=f"shape {shape}, dim {dim}, {count} indices")
    yield Sample((make.tensor(), 0, make.of([0], _long())), name="zero-dimensional")
    yield Sample((make.tensor(3), 0, make.of(1, _long())), name="zero-dimensional index")
    yield Sample((make.tensor(3), 0, make.of([1, 0], int32)), name="int32 index")
    for layout in LAYOUTS:
        yield Sample((make.tensor(4, 3, layout=layout), 1, make.indices(2, limit=3)), name=layout)
    yield Sample(
        (make.tensor(3), 0, make.of([3], _long())), name="error: index too large", error=OUT_OF_RANGE
    )
    yield Sample((make.tensor(3), 0, make.indices(1, 1, limit=3)), name="error: a matrix", error=IndexError)
    yield Sample((make.tensor(3), 1, make.indices(1, limit=3)), name="error: dim", error=IndexError)


@family("index_add")
def index_add(make: Inputs) -> Iterator[Sample]:
    for shape, dim in (((5,), 0), ((4, 3), 0), ((4, 3), 1), ((2, 3, 4), -2)):
        source = list(shape)
        source[dim] = 4
        index = make.indices(4, limit=shape[dim])
        yield Sample(
            (make.tensor(*shape), dim, index, make.tensor(*source)), name=f"shape {shape}, dim {dim}"
        )
    if make.dtype is not bool_:
        yield Sample((make.tensor(3), 0, make.of([1, 1], _long()), make.tensor(2)), {"alpha": 2}, "alpha")
    yield Sample(
        (make.tensor(3), 0, make.of([1], _long()), make.tensor(2)), name="error: counts", error=RuntimeError
    )
    yield Sample(
        (make.tensor(3), 0, make.of([3], _long()), make.tensor(1)),
        name="error: index too large",
        error=IndexError,
    )
    yield Sample(
        (make.tensor(2, 3), 0, make.of([1], _long()), make.tensor(1, 2)),
        name="error: shapes",
        error=RuntimeError,
    )


# --- advanced indexing -----------------------------------------------------------------------------------------


def _indices(make: Inputs) -> Iterator[tuple[str, tuple[int, ...], list[Any], tuple[int, ...]]]:
    """Yield (name, shape, indices, shape of the result)."""
    yield "one index", (4, 3), [make.indices(2, limit=4)], (2, 3)
    yield "a matrix of indices", (4, 3), [make.indices(2, 2, limit=4)], (2, 2, 3)
    yield "second dimension", (4, 3), [None, make.indices(2, limit=3)], (4, 2)
    yield "two indices", (4, 3), [make.indices(2, limit=4), make.indices(2, limit=3)], (2,)
    yield "broadcast indices", (4, 3), [make.indices(2, 1, limit=4), make.indices(3, limit=3)], (2, 3)
    yield "separated indices", (2, 3, 4), [make.indices(5, limit=2), None, make.indices(5, limit=4)], (5, 3)
    yield "inner indices", (2, 3, 4, 2), [None, make.indices(5, limit=3), make.indices(5, limit=4)], (2, 5, 2)
    yield "zero-dimensional index", (4, 3), [make.of(1, _long())], (3,)
    yield "negative index", (4, 3), [make.of([-1, -4], _long())], (2, 3)
    yield "int32 index", (4, 3), [make.of([1, 0], int32)], (2, 3)
    yield "no index", (4, 3), [make.of([], _long())], (0, 3)
    yield "a mask", (4,), [make.of([True, False, True, True], bool_)], (3,)
    yield "a mask of rows", (3, 2), [make.of([True, False, True], bool_)], (2, 2)
    yield "a mask of elements", (2, 2), [make.of([[True, False], [True, True]], bool_)], (3,)
    yield "a mask and an index", (2, 3), [make.of([True, True], bool_), make.indices(2, limit=3)], (2,)


@family("index")
def index(make: Inputs) -> Iterator[Sample]:
    for name, shape, indices, _ in _indices(make):
        yield Sample((make.tensor(*shape), indices), name=name)
    for layout in LAYOUTS:
        yield Sample((make.tensor(4, 3, layout=layout), [None, make.indices(2, limit=3)]), name=layout)
    x = make.tensor(4, 3)
    yield Sample((x, [make.of([4], _long())]), name="error: index too large", error=OUT_OF_RANGE)
    yield Sample((x, [make.of([-5], _long())]), name="error: index too small", error=OUT_OF_RANGE)
    yield Sample((x, [make.of([1.0], float32)]), name="error: float index", error=IndexError)
    yield Sample(
        (x, [make.indices(2, limit=2), make.indices(3, limit=2)]), name="error: shapes", error=IndexError
    )
    yield Sample((x, [make.mask(3)]), name="error: mask", error=IndexError)
    yield Sample((x, [make.indices(1, limit=2)] * 3), name="error: too many", error=IndexError)


@family("index_put")
def index_put(make: Inputs) -> Iterator[Sample]:
    for name, shape, indices, result in _indices(make):
        # A repeated index would leave it open which value wins.
        distinct = name in (
            "a mask",
            "a mask of rows",
            "a mask of elements",
            "zero-dimensional index",
            "negative index",
            "int32 index",
        )
        for accumulate in (False, True):
            if (accumulate or distinct) and not (accumulate and make.dtype is bool_):
                how = f"{name}, accumulate {accumulate}"
                yield Sample((make.tensor(*shape), indices, make.tensor(*result), accumulate), name=how)
                yield Sample(
                    (make.tensor(*shape), indices, make.tensor(), accumulate), name=f"{how}, one value"
                )
    x = make.tensor(4, 3)
    yield Sample(
        (x, [make.of([4], _long())], make.tensor()), name="error: index too large", error=OUT_OF_RANGE
    )
    yield Sample((x, [make.of([0], _long())], make.tensor(2)), name="error: values", error=RuntimeError)


# --- masks -----------------------------------------------------------------------------------------------------


@family("masked_fill")
def masked_fill(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        yield Sample((make.tensor(*shape), make.mask(*shape), make.number), name=f"shape {shape}")
    yield Sample((make.tensor(2, 3), make.mask(3), make.number), name="broadcast mask")
    yield Sample((make.tensor(2, 3), make.mask(2, 3), make.tensor()), name="zero-dimensional value")
    for layout in LAYOUTS:
        yield Sample((make.tensor(2, 3, layout=layout), make.mask(2, 3), make.number), name=layout)
    yield Sample((make.tensor(2, 3), make.mask(2), make.number), name="error: shapes", error=RuntimeError)
    yield Sample(
        (make.tensor(2), make.indices(2, limit=2), make.number), name="error: mask", error=RuntimeError
    )


@family("masked_select")
def masked_select(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        yield Sample((make.tensor(*shape), make.mask(*shape)), name=f"shape {shape}")
    yield Sample((make.tensor(2, 3), make.mask(3)), name="broadcast mask")
    yield Sample((make.tensor(2, 3, layout="transposed"), make.mask(2, 3)), name="transposed")
    yield Sample((make.tensor(2, 3), make.mask(2)), name="error: shapes", error=RuntimeError)
    yield Sample((make.tensor(2), make.indices(2, limit=2)), name="error: mask", error=RuntimeError)


@family("nonzero")
def nonzero(make: Inputs) -> Iterator[Sample]:
    how = {"as_tuple": True} if make.definition.name == "nonzero.as_tuple" else {}
    for shape in SHAPES:
        yield Sample((make.tensor(*shape, low=0, high=1),), how, f"shape {shape}")
    yield Sample((make.of([[0, 1], [1, 0]]),), how, "zeros and ones")
    yield Sample((make.of([[0, 1], [1, 0]]).t(),), how, "transposed")


# --- look-ups --------------------------------------------------------------------------------------------------


@family("one_hot")
def one_hot(make: Inputs) -> Iterator[Sample]:
    for shape in ((), (3,), (2, 3)):
        yield Sample((make.indices(*shape, limit=4), 4), name=f"shape {shape}")
    yield Sample((make.of([0, 2, 1], _long()),), name="classes from the values")
    yield Sample((make.of([0, 4], _long()), 4), name="error: class", error=OPTION)
    yield Sample((make.of([0, -1], _long()), 4), name="error: negative", error=OPTION)


@family("embedding")
def embedding(make: Inputs) -> Iterator[Sample]:
    for shape in ((), (3,), (2, 3), (0,)):
        yield Sample((make.indices(*shape, limit=5), make.tensor(5, 4)), name=f"shape {shape}")
    yield Sample((make.indices(3, limit=5), make.tensor(5, 4), 1), name="padding")
    yield Sample((make.of([5], _long()), make.tensor(5, 4)), name="error: index", error=OUT_OF_RANGE)
