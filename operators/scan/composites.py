"""Composites of what accumulates along a dimension, of differences and of integrals.

Note [Scans by doubling]
------------------------
A scan with an associative operation needs a logarithmic number of steps: after the k-th, each place holds the
combination of the 2^k elements that end there.  Each step is an ordinary operation on two slices, so it runs on every
backend, on whole arrays, and is differentiated like everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import DimensionError, DtypeError, ShapeError, ValueRangeError
from tt.core.shapes.geometry import wrap_dims
from tt.core.tensor.common_dtype import common_dtype
from tt.core.types.dtype import bool_, float64, int64, uint8
from tt.core.types.dtype import dtype as Dtype
from tt.operators.helpers import (
    as_type,
    check_integers,
    check_shapes,
    is_integral,
    number,
    widened,
    wrap,
)

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

composites: Final = CompositeTable()
composite = composites.composite

Tensors = tuple[Any, ...]

# --- scans -----------------------------------------------------------------------------------------------------


def scan(values: Tensors, dim: int, combine: Callable[[Tensors, Tensors], Tensors]) -> Tensors:
    """Accumulate tensors along a dimension; `combine` joins an earlier with a later part.

    See Note [Scans by doubling].
    """
    size, step = values[0].shape[dim], 1
    while step < size:
        earlier = tuple(ops.slice(v, dim, 0, size - step, 1) for v in values)
        later = tuple(ops.slice(v, dim, step, size, 1) for v in values)
        first = tuple(ops.slice(v, dim, 0, step, 1) for v in values)
        values = tuple(ops.cat([f, c], dim) for f, c in zip(first, combine(earlier, later), strict=True))
        step *= 2
    return values


@composite("cumprod")
def cumprod(self: Tensor, dim: int, dtype: Dtype | None) -> Tensor:
    result = dtype or (int64 if is_integral(self.dtype) else self.dtype)
    if result is bool_:
        raise DtypeError("cumprod(): not implemented for bool with dtype=bool")
    at = wrap("cumprod", dim, self)
    if not self.ndim or not self.shape[at]:
        return as_type(ops.clone(self), result)
    (product,) = scan((widened(as_type(self, result)),), at, lambda a, b: (ops.mul(a[0], b[0]),))
    return ops.clone(self) if product is self else as_type(product, result)


def _extreme(op: str, self: Tensor, dim: int, at_least: Any) -> tuple[Any, Any]:
    """Return the extremes so far and their places, the last of equal ones; a NaN stays."""
    at = wrap(op, dim, self)
    if not self.ndim:
        return ops.clone(self), number(0, self, int64)

    def combine(earlier: Tensors, later: Tensors) -> Tensors:
        takes_later = at_least(later[0], earlier[0])
        if self.dtype.is_floating_point:
            takes_later = ops.logical_or(
                ops.isnan(later[0]), ops.logical_and(takes_later, ops.logical_not(ops.isnan(earlier[0])))
            )
        return tuple(ops.where.default(takes_later, b, a) for a, b in zip(earlier, later, strict=True))

    shape = [1] * self.ndim
    shape[at] = -1
    positions = ops.arange(self.shape[at], dtype=int64, device=self.device)
    positions = ops.clone(ops.expand(ops.reshape(positions, tuple(shape)), tuple(self.shape)))
    values, indices = scan((self, positions), at, combine)
    return (ops.clone(self) if values is self else values), indices


composite("cummax", lambda self, dim: _extreme("cummax", self, dim, ops.ge))
composite("cummin", lambda self, dim: _extreme("cummin", self, dim, ops.le))


def _log_add_exp(a: Tensor, b: Tensor) -> Tensor:
    """Return log(exp(a) + exp(b)), which is the larger one (by its real part) plus the other's contribution."""
    if a.dtype.is_complex:
        larger = ops.ge(ops.real(a), ops.real(b))
        high, low = ops.where.default(larger, a, b), ops.where.default(larger, b, a)
        result = ops.add(high, ops.log(ops.add(ops.exp(ops.sub(low, high)), 1)))
        # Equal infinities have no difference; the contribution of the smaller of a finite pair is not lost above.
        result, total = ops.where.default(ops.isfinite(ops.real(high)), result, high), ops.add(a, b)
        # A NaN stays; infinities of both signs, whose sum is NaN, have a result.
        known = ops.logical_not(ops.logical_or(ops.isnan(a), ops.isnan(b)))
        return ops.where.default(known, result, total)
    high, low = ops.maximum(a, b), ops.minimum(a, b)
    finite = ops.isfinite(high)
    difference = ops.where.default(finite, ops.sub(low, high), number(0, high))
    return ops.where.default(finite, ops.add(high, ops.log1p(ops.exp(difference))), high)


