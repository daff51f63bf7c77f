"""Samples of order statistics and counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tt.core.types.dtype import float32, float64, int64
from tt.operators._samples.base import LAYOUTS, OPTION, SHAPES, FamilyTable, Inputs, Sample
from tt.operators.reduction.samples import DIMS

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

family = FamilyTable()


def distinct(make: Inputs, *shape: int) -> Tensor:
    """Return different numbers, since PyTorch promises nothing of the indices of equal ones."""
    count = 1
    for size in shape:
        count *= size
    numbers = make.random.permutation(count).reshape(shape)
    # Numbers that each precision rounds in its own way show in which one they were handled.
    return make.of(numbers + 0.3 if make.dtype.is_floating_point else numbers)


@family("median")
def median(make: Inputs) -> Iterator[Sample]:
    for shape in ((), (3,), (4,), (2, 3), (2, 1, 3)):
        yield Sample((make.tensor(*shape),), name=f"shape {shape}")
    for layout in LAYOUTS:
        yield Sample((make.tensor(2, 3, layout=layout),), name=layout)
    if make.dtype.is_floating_point:
        nan = float("nan")
        yield Sample((make.tensor(0),), name="no element")
        yield Sample((make.of([1.0, nan, 2.0, 0.0]),), name="nan")
        yield Sample((make.of([nan, nan]),), name="nan only")


@family("median_dim")
def median_dim(make: Inputs) -> Iterator[Sample]:
    for shape, dim in DIMS:
        if make.dtype.itemsize == 1 and len(shape) > 3:
            continue
        for keepdim in (False, True):
            yield Sample(
                (distinct(make, *shape), dim, keepdim), name=f"shape {shape}, dim {dim}, keepdim {keepdim}"
            )
    yield Sample((distinct(make, 4, 3).t(), 1), name="transposed")
    if make.dtype.is_floating_point:
        nan = float("nan")
        yield Sample((make.of([[3.0, 1.0, 2.0, 0.0], [1.0, nan, 2.0, nan]]), 1), name="nan")
    yield Sample((make.tensor(2, 0, 3), 1), name="error: empty dimension", error=IndexError)
    yield Sample((make.tensor(2, 3), 2), name="error: dim", error=IndexError)


@family("kthvalue")
def kthvalue(make: Inputs) -> Iterator[Sample]:
    for k in (1, 2, 3):
        for dim in (0, 1, -1):
            for keepdim in (False, True):
                yield Sample(
                    (distinct(make, 3, 4), k, dim, keepdim), name=f"k {k}, dim {dim}, keepdim {keepdim}"
                )
    yield Sample((distinct(make, 4, 3).t(), 2), name="transposed")
    yield Sample((make.tensor(), 1), name="zero-dimensional")
    yield Sample((make.tensor(0, 3), 1), name="empty result")
    if make.dtype.is_floating_point:
        for k in (1, 2, 3):
            yield Sample((make.of([2.0, float("nan"), 1.0]), k), name=f"nan, k {k}")
    for k in (0, 4):
        yield Sample((make.tensor(3), k), name=f"error: k {k}", error=RuntimeError)
    yield Sample((make.tensor(0), 1), name="error: empty dimension", error=IndexError)
    yield Sample((make.tensor(3), 1, 1), name="error: dim", error=IndexError)


DIMS_OF_QUANTILES: tuple[tuple[tuple[int, ...], Any], ...] = (
    ((5,), None), ((3, 4), None), ((3, 4), 0), ((3, 4), -1), ((2, 3, 4), 1), ((), None), ((), 0),
)  # fmt: skip


@family("quantile", "quantile_scalar")
def quantile(make: Inputs) -> Iterator[Sample]:
    scalar = make.definition.name.endswith(".scalar")
    quantiles = [0.0, 0.3, 0.5, 1.0] if scalar else [make.of(0.3), make.of([0.0, 0.3, 0.5, 1.0])]
    for q in quantiles:
        for shape, dim in DIMS_OF_QUANTILES:
            for keepdim in (False, True):
                name = f"q {getattr(q, 'shape', q)}, shape {shape}, dim {dim}, keepdim {keepdim}"
                yield Sample((make.tensor(*shape), q, dim, keepdim), name=name)
        for how in ("lower", "higher", "midpoint", "nearest"):
            yield Sample(
                (make.tensor(3, 4), q, 1), {"interpolation": how}, f"q {getattr(q, 'shape', q)}, {how}"
            )
        nan = float("nan")
        # One row with NaN, one without, and one of nothing else.
        rows = make.of([[1.0, nan, 2.0], [3.0, 1.0, 2.0], [nan, nan, nan]])
        yield Sample((rows, q, 1), name=f"q {getattr(q, 'shape', q)}, nan")
    q = quantiles[0]
    for layout in LAYOUTS:
        yield Sample((make.tensor(2, 3, layout=layout), q, 1), name=layout)
    yield Sample((make.tensor(0), q), name="error: no element", error=RuntimeError)
    yield Sample((make.tensor(3), q), {"interpolation": "cubic"}, "error: interpolation", RuntimeError)
    yield Sample((make.tensor(3), q, 1), name="error: dim", error=IndexError)
    yield Sample((make.tensor(3), 1.5 if scalar else make.of(1.5)), name="error: q", error=RuntimeError)
    if not scalar:
        yield Sample(
            (make.tensor(3), make.tensor(1, 1, low=0, high=1)), name="error: a matrix", error=RuntimeError
        )


@family("counts")
def counts(make: Inputs) -> Iterator[Sample]:
    numbers = make.of([1, 4, 1, 0, 4, 4])
    yield Sample((numbers,), name="counts")
    yield Sample((numbers, 8), name="at least 8")
    yield Sample((make.tensor(0),), name="no element")
    yield Sample((make.tensor(0), 3), name="no element, at least 3")
    if make.dtype.is_signed:
        yield Sample((make.of([1, -1]),), name="error: negative", error=RuntimeError)


@family("histc")
def histc(make: Inputs) -> Iterator[Sample]:
    x = make.of([[0.5, 1.5, 2.0], [-1.0, 3.0, 2.5]])
    yield Sample((x, 4, 0, 3), name="between bounds")
    yield Sample((x, 4), name="between the extremes")
    yield Sample((x.t(), 3, -1.0, 2.5), name="transposed")
    # Equal extremes leave no range, which PyTorch then widens.
    yield Sample((make.of([2.0, 2.0]), 4), name="one value")
    yield Sample((make.of(1.0), 2, 0, 2), name="zero-dimensional")
    yield Sample((make.tensor(0), 5), name="nothing")
    yield Sample((x, 0), name="error: no bins", error=OPTION)
    yield Sample((x, 4, 3, 0), name="error: bounds", error=OPTION)
    yield Sample((make.of([1.0, float("inf")]), 4), name="error: not finite", error=OPTION)


@family("bincount")
def bincount(make: Inputs) -> Iterator[Sample]:
    numbers = make.of([1, 4, 1, 0, 4, 4])
    yield Sample((numbers,), name="counts")
    yield Sample((numbers, None, 8), name="at least 8")
    yield Sample((numbers, make.tensor(6, dtype=float64)), name="weights")
    yield Sample((numbers, make.indices(6, limit=9, dtype=int64), 7), name="integers as weights, at least 7")
    yield Sample((make.tensor(0),), name="no element")
    yield Sample((make.tensor(0), None, 3), name="no element, at least 3")
    yield Sample((make.tensor(2, 3, low=0),), name="error: two dimensions", error=RuntimeError)
    yield Sample((numbers, None, -1), name="error: minlength", error=RuntimeError)
    yield Sample((numbers, make.tensor(2, dtype=float64)), name="error: weights", error=RuntimeError)
    if make.dtype.is_signed:
        yield Sample((make.of([1, -1]),), name="error: negative", error=RuntimeError)


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
    # In numbers all of which lie in a bin: the density divides by their sum.
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
            # Few different numbers, so that some are frequent.
            x = (
                make.tensor(*shape, low=0, high=2).floor()
                if make.dtype.is_floating_point
                else make.tensor(*shape, high=2)
            )
            yield Sample((x, dim, keepdim), name=f"shape {shape}, dim {dim}, keepdim {keepdim}")
    yield Sample((make.tensor(4, 3).t(), 1), name="transposed")
    yield Sample((make.tensor(2, 0), 1), name="error: empty dimension", error=IndexError)
    yield Sample((make.tensor(2, 3), 2), name="error: dim", error=IndexError)
