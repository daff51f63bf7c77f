"""Composites of order statistics and counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import DimensionCountError, DtypeError, IndexValueError, ShapeError, ValueRangeError
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.dtype import float32, float64, iinfo, int64, uint8
from tt.core.types.user_warnings import warn_user
from tt.operators.helpers import (
    alone,
    as_type,
    check_shapes,
    floating,
    is_integral,
    number,
    python_value,
    widened,
    wrap,
)

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

composites: Final = CompositeTable()
composite = composites.composite

# --- medians ---------------------------------------------------------------------------------------------------


@composite("median")
def median(self: Tensor) -> Tensor:
    return _median_of_all("median.dim", self)


@composite("nanmedian")
def nanmedian(self: Tensor) -> Tensor:
    return _median_of_all("nanmedian.dim", self)


def _median_of_all(op: str, self: Tensor) -> Tensor:
    if not self.shape.numel():
        # There is none; PyTorch's integer for it is the one to which NaN is converted.
        return number(float("nan") if self.dtype.is_floating_point else iinfo(self.dtype).min, self)
    flat = ops.reshape(self, (-1,))
    return (ops.median.dim if op == "median.dim" else ops.nanmedian.dim)(flat, 0)[0]


@composite("median.dim")
def median_dim(self: Tensor, dim: int, keepdim: bool) -> tuple[Any, Any]:
    check_shapes("median.dim", self, dim, keepdim)
    return _median(self, dim, keepdim, skip=False)


@composite("nanmedian.dim")
def nanmedian_dim(self: Tensor, dim: int, keepdim: bool) -> tuple[Any, Any]:
    check_shapes("nanmedian.dim", self, dim, keepdim)
    return _median(self, dim, keepdim, skip=True)


def _median(self: Tensor, dim: int, keepdim: bool, *, skip: bool) -> tuple[Any, Any]:
    """Return the medians and their places; NaN decide, or are skipped."""
    if not self.ndim:
        return ops.clone(self), number(0, self, int64)
    # Of two middle elements the lower one, as in PyTorch: the median is always an element.
    middle = (self.shape[dim] - 1) // 2
    if not self.dtype.is_floating_point:
        return _ranked(self, middle, dim, keepdim)
    count = ops.sum.dim(ops.eq(self, self), dim, True)
    if skip:
        rank = ops.maximum(ops.floor_divide(ops.sub(count, 1), 2), number(0, count))
    else:
        # NaN are sorted last, so the first of them follows all others.
        whole = ops.eq(count, self.shape[dim])
        rank = ops.where.default(whole, number(middle, count), count)
    return _ranked(self, rank, dim, keepdim)


def _ranked(self: Tensor, rank: Any, dim: int, keepdim: bool) -> tuple[Any, Any]:
    """Return the elements with a rank (a number, or a tensor with one for each) and the first places where they are."""
    # Selection in O(n) is left to kernels; a composite has sorting.
    ordered = ops.sort(ops.detach(self), dim)[0]
    value = (
        ops.slice(ordered, dim, rank, rank + 1, 1)
        if isinstance(rank, int)
        else ops.gather(ordered, dim, rank)
    )
    # Places by equality: the order of equal elements is the sort's affair, the first place is everybody's.
    same = ops.eq(self, value)
    if self.dtype.is_floating_point:
        same = ops.logical_or(same, ops.logical_and(ops.ne(self, self), ops.ne(value, value)))
    index = ops.argmax(as_type(same, uint8), dim, True)
    value = ops.gather(self, dim, index)
    return (
        (value, index)
        if keepdim
        else (alone(ops.squeeze.dim(value, dim)), alone(ops.squeeze.dim(index, dim)))
    )


@composite("kthvalue")
def kthvalue(self: Tensor, k: int, dim: int, keepdim: bool) -> tuple[Any, Any]:
    check_shapes("kthvalue", self, k, dim, keepdim)
    return _ranked(self, k - 1, dim, keepdim) if self.ndim else (ops.clone(self), number(0, self, int64))


# --- quantiles -------------------------------------------------------------------------------------------------

INTERPOLATIONS: Final = ("linear", "lower", "higher", "midpoint", "nearest")


@composite("quantile")
def quantile(self: Tensor, q: Tensor, dim: int | None, keepdim: bool, interpolation: str) -> Tensor:
    return _quantile("quantile", self, q, dim, keepdim, interpolation)


@composite("nanquantile")
def nanquantile(self: Tensor, q: Tensor, dim: int | None, keepdim: bool, interpolation: str) -> Tensor:
    return _quantile("nanquantile", self, q, dim, keepdim, interpolation)


@composite("quantile.scalar")
def quantile_number(self: Tensor, q: float, dim: int | None, keepdim: bool, interpolation: str) -> Tensor:
    return _quantile("quantile", self, number(q, self), dim, keepdim, interpolation)


@composite("nanquantile.scalar")
def nanquantile_number(self: Tensor, q: float, dim: int | None, keepdim: bool, interpolation: str) -> Tensor:
    return _quantile("nanquantile", self, number(q, self), dim, keepdim, interpolation)


def _check_quantile(op: str, self: Tensor, q: Tensor, interpolation: str) -> None:
    if not self.shape.numel():
        raise ShapeError(f"{op}(): the input has no elements (its shape is {list(self.shape)})")
    if q.ndim > 1:
        raise DimensionCountError(f"{op}(): q must be a number or a vector, got {q.ndim} dimensions")
    if self.dtype not in (float32, float64):
        raise DtypeError(f"{op}(): the input must be float32 or float64, got {self.dtype}")
    if q.dtype is not self.dtype:
        raise DtypeError(f"{op}(): q must have the dtype of the input, {self.dtype}, got {q.dtype}")
    if interpolation not in INTERPOLATIONS:
        raise ValueRangeError(
            f"{op}(): interpolation must be one of {', '.join(INTERPOLATIONS)}, got {interpolation!r}"
        )
    if python_value(ops.all(ops.logical_and(ops.ge(q, 0), ops.le(q, 1)))) is False:
        raise ValueRangeError(f"{op}(): q must be in the range [0, 1]")


def _quantile(op: str, self: Tensor, q: Tensor, dim: int | None, keepdim: bool, interpolation: str) -> Tensor:
    _check_quantile(op, self, q, interpolation)
    axis = 0 if dim is None else wrap(op, dim, self)
    if dim is None or not self.ndim:
        x = ops.reshape(self, (-1,))
    else:
        x = ops.permute(self, (*(d for d in range(self.ndim) if d != axis), axis))
    ordered = ops.sort(x, -1)[0]
    size = ordered.shape[-1]
    ranks = _ranks(ordered, ops.reshape(q, (-1,)), skip=op == "nanquantile")
    if interpolation in ("lower", "higher", "nearest"):
        ranks = {"lower": ops.floor, "higher": ops.ceil, "nearest": ops.round}[interpolation](ranks)
    # Steps have no slope: a gradient reaches q through the distance alone.
    below = ops.detach(ops.floor(ranks))
    lower = ops.gather(ordered, -1, _inside(below, size))
    if interpolation in ("linear", "midpoint"):
        above = ops.minimum(ops.detach(ops.ceil(ranks)), number(size - 1, below))
        upper = ops.gather(ordered, -1, _inside(above, size))
        weight = ops.sub(ranks, below) if interpolation == "linear" else 0.5
        # From the nearer side on: beside an infinity the other formula gives NaN, and passes it on in gradients.
        lower = ops.lerp(lower, upper, weight)
    return _arrange(lower, self, q, dim, axis, keepdim)


def _ranks(ordered: Tensor, q: Tensor, *, skip: bool) -> Tensor:
    """Return the fractional ranks of quantiles for each row; for rows with NaN, the last element's rank."""
    last = ordered.shape[-1] - 1
    shape = (*tuple(ordered.shape)[:-1], q.shape[0])
    count = ops.sum.dim(ops.eq(ordered, ordered), -1, True)
    if skip:
        ranks = ops.mul(q, as_type(ops.sub(count, 1), q.dtype))
        return ops.where.default(ops.gt(count, 0), ranks, number(0, q))
    ranks = ops.expand(ops.mul(q, last), shape)
    return ops.where.default(ops.eq(count, last + 1), ranks, number(last, q))


