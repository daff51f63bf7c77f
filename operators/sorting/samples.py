"""Samples of operators that sort, search and compare elements."""

from __future__ import annotations

from collections.abc import Iterator

from tt.core.types.dtype import bool_, int64
from tt.operators._samples.base import LAYOUTS, SHAPES, FamilyTable, Inputs, Sample
from tt.operators.reduction.samples import DIMS

family = FamilyTable()

# --- sorting ---------------------------------------------------------------------------------------------------


@family("sort")
def sort(make: Inputs) -> Iterator[Sample]:
    # Ties have no order of their own unless the sort is stable, so stability is asked for.
    for shape, dim in DIMS:
        for descending in (False, True):
            name = f"shape {shape}, dim {dim}, descending {descending}"
            yield Sample((make.tensor(*shape), dim, descending), {"stable": True}, name)
    for layout in LAYOUTS:
        yield Sample((make.tensor(2, 3, layout=layout), 1), {"stable": True}, layout)
    yield Sample((make.of([1, 0, 1, 0, 1]),), {"stable": True}, "ties")
    yield Sample((make.of([1, 0, 1, 0, 1]), -1, True), {"stable": True}, "ties, descending")
    if make.dtype.is_floating_point:
        for descending in (False, True):
            values = make.of([2.0, float("nan"), float("-inf"), 1.0, float("inf")])
            yield Sample(
                (values, -1, descending), {"stable": True}, f"nan and infinities, descending {descending}"
            )
    yield Sample((make.tensor(2, 3), 2), name="error: dim", error=IndexError)


@family("topk")
def topk(make: Inputs) -> Iterator[Sample]:
    # Of equal elements any may be taken, so there are none.
    distinct = make.of([[3, 1, 2, 5], [4, 0, 7, 6]])
    for k in (0, 1, 3, 4):
        for largest in (True, False):
            yield Sample((distinct, k, -1, largest), name=f"k {k}, largest {largest}")
    yield Sample((distinct, 1, 0), name="dim 0")
    yield Sample((distinct.t(), 2), name="transposed")
    yield Sample((make.tensor(), 1), name="zero-dimensional")
    yield Sample((make.tensor(3), 4), name="error: k", error=RuntimeError)
    yield Sample((make.tensor(3), 1, 1), name="error: dim", error=IndexError)