@composite("logcumsumexp")
def logcumsumexp(self: Tensor, dim: int) -> Tensor:
    if is_integral(self.dtype):
        raise DtypeError(f"logcumsumexp(): expected floating point or complex numbers, got {self.dtype}")
    at = wrap("logcumsumexp", dim, self)
    if not self.ndim:
        return ops.clone(self)
    (result,) = scan((widened(self),), at, lambda a, b: (_log_add_exp(a[0], b[0]),))
    if result is self:
        return ops.clone(self, memory_format="contiguous_format")
    return ops.contiguous(as_type(result, self.dtype))


# --- differences -----------------------------------------------------------------------------------------------


@composite("diff")
def diff(self: Tensor, n: int, dim: int, prepend: Tensor | None, append: Tensor | None) -> Tensor:
    check_shapes("diff", self, n, dim, prepend, append)
    check_integers("diff", self, n, dim)
    if not n:
        return ops.clone(self)
    parts = [part for part in (prepend, self, append) if part is not None]
    joined = ops.cat(parts, dim) if len(parts) > 1 else self
    if n > joined.shape[dim]:
        return ops.slice(joined, dim, 0, 0, 1)
    x = widened(joined)
    for _ in range(n):
        size = x.shape[dim]
        later, earlier = ops.slice(x, dim, 1, size, 1), ops.slice(x, dim, 0, max(size - 1, 0), 1)
        x = ops.bitwise_xor(later, earlier) if x.dtype is bool_ else ops.sub(later, earlier)
    return as_type(x, joined.dtype)


# --- integrals -------------------------------------------------------------------------------------------------


def _panels(op: str, y: Tensor, x: Tensor | None, dx: Any, dim: int) -> Tensor:
    """Return twice the areas between neighbouring samples."""
    if y.dtype is bool_ or (x is not None and x.dtype is bool_):
        raise DtypeError(f"{op}(): bools have no integral; try y.to(tt.int64)")
    _expect_real(op, dx)
    if not y.ndim:
        raise DimensionError(op, dim, 0)
    at = wrap(op, dim, y)
    size = y.shape[at]
    heights = ops.add(ops.slice(y, at, 1, size, 1), ops.slice(y, at, 0, max(size - 1, 0), 1))
    if x is None:
        return ops.mul(heights, dx)
    if x.ndim == 1:
        if x.shape[0] != size:
            raise ShapeError(
                f"{op}(): there must be one x for each sample; x has {x.shape[0]} elements, dimension {at} of y {size}"
            )
        x = ops.reshape(x, (size, *(1,) * (y.ndim - at - 1)))
    x = ops.reshape(x, (*(1,) * (y.ndim - x.ndim), *x.shape)) if x.ndim < y.ndim else x
    length = x.shape[at]
    widths = ops.sub(ops.slice(x, at, 1, length, 1), ops.slice(x, at, 0, max(length - 1, 0), 1))
    return ops.mul(heights, widths)


def _expect_real(op: str, dx: Any) -> None:
    if isinstance(dx, complex):
        raise DtypeError(f"{op}(): dx must be a real number, got {dx}")


def _exact(y: Tensor, x: Tensor | None) -> tuple[Any, Any, Any]:
    """Return samples and places, integers as float64, in which no sum wraps around, and the dtype of the integral."""
    dtype = common_dtype(y, 1.0) if x is None else common_dtype(y, x, 1.0)

    def exact(t: Tensor | None) -> Any:
        return as_type(t, float64) if t is not None and t.dtype.kind in ("signed", "unsigned") else t

    return exact(y), exact(x), dtype