def _inside(ranks: Tensor, size: int) -> Tensor:
    """Return ranks as places; the last of very many is rounded up as a float32."""
    positions = as_type(ranks, int64)
    return positions if size <= 1 << 24 else ops.clamp(positions, max=size - 1)


def _arrange(result: Tensor, self: Tensor, q: Tensor, dim: int | None, axis: int, keepdim: bool) -> Tensor:
    """Return quantiles that are in the last dimension with this dimension first, and the reduced one in its place."""
    if q.ndim:
        result = ops.contiguous(ops.permute(result, (result.ndim - 1, *range(result.ndim - 1))))
    whole = dim is None or not self.ndim
    if keepdim:
        shape = [1 if whole or d == axis else n for d, n in enumerate(self.shape)]
    else:
        shape = [] if whole else [n for d, n in enumerate(self.shape) if d != axis]
    return alone(ops.reshape(result, (*q.shape, *shape)))


# --- counts ----------------------------------------------------------------------------------------------------


@composite("bincount")
def bincount(self: Tensor, weights: Tensor | None, minlength: int) -> Any:
    if self.dtype.kind not in ("signed", "unsigned"):
        raise DtypeError(f"bincount(): expected integers, got {self.dtype}")
    if minlength < 0:
        raise ValueRangeError(f"bincount(): minlength should be at least 0, got {minlength}")
    if self.ndim != 1:
        raise DimensionCountError(f"bincount(): expected 1 dimension, got {self.ndim}")
    if weights is not None and tuple(weights.shape) != tuple(self.shape):
        raise ShapeError(
            f"bincount(): weights must have the shape of the input, {list(self.shape)}, got {list(weights.shape)}"
        )
    if weights is None:
        return ops._bincount(self, minlength)
    size = _counted(self, minlength)
    if not self.shape.numel():
        return ops.full((minlength,), 0, dtype=int64, device=self.device)
    # As PyTorch, which converts all other weights to float64.
    real = ops.real(weights) if weights.dtype.is_complex else weights
    added = real if weights.dtype in (float32, float64) else as_type(real, float64)
    zeros = ops.full((size,), 0, dtype=added.dtype, device=self.device)
    return ops.scatter_add(zeros, 0, as_type(self, int64), added)