@family("unique")
def unique(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        high = 1 if make.dtype is bool_ else 2
        # From few numbers, so that some are equal.
        x = make.tensor(*shape, low=0, high=high) if not make.dtype.is_floating_point else make.of(
            make.random.integers(0, 3, shape)
        )  # fmt: skip
        yield Sample((x,), name=f"shape {shape}")
        yield Sample((x, True, True, True), name=f"shape {shape}, with inverse and counts")
    if any(a.name == "dim" for a in make.definition.signature.arguments):
        rows = make.of([[1, 0, 1], [0, 1, 0], [1, 0, 1]])
        yield Sample((rows, True, True, True, 0), name="rows")


@family("unique_dim")
def unique_dim(make: Inputs) -> Iterator[Sample]:
    rows = make.of([[1, 0], [0, 1], [1, 0]])
    for dim in (0, 1, -1):
        yield Sample((rows, dim, True, True, True), name=f"dim {dim}")
    yield Sample((rows, 2), name="error: dim", error=IndexError)


@family("msort")
def msort(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        yield Sample((make.tensor(*shape),), name=f"shape {shape}")
    yield Sample((make.tensor(2, 3, layout="transposed"),), name="transposed")


@family("unique_consecutive")
def unique_consecutive(make: Inputs) -> Iterator[Sample]:
    runs = make.of([[1, 1, 0], [1, 1, 0], [0, 1, 1], [0, 1, 1]])
    for dim in (None, 0, 1, -1):
        yield Sample((runs, True, True, dim), name=f"dim {dim}")
        yield Sample((runs, False, False, dim), name=f"dim {dim}, the elements alone")
    yield Sample((make.of([1, 1, 0, 0, 1]), False, True), name="counts")
    yield Sample((make.of(1), True, True), name="zero-dimensional")
    yield Sample((make.tensor(0), True, True), name="nothing")
    yield Sample((make.tensor(0, 2), True, True, 0), name="no rows")
    yield Sample((runs.t(), True, True, 0), name="transposed")
    yield Sample((make.tensor(0, 2), True, True, 1), name="error: rows of nothing", error=RuntimeError)
    yield Sample((runs, True, True, 2), name="error: dim", error=IndexError)


@family("unique_runs")
def unique_runs(make: Inputs) -> Iterator[Sample]:
    runs = make.of([[1, 1, 0], [1, 1, 0], [0, 1, 1], [0, 1, 1]])
    for inverse, counts in ((True, True), (False, True), (True, False), (False, False)):
        yield Sample((runs, inverse, counts), name=f"inverse {inverse}, counts {counts}")
    yield Sample((make.of(1), True, True), name="zero-dimensional")
    yield Sample((make.tensor(0), True, True), name="nothing")
    yield Sample((runs.t(), True, True), name="transposed")


# --- searching -------------------------------------------------------------------------------------------------


@family("searchsorted_core", "searchsorted")
def searchsorted(make: Inputs) -> Iterator[Sample]:
    options = make.definition.name == "searchsorted"
    # With equal neighbours, between which `right` decides.
    sequence, rows = make.of([1, 3, 3, 5, 9]), make.of([[1, 2, 4], [3, 5, 7]])
    for right in (False, True):
        how = {"right": right}
        for values in (make.of([0, 1, 3, 4, 9, 10]), make.of([[3, 5], [8, 1]]), make.of(3), make.of([])):
            yield Sample((sequence, values), how, f"right {right}, values of shape {tuple(values.shape)}")
        yield Sample((rows, make.of([[2, 9], [0, 5]])), how, f"right {right}, rows")
        yield Sample((make.tensor(0), make.of([1, 2])), how, f"right {right}, nothing to search")
        yield Sample((make.tensor(2, 0), make.of([[1], [2]])), how, f"right {right}, rows of nothing")
    if make.dtype.is_floating_point:
        nan = make.of([float("nan"), 2.0, float("inf"), float("-inf")])
        yield Sample((sequence, nan), name="nan and infinities")
        yield Sample((make.of([float("-inf"), 2.0, float("inf")]), nan), {"right": True}, "infinite sequence")
    if options:
        yield Sample((sequence, make.of([3])), {"out_int32": True}, "int32")
        yield Sample((sequence, make.of([3])), {"side": "right"}, "side")
        order = make.of([1, 2, 0], int64)
        yield Sample((make.of([5, 1, 3]), make.of([2, 5])), {"sorter": order}, "sorter")
        yield Sample(
            (sequence, make.of([3])), {"side": "left", "right": True}, "error: side", error=RuntimeError
        )
        yield Sample((sequence, make.of([3])), {"side": "both"}, "error: no side", error=RuntimeError)
        wrong = make.of([1, 2, 3], int64)
        yield Sample(
            (make.of([5, 1, 3]), make.of([2])), {"sorter": wrong}, "error: sorter", error=RuntimeError
        )
    yield Sample((rows, make.of([[2, 9]])), name="error: shapes", error=RuntimeError)
    yield Sample((make.of(1), make.of([2, 9])), name="error: zero-dimensional", error=RuntimeError)


@family("searchsorted_number")
def searchsorted_number(make: Inputs) -> Iterator[Sample]:
    for right in (False, True):
        yield Sample((make.of([1, 3, 3, 5]), 3), {"right": right}, f"right {right}")
    yield Sample((make.of([1, 3, 3, 5]), 7), {"out_int32": True}, "int32")
    yield Sample((make.of([1, 3, 3, 5]), 3), {"side": "right"}, "side")
    yield Sample((make.of([5, 1, 3]), 4), {"sorter": make.of([1, 2, 0], int64)}, "sorter")
    yield Sample((make.of([[1, 3]]), 3), name="error: rows", error=RuntimeError)


@family("bucketize")
def bucketize(make: Inputs) -> Iterator[Sample]:
    for right in (False, True):
        for values in (make.of([0, 1, 3, 4, 9]), make.of([[3, 5], [8, 1]]), make.of(3), make.of([])):
            name = f"right {right}, values of shape {tuple(values.shape)}"
            yield Sample((values, make.of([1, 3, 5])), {"right": right}, name)
    yield Sample((make.of([4]), make.of([1, 3, 5])), {"out_int32": True}, "int32")
    yield Sample((make.of([4]), make.of([[1, 3]])), name="error: boundaries", error=RuntimeError)


@family("bucketize_number")
def bucketize_number(make: Inputs) -> Iterator[Sample]:
    for right in (False, True):
        yield Sample((3, make.of([1, 3, 5])), {"right": right}, f"right {right}")
    yield Sample((3, make.of([1, 3, 5])), {"out_int32": True}, "int32")


@family("isin")
def isin(make: Inputs) -> Iterator[Sample]:
    for invert in (False, True):
        # Few others are compared one by one, many are sorted first.
        for count in (0, 3, 12, 40):
            others = make.of(make.random.integers(0, 30, count))
            for shape in ((), (7,), (2, 3), (0,)):
                name = f"invert {invert}, shape {shape}, {count} others"
                yield Sample((make.of(make.random.integers(0, 30, shape)), others), {"invert": invert}, name)
    yield Sample((make.of([1, 2]), make.of([2, 3])), {"assume_unique": True}, "assume_unique")
    yield Sample((make.of([[1, 2], [3, 4]]).t(), make.of([[2, 3]])), name="a matrix of others")
    if make.dtype.is_floating_point:
        nan = float("nan")
        yield Sample((make.of([1.0, nan, float("inf")]), make.of([nan])), name="nan")
        # NaN is equal to nothing, itself included, however the others are searched.
        yield Sample((make.of([1.0, nan, 5.0]), make.of([nan, 5.0, *[9.0] * 10])), name="nan among many")
        yield Sample((make.of([1.0, nan]), make.of([nan] * 12)), name="many nan")


@family("isin_number")
def isin_number(make: Inputs) -> Iterator[Sample]:
    for invert in (False, True):
        yield Sample((make.of([1, 2, 3]), 2), {"invert": invert}, f"invert {invert}")


@family("isin_of_number")
def isin_of_number(make: Inputs) -> Iterator[Sample]:
    for invert in (False, True):
        yield Sample((2, make.of([1, 2, 3])), {"invert": invert}, f"invert {invert}")
        yield Sample((2, make.of([])), {"invert": invert}, f"nothing, invert {invert}")