def _trapezoid(op: str, y: Tensor, x: Tensor | None, dx: Any, dim: int) -> Tensor:
    if y.ndim and not y.shape[dim % y.ndim if -y.ndim <= dim < y.ndim else wrap(op, dim, y)]:
        return ops.sum.dim(y, dim, dtype=y.dtype)
    y, x, dtype = _exact(y, x)
    _expect_real(op, dx)
    # A distance is a factor of the sum: of each panel, it might overflow.
    area = ops.mul(ops.sum.dim(_panels(op, y, x, 1, dim), wrap(op, dim, y)), 0.5)
    return as_type(ops.mul(area, dx) if dx != 1 else area, dtype)


def _cumulative(y: Tensor, x: Tensor | None, dx: Any, dim: int) -> Tensor:
    y, x, dtype = _exact(y, x)
    panels = _panels("cumulative_trapezoid", y, x, dx, dim)
    return as_type(ops.mul(ops.cumsum(panels, wrap("cumulative_trapezoid", dim, y)), 0.5), dtype)


composite("trapezoid", lambda y, dx, dim: _trapezoid("trapezoid", y, None, dx, dim))
composite("trapezoid.x", lambda y, x, dim: _trapezoid("trapezoid", y, x, 1, dim))
composite("cumulative_trapezoid", lambda y, dx, dim: _cumulative(y, None, dx, dim))
composite("cumulative_trapezoid.x", lambda y, x, dim: _cumulative(y, x, 1, dim))

# --- derivatives -----------------------------------------------------------------------------------------------


def _gradient_dims(self: Tensor, dim: Sequence[int] | None, edge_order: int) -> tuple[int, ...]:
    """Return the dimensions along which to differentiate, after checks."""
    if self.dtype is uint8:
        raise DtypeError("gradient(): uint8 has no negative differences; try x.to(tt.int64)")
    if edge_order not in (1, 2):
        raise ValueRangeError(f"gradient(): edge_order must be 1 or 2, got {edge_order}")
    dims = tuple(range(self.ndim)) if dim is None else wrap_dims("gradient", dim, self.ndim)
    for d in dims if self.ndim else ():
        if self.shape[d] < edge_order + 1:
            raise ShapeError(
                f"gradient(): a dimension needs at least edge_order + 1 = {edge_order + 1} elements, dimension {d} has "
                f"{self.shape[d]}"
            )
    return dims


def _expect_spacings(count: int, dims: Sequence[int]) -> None:
    if count != len(dims):
        raise ShapeError(
            f"gradient(): spacing must be a number, or have one element for each dimension; it has {count}, the "
            f"dimensions are {list(dims)}"
        )


@composite("gradient")
def gradient(self: Tensor, spacing: Any, dim: Sequence[int] | None, edge_order: int) -> Tensors:
    dims = _gradient_dims(self, dim, edge_order)
    spacing = 1 if spacing is None else spacing
    return _derived(self, [spacing] * len(dims), dims, edge_order, _uniform)


@composite("gradient.scalars")
def gradient_by_numbers(self: Tensor, spacing: Any, dim: Sequence[int] | None, edge_order: int) -> Tensors:
    dims = _gradient_dims(self, dim, edge_order)
    _expect_spacings(len(spacing), dims)
    return _derived(self, spacing, dims, edge_order, _uniform)


@composite("gradient.tensors")
def gradient_by_places(
    self: Tensor, spacing: Sequence[Tensor], dim: Sequence[int] | None, edge_order: int
) -> Tensors:
    dims = _gradient_dims(self, dim, edge_order)
    _expect_spacings(len(spacing), dims)
    for positions, d in zip(spacing, dims, strict=True):
        if positions.ndim != 1 or positions.shape[0] != self.shape[d]:
            raise ShapeError(
                f"gradient(): the places along dimension {d} must be {self.shape[d]} numbers, got the shape "
                f"{list(positions.shape)}"
            )
    return _derived(self, spacing, dims, edge_order, _by_places)