def _counted(self: Any, minlength: int) -> int:
    """Return how many numbers are counted."""
    if not self.shape.numel():
        return minlength
    if ops.amin(self).item() < 0:
        raise ValueRangeError("bincount(): the integers must not be negative")
    largest = int(ops.amax(self).item())
    if largest >= 2**63 - 1:
        raise ValueRangeError(
            f"bincount(): the largest integer should be less than {2**63 - 1}, got {largest}"
        )
    return max(minlength, largest + 1)


@composite("_bincount")
def bincount_vector(self: Tensor, minlength: int) -> Any:
    counts = ops.full((_counted(self, minlength),), 0, dtype=int64, device=self.device)
    numbers = as_type(self, int64)
    return ops.scatter_add(counts, 0, numbers, ops.ones_like(numbers))


@composite("histc")
def histc(self: Tensor, bins: int, min: Any, max: Any) -> Tensor:
    check_shapes("histc", self, bins, min, max)
    if not self.numel():
        return ops.zeros((bins,), dtype=self.dtype, device=self.device)
    flat, low, high = ops.reshape(self, (-1,)), min, max
    if low == high:
        low, high = ops.amin(flat).item(), ops.amax(flat).item()
        if not (math.isfinite(low) and math.isfinite(high)):
            raise ValueRangeError(f"histc(): the range of [{low}, {high}] is not finite")
        if low == high:
            low, high = low - 1, high + 1
    # Elements beyond the range are dropped, as in PyTorch and NumPy.
    inside = ops.logical_and(ops.ge(flat, low), ops.le(flat, high))
    flat = ops.masked_select(flat, inside)
    # The bounds in the dtype of the elements, as a kernel computes with them; counts as integers, since half precision
    # stops at 256 or 2048.
    first, last, flat = (widened(x) for x in (number(low, flat), number(high, flat), flat))
    positions = ops.div.default(ops.mul(ops.sub(flat, first), bins), ops.sub(last, first))
    positions = ops.clamp(as_type(positions, int64), 0, bins - 1)
    counts = ops.zeros((bins,), dtype=int64, device=self.device)
    return as_type(ops.index_add(counts, 0, positions, ops.ones_like(positions)), self.dtype)


