"""Composites that count elements in bins, and compare variables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from tt.core.composites.helpers import as_type, floating, is_integral, number, python_value
from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import DimensionCountError, DtypeError, ShapeError, ValueRangeError
from tt.core.types.dtype import float32, float64, int64
from tt.core.types.user_warnings import warn_user

composites: Final = CompositeTable()
composite = composites.composite

_count: Final = range  # which arguments below are called, too

# --- bins ------------------------------------------------------------------------------------------------------


def _check_bins(op: str, dims: int, dtype: Any, edges: Sequence[Any]) -> None:
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


def _outer_edges(op: str, points: Any, range: Any) -> list[tuple[float, float]]:
    """Return the range of each coordinate: the given one, or that of the points, widened if it is empty."""
    dims = points.shape[1]
    found: list[tuple[Any, Any]]
    if range is not None:
        if len(range) != 2 * dims:
            raise ShapeError(
                f"{op}(): the range has a smallest and a largest number for each of {dims} coordinates, but it has "
                f"{len(range)} elements"
            )
        found = [(float(range[2 * d]), float(range[2 * d + 1])) for d in _count(dims)]
    elif points.numel():
        least, most = (ops.unbind(f(points, 0), 0) for f in (ops.amin, ops.amax))
        found = [(python_value(low), python_value(high)) for low, high in zip(least, most, strict=True)]
        if found and found[0][0] is None:
            return [(0.0, 1.0)] * dims  # without data every range serves
    else:
        found = [(0.0, 1.0)] * dims
    for d, (low, high) in enumerate(found):
        if not (math.isfinite(low) and math.isfinite(high)):
            raise ValueRangeError(f"{op}(): the range of coordinate {d}, [{low}, {high}], is not finite")
        if low > high:
            raise ValueRangeError(
                f"{op}(): the range of coordinate {d} ends at {high} before it starts at {low}"
            )
    return [(low - 0.5, high + 0.5) if low == high else (low, high) for low, high in found]


def _edges(op: str, self: Any, bins: Sequence[int], range: Any) -> list[Any]:
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


def _points(op: str, self: Any) -> Any:
    """Return the points as the rows of a matrix."""
    if op == "histogram":
        return ops.reshape(self, (-1, 1))
    if self.ndim < 2:
        raise DimensionCountError(f"{op}(): the input has at least 2 dimensions, got {self.ndim}")
    size = math.prod(self.shape[:-1])
    return ops.reshape(self, (size, self.shape[-1]))


def _counts(op: str, self: Any, edges: Sequence[Any], weight: Any, density: bool) -> Any:
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
    place = ops.zeros((points.shape[0],), dtype=int64, device=self.device)
    inside: Any = None
    for edge, count, x in zip(edges, shape, ops.unbind(points, 1), strict=True):
        found = ops.sub(ops.searchsorted(ops.contiguous(edge), ops.contiguous(x), right=True), 1)
        top = ops.select(edge, 0, edge.shape[0] - 1)
        found = ops.where.default(ops.eq(x, top), number(count - 1, found), found)
        fits = ops.logical_and(ops.ge(found, 0), ops.lt(found, count))
        inside = fits if inside is None else ops.logical_and(inside, fits)
        place = ops.add(ops.mul(place, count), found)
    # Values outside of all bins go to one behind the others.
    place = ops.where.default(inside, place, number(size, place))
    sums = ops.index_add(ops.zeros((size + 1,), dtype=self.dtype, device=self.device), 0, place, added)
    hist = ops.reshape(ops.slice(sums, 0, 0, size, 1), shape)
    if density:
        hist = ops.div.default(hist, ops.sum(hist))
        for d, edge in enumerate(edges):
            widths = ops.reshape(ops.diff(edge), tuple(-1 if e == d else 1 for e in _count(len(edges))))
            hist = ops.div.default(hist, widths)
    return hist


@composite("histogram.bins_tensor")
def histogram_bins(self: Any, bins: Any, weight: Any, density: bool) -> tuple[Any, Any]:
    return _counts("histogram", self, [bins], weight, density), ops.clone(bins)


@composite("histogram.bin_ct")
def histogram_count(self: Any, bins: int, range: Any, weight: Any, density: bool) -> tuple[Any, Any]:
    edges = _edges("histogram", self, (bins,), range)
    return _counts("histogram", self, edges, weight, density), edges[0]


@composite("histogramdd")
def histogramdd(
    self: Any, bins: Sequence[int], range: Any, weight: Any, density: bool
) -> tuple[Any, list[Any]]:
    edges = _edges("histogramdd", self, bins, range)
    return _counts("histogramdd", self, edges, weight, density), edges


@composite("histogramdd.int_bins")
def histogramdd_int(self: Any, bins: int, range: Any, weight: Any, density: bool) -> tuple[Any, list[Any]]:
    dims = self.shape[-1] if self.ndim else 1
    return histogramdd(self, (bins,) * dims, range, weight, density)


@composite("histogramdd.TensorList_bins")
def histogramdd_edges(
    self: Any, bins: Sequence[Any], range: Any, weight: Any, density: bool
) -> tuple[Any, list[Any]]:
    edges = [*bins]
    return _counts("histogramdd", self, edges, weight, density), [ops.clone(edge) for edge in edges]


# --- covariances -----------------------------------------------------------------------------------------------


def _check_weights(name: str, weights: Any, observations: int) -> None:
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
def cov(self: Any, correction: int, fweights: Any, aweights: Any) -> Any:
    if self.ndim > 2:
        raise DimensionCountError(f"cov(): the input has at most 2 dimensions, got {self.ndim}")
    if self.dtype.kind == "bool":
        raise DtypeError("cov(): bools have no covariance: convert them first")
    x = floating(ops.reshape(self, (1, -1)) if self.ndim < 2 else self)
    observations = x.shape[1]
    weights = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is not None:
            _check_weights(name, given, observations)
            given = ops.reshape(given, (observations,))
            weights = given if weights is None else ops.mul(weights, given)
    total: Any = observations
    if weights is not None:
        total = ops.sum(weights)
        if observations and python_value(ops.eq(total, 0)):
            raise ValueRangeError("cov(): the weights add up to zero")
    weighted = x if weights is None else ops.mul(x, weights)
    mean = ops.div.default(ops.sum.dim(weighted, 1, True), total)
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
def corrcoef(self: Any) -> Any:
    if self.ndim > 2:
        raise DimensionCountError(f"corrcoef(): the input has at most 2 dimensions, got {self.ndim}")
    found = ops.cov(self)
    if not found.ndim:
        return ops.div.default(found, found)
    variances = ops.diagonal(found)
    deviations = ops.sqrt(ops.real(variances) if found.dtype.is_complex else variances)
    found = ops.div.default(
        ops.div.default(found, ops.unsqueeze(deviations, 1)), ops.unsqueeze(deviations, 0)
    )
    if found.dtype.is_complex:
        return ops.complex(ops.clamp(ops.real(found), -1, 1), ops.clamp(ops.imag(found), -1, 1))
    return ops.clamp(found, -1, 1)
