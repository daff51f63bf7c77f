"""Composites of sampling at the points of a grid: sums of elements around a point, weighted along each dimension."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, Final

from tt.core.composites.helpers import as_type, check_shapes, number, widened
from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import DimensionCountError, DtypeError, UnsupportedError, ValueRangeError
from tt.core.types.dtype import float32, int64
from tt.core.types.user_warnings import warn_user

composites: Final = CompositeTable()
composite = composites.composite

MODES: Final = ("bilinear", "nearest", "bicubic")
PADDINGS: Final = ("zeros", "border", "reflection")
SHARPNESS: Final = -0.75  # of the cubic convolution (Keys 1981)

# --- grids -----------------------------------------------------------------------------------------------------


def _corners(op: str, align_corners: bool | None) -> bool:
    if align_corners is None:
        warn_user(f"{op}(): align_corners is False unless it is given")
    return bool(align_corners)


@composite("affine_grid")
def affine_grid(theta: Any, size: Sequence[int], align_corners: bool | None) -> Any:
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
def affine_grid_generator(theta: Any, size: Sequence[int], align_corners: bool) -> Any:
    check_shapes("affine_grid_generator", theta, size, align_corners)
    dims = len(size) - 2
    x, spatial = widened(theta), tuple(size[2:])
    lines = []
    for i, count in enumerate(spatial):
        line = ops.linspace(-1, 1, count, dtype=x.dtype, device=x.device)
        if count == 1:
            line = ops.zeros_like(line)
        elif not align_corners:
            line = ops.mul(line, (count - 1) / count)
        shape = (*(1,) * i, count, *(1,) * (dims - i - 1))
        lines.append(ops.expand(ops.reshape(line, shape), spatial))
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


def _last(size: int, at: Any) -> int:
    """Return the largest place in a dimension that the dtype of coordinates has: rounding must not move it outside."""
    few = max((size - 1).bit_length() - (24 if at.dtype is float32 else 53), 0)
    return (size - 1) >> few << few


def _unfolded(at: Any, size: int, padding: int, align_corners: bool) -> tuple[Any, Any]:
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


def _tap(place: Any, weight: Any, slope: Any, size: int) -> Tap:
    """Return a tap whose share is 0 where it lies outside of the input."""
    inside = ops.logical_and(ops.ge(place, 0), ops.le(place, _last(size, place)))
    zero = number(0, weight)
    place = as_type(ops.where.default(inside, place, zero), int64)
    weight = ops.where.default(inside, weight, zero)
    return Tap(place, weight, inside, None if slope is None else ops.where.default(inside, slope, zero))


def taps(line: Any, size: int, mode: int, padding: int, align_corners: bool) -> list[Tap]:
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
    floor: Any, share: Any, scale: float, size: int, padding: int, align_corners: bool
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
        place = ops.add(floor, step)
        if padding:
            place = ops.round(_unfolded(place, size, padding, align_corners)[0])
        yield _tap(place, weight, ops.mul(slope, sign * scale), size)


def _combined(
    grid: Any, sizes: Sequence[int], mode: int, padding: int, align_corners: bool
) -> Iterator[tuple[Any, Any, Any, list[Any]]]:
    """Yield the place, whether it is inside, the share, and its derivatives by the coordinates, of all elements."""
    dims, batch = len(sizes), grid.shape[0]
    points = ops.reshape(grid, (batch, prod(grid.shape[1:-1]), dims))
    lines = [
        taps(ops.select(points, 2, dims - 1 - i), size, mode, padding, align_corners)
        for i, size in enumerate(sizes)
    ]
    for chosen in product(*lines):
        place, weight, inside = chosen[0].place, chosen[0].weight, chosen[0].inside
        for i, tap in enumerate(chosen[1:], 1):
            place = ops.add(ops.mul(place, sizes[i]), tap.place)
            weight, inside = ops.mul(weight, tap.weight), ops.logical_and(inside, tap.inside)
        slopes = []
        for i, tap in enumerate(chosen):
            slope = tap.slope
            for j, other in enumerate(chosen):
                slope = slope if slope is None or i == j else ops.mul(slope, other.weight)
            slopes.append(slope)
        yield ops.unsqueeze(place, 1), ops.unsqueeze(inside, 1), ops.unsqueeze(weight, 1), slopes


# --- samples ---------------------------------------------------------------------------------------------------


@composite("grid_sample")
def grid_sample(input: Any, grid: Any, mode: str, padding_mode: str, align_corners: bool | None) -> Any:
    for name, value, known in (("mode", mode, MODES), ("padding_mode", padding_mode, PADDINGS)):
        if value not in known:
            raise ValueRangeError(f"grid_sample(): {name} is one of {', '.join(known)}, not {value!r}")
    align = _corners("grid_sample", align_corners)
    return ops.grid_sampler(input, grid, MODES.index(mode), PADDINGS.index(padding_mode), align)


@composite("grid_sampler")
def grid_sampler(
    input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Any:
    check_shapes("grid_sampler", input, grid, interpolation_mode, padding_mode, align_corners)
    batch, channels, *sizes = input.shape
    flat, g = ops.reshape(widened(input), (batch, channels, prod(sizes))), widened(grid)
    count = prod(grid.shape[1:-1])
    total: Any = ops.new_zeros(flat, (batch, channels, count))
    for place, inside, weight, _ in _combined(g, sizes, interpolation_mode, padding_mode, align_corners):
        found = ops.gather(flat, 2, ops.expand(place, (batch, channels, count)))
        found = ops.where.default(inside, found, number(0, found))  # zero times infinity is not zero
        total = ops.add(total, ops.mul(found, weight))
    return as_type(ops.reshape(total, (batch, channels, *grid.shape[1:-1])), input.dtype)


@composite("_grid_sampler_backward")
def grid_sampler_backward(
    grad: Any, input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> tuple[Any, Any]:
    check_shapes("_grid_sampler_backward", grad, input, grid, interpolation_mode, padding_mode, align_corners)
    batch, channels, *sizes = input.shape
    count, dims = prod(grid.shape[1:-1]), len(sizes)
    flat = ops.reshape(widened(input), (batch, channels, prod(sizes)))
    g = ops.reshape(widened(grad), (batch, channels, count))
    spread = ops.zeros_like(flat)
    moved = [ops.new_zeros(g, (batch, count)) for _ in sizes]
    around = _combined(widened(grid), sizes, interpolation_mode, padding_mode, align_corners)
    for place, inside, weight, slopes in around:
        everywhere = ops.expand(place, (batch, channels, count))
        # Infinite gradients, like infinite elements, do not count at places outside.
        spread = ops.scatter_add(
            spread, 2, everywhere, ops.where.default(inside, ops.mul(g, weight), number(0, spread))
        )
        if interpolation_mode != 1:
            found = ops.gather(flat, 2, everywhere)
            found = ops.where.default(inside, found, number(0, found))
            product_of = ops.sum.dim(ops.mul(found, g), (1,))
            moved = [
                ops.add(one, ops.mul(product_of, slope)) for one, slope in zip(moved, slopes, strict=True)
            ]
    to_grid = ops.reshape(ops.stack(list(reversed(moved)), 2), (*grid.shape[:-1], dims))
    to_input = ops.reshape(spread, tuple(input.shape))
    return ops.contiguous(as_type(to_input, input.dtype)), ops.contiguous(as_type(to_grid, grid.dtype))


def _of_dims(dims: int) -> Any:
    """Return the composite for images or volumes."""

    def sample(input: Any, grid: Any, mode: int, padding: int, align_corners: bool) -> Any:
        if input.ndim != dims + 2:
            raise DimensionCountError(
                f"grid_sampler_{dims}d(): the input has {dims + 2} dimensions, not {input.ndim}"
            )
        return ops.grid_sampler(input, grid, mode, padding, align_corners)

    return sample


for _dims in (2, 3):
    composite(f"grid_sampler_{_dims}d", _of_dims(_dims))