@composite("mode")
def mode(self: Tensor, dim: int, keepdim: bool) -> tuple[Any, Any]:
    if self.dtype.is_complex:
        raise DtypeError(f"mode(): complex numbers have no order, got {self.dtype}")
    axis = wrap("mode", dim, self)
    if not self.ndim:
        return ops.clone(self), number(0, self, int64)
    size = self.shape[axis]
    if not size:
        raise IndexValueError(f"mode(): expected a dimension with elements, but dimension {dim} has none")
    ordered, positions = ops.sort(ops.detach(self), axis, False, stable=True)
    ranks = ops.reshape(
        ops.arange(size, device=self.device), tuple(-1 if d == axis else 1 for d in range(self.ndim))
    )
    # Where an element differs from the one before, a run begins; the first of the longest runs has the mode.
    differs = ops.ne(ops.slice(ordered, axis, 1, size, 1), ops.slice(ordered, axis, 0, size - 1, 1))
    first = ops.expand(ops.eq(ops.slice(ranks, axis, 0, 1, 1), 0), _with_size(self, axis, 1))
    begins = ops.cat([first, differs], axis)
    # The running maximum of the starts is, at each place, where its run began.
    start = ops.cummax(ops.where.default(begins, ranks, number(0, ranks)), axis)[0]
    # The first of equally long runs: the smallest of the most frequent elements, as in PyTorch.
    best = ops.argmax(ops.sub(ranks, start), axis, True)
    index = ops.gather(positions, axis, best)
    value = ops.gather(self, axis, index)
    if keepdim:
        return value, index
    return alone(ops.squeeze.dim(value, axis)), alone(ops.squeeze.dim(index, axis))


def _with_size(self: Tensor, dim: int, size: int) -> tuple[int, ...]:
    return tuple(size if d == dim else n for d, n in enumerate(self.shape))


# --- bins ------------------------------------------------------------------------------------------------------


def _check_bins(op: str, dims: int, dtype: Dtype, edges: Sequence[Any]) -> None:
    if len(edges) != dims:
        raise ShapeError(
            f"{op}(): expected {dims} sequences of bins for {dims} coordinates, got {len(edges)}"
        )
    for edge in edges:
        if edge.dtype is not dtype:
            raise DtypeError(
                f"{op}(): the edges of bins must have the dtype of the input, {dtype}, got {edge.dtype}"
            )
        if edge.ndim != 1:
            raise DimensionCountError(f"{op}(): the edges of bins are a vector, got {edge.ndim} dimensions")
        if edge.numel() < 2:
            raise ValueRangeError(f"{op}(): bins lie between at least two edges, got {edge.numel()}")


def _outer_edges(op: str, points: Tensor, bounds: Sequence[float] | None) -> list[tuple[float, float]]:
    """Return the range of each coordinate: the given one, or that of the points, widened if it is empty."""
    dims = points.shape[1]
    limits: list[tuple[Any, Any]]
    if bounds is not None:
        if len(bounds) != 2 * dims:
            raise ShapeError(
                f"{op}(): the range has a smallest and a largest number for each of {dims} coordinates, but it has "
                f"{len(bounds)} elements"
            )
        limits = [(float(bounds[2 * d]), float(bounds[2 * d + 1])) for d in range(dims)]
    elif points.numel():
        least, most = (ops.unbind(f(points, 0), 0) for f in (ops.amin, ops.amax))
        limits = [(python_value(low), python_value(high)) for low, high in zip(least, most, strict=True)]
        if limits and limits[0][0] is None:
            return [(0.0, 1.0)] * dims  # without data every range serves
    else:
        limits = [(0.0, 1.0)] * dims
    for d, (low, high) in enumerate(limits):
        if not (math.isfinite(low) and math.isfinite(high)):
            raise ValueRangeError(f"{op}(): the range of coordinate {d}, [{low}, {high}], is not finite")
        if low > high:
            raise ValueRangeError(
                f"{op}(): the range of coordinate {d} ends at {high} before it starts at {low}"
            )
    return [(low - 0.5, high + 0.5) if low == high else (low, high) for low, high in limits]


