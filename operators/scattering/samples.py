"""Samples of operators that write to places which tensors name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tt.core.types.dtype import bool_, float32, int32, int64
from tt.operators._samples.base import LAYOUTS, OUT_OF_RANGE, FamilyTable, Inputs, Sample

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

family = FamilyTable()

# Shape, dimension, shape of the index.
PLACES: tuple[tuple[tuple[int, ...], int, tuple[int, ...]], ...] = (
    ((5,), 0, (3,)), ((4, 3), 0, (2, 3)), ((4, 3), 1, (4, 2)), ((4, 3), -1, (2, 5)), ((2, 3, 4), 1, (2, 2, 4)),
    ((), 0, ()), ((4, 3), 0, (0, 3)),
)  # fmt: skip

# --- along one dimension ---------------------------------------------------------------------------------------


def _distinct(make: Inputs, shape: tuple[int, ...], dim: int, limit: int) -> Tensor:
    """Return indices that do not repeat along a dimension, so that writing has one result."""
    if not shape:
        return make.of(0, int64)
    # The order of random numbers is a permutation, of which the first places are taken.
    order = np.argsort(make.random.random((*shape[:dim], limit, *shape[dim % len(shape) + 1 :])), axis=dim)
    return make.of(order.take(range(shape[dim]), axis=dim), int64)


def many_values(make: Inputs, *dim: int, **named: Any) -> Iterator[Sample]:
    """Yield a sample of many values for one place, whose sum is wrong in half precision."""
    if make.dtype.is_floating_point and make.dtype.itemsize == 2:
        # Added up in half precision, each step would be rounded, and the last ones lost.
        index, values = make.of([1], int64).expand(600), make.of([0.3]).expand(600)
        yield Sample((make.tensor(2), *dim, index, values), named, "many values for one place")


@family("scatter", "scatter_value")
def scatter(make: Inputs) -> Iterator[Sample]:
    with_value = make.definition.name == "scatter.value"
    for shape, dim, size in (
        ((5,), 0, (3,)),
        ((4, 3), 0, (2, 3)),
        ((4, 3), 1, (4, 2)),
        ((2, 3, 4), 1, (2, 2, 4)),
        ((), 0, ()),
    ):
        index = _distinct(make, size, dim, shape[dim] if shape else 1)
        last = make.number if with_value else make.tensor(*size)
        yield Sample((make.tensor(*shape), dim, index, last), name=f"shape {shape}, dim {dim}, index {size}")
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
        for shape, dim, size in PLACES:
            index = make.indices(*size, limit=shape[dim] if shape else 1)
            args = (make.tensor(*shape), dim, index, make.tensor(*size, low=-2, high=2))
            yield Sample(args, {"reduce": reduce}, f"{reduce}, shape {shape}, dim {dim}, index {size}")
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
    # Complex numbers have no order, and a mean of bools would be no bool.
    left_out = {"complex": ("amax", "amin"), "bool": ("mean",)}.get(make.dtype.kind, ())
    return [name for name in ("sum", "prod", "mean", "amax", "amin") if name not in left_out]


@family("scatter_reduce")
def scatter_reduce(make: Inputs) -> Iterator[Sample]:
    for reduce in reductions(make):
        for include_self in (True, False):
            how = {"include_self": include_self}
            for shape, dim, size in PLACES:
                index = make.indices(*size, limit=shape[dim] if shape else 1)
                src = make.tensor(*size, low=-2, high=2)
                name = f"{reduce}, include_self {include_self}, shape {shape}, dim {dim}, index {size}"
                yield Sample((make.tensor(*shape), dim, index, src, reduce), how, name)
            index = make.of([[0, 1, 0], [0, 0, 1]], int64)
            name = f"{reduce}, include_self {include_self}"
            args = (make.tensor(2, 3, layout="transposed"), 0, index, make.tensor(3, 4), reduce)
            yield Sample(args, how, f"{name}, transposed, larger source")
            if reduce == "prod":
                # One zero leaves other factors a gradient, and two of them none.
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
    # A bool times 2 would be no bool.
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
        # Written twice, a place would hold either slice.
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
        # PyTorch has index_add for sums, and refuses the word here.
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
        # Places from the end count, too.
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


@family("embedding_rows", "embedding")
def embedding(make: Inputs) -> Iterator[Sample]:
    public = make.definition.name == "embedding"

    def sample(indices: Tensor, weight: Tensor, name: str, error: Any = None, **how: Any) -> Sample:
        return Sample((indices, weight) if public else (weight, indices), how, name, error)

    for shape in ((), (3,), (2, 3), (0,)):
        yield sample(make.indices(*shape, limit=5), make.tensor(5, 4), name=f"shape {shape}")
    yield sample(make.of([1, 0, 1], int64), make.tensor(5, 4), padding_idx=1, name="padding")
    repeated = make.of([[1, 0], [1, 1]], int64)
    yield sample(repeated, make.tensor(5, 4), scale_grad_by_freq=True, name="scaled by frequency")
    yield sample(make.of([1, 0], int32), make.tensor(5, 4), name="int32")
    yield sample(make.of([1, 0], int64), make.tensor(5, 4, layout="transposed"), name="transposed")
    x = make.tensor(5, 4)
    yield sample(make.of([5], int64), x, name="error: index", error=OUT_OF_RANGE)
    yield sample(make.of([-1], int64), x, name="error: negative index", error=OUT_OF_RANGE)
    yield sample(make.of([1], float32), x, name="error: dtype", error=RuntimeError)
    yield sample(make.of([1], int64), make.tensor(5), name="error: weight", error=RuntimeError)
    if public:
        yield sample(make.of([1], int64), x, padding_idx=5, name="error: padding", error=ValueError)


@family("embedding_dense_backward")
def embedding_dense_backward(make: Inputs) -> Iterator[Sample]:
    for shape in ((), (3,), (2, 3), (0,)):
        indices = make.indices(*shape, limit=5)
        yield Sample((make.tensor(*shape, 4), indices, 5, -1, False), name=f"shape {shape}")
    repeated = make.of([1, 0, 1, 1], int64)
    yield Sample((make.tensor(4, 4), repeated, 5, 1, False), name="padding")
    yield Sample((make.tensor(4, 4), repeated, 5, -1, True), name="scaled by frequency")
    yield Sample((make.tensor(4, 4), repeated, 5, 0, True), name="padding, scaled by frequency")
    yield Sample((make.tensor(2, 4), make.of([1, 0], int32), 5, -1, False), name="int32")
    yield Sample((make.tensor(4, 4, layout="transposed"), repeated, 5, -1, False), name="transposed")
    x = make.tensor(1, 4)
    yield Sample((x, make.of([5], int64), 5, -1, False), name="error: index", error=OUT_OF_RANGE)
    yield Sample((x, make.of([-1], int64), 5, -1, False), name="error: negative index", error=OUT_OF_RANGE)
    yield Sample((x, make.of([1], float32), 5, -1, False), name="error: dtype", error=RuntimeError)
    yield Sample((x, make.of([1, 2], int64), 5, -1, False), name="error: shapes", error=RuntimeError)


@family("embedding_bag")
def embedding_bag(make: Inputs) -> Iterator[Sample]:
    # The second bag is empty, since the third begins at the same place.
    x, indices, offsets = make.tensor(5, 3), make.of([1, 4, 1, 0, 2, 2], int64), make.of([0, 3, 3], int64)
    for mode in ("sum", "mean", "max"):
        how = {"mode": mode}
        yield Sample((make.indices(2, 3, limit=5), x), how, f"{mode}, rows")
        yield Sample((indices, x, offsets), how, f"{mode}, with an empty bag")
        yield Sample((indices, x, make.of([0, 2, 6], int64)), {**how, "include_last_offset": True},
                     f"{mode}, last offset")  # fmt: skip
        yield Sample((indices, x, offsets), {**how, "padding_idx": 2}, f"{mode}, padding")
        yield Sample((make.of([], int64), x, make.of([0, 0], int64)), how, f"{mode}, nothing")
        yield Sample((make.of([1, 0], int32), x, make.of([0], int32)), how, f"{mode}, int32")
    weights = make.tensor(6)
    yield Sample((indices, x, offsets), {"mode": "sum", "per_sample_weights": weights}, "weights")
    matrix = {"mode": "sum", "per_sample_weights": make.tensor(2, 3)}
    yield Sample((make.indices(2, 3, limit=5), x), matrix, "rows, weights")
    yield Sample((indices, x, offsets), {"mode": "mean", "per_sample_weights": weights}, "error: weights",
                 error=NotImplementedError)  # fmt: skip
    yield Sample((indices, x), name="error: offsets", error=ValueError)
    yield Sample((indices, x, make.of([1], int64)), name="error: first offset", error=RuntimeError)
    yield Sample((indices, x, make.of([0, 9], int64)), name="error: last offset", error=RuntimeError)
    yield Sample((make.of([[5]], int64), x), name="error: index", error=RuntimeError)


@family("embedding_bag_rows")
def embedding_bag_rows(make: Inputs) -> Iterator[Sample]:
    x, indices, offsets = make.tensor(5, 3), make.of([1, 4, 1, 0, 2, 2], int64), make.of([0, 3, 3], int64)
    for mode in ("sum", "mean", "max"):
        yield Sample((x, indices, offsets, None, mode), name=f"{mode}, with an empty bag")
        yield Sample((x, indices, make.of([0, 2, 5], int64), None, mode, True), name=f"{mode}, last offset")
        yield Sample((x, indices, offsets, None, mode, False, 2), name=f"{mode}, padding")
        yield Sample((x, make.of([], int64), make.of([0, 0], int64), None, mode), name=f"{mode}, nothing")
        yield Sample((x, indices, make.of([0], int64), None, mode, True), name=f"{mode}, no bag")
        yield Sample((x, make.of([1, 0], int32), make.of([0], int32), None, mode), name=f"{mode}, int32")
        yield Sample(
            (make.tensor(5, 3, layout="transposed"), indices, offsets, None, mode), name=f"{mode}, transposed"
        )
    yield Sample((x, indices, offsets, make.tensor(6), "sum"), name="weights")
    yield Sample(
        (x, indices, make.of([0, 4], int64), make.tensor(6), "sum", True, 1), name="weights, padding"
    )
    yield Sample((x, indices, offsets, None, "sum", False, None, True), name="scaled by frequency")
    yield Sample((x, indices, make.of([1], int64)), name="error: first offset", error=RuntimeError)
    yield Sample((x, indices, make.of([0, 9], int64)), name="error: last offset", error=RuntimeError)
    yield Sample((x, indices, make.of([0, 3, 2], int64)), name="error: falling", error=RuntimeError)
    yield Sample((x, make.of([5], int64), make.of([0], int64)), name="error: index", error=OUT_OF_RANGE)
    yield Sample((x, indices, offsets, None, "median"), name="error: mode", error=ValueError)


@family("segment_reduce")
def segment_reduce(make: Inputs) -> Iterator[Sample]:
    x, lengths = make.tensor(6, 2), make.of([2, 0, 3, 1], int64)
    for reduce in ("sum", "mean", "max", "min", "prod"):
        yield Sample((x, reduce), {"lengths": lengths}, f"{reduce}")
        yield Sample((x, reduce), {"lengths": lengths.to(int32), "initial": 1.0}, f"{reduce}, initial")
        yield Sample((x[:, 0], reduce), {"offsets": make.of([0, 2, 2, 6], int64)}, f"{reduce}, offsets")
    rows = make.of([[2, 2], [1, 3], [4, 0]], int64)
    yield Sample((make.tensor(3, 4), "sum"), {"lengths": rows, "axis": 1}, "axis 1")
    yield Sample((make.tensor(3, 4, 2), "max"), {"lengths": rows, "axis": 1}, "axis 1, three dimensions")
    yield Sample((make.tensor(3, 4), "sum"), {"lengths": rows, "axis": 1, "unsafe": True}, "unsafe")
    yield Sample((make.tensor(0, 2), "sum"), {"lengths": lengths * 0}, "no data")
    for layout in LAYOUTS:
        yield Sample((make.tensor(6, 2, layout=layout), "sum"), {"lengths": lengths}, layout)
    yield Sample((x, "sum"), name="error: no lengths", error=(RuntimeError, TypeError))
    yield Sample((x, "sum"), {"lengths": lengths[:2]}, "error: sum", RuntimeError)
    yield Sample((x, "sum"), {"lengths": make.of([-1, 7], int64)}, "error: negative", RuntimeError)
    yield Sample((x, "sum"), {"lengths": lengths, "axis": 1}, "error: axis", RuntimeError)
    yield Sample((x, "median"), {"lengths": lengths}, "error: reduce", RuntimeError)
