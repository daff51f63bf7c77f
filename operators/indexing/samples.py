"""Samples of operators that index with tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tt.core.types.dtype import bool_, float32, int32, int64
from tt.operators._samples.base import LAYOUTS, OPTION, OUT_OF_RANGE, SHAPES, FamilyTable, Inputs, Sample

family = FamilyTable()

# The index may be smaller than the tensor in other dimensions, and larger in its own.
PLACES: tuple[tuple[tuple[int, ...], int, tuple[int, ...]], ...] = (
    ((5,), 0, (3,)), ((4, 3), 0, (2, 3)), ((4, 3), 0, (2, 2)), ((4, 3), 1, (4, 5)), ((4, 3), -1, (1, 2)),
    ((2, 3, 4), 1, (2, 5, 4)),
    ((4, 3), 0, (0, 3)), ((), 0, ()), ((), 0, (3,)),
)  # fmt: skip


@family("gather")
def gather(make: Inputs) -> Iterator[Sample]:
    for shape, dim, size in PLACES:
        index = make.indices(*size, limit=shape[dim] if shape else 1)
        yield Sample((make.tensor(*shape), dim, index), name=f"shape {shape}, dim {dim}, index {size}")
    for layout in LAYOUTS:
        x = make.tensor(4, 3, layout=layout)
        yield Sample((x, 1, make.indices(4, 2, limit=3)), name=layout)
    yield Sample(
        (make.tensor(3), 0, make.of([0, 3], dtype=int64)), name="error: index too large", error=OUT_OF_RANGE
    )
    yield Sample(
        (make.tensor(3), 0, make.of([0, -1], dtype=int64)), name="error: negative index", error=OUT_OF_RANGE
    )
    yield Sample(
        (make.tensor(3), 0, make.of([0, 1], dtype=float32)), name="error: float index", error=RuntimeError
    )
    yield Sample(
        (make.tensor(2, 3), 0, make.indices(2, limit=2)), name="error: dimensions", error=RuntimeError
    )
    yield Sample((make.tensor(2, 3), 0, make.indices(2, 4, limit=2)), name="error: sizes", error=RuntimeError)
    yield Sample((make.tensor(2, 3), 2, make.indices(2, 3, limit=2)), name="error: dim", error=IndexError)


@family("index_select")
def index_select(make: Inputs) -> Iterator[Sample]:
    for shape, dim in (((5,), 0), ((4, 3), 0), ((4, 3), 1), ((2, 3, 4), -2)):
        for count in (0, 1, 4):
            index = make.indices(count, limit=shape[dim])
            yield Sample((make.tensor(*shape), dim, index), name=f"shape {shape}, dim {dim}, {count} indices")
    yield Sample((make.tensor(), 0, make.of([0], int64)), name="zero-dimensional")
    yield Sample((make.tensor(3), 0, make.of(1, int64)), name="zero-dimensional index")
    yield Sample((make.tensor(3), 0, make.of([1, 0], int32)), name="int32 index")
    for layout in LAYOUTS:
        yield Sample((make.tensor(4, 3, layout=layout), 1, make.indices(2, limit=3)), name=layout)
    yield Sample((make.tensor(3), 0, make.of([3], int64)), name="error: index too large", error=OUT_OF_RANGE)
    yield Sample((make.tensor(3), 0, make.indices(1, 1, limit=3)), name="error: a matrix", error=IndexError)
    yield Sample((make.tensor(3), 1, make.indices(1, limit=3)), name="error: dim", error=IndexError)


@family("take")
def take(make: Inputs) -> Iterator[Sample]:
    for shape in ((), (5,), (4, 3)):
        for size in ((), (3,), (2, 2), (0,)):
            index = make.indices(*size, limit=max(int(make.array(shape).size), 1))
            yield Sample((make.tensor(*shape), index), name=f"shape {shape}, index {size}")
    yield Sample((make.tensor(4, 3), make.of([-1, -12], int64)), name="negative places")
    yield Sample((make.tensor(4, 3, layout="transposed"), make.of([1, 5], int64)), name="transposed")
    yield Sample((make.tensor(0), make.of([], int64)), name="nothing of nothing")
    yield Sample((make.tensor(3), make.of([3], int64)), name="error: place too large", error=IndexError)
    yield Sample((make.tensor(0), make.of([0], int64)), name="error: nothing there", error=IndexError)
    yield Sample((make.tensor(3), make.of([0], int32)), name="error: int32", error=RuntimeError)


@family("take_along_dim")
def take_along_dim(make: Inputs) -> Iterator[Sample]:
    yield Sample((make.tensor(4, 3), make.indices(4, 3, limit=3), 1), name="the same shape")
    yield Sample((make.tensor(4, 3), make.indices(1, 3, limit=4), 0), name="one index a column")
    yield Sample((make.tensor(1, 3), make.indices(4, 2, limit=3), 1), name="broadcast self")
    yield Sample((make.tensor(2, 1, 4), make.indices(1, 3, 2, limit=4), -1), name="both broadcast")
    yield Sample((make.tensor(4, 3), make.of([[-1], [-3], [0], [2]], int64), 1), name="negative indices")
    yield Sample((make.tensor(4, 3), make.indices(2, 3, limit=12)), name="flattened")
    yield Sample(
        (make.tensor(4, 3), make.indices(2, limit=3), 1), name="error: dimensions", error=RuntimeError
    )
    yield Sample((make.tensor(2, 3), make.of([[0]], int32), 1), name="error: int32", error=RuntimeError)


# --- repetition ------------------------------------------------------------------------------------------------


@family("repeat_interleave_counts")
def repeat_interleave_counts(make: Inputs) -> Iterator[Sample]:
    yield Sample((make.of([2, 0, 1]),), name="counts")
    yield Sample((make.of([2, 0, 1]),), {"output_size": 3}, "with output_size")
    yield Sample((make.of([]),), name="nothing")
    yield Sample((make.of([2, -1]),), name="error: negative", error=RuntimeError)
    yield Sample((make.of([[2, 1]]),), name="error: a matrix", error=RuntimeError)
    yield Sample((make.of([2, 1]),), {"output_size": 4}, "error: output_size", error=RuntimeError)


@family("repeat_interleave_tensor")
def repeat_interleave_tensor(make: Inputs) -> Iterator[Sample]:
    counts = make.of([2, 0, 1], int64)
    yield Sample((make.tensor(3), counts), name="a vector")
    yield Sample((make.tensor(3, 2), counts, 0), name="rows")
    yield Sample((make.tensor(2, 3), counts, -1), {"output_size": 3}, "columns, with output_size")
    yield Sample((make.tensor(2, 3), make.of([2], int64)), name="one count")
    yield Sample((make.tensor(2, 3), make.of(2, int32), 1), name="zero-dimensional count")
    yield Sample((make.tensor(), make.of([2], int64)), name="zero-dimensional")
    yield Sample((make.tensor(2), counts), name="error: number of counts", error=RuntimeError)
    yield Sample((make.tensor(3), counts, 1), name="error: dim", error=IndexError)


@family("repeat_interleave")
def repeat_interleave(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        yield Sample((make.tensor(*shape), 2), name=f"shape {shape}")
        if shape:
            yield Sample((make.tensor(*shape), 3, -1), name=f"shape {shape}, last dimension")
    for count in (0, 1):
        yield Sample((make.tensor(2, 3), count, 0), name=f"{count} times")
    yield Sample((make.tensor(2, 3), 2, 0), {"output_size": 4}, "with output_size")
    yield Sample((make.tensor(2, 3, layout="transposed"), 2, 1), name="transposed")
    yield Sample((make.tensor(2, 3), -1), name="error: negative", error=RuntimeError)
    yield Sample((make.tensor(2, 3), 2, 2), name="error: dim", error=IndexError)


# --- advanced indexing -----------------------------------------------------------------------------------------


def _indices(make: Inputs) -> Iterator[tuple[str, tuple[int, ...], list[Any], tuple[int, ...]]]:
    """Yield (name, shape, indices, shape of the result)."""
    yield "one index", (4, 3), [make.indices(2, limit=4)], (2, 3)
    yield "a matrix of indices", (4, 3), [make.indices(2, 2, limit=4)], (2, 2, 3)
    yield "second dimension", (4, 3), [None, make.indices(2, limit=3)], (4, 2)
    yield "two indices", (4, 3), [make.indices(2, limit=4), make.indices(2, limit=3)], (2,)
    yield "broadcast indices", (4, 3), [make.indices(2, 1, limit=4), make.indices(3, limit=3)], (2, 3)
    # Indices with a dimension between them move to the front of the result.
    yield "separated indices", (2, 3, 4), [make.indices(5, limit=2), None, make.indices(5, limit=4)], (5, 3)
    yield "inner indices", (2, 3, 4, 2), [None, make.indices(5, limit=3), make.indices(5, limit=4)], (2, 5, 2)
    yield "zero-dimensional index", (4, 3), [make.of(1, int64)], (3,)
    yield "negative index", (4, 3), [make.of([-1, -4], int64)], (2, 3)
    yield "int32 index", (4, 3), [make.of([1, 0], int32)], (2, 3)
    yield "no index", (4, 3), [make.of([], int64)], (0, 3)
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
    yield Sample((x, [make.of([4], int64)]), name="error: index too large", error=OUT_OF_RANGE)
    yield Sample((x, [make.of([-5], int64)]), name="error: index too small", error=OUT_OF_RANGE)
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
            # PyTorch adds no bools.
            if (accumulate or distinct) and not (accumulate and make.dtype is bool_):
                how = f"{name}, accumulate {accumulate}"
                yield Sample((make.tensor(*shape), indices, make.tensor(*result), accumulate), name=how)
                yield Sample(
                    (make.tensor(*shape), indices, make.tensor(), accumulate), name=f"{how}, one value"
                )
    if make.dtype.is_floating_point and make.dtype.itemsize == 2:
        # Added up in half precision, each step would be rounded, and the last ones lost.
        many = make.of([1], int64).expand(600), make.of([0.3]).expand(600)
        yield Sample((make.tensor(2), [many[0]], many[1], True), name="many values for one place")
    x = make.tensor(4, 3)
    yield Sample((x, [make.of([4], int64)], make.tensor()), name="error: index too large", error=OUT_OF_RANGE)
    yield Sample((x, [make.of([0], int64)], make.tensor(2)), name="error: values", error=RuntimeError)


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
    how = {"nonzero.as_tuple": {"as_tuple": True}, "nonzero.as_matrix": {"as_tuple": False}}.get(
        make.definition.name, {}
    )
    for shape in SHAPES:
        yield Sample((make.tensor(*shape, low=0, high=1),), how, f"shape {shape}")
    yield Sample((make.of([[0, 1], [1, 0]]),), how, "zeros and ones")
    yield Sample((make.of([[0, 1], [1, 0]]).t(),), how, "transposed")


# --- look-ups --------------------------------------------------------------------------------------------------


@family("one_hot")
def one_hot(make: Inputs) -> Iterator[Sample]:
    for shape in ((), (3,), (2, 3)):
        yield Sample((make.indices(*shape, limit=4), 4), name=f"shape {shape}")
    yield Sample((make.of([0, 2, 1], int64),), name="classes from the values")
    yield Sample((make.of([0, 4], int64), 4), name="error: class", error=OPTION)
    yield Sample((make.of([0, -1], int64), 4), name="error: negative", error=OPTION)


@family("nonzero_static")
def nonzero_static(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        # Fewer places than there are elements, and more.
        for size in (0, 2, 9):
            yield Sample((make.tensor(*shape, low=0, high=1),), {"size": size}, f"shape {shape}, size {size}")
    yield Sample((make.of([[0, 1, 0], [1, 1, 0]]),), {"size": 5, "fill_value": 7}, "fill_value")
    yield Sample((make.tensor(3, 4, low=0, high=1, layout="transposed"),), {"size": 3}, "transposed")
    yield Sample((make.tensor(3),), {"size": -1}, "error: size", RuntimeError)


@family("unravel_index")
def unravel_index(make: Inputs) -> Iterator[Sample]:
    for shape in ((24,), (4, 6), (2, 3, 4)):
        yield Sample((make.tensor(2, 3, low=0, high=23), shape), name=f"shape {shape}")
    yield Sample((make.tensor(low=0, high=5), (2, 3)), name="zero-dimensional")
    yield Sample((make.tensor(0), (2, 3)), name="empty")
    yield Sample((make.tensor(4, low=0, high=5, layout="strided"), (2, 3)), name="strided")
    yield Sample((make.tensor(2, low=0, high=1), (2, -1)), name="error: negative size", error=ValueError)


@family("fill_diagonal")
def fill_diagonal(make: Inputs) -> Iterator[Sample]:
    for shape in ((3, 3), (2, 4), (7, 3), (3, 3, 3), (0, 2), (8, 2)):
        for wrap in (False, True):
            yield Sample((make.tensor(*shape), make.number, wrap), name=f"shape {shape}, wrap {wrap}")
    yield Sample((make.tensor(3, 4, layout="transposed"), make.number), name="transposed")
    yield Sample((make.tensor(3), 1), name="error: a vector", error=RuntimeError)
    yield Sample((make.tensor(2, 2, 3), 1), name="error: sizes", error=RuntimeError)