def _edges(op: str, self: Tensor, bins: Sequence[int], range: Sequence[float] | None) -> list[Any]:
    points = _points(op, self)
    if len(bins) != points.shape[1]:
        raise ShapeError(
            f"{op}(): expected numbers of bins for {points.shape[1]} coordinates, got {len(bins)}"
        )
    for count in bins:
        if count <= 0:
            raise ValueRangeError(f"{op}(): the number of bins must be positive, got {count}")
    return [
        ops.linspace(low, high, count + 1, dtype=self.dtype, device=self.device)
        for count, (low, high) in zip(bins, _outer_edges(op, ops.detach(points), range), strict=True)
    ]


def _points(op: str, self: Tensor) -> Tensor:
    """Return the points as the rows of a matrix."""
    if op == "histogram":
        return ops.reshape(self, (-1, 1))
    if self.ndim < 2:
        raise DimensionCountError(f"{op}(): the input has at least 2 dimensions, got {self.ndim}")
    size = math.prod(self.shape[:-1])
    return ops.reshape(self, (size, self.shape[-1]))


def _counts(op: str, self: Tensor, edges: Sequence[Any], weight: Tensor | None, density: bool) -> Tensor:
    """Add up weights in the bins between edges; an element at the last edge counts for the bin before it."""
    if self.dtype not in (float32, float64):
        raise DtypeError(f"{op}(): the input must be float32 or float64, got {self.dtype}")
    points = ops.detach(_points(op, self))
    _check_bins(op, points.shape[1], self.dtype, edges)
    if weight is None:
        added = ops.ones((points.shape[0],), dtype=self.dtype, device=self.device)
    else:
        expected = tuple(self.shape) if op == "histogram" else tuple(self.shape[:-1])
        if tuple(weight.shape) != expected:
            raise ShapeError(f"{op}(): weight must have the shape {list(expected)}, got {list(weight.shape)}")
        if weight.dtype is not self.dtype:
            raise DtypeError(
                f"{op}(): weight must have the dtype of the input, {self.dtype}, got {weight.dtype}"
            )
        added = ops.reshape(ops.detach(weight), (-1,))
    shape = tuple(edge.shape[0] - 1 for edge in edges)
    size = math.prod(shape)
    position = ops.zeros((points.shape[0],), dtype=int64, device=self.device)
    inside: Any = None
    for edge, count, x in zip(edges, shape, ops.unbind(points, 1), strict=True):
        index = ops.sub(ops.searchsorted(ops.contiguous(edge), ops.contiguous(x), right=True), 1)
        top = ops.select(edge, 0, edge.shape[0] - 1)
        index = ops.where.default(ops.eq(x, top), number(count - 1, index), index)
        fits = ops.logical_and(ops.ge(index, 0), ops.lt(index, count))
        inside = fits if inside is None else ops.logical_and(inside, fits)
        # Row-major numbers of the bins: one sum serves any number of coordinates.
        position = ops.add(ops.mul(position, count), index)
    # Values outside of all bins go to one behind the others.
    position = ops.where.default(inside, position, number(size, position))
    sums = ops.index_add(ops.zeros((size + 1,), dtype=self.dtype, device=self.device), 0, position, added)
    hist = ops.reshape(ops.slice(sums, 0, 0, size, 1), shape)
    if density:
        hist = ops.div.default(hist, ops.sum(hist))
        for d, edge in enumerate(edges):
            widths = ops.reshape(ops.diff(edge), tuple(-1 if e == d else 1 for e in range(len(edges))))
            hist = ops.div.default(hist, widths)
    return hist


@composite("histogram.bins_tensor")
def histogram_bins(self: Tensor, bins: Tensor, weight: Tensor | None, density: bool) -> tuple[Any, Any]:
    return _counts("histogram", self, [bins], weight, density), ops.clone(bins)


@composite("histogram.bin_ct")
def histogram_count(
    self: Tensor, bins: int, range: Sequence[float] | None, weight: Tensor | None, density: bool
) -> tuple[Any, Any]:
    edges = _edges("histogram", self, (bins,), range)
    return _counts("histogram", self, edges, weight, density), edges[0]


@composite("histogramdd")
def histogramdd(
    self: Tensor, bins: Sequence[int], range: Sequence[float] | None, weight: Tensor | None, density: bool
) -> tuple[Any, list[Any]]:
    edges = _edges("histogramdd", self, bins, range)
    return _counts("histogramdd", self, edges, weight, density), edges


@composite("histogramdd.int_bins")
def histogramdd_int(
    self: Tensor, bins: int, range: Sequence[float] | None, weight: Tensor | None, density: bool
) -> tuple[Any, list[Any]]:
    dims = self.shape[-1] if self.ndim else 1
    return histogramdd(self, (bins,) * dims, range, weight, density)


