"""Composites of resampling: along one dimension after the other, each new element is a sum of weighted old ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from numbers import Real
from operator import index
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import (
    ArgumentError,
    DimensionCountError,
    DtypeError,
    ShapeError,
    UnsupportedError,
    ValueRangeError,
)
from tt.core.types.dtype import float32, float64, int64, uint8
from tt.core.types.user_warnings import warn_user
from tt.operators.helpers import as_type, check_shapes, number, widened

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

composites: Final = CompositeTable()
composite = composites.composite

DIMS: Final = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2}
MODES: Final = ("nearest", "nearest-exact", "area", *DIMS)

# --- sizes -----------------------------------------------------------------------------------------------------


def _listed(value: Any, count: int) -> list[Any] | None:
    """Return the value given for every dimension, or None."""
    if value is None:
        return None
    return list(value) if isinstance(value, (list, tuple)) else [value] * count


def _sizes(
    input: Tensor, size: Any, scale_factor: Any, recompute: bool | None
) -> tuple[list[int], list[float | None]]:
    """Return the sizes of the result, and the factors by which the places are scaled (None: by the sizes)."""
    count, old = input.ndim - 2, list(input.shape[2:])
    sizes, factors = _listed(size, count), _listed(scale_factor, count)
    if (sizes is None) == (factors is None):
        problem = "neither is" if sizes is None else "both are"
        raise ValueRangeError(f"interpolate(): one of size and scale_factor is needed, and {problem} given")
    if sizes is not None:
        if len(sizes) != count:
            raise ValueRangeError(
                f"interpolate(): size has a number for each of the dimensions {old} of the input, and {size} has not"
            )
        if recompute:
            raise ValueRangeError(
                "interpolate(): recompute_scale_factor is for a scale_factor, and size is given"
            )
        try:
            sizes = [index(new) for new in sizes]  # numbers of NumPy and tensors are ints, too
        except TypeError:
            raise ArgumentError("interpolate", f"size must be one int or several, got {size!r}") from None
        return sizes, [None] * count
    if factors is None or len(factors) != count:
        raise ValueRangeError(
            f"interpolate(): scale_factor has a number for each of the dimensions {old} of the input, and "
            f"{scale_factor} has not"
        )
    if not all(isinstance(factor, Real) for factor in factors):
        raise ArgumentError("interpolate", f"scale_factor must be one float or several, got {scale_factor!r}")
    try:
        scaled = [float(n) * float(factor) for n, factor in zip(old, factors, strict=True)]
    except OverflowError:  # an integer beyond the range of floats
        scaled = [math.inf]
    if not all(map(math.isfinite, scaled)):
        raise ValueRangeError(f"interpolate(): {old} times scale_factor {scale_factor} are not sizes")
    new = [math.floor(size) for size in scaled]
    return new, [None] * count if recompute else [float(factor) for factor in factors]


# --- along one dimension ---------------------------------------------------------------------------------------


@dataclass
class Taps:
    """The sources of the new elements of a dimension.

    Attributes
    ----------
    places : Tensor
        Int64 of shape (taps, new elements): element i has a share of element places[k, i] for each k.
    weights : Tensor
        Float64 of the same shape: these shares.
    """

    places: Any
    weights: Any


def _scale(size: int, new: int, factor: float | None, align_corners: bool) -> float:
    """Return how far apart the new elements are in the old ones."""
    if align_corners:
        return (size - 1) / (new - 1) if new > 1 else 0.0
    # As PyTorch, by the factor that was given: sizes are rounded, so their quotient is another one.
    return 1 / factor if factor is not None and factor > 0 else size / new


def _centers(like: Tensor, new: int, scale: float, align_corners: bool) -> Tensor:
    """Return where the new elements lie: their centers, or the first and last ones in the corners."""
    number = ops.arange(new, dtype=float64, device=like.device)
    return ops.mul(number, scale) if align_corners else ops.sub(ops.mul(ops.add(number, 0.5), scale), 0.5)


def nearest(like: Tensor, size: int, new: int, factor: float | None, exact: bool) -> Tensor:
    """Return the places of the nearest elements, rounded in single precision as everywhere."""
    number = ops.arange(new, dtype=float32, device=like.device)
    scale = ops.full((), _scale(size, new, factor, False), dtype=float32, device=like.device)
    # Without the half, "nearest" keeps the places of PyTorch's first versions; "nearest-exact" mends them.
    at = ops.mul(ops.add(number, 0.5) if exact else number, scale)
    return ops.clamp(as_type(ops.floor(at), int64), max=size - 1)


def linear(like: Tensor, size: int, new: int, factor: float | None, align_corners: bool) -> Taps:
    """Return the two neighbours of every new element."""
    at = ops.clamp(_centers(like, new, _scale(size, new, factor, align_corners), align_corners), min=0)
    left = ops.clamp(as_type(ops.floor(at), int64), max=size - 1)
    right = ops.clamp(ops.add(left, 1), max=size - 1)
    share = ops.clamp(ops.sub(at, as_type(left, float64)), 0, 1)
    return Taps(ops.stack([left, right]), ops.stack([ops.rsub(share, 1), share]))


def cubic(like: Tensor, size: int, new: int, factor: float | None, align_corners: bool) -> Taps:
    """Return the four neighbours of every new element (Keys 1981, with a = -0.75)."""
    at = _centers(like, new, _scale(size, new, factor, align_corners), align_corners)
    floor = ops.floor(at)
    steps = ops.unsqueeze(ops.arange.start(-1, 3, device=like.device), 1)
    positions = ops.clamp(ops.add(as_type(floor, int64), steps), 0, size - 1)
    return Taps(positions, keys(ops.sub(ops.sub(at, floor), as_type(steps, float64)), -0.75))


def keys(distance: Any, a: float) -> Any:
    """Return the cubic convolution kernel at some distances."""
    x = ops.abs(distance)
    near = ops.add(ops.mul(ops.mul(ops.sub(ops.mul(x, a + 2), a + 3), x), x), 1)
    far = ops.mul(ops.sub(ops.mul(ops.add(ops.mul(ops.sub(x, 5), x), 8), x), 4), a)
    return ops.where(ops.le(x, 1), near, ops.where(ops.lt(x, 2), far, ops.zeros_like(x)))


def triangle(distance: Any) -> Any:
    """Return the kernel of linear interpolation at some distances."""
    return ops.clamp(ops.rsub(ops.abs(distance), 1), min=0)


def filtered(like: Tensor, size: int, new: int, factor: float | None, align_corners: bool, mode: str) -> Taps:
    """Return all old elements under a kernel that is as wide as the new elements are apart."""
    scale = _scale(size, new, factor, align_corners)
    # The kernel grows with the distance when an image shrinks: each old element counts somewhere.
    radius = (2.0 if mode == "bicubic" else 1.0) * max(scale, 1.0)
    center = ops.mul(ops.add(ops.arange(new, dtype=float64, device=like.device), 0.5), scale)
    first = ops.clamp(as_type(ops.add(center, 0.5 - radius), int64), min=0)
    stop = ops.clamp(as_type(ops.add(center, 0.5 + radius), int64), max=size)
    steps = ops.arange(min(size, math.ceil(radius) * 2 + 1), device=like.device)
    positions = ops.add(first, ops.unsqueeze(steps, 1))
    distance = ops.div(ops.add(ops.sub(as_type(positions, float64), center), 0.5), max(scale, 1.0))
    # Image libraries filter with a = -0.5, and PyTorch follows them here.
    weights = keys(distance, -0.5) if mode == "bicubic" else triangle(distance)
    weights = ops.where(ops.lt(positions, stop), weights, ops.zeros_like(weights))
    # At the borders a part of the kernel lies outside; the rest adds up to 1 again.
    total = ops.sum.dim(weights, (0,), True)
    weights = ops.div.default(weights, ops.where(ops.eq(total, 0), 1.0, total))
    return Taps(ops.clamp(positions, max=size - 1), weights)


def combined(x: Tensor, dim: int, taps: Taps) -> Tensor:
    """Return the sums of the weighted elements along a dimension."""
    return ops._weighted_taps(x, taps.places, taps.weights, dim)


def combined_bytes(x: Tensor, dim: int, taps: Taps) -> Any:
    """Return the sums of weighted bytes, with weights of 16 bits and rounded to bytes, as image libraries do."""
    largest = ops.amax(taps.weights, ()).item()
    # As many bits as the largest weight leaves in 16.
    bits = 0
    while bits < 22 and 0.5 + largest * (1 << (bits + 1)) < 1 << 15:
        bits += 1
    shape = (-1, *(1,) * (x.ndim - dim - 1))
    scaled = ops.mul(taps.weights, 1 << bits)
    half = ops.where(ops.lt(scaled, 0), -0.5, 0.5)
    whole = as_type(ops.trunc(ops.add(scaled, half)), int64)
    # Half a unit, so that the shift below rounds to nearest.
    total: Any = 1 << (bits - 1)
    for k in range(taps.places.shape[0]):
        part = as_type(ops.index_select(x, dim, ops.select(taps.places, 0, k)), int64)
        total = ops.add(ops.mul(part, ops.reshape(ops.select(whole, 0, k), shape)), total)
    return as_type(ops.clamp(ops.floor_divide(total, 1 << bits), 0, 255), uint8)


@composite("_weighted_taps")
def weighted_taps(self: Tensor, places: Tensor, weights: Tensor, dim: int) -> Tensor:
    check_shapes("_weighted_taps", self, places, weights, dim)
    x, dim = widened(self), dim % self.ndim
    shape = (-1, *(1,) * (x.ndim - dim - 1))
    total = ops.new_zeros(x, (*x.shape[:dim], places.shape[1], *x.shape[dim + 1 :]))
    for k in range(places.shape[0]):
        weight = ops.reshape(as_type(ops.select(weights, 0, k), x.dtype), shape)
        total = ops.add(total, ops.mul(ops.index_select(x, dim, ops.select(places, 0, k)), weight))
    return as_type(total, self.dtype)


@composite("_spread_taps")
def spread_taps(self: Tensor, places: Tensor, weights: Tensor, dim: int, size: int) -> Tensor:
    check_shapes("_spread_taps", self, places, weights, dim, size)
    x, dim = widened(self), dim % self.ndim
    shape = (-1, *(1,) * (x.ndim - dim - 1))
    total = ops.new_zeros(x, (*x.shape[:dim], size, *x.shape[dim + 1 :]))
    for k in range(places.shape[0]):
        weight = ops.reshape(as_type(ops.select(weights, 0, k), x.dtype), shape)
        total = ops.index_add(total, dim, ops.select(places, 0, k), ops.mul(x, weight))
    return as_type(total, self.dtype)


# --- along all of them -----------------------------------------------------------------------------------------


def _check(input: Tensor, mode: str, align_corners: bool | None, antialias: bool) -> None:
    """Raise for a mode or an option that does not fit."""
    if mode in ("nearest", "nearest-exact", "area") and align_corners is not None:
        raise ValueRangeError(
            "interpolate(): align_corners option can only be set with the interpolating modes: linear | bilinear | "
            "bicubic | trilinear"
        )
    if antialias and not (mode in ("bilinear", "bicubic") and input.ndim == 4):
        raise ValueRangeError(
            "interpolate(): Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as "
            "input"
        )
    if mode not in MODES or not 3 <= input.ndim <= 5:
        raise UnsupportedError(
            f"interpolate(): only 3D, 4D and 5D input tensors are supported (got {input.ndim}D) for the modes "
            f"{' | '.join(MODES)} (got {mode})"
        )
    if mode in DIMS and input.ndim != DIMS[mode] + 2:
        raise UnsupportedError(
            f"interpolate(): Got {input.ndim}D input, but {mode} mode needs {DIMS[mode] + 2}D input"
        )
    if not (
        input.dtype.is_floating_point
        or (input.dtype is uint8 and mode not in ("area", "linear", "trilinear"))
    ):
        raise DtypeError(f"interpolate(): mode {mode!r} is not implemented for {input.dtype}")


@composite("interpolate")
def interpolate(
    input: Tensor,
    size: Any,
    scale_factor: Any,
    mode: str,
    align_corners: bool | None,
    recompute_scale_factor: bool | None,
    antialias: bool,
) -> Any:
    _check(input, mode, align_corners, antialias)
    sizes, factors = _sizes(input, size, scale_factor, recompute_scale_factor)
    old = list(input.shape[2:])
    if mode == "area":
        return getattr(ops, f"adaptive_avg_pool{len(sizes)}d")(input, sizes)
    if min(*sizes, *old) < 1:
        raise ShapeError(f"interpolate(): no size can be 0, and the input has {old} and the output {sizes}")
    if not input.shape[1]:
        raise ShapeError(f"interpolate(): the input has no channels: its shape is {list(input.shape)}")
    # The elements are copied, but their gradients are summed along each dimension: rounded once, as in the other modes.
    x = widened(input) if input.requires_grad else input
    if mode.startswith("nearest"):
        for dim in _order(old, sizes, as_image=False):
            n, new, factor = old[dim - 2], sizes[dim - 2], factors[dim - 2]
            # An image that keeps a size keeps its elements, whatever the factor; a volume does not, as in PyTorch.
            if new != n or mode == "nearest-exact" or (factor not in (None, 1) and x.ndim != 4):
                x = _nearest_along(x, dim, n, new, factor, mode == "nearest-exact")
        return ops.clone(x) if x is input else as_type(x, input.dtype)
    x = widened(input)
    combine = combined_bytes if input.dtype is uint8 else combined
    kept = (
        mode != "bicubic" or antialias or input.dtype is uint8
    )  # elements of a dimension that keeps its size
    for dim in _order(old, sizes, input.dtype is uint8):
        n, new, factor = old[dim - 2], sizes[dim - 2], factors[dim - 2]
        if new != n or not kept:
            x = combine(x, dim, _taps(x, n, new, factor, bool(align_corners), mode, antialias))
    return ops.clone(x) if x is input else as_type(x, input.dtype)


def _order(old: list[int], sizes: list[int], as_image: bool) -> list[int]:
    """Return the dimensions in the order in which least is computed: those that shrink first, the outer ones before.

    Bytes are rounded after each dimension, so the order is that of image libraries: the last one first.
    """
    dims = range(2, 2 + len(old))
    if as_image:
        return list(reversed(dims))
    ratios = {dim: sizes[dim - 2] / old[dim - 2] for dim in dims}
    return sorted(dims, key=lambda dim: (ratios[dim], dim if ratios[dim] < 1 else -dim))


def _taps(
    x: Tensor, size: int, new: int, factor: float | None, align_corners: bool, mode: str, antialias: bool
) -> Taps:
    if antialias:
        return filtered(x, size, new, factor, align_corners, mode)
    return (cubic if mode == "bicubic" else linear)(x, size, new, factor, align_corners)


def _nearest_along(x: Tensor, dim: int, size: int, new: int, factor: float | None, exact: bool) -> Tensor:
    """Return x with the nearest elements along a dimension."""
    if x.dtype.is_floating_point:
        positions = ops.unsqueeze(nearest(x, size, new, factor, exact), 0)
        return ops._weighted_taps(x, positions, ops.ones((1, new), dtype=float64, device=x.device), dim)
    times = new // size
    if new == size * times and factor in (None, times) and (times & (times - 1) == 0):
        # Each element is repeated: no index, and a sum for a gradient.
        shape = tuple(x.shape)
        wide = ops.expand(ops.unsqueeze(x, dim + 1), (*shape[: dim + 1], times, *shape[dim + 1 :]))
        return ops.reshape(wide, (*shape[:dim], new, *shape[dim + 1 :]))
    return ops.index_select(x, dim, nearest(x, size, new, factor, exact))


# --- under PyTorch's older names -------------------------------------------------------------------------------


def _deprecated(op: str) -> None:
    warn_user(f"{op}() is deprecated; use interpolate()")


@composite("upsample")
def upsample(input: Tensor, size: Any, scale_factor: Any, mode: str, align_corners: bool | None) -> Tensor:
    _deprecated("upsample")
    return ops.interpolate(input, size, scale_factor, mode, align_corners)


@composite("upsample_nearest")
def upsample_nearest(input: Tensor, size: Any, scale_factor: Any) -> Tensor:
    _deprecated("upsample_nearest")
    return ops.interpolate(input, size, scale_factor, "nearest")


@composite("upsample_bilinear")
def upsample_bilinear(input: Tensor, size: Any, scale_factor: Any) -> Tensor:
    _deprecated("upsample_bilinear")
    return ops.interpolate(input, size, scale_factor, "bilinear", True)


GRID_MODES: Final = ("bilinear", "nearest", "bicubic")
PADDINGS: Final = ("zeros", "border", "reflection")
SHARPNESS: Final = -0.75  # of the cubic convolution (Keys 1981)

# --- grids -----------------------------------------------------------------------------------------------------


def _corners(op: str, align_corners: bool | None) -> bool:
    if align_corners is None:
        warn_user(f"{op}(): align_corners is False unless it is given")
    return bool(align_corners)


@composite("affine_grid")
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None) -> Tensor:
    align = _corners("affine_grid", align_corners)
    if theta.dtype.is_complex:
        raise DtypeError(f"affine_grid(): expected a real theta, got {theta.dtype}")
    if not theta.dtype.is_floating_point:
        raise ValueRangeError(f"affine_grid(): expected a floating point theta, got {theta.dtype}")
    if len(size) not in (4, 5):
        raise UnsupportedError(
            f"affine_grid(): size is that of a batch of images or volumes, got {list(size)}"
        )
    dims = len(size) - 2
    if theta.ndim != 3 or tuple(theta.shape[1:]) != (dims, dims + 1):
        raise ValueRangeError(
            f"affine_grid(): size {list(size)} needs a theta of shape [batch, {dims}, {dims + 1}], got "
            f"{list(theta.shape)}"
        )
    if min(size) < 1:
        raise ValueRangeError(f"affine_grid(): the sizes must be positive, got {list(size)}")
    if align and min(size[2:]) == 1:
        warn_user(
            "affine_grid(): along a dimension of size 1 the only point is 0. See the documentation of affine_grid "
            "for details."
        )
    return ops.affine_grid_generator(theta, size, align)


@composite("affine_grid_generator")
def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    check_shapes("affine_grid_generator", theta, size, align_corners)
    dims = len(size) - 2
    x, spatial = widened(theta), tuple(size[2:])
    lines = []
    for i, count in enumerate(spatial):
        line = ops.linspace(-1, 1, count, dtype=x.dtype, device=x.device)
        # A single point lies in the middle; `linspace` would put it at -1.
        if count == 1:
            line = ops.zeros_like(line)
        elif not align_corners:
            line = ops.mul(line, (count - 1) / count)
        shape = (*(1,) * i, count, *(1,) * (dims - i - 1))
        lines.append(ops.expand(ops.reshape(line, shape), spatial))
    # A grid has x first, which belongs to the last dimension.
    base = ops.stack([*reversed(lines), ops.ones(spatial, dtype=x.dtype, device=x.device)], -1)
    grid = ops.matmul(ops.reshape(base, (prod(spatial), dims + 1)), ops.transpose(x, 1, 2))
    return as_type(ops.reshape(grid, (size[0], *spatial, dims)), theta.dtype)


# --- the elements around a point -------------------------------------------------------------------------------


@dataclass
class Tap:
    """One of the elements, along one dimension, that make up a result.

    Attributes
    ----------
    place, weight : Tensor
        Which it is, and its share.
    inside : Tensor
        Whether it lies in the input; elsewhere share and slope are 0.
    slope : Tensor or None
        The derivative of the share by the coordinate in the grid; None for zero.
    """

    place: Any
    weight: Any
    inside: Any
    slope: Any


def _last(size: int, at: Tensor) -> int:
    """Return the largest place in a dimension that the dtype of coordinates has: rounding must not move it outside."""
    # The mantissa has 24 bits, or 53: larger places are multiples of a power of two.
    few = max((size - 1).bit_length() - (24 if at.dtype is float32 else 53), 0)
    return (size - 1) >> few << few


def _unfolded(at: Tensor, size: int, padding: int, align_corners: bool) -> tuple[Any, Any]:
    """Return coordinates moved into the input by the padding, and the derivative of that: 1, 0 or -1."""
    slope = ops.ones_like(at)
    if padding == 2:
        low, span = (0.0, size - 1) if align_corners else (-0.5, size)
        if not span:
            return ops.zeros_like(at), ops.zeros_like(at)
        from_low = ops.sub(at, low)
        slope = ops.where.default(ops.lt(from_low, 0), ops.neg(slope), slope)
        from_low = ops.mul(from_low, slope)
        flips = ops.floor(ops.div.default(from_low, span))
        rest = ops.sub(from_low, ops.mul(flips, span))
        odd = ops.eq(ops.remainder(flips, 2), 1)
        at = ops.add(ops.where.default(odd, ops.rsub(rest, span), rest), low)
        slope = ops.where.default(odd, ops.neg(slope), slope)
    last = number(_last(size, at), at)
    zero = number(0, at)
    slope = ops.where.default(ops.logical_and(ops.gt(at, 0), ops.lt(at, size - 1)), slope, zero)
    return ops.where.default(ops.gt(at, 0), ops.minimum(at, last), zero), slope


def _tap(position: Tensor, weight: Tensor, slope: Tensor | None, size: int) -> Tap:
    """Return a tap whose share is 0 where it lies outside of the input."""
    inside = ops.logical_and(ops.ge(position, 0), ops.le(position, _last(size, position)))
    zero = number(0, weight)
    position = as_type(ops.where.default(inside, position, zero), int64)
    weight = ops.where.default(inside, weight, zero)
    return Tap(position, weight, inside, None if slope is None else ops.where.default(inside, slope, zero))


def taps(line: Tensor, size: int, mode: int, padding: int, align_corners: bool) -> list[Tap]:
    """Return the taps along one dimension for the coordinates of all points, -1 and 1 at the ends of the dimension."""
    up = ops.add(line, 1)
    if align_corners:
        at, scale = ops.mul(ops.div.default(up, 2), size - 1), (size - 1) / 2
    else:
        at, scale = ops.div.default(ops.sub(ops.mul(up, size), 1), 2), size / 2
    if mode == 2:
        floor = ops.floor(at)
        return list(_cubic(floor, ops.sub(at, floor), scale, size, padding, align_corners))
    slope: Any = scale
    if padding:
        at, moved = _unfolded(at, size, padding, align_corners)
        slope = ops.mul(moved, scale)
    if mode == 1:
        return [_tap(ops.round(at), ops.ones_like(at), None, size)]
    floor = ops.floor(at)
    share = ops.sub(at, floor)
    slope = ops.expand(slope, tuple(at.shape)) if padding else ops.full_like(at, slope)
    left = _tap(floor, ops.rsub(share, 1), ops.neg(slope), size)
    return [left, _tap(ops.add(floor, 1), share, slope, size)]


def _cubic(
    floor: Tensor, share: Tensor, scale: float, size: int, padding: int, align_corners: bool
) -> Iterator[Tap]:
    a = SHARPNESS
    for step in (-1, 0, 1, 2):
        # By the share of the point, or, on the other side, by the rest of it.
        sign = 1 if step < 1 else -1
        x, rest = (share, ops.rsub(share, 1)) if step < 1 else (ops.rsub(share, 1), share)
        if step in (0, 1):
            weight = ops.add(ops.mul(ops.mul(ops.sub(ops.mul(x, a + 2), a + 3), x), x), 1)
            slope = ops.mul(ops.sub(ops.mul(x, 3 * (a + 2)), 2 * (a + 3)), x)
        else:
            weight = ops.mul(ops.mul(ops.mul(x, a), rest), rest)
            slope = ops.mul(ops.mul(rest, a), ops.rsub(ops.mul(x, 3), 1))
        position = ops.add(floor, step)
        if padding:
            position = ops.round(_unfolded(position, size, padding, align_corners)[0])
        yield _tap(position, weight, ops.mul(slope, sign * scale), size)


def _combined(
    grid: Tensor, sizes: Sequence[int], mode: int, padding: int, align_corners: bool
) -> Iterator[tuple[Any, Any, Any, list[Any]]]:
    """Yield the place, whether it is inside, the share, and its derivatives by the coordinates, of all elements."""
    dims, batch = len(sizes), grid.shape[0]
    points = ops.reshape(grid, (batch, prod(grid.shape[1:-1]), dims))
    lines = [
        # Coordinates are in the opposite order of dimensions: x belongs to the last one.
        taps(ops.select(points, 2, dims - 1 - i), size, mode, padding, align_corners)
        for i, size in enumerate(sizes)
    ]
    for chosen in product(*lines):
        position, weight, inside = chosen[0].place, chosen[0].weight, chosen[0].inside
        for i, tap in enumerate(chosen[1:], 1):
            position = ops.add(ops.mul(position, sizes[i]), tap.place)
            weight, inside = ops.mul(weight, tap.weight), ops.logical_and(inside, tap.inside)
        slopes = []
        for i, tap in enumerate(chosen):
            slope = tap.slope
            for j, other in enumerate(chosen):
                slope = slope if slope is None or i == j else ops.mul(slope, other.weight)
            slopes.append(slope)
        yield ops.unsqueeze(position, 1), ops.unsqueeze(inside, 1), ops.unsqueeze(weight, 1), slopes


# --- samples ---------------------------------------------------------------------------------------------------


@composite("grid_sample")
def grid_sample(
    input: Tensor, grid: Tensor, mode: str, padding_mode: str, align_corners: bool | None
) -> Tensor:
    for name, value, known in (("mode", mode, GRID_MODES), ("padding_mode", padding_mode, PADDINGS)):
        if value not in known:
            raise ValueRangeError(f"grid_sample(): {name} is one of {', '.join(known)}, not {value!r}")
    align = _corners("grid_sample", align_corners)
    return ops.grid_sampler(input, grid, GRID_MODES.index(mode), PADDINGS.index(padding_mode), align)


@composite("grid_sampler")
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    check_shapes("grid_sampler", input, grid, interpolation_mode, padding_mode, align_corners)
    batch, channels, *sizes = input.shape
    flat, g = ops.reshape(widened(input), (batch, channels, prod(sizes))), widened(grid)
    count = prod(grid.shape[1:-1])
    total: Any = ops.new_zeros(flat, (batch, channels, count))
    for position, inside, weight, _ in _combined(g, sizes, interpolation_mode, padding_mode, align_corners):
        values = ops.gather(flat, 2, ops.expand(position, (batch, channels, count)))
        values = ops.where.default(inside, values, number(0, values))  # zero times infinity is not zero
        total = ops.add(total, ops.mul(values, weight))
    return as_type(ops.reshape(total, (batch, channels, *grid.shape[1:-1])), input.dtype)


@composite("_grid_sampler_backward")
def grid_sampler_backward(
    grad: Tensor, input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> tuple[Any, Any]:
    check_shapes("_grid_sampler_backward", grad, input, grid, interpolation_mode, padding_mode, align_corners)
    batch, channels, *sizes = input.shape
    count, dims = prod(grid.shape[1:-1]), len(sizes)
    flat = ops.reshape(widened(input), (batch, channels, prod(sizes)))
    g = ops.reshape(widened(grad), (batch, channels, count))
    spread = ops.zeros_like(flat)
    moved = [ops.new_zeros(g, (batch, count)) for _ in sizes]
    around = _combined(widened(grid), sizes, interpolation_mode, padding_mode, align_corners)
    for position, inside, weight, slopes in around:
        everywhere = ops.expand(position, (batch, channels, count))
        # Infinite gradients, like infinite elements, do not count at places outside.
        spread = ops.scatter_add(
            spread, 2, everywhere, ops.where.default(inside, ops.mul(g, weight), number(0, spread))
        )
        if interpolation_mode != 1:
            values = ops.gather(flat, 2, everywhere)
            values = ops.where.default(inside, values, number(0, values))
            product_of = ops.sum.dim(ops.mul(values, g), (1,))
            moved = [
                ops.add(one, ops.mul(product_of, slope)) for one, slope in zip(moved, slopes, strict=True)
            ]
    to_grid = ops.reshape(ops.stack(list(reversed(moved)), 2), (*grid.shape[:-1], dims))
    to_input = ops.reshape(spread, tuple(input.shape))
    return ops.contiguous(as_type(to_input, input.dtype)), ops.contiguous(as_type(to_grid, grid.dtype))


def _of_dims(dims: int) -> Any:
    """Return the composite for images or volumes."""

    def sample(input: Tensor, grid: Tensor, mode: int, padding: int, align_corners: bool) -> Tensor:
        if input.ndim != dims + 2:
            raise DimensionCountError(
                f"grid_sampler_{dims}d(): the input has {dims + 2} dimensions, not {input.ndim}"
            )
        return ops.grid_sampler(input, grid, mode, padding, align_corners)

    return sample


for _dims in (2, 3):
    composite(f"grid_sampler_{_dims}d", _of_dims(_dims))
