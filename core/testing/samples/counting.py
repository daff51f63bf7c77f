"""Samples of counts in bins, covariances, segments, and of what counts places."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tt.core.testing.samples.base import LAYOUTS, SHAPES, FamilyTable, Inputs, Sample
from tt.core.types.dtype import float32, float64, int32, int64

family = FamilyTable()

# --- bins ------------------------------------------------------------------------------------------------------


def other_float(make: Inputs) -> Any:
    return float64 if make.dtype is float32 else float32


@family("histogram_count")
def histogram_count(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        yield Sample((make.tensor(*shape), 4), name=f"shape {shape}")
    x = make.tensor(3, 4)
    yield Sample((x, 5), {"range": (-2.0, 2.0)}, "range")
    yield Sample((x, 5), {"range": (1.0, 1.0)}, "empty range")
    yield Sample((x, 5), {"weight": make.tensor(3, 4)}, "weight")
    yield Sample((x, 5), {"density": True, "range": (-6.0, 6.0)}, "density")
    for layout in LAYOUTS:
        yield Sample((make.tensor(3, 4, layout=layout), 3), name=layout)
    yield Sample((make.of([0.0, float("nan"), 2.0]), 4), {"range": (0.0, 2.0)}, "nan")
    yield Sample((x, 0), name="error: bins", error=RuntimeError)
    yield Sample((x, 3), {"range": (2.0, 1.0)}, "error: range", RuntimeError)
    yield Sample((x, 3), {"range": (0.0, float("inf"))}, "error: infinite range", RuntimeError)
    yield Sample((x, 3), {"range": (1.0,)}, "error: half a range", RuntimeError)
    yield Sample((x, 3), {"weight": make.tensor(4)}, "error: weight", RuntimeError)
    yield Sample((x, 3), {"weight": make.tensor(3, 4, dtype=other_float(make))}, "error: dtype", RuntimeError)


@family("histogram_bins")
def histogram_bins(make: Inputs) -> Iterator[Sample]:
    if make.dtype.is_complex:
        return
    edges = make.of([-4.0, -1.0, 0.0, 2.0, 4.5])
    for shape in SHAPES:
        yield Sample((make.tensor(*shape), edges), name=f"shape {shape}")
    x = make.tensor(3, 4)
    yield Sample((make.of([-4.0, -1.0, 4.5, 5.0, -5.0]), edges), name="at the edges")
    yield Sample((x, edges), {"weight": make.tensor(3, 4)}, "weight")
    yield Sample((x, edges), {"density": True}, "density")
    yield Sample((make.tensor(3, 4, layout="strided"), edges[::2]), name="strided")
    yield Sample((x, edges[None]), name="error: dimensions", error=RuntimeError)
    for count in (0, 1):
        yield Sample((x, edges[:count]), name=f"error: {count} edges", error=RuntimeError)
    yield Sample((x, edges.to(other_float(make))), name="error: dtype", error=RuntimeError)


@family("histogramdd", "histogramdd_int", "histogramdd_edges")
def histogramdd(make: Inputs) -> Iterator[Sample]:
    name = make.definition.name
    edges = [make.of([-3.0, 0.0, 4.0]), make.of([-5.0, -1.0, 1.0, 5.0])]
    bins: Any = {"histogramdd": (2, 3), "histogramdd.int_bins": 3}.get(name, edges)
    x = make.tensor(5, 2)
    yield Sample((x, bins), name="points")
    yield Sample((make.tensor(2, 3, 2), bins), name="more dimensions")
    yield Sample((make.tensor(0, 2), bins), name="no point")
    yield Sample((x, bins), {"weight": make.tensor(5)}, "weight")
    yield Sample((make.of([[-2.0, 0.5], [1.0, 2.0], [1.0, -3.0]]), bins), {"density": True}, "density")
    if name != "histogramdd.TensorList_bins":
        yield Sample((x, bins), {"range": (-2.0, 2.0, -1.0, 3.0)}, "range")
        yield Sample((x, bins), {"range": (-2.0, 2.0)}, "error: range", RuntimeError)
    for layout in LAYOUTS:
        yield Sample((make.tensor(5, 2, layout=layout), bins), name=layout)
    yield Sample((make.tensor(5), bins), name="error: a vector", error=RuntimeError)
    yield Sample((x, bins), {"weight": make.tensor(4)}, "error: weight", RuntimeError)
    if name != "histogramdd.int_bins":
        yield Sample((make.tensor(5, 3), bins), name="error: coordinates", error=RuntimeError)


# --- covariances -----------------------------------------------------------------------------------------------


@family("corrcoef")
def corrcoef(make: Inputs) -> Iterator[Sample]:
    for shape in ((5,), (2, 5), (3, 7)):
        yield Sample((make.tensor(*shape),), name=f"shape {shape}")
    for layout in ("transposed", "strided", "offset"):
        yield Sample((make.tensor(3, 6, layout=layout),), name=layout)
    yield Sample((make.tensor(2, 2, 2),), name="error: dimensions", error=RuntimeError)


@family("cov")
def cov(make: Inputs) -> Iterator[Sample]:
    yield from corrcoef(make)
    x, times = make.tensor(3, 5), make.of([1, 2, 0, 3, 1], int64)
    yield Sample((x,), {"correction": 0}, "no correction")
    yield Sample((x,), {"fweights": times}, "fweights")
    yield Sample((make.tensor(3, 4, layout="expanded"),), {"fweights": times[:4]}, "expanded, fweights")
    if make.dtype.is_floating_point and make.dtype.itemsize >= 4:
        weights = make.tensor(5, low=0.5, high=2)
        yield Sample((x,), {"aweights": weights}, "aweights")
        yield Sample((x,), {"fweights": times, "aweights": weights, "correction": 2}, "both weights")
        yield Sample((x,), {"aweights": -weights}, "error: negative", RuntimeError)
    yield Sample((x,), {"fweights": times[:4]}, "error: length", RuntimeError)
    yield Sample((x,), {"fweights": times.to(float32)}, "error: fweights", RuntimeError)
    yield Sample((x,), {"aweights": times}, "error: aweights", RuntimeError)
    yield Sample((x,), {"fweights": times[None]}, "error: dimensions of weights", RuntimeError)
    yield Sample((x,), {"fweights": times * 0}, "error: no weight", RuntimeError)


# --- the most frequent -----------------------------------------------------------------------------------------


@family("mode")
def mode(make: Inputs) -> Iterator[Sample]:
    for shape, dim in (((3,), 0), ((3, 7), 1), ((7, 3), 0), ((2, 5, 3), -2), ((), 0), ((0, 3), 1)):
        for keepdim in (False, True):
            x = (
                make.tensor(*shape, low=0, high=2).floor()
                if make.dtype.is_floating_point
                else make.tensor(*shape, high=2)
            )
            yield Sample((x, dim, keepdim), name=f"shape {shape}, dim {dim}, keepdim {keepdim}")
    yield Sample((make.tensor(4, 3).t(), 1), name="transposed")
    yield Sample((make.tensor(2, 0), 1), name="error: empty dimension", error=IndexError)
    yield Sample((make.tensor(2, 3), 2), name="error: dim", error=IndexError)


# --- norms -----------------------------------------------------------------------------------------------------


@family("renorm")
def renorm(make: Inputs) -> Iterator[Sample]:
    for p in (1, 2, 0.5, float("inf")):
        for dim in (0, 1, -1):
            yield Sample((make.tensor(3, 4), p, dim, 5.0), name=f"p {p}, dim {dim}")
    yield Sample((make.tensor(2, 3, 4), 2, 1, 3), name="three dimensions")
    yield Sample((make.tensor(2, 0), 2, 0, 3), name="empty")
    for layout in LAYOUTS:
        yield Sample((make.tensor(3, 4, layout=layout), 2, 0, 4.0), name=layout)
    yield Sample((make.tensor(3), 2, 0, 1.0), name="error: a vector", error=RuntimeError)
    yield Sample((make.tensor(3, 3), 0, 0, 1.0), name="error: p", error=RuntimeError)
    yield Sample((make.tensor(3, 3), 2, 0, -1.0), name="error: maxnorm", error=RuntimeError)
    yield Sample((make.tensor(3, 3), 2, 2, 1.0), name="error: dim", error=IndexError)


# --- places ----------------------------------------------------------------------------------------------------


@family("nonzero_static")
def nonzero_static(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
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


# --- segments --------------------------------------------------------------------------------------------------


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


@family("sum_to_size")
def sum_to_size(make: Inputs) -> Iterator[Sample]:
    for size in ((2, 3, 4), (1, 3, 4), (2, 1, 1), (3, 4), (4,), (1,), ()):
        yield Sample((make.tensor(2, 3, 4, low=-1, high=1), size), name=f"size {size}")
    yield Sample((make.tensor(2, 0, 3), (1, 3)), name="empty")
    for layout in LAYOUTS:
        yield Sample((make.tensor(3, 4, layout=layout), (1, 4)), name=layout)
    yield Sample((make.tensor(2, 3), (2, 2)), name="error: size", error=RuntimeError)
    yield Sample((make.tensor(2, 3), (1, 2, 3)), name="error: more dimensions", error=RuntimeError)