@composite("histogramdd.TensorList_bins")
def histogramdd_edges(
    self: Tensor, bins: Sequence[Any], range: Sequence[float] | None, weight: Tensor | None, density: bool
) -> tuple[Any, list[Any]]:
    edges = [*bins]
    return _counts("histogramdd", self, edges, weight, density), [ops.clone(edge) for edge in edges]


# --- covariances -----------------------------------------------------------------------------------------------


def _check_weights(name: str, weights: Tensor, observations: int) -> None:
    if weights.ndim > 1:
        raise DimensionCountError(f"cov(): {name} has at most one dimension, got {weights.ndim}")
    if name == "fweights" and (not is_integral(weights.dtype) or weights.dtype.kind == "bool"):
        raise DtypeError(f"cov(): fweights are integers, got {weights.dtype}")
    if name == "aweights" and not weights.dtype.is_floating_point:
        raise DtypeError(f"cov(): aweights are floating point numbers, got {weights.dtype}")
    if weights.numel() != observations:
        raise ShapeError(f"cov(): {name} has {weights.numel()} elements for {observations} observations")
    if weights.numel() and python_value(ops.lt(ops.amin(weights), 0)):
        raise ValueRangeError(f"cov(): {name} must not be negative")


@composite("cov")
def cov(self: Tensor, correction: int, fweights: Tensor | None, aweights: Tensor | None) -> Tensor:
    if self.ndim > 2:
        raise DimensionCountError(f"cov(): the input has at most 2 dimensions, got {self.ndim}")
    if self.dtype.kind == "bool":
        raise DtypeError("cov(): bools have no covariance: convert them first")
    x = floating(ops.reshape(self, (1, -1)) if self.ndim < 2 else self)
    observations = x.shape[1]
    weights = None
    for name, option in (("fweights", fweights), ("aweights", aweights)):
        if option is not None:
            _check_weights(name, option, observations)
            option = ops.reshape(option, (observations,))
            weights = option if weights is None else ops.mul(weights, option)
    total: Any = observations
    if weights is not None:
        total = ops.sum(weights)
        if observations and python_value(ops.eq(total, 0)):
            raise ValueRangeError("cov(): the weights add up to zero")
    weighted = x if weights is None else ops.mul(x, weights)
    mean = ops.div.default(ops.sum.dim(weighted, 1, True), total)
    # Frequencies count observations, so the correction is subtracted; reliabilities are relative: it is scaled below.
    norm = ops.sub(total, correction) if weights is not None else total - correction
    if weights is not None and aweights is not None and correction:
        used = ops.sum(ops.mul(weights, ops.reshape(aweights, (observations,))))
        norm = ops.sub(total, ops.div.default(ops.mul(used, correction), total))
    if isinstance(norm, int):
        low = norm <= 0
        norm = max(norm, 0)
    else:
        low = bool(python_value(ops.le(norm, 0)))
        norm = ops.clamp(norm, 0)
    if low:
        warn_user("cov(): no degrees of freedom are left")
    x = ops.sub(x, mean)
    other = x if weights is None else ops.mul(x, weights)
    product = ops.mm(as_type(x, other.dtype), ops.conj(ops.t(other)))
    return ops.squeeze(ops.div.default(product, norm))


@composite("corrcoef")
def corrcoef(self: Tensor) -> Tensor:
    if self.ndim > 2:
        raise DimensionCountError(f"corrcoef(): the input has at most 2 dimensions, got {self.ndim}")
    result = ops.cov(self)
    if not result.ndim:
        # 1 for a single variable, NaN where its variance is 0.
        return ops.div.default(result, result)
    variances = ops.diagonal(result)
    deviations = ops.sqrt(ops.real(variances) if result.dtype.is_complex else variances)
    result = ops.div.default(
        ops.div.default(result, ops.unsqueeze(deviations, 1)), ops.unsqueeze(deviations, 0)
    )
    # Rounding must not give a correlation beyond 1.
    if result.dtype.is_complex:
        return ops.complex(ops.clamp(ops.real(result), -1, 1), ops.clamp(ops.imag(result), -1, 1))
    return ops.clamp(result, -1, 1)
