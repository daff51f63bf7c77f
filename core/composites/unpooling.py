"""Composites of pooling by powers, of what undoes max pooling, and of windows at random places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final

from tt.core.composites.helpers import as_type, check_shapes, is_integral, number, widened
from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import ArgumentError, DimensionCountError, DtypeError, ShapeError, ValueRangeError
from tt.core.shapes.convolution import each
from tt.core.shapes.pooling import strides_of
from tt.core.types.determinism import DETERMINISM
from tt.core.types.dtype import int64

Sizes = Sequence[int]

composites: Final = CompositeTable()
composite = composites.composite

# --- the mean of powers ----------------------------------------------------------------------------------------


def lp_pool(count: int) -> Callable[..., Any]:
    """Return the composite for so many dimensions."""

    def pool(input: Any, norm_type: float, kernel_size: Any, stride: Any, ceil_mode: bool) -> Any:
        op = f"lp_pool{count}d"
        hops = None if stride is None else each(op, stride, count, "stride")
        return ops._lp_pool(input, norm_type, each(op, kernel_size, count, "kernel_size"), hops, ceil_mode)

    return pool


def _power_sums(x: Any, norm_type: float, kernel_size: Sizes, stride: Any, ceil_mode: bool) -> Any:
    """Return the means of the powers of windows, times the elements of a whole window."""
    average = getattr(ops, f"avg_pool{len(kernel_size)}d")
    return ops.mul(average(ops.pow(x, norm_type), kernel_size, stride, 0, ceil_mode), prod(kernel_size))


@composite("_lp_pool")
def lp_pool_windows(input: Any, norm_type: float, kernel_size: Sizes, stride: Any, ceil_mode: bool) -> Any:
    check_shapes("_lp_pool", input, norm_type, kernel_size, stride, ceil_mode)
    sums = _power_sums(widened(input), norm_type, kernel_size, stride, ceil_mode)
    # A negative sum of odd powers has no root: NaN, as in PyTorch.
    return as_type(ops.pow(sums, 1.0 / norm_type), input.dtype)


@composite("_lp_pool_backward")
def lp_pool_backward(
    grad: Any, input: Any, norm_type: float, kernel_size: Sizes, stride: Any, ceil_mode: bool
) -> Any:
    check_shapes("_lp_pool_backward", grad, input, norm_type, kernel_size, stride, ceil_mode)
    x, count = widened(input), len(kernel_size)
    sums = _power_sums(x, norm_type, kernel_size, stride, ceil_mode)
    # PyTorch multiplies by the sign of the sum twice: where it is 0, an infinite slope of the root becomes NaN.
    factor = ops.mul(ops.square(ops.sign(sums)), prod(kernel_size) / norm_type)
    slope = ops.mul(ops.mul(widened(grad), factor), ops.pow(sums, 1.0 / norm_type - 1.0))
    sizes, none = tuple(input.shape[-count:]), (0,) * count
    shared = ops._avg_unpool(slope, sizes, kernel_size, stride, none, ceil_mode, True, None)
    return as_type(ops.mul(ops.mul(shared, norm_type), ops.pow(x, norm_type - 1.0)), input.dtype)


# --- back to where the largest element was ---------------------------------------------------------------------


def unpooled_sizes(
    op: str,
    sizes: Sequence[int],
    widths: Sequence[int],
    hops: Sequence[int],
    pads: Sequence[int],
    wanted: Any,
) -> tuple[int, ...]:
    """Return the spatial sizes before pooling: the smallest possible ones, or those that are wanted near them."""
    count = len(sizes)
    usual = tuple(
        (size - 1) * hop + width - 2 * pad
        for size, width, hop, pad in zip(sizes, widths, hops, pads, strict=True)
    )
    if wanted is None:
        return usual
    chosen = tuple(map(int, wanted[2:] if len(wanted) == count + 2 else wanted))
    if len(chosen) != count:
        raise ValueRangeError(
            f"{op}(): output_size has {count} or {count + 2} numbers, but this one has {len(wanted)}"
        )
    for new, size, hop in zip(chosen, usual, hops, strict=True):
        if not size - hop < new < size + hop:
            low, high = ([n + sign * step for n, step in zip(usual, hops, strict=True)] for sign in (-1, 1))
            raise ValueRangeError(
                f"{op}(): output_size {list(chosen)} is not between {low} and {high}, from which {list(sizes)} comes"
            )
    return chosen


def max_unpool(count: int) -> Callable[..., Any]:
    """Return the composite for so many dimensions."""
    op = f"max_unpool{count}d"

    def unpool(
        input: Any, indices: Any, kernel_size: Any, stride: Any, padding: Any, output_size: Any
    ) -> Any:
        widths = each(op, kernel_size, count, "kernel_size")
        hops, pads = strides_of(op, widths, stride), each(op, padding, count, "padding")
        if indices.dtype is not int64:
            raise DtypeError(f"{op}(): expected indices of dtype int64, got {indices.dtype}")
        if input.ndim not in (count + 1, count + 2) or 0 in input.shape[-count - 1 :]:
            raise DimensionCountError(
                f"{op}(): the input has {count + 1} dimensions, or {count + 2} with a batch, and only the batch may be "
                f"empty, but this one has shape {list(input.shape)}"
            )
        if tuple(indices.shape) != tuple(input.shape):
            raise ShapeError(
                f"{op}(): the indices have the shape of the input, {list(input.shape)}, but these have "
                f"{list(indices.shape)}"
            )
        if min(hops) < 1:
            raise ShapeError(f"{op}(): stride must be positive, got {list(hops)}")
        # Nothing says which of several values with one index stays.
        DETERMINISM.refuse(op, "warn_only=True")
        lead = tuple(input.shape[:-count])
        sizes = unpooled_sizes(op, input.shape[-count:], widths, hops, pads, output_size)
        if min(sizes) < 0:
            raise ShapeError(f"{op}(): the output would have the sizes {list(sizes)}")
        flat, places = ops.flatten(input, len(lead)), ops.flatten(indices, len(lead))
        zeros = ops.new_zeros(input, (*lead, prod(sizes)))
        return ops.reshape(ops.scatter(zeros, len(lead), places, flat), (*lead, *sizes))

    return unpool


# --- windows at random places ----------------------------------------------------------------------------------


def fractional(op: str, count: int) -> Callable[..., Any]:
    """Return the composite for so many dimensions."""

    def pool(
        input: Any, kernel_size: Any, output_size: Any, output_ratio: Any, return_indices: bool, samples: Any
    ) -> Any:
        if output_size is None and output_ratio is None:
            raise ValueRangeError(f"{op}(): one of output_size and output_ratio is needed")
        if input.ndim not in (count + 1, count + 2):
            raise DimensionCountError(
                f"{op}(): the input has {count + 1} dimensions, or {count + 2} with a batch, but this one has "
                f"{input.ndim}"
            )
        if output_size is None:
            ratios = output_ratio if isinstance(output_ratio, (list, tuple)) else (output_ratio,) * count
            if not all(isinstance(ratio, int | float) for ratio in ratios):
                raise ArgumentError(op, f"output_ratio is one number, or has {count}, got {output_ratio!r}")
            if len(ratios) != count:
                raise ShapeError(f"{op}(): output_ratio is one number, or has {count}, got {output_ratio}")
            if not all(0 < ratio < 1 for ratio in ratios):
                raise ValueRangeError(f"{op}(): output_ratio must lie between 0 and 1, got {output_ratio}")
            output_size = tuple(int(n * ratio) for n, ratio in zip(input.shape[-count:], ratios, strict=True))
        widths = each(op, kernel_size, count, "kernel_size")
        sizes = each(op, output_size, count, "output_size")
        if samples is None:
            batch = input.shape[0] if input.ndim == count + 2 else 1
            channels = input.shape[-count - 1]
            samples = ops.rand((batch, channels, count), dtype=input.dtype, device=input.device)
        return ops._fractional_max_pool(input, widths, sizes, samples)

    return pool


@composite("_fractional_max_pool")
def fractional_max_pool(input: Any, kernel_size: Any, output_size: Any, samples: Any) -> tuple[Any, Any]:
    check_shapes("_fractional_max_pool", input, kernel_size, output_size, samples)
    count = len(kernel_size)
    output_size = each("_fractional_max_pool", output_size, count, "output_size")
    lead, sizes = tuple(input.shape[:-count]), tuple(input.shape[-count:])
    planes = prod(lead)
    drawn = ops.reshape(as_type(samples, input.dtype), (samples.shape[0] * samples.shape[1], count))[:planes]
    total: Any = 0
    for i, (size, width, out) in enumerate(zip(sizes, kernel_size, output_size, strict=True)):
        # Of two samples of a plane the first is the columns', of three the first is the depth's: PyTorch's order.
        starts = _starts(ops.select(drawn, 1, count - 1 - i if count == 2 else i), size, width, out)
        places = ops.add(ops.unsqueeze(starts, 2), ops.arange(width, device=input.device))
        shape = [planes] + [1] * (2 * count)
        shape[1 + i], shape[1 + count + i] = out, width
        total = ops.add(ops.reshape(ops.mul(places, prod(sizes[i + 1 :])), tuple(shape)), total)
    new, elements = (planes, prod(output_size)), prod(kernel_size)
    places = ops.reshape(total, (planes, new[1] * elements))
    found = ops.reshape(ops.gather(ops.reshape(input, (planes, prod(sizes))), 1, places), (*new, elements))
    best = ops.argmax(found, -1, True) if found.numel() else ops.new_zeros(places, (*new, 1))
    if not is_integral(input.dtype) and found.numel():
        nan = ops.isnan(found)
        order = ops.where.default(nan, ops.arange(elements, device=input.device), number(-1, places))
        best = ops.where.default(ops.any.dim(nan, -1, True), ops.argmax(order, -1, True), best)
    result = (*lead, *output_size)
    where = ops.gather(ops.reshape(places, (*new, elements)), -1, best)
    return ops.reshape(ops.gather(found, -1, best), result), ops.reshape(where, result)


def _starts(sample: Any, size: int, width: int, out: int) -> Any:
    """Return where the windows of each plane start: at irregular distances, the last one at the end (Graham 2015)."""
    room = size - width
    last = ops.full((sample.shape[0], 1), room, dtype=int64, device=sample.device)
    if out <= 1:
        return ops.narrow(last, 1, 0, out)
    step = ops.full((), room, dtype=sample.dtype, device=sample.device)
    step = ops.div.default(step, out - 1)
    drawn = ops.unsqueeze(sample, 1)
    numbers = ops.arange(out - 1, device=sample.device)
    at = as_type(ops.mul(ops.add(as_type(numbers, sample.dtype), drawn), step), int64)
    # Rounding to half precision may move a window behind the end, where the next row begins.
    starts = ops.clamp(ops.sub(at, as_type(ops.mul(drawn, step), int64)), 0, room)
    return ops.cat([starts, last], 1)


def only_values(op: str) -> Callable[..., Any]:
    """Return the composite of an operator that returns the indices only on request."""

    def pool(input: Any, kernel: Any, size: Any, ratio: Any, return_indices: bool, samples: Any) -> Any:
        both = getattr(ops, f"{op}_with_indices")(input, kernel, size, ratio, return_indices, samples)
        return both if return_indices else both[0]

    return pool


for dims in (1, 2, 3):
    composite(f"lp_pool{dims}d", lp_pool(dims))
    composite(f"max_unpool{dims}d", max_unpool(dims))
for dims in (2, 3):
    composite(f"fractional_max_pool{dims}d", only_values(f"fractional_max_pool{dims}d"))
    composite(f"fractional_max_pool{dims}d_with_indices", fractional(f"fractional_max_pool{dims}d", dims))