def _derived(
    self: Tensor, spacing: Sequence[Any], dims: Sequence[int], edge_order: int, derive: Callable[..., Any]
) -> Tensors:
    """Return derivatives; those of integers are computed in float64, where no difference wraps around."""
    x = as_type(self, float64) if is_integral(self.dtype) else self
    slopes = [derive(x, h, dim, edge_order) for h, dim in zip(spacing, dims, strict=True)]
    if x is self:
        return tuple(slopes)
    dtypes = [common_dtype(self, h) for h in spacing]
    dtypes = [common_dtype(self, 1.0) if is_integral(dtype) else dtype for dtype in dtypes]
    return tuple(as_type(slope, dtype) for slope, dtype in zip(slopes, dtypes, strict=True))


def _uniform(self: Tensor, h: float, dim: int, edge_order: int) -> Tensor:
    """Differentiate samples at equal distances."""
    n = self.shape[dim]

    def at(start: int, stop: int) -> Tensor:
        return ops.slice(self, dim, start, stop, 1)

    inner = ops.div.default(ops.sub(at(2, n), at(0, n - 2)), 2 * h)
    if edge_order == 1:
        first, last = ops.sub(at(1, 2), at(0, 1)), ops.sub(at(n - 1, n), at(n - 2, n - 1))
    else:
        first = _parabola(at(0, 1), at(1, 2), at(2, 3))
        last = ops.neg(_parabola(at(n - 1, n), at(n - 2, n - 1), at(n - 3, n - 2)))
    return ops.cat([ops.div.default(first, h), inner, ops.div.default(last, h)], dim)


def _parabola(end: Tensor, second: Tensor, third: Tensor) -> Tensor:
    """Return the slope at the end of a parabola through three samples at distances of 1."""
    return ops.sub(ops.sub(ops.mul(second, 2.0), ops.mul(end, 1.5)), ops.mul(third, 0.5))


def _by_places(self: Tensor, positions: Tensor, dim: int, edge_order: int) -> Tensor:
    """Differentiate samples at given places: the derivative of the parabola through three neighbours."""
    n = self.shape[dim]
    shape = (-1, *(1,) * (self.ndim - dim - 1))
    if is_integral(positions.dtype):
        positions = as_type(positions, self.dtype)
    else:  # differences of samples that lie close together need the digits of wider places
        self = as_type(self, common_dtype(self, positions))
    gaps = ops.reshape(ops.sub(ops.slice(positions, 0, 1, n, 1), ops.slice(positions, 0, 0, n - 1, 1)), shape)
    steps = ops.sub(ops.slice(self, dim, 1, n, 1), ops.slice(self, dim, 0, n - 1, 1))
    slopes = ops.div.default(steps, gaps)

    def gap(start: int, stop: int) -> Tensor:
        return ops.slice(gaps, 0, start, stop, 1)

    def slope(start: int, stop: int) -> Tensor:
        return ops.slice(slopes, dim, start, stop, 1)

    before, after = gap(0, n - 2), gap(1, n - 1)
    weighted = ops.add(ops.mul(slope(0, n - 2), after), ops.mul(slope(1, n - 1), before))
    inner = ops.div.default(weighted, ops.add(before, after))
    first, last = slope(0, 1), slope(n - 2, n - 1)
    if edge_order == 2:
        first = _beyond(first, slope(1, 2), gap(0, 1), gap(1, 2))
        last = _beyond(last, slope(n - 3, n - 2), gap(n - 2, n - 1), gap(n - 3, n - 2))
    return ops.cat([first, inner, last], dim)


def _beyond(near: Tensor, far: Tensor, near_gap: Tensor, far_gap: Tensor) -> Tensor:
    """Return the slope at an end of a parabola from its mean slopes over the gap at that end and the next one."""
    bend = ops.div.default(ops.sub(near, far), ops.add(near_gap, far_gap))
    return ops.add(near, ops.mul(bend, near_gap))
