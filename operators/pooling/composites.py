"""Composites of pooling: the elements of every window side by side, then a reduction over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import ArgumentError, DimensionCountError, DtypeError, ShapeError, ValueRangeError
from tt.core.types.determinism import DETERMINISM
from tt.core.types.dtype import int64
from tt.core.types.layout import strided
from tt.core.types.memory_format import order_of_strides
from tt.operators.convolution.shapes import each
from tt.operators.helpers import as_type, check_shapes, is_integral, number, widened
from tt.operators.pooling.shapes import strides_of, windows_in

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

composites: Final = CompositeTable()
composite = composites.composite

Sizes = Sequence[int]


# --- windows ---------------------------------------------------------------------------------------------------


@dataclass
class Windows:
    """The windows along one dimension.

    Attributes
    ----------
    places : Tensor
        Int64 of shape (windows, elements): where each element of a window lies.  Elements outside the input are
        replaced by the first one inside.
    inside : Tensor or None
        Which elements were not replaced; None if none was.
    """

    places: Tensor
    inside: Tensor | None


def _numbers(count: int, like: Tensor) -> Tensor:
    return ops.arange(count, device=like.device)


def sliding(like: Tensor, size: int, width: int, hop: int, pad: int, gap: int, out: int) -> Windows:
    """Return windows of one width at equal distances."""
    first = ops.sub(ops.mul(_numbers(out, like), hop), pad)
    steps = ops.mul(_numbers(width, like), gap)
    positions = ops.add(ops.unsqueeze(first, 1), ops.unsqueeze(steps, 0))
    # No window reaches beyond the input: nothing is masked.
    if not pad and (out - 1) * hop + gap * (width - 1) < size:
        return Windows(positions, None)
    inside = ops.bitwise_and(ops.ge(positions, 0), ops.lt(positions, size))
    # Places outside repeat one inside, which changes no maximum: the first of the same window that is not negative.
    begin = ops.remainder(first, gap) if gap > 1 else ops.mul(first, 0)
    begin = ops.unsqueeze(ops.where(ops.lt(first, 0), begin, first), 1)
    return Windows(ops.where.default(inside, positions, begin), inside)


def adaptive(like: Tensor, size: int, out: int) -> Windows:
    """Return windows that together cover a dimension: from floor(i size / out) to ceil((i + 1) size / out)."""
    number = ops.mul(_numbers(out, like), size)
    first = ops.floor_divide(number, max(out, 1))
    last = ops.floor_divide(ops.add(number, size + out - 1), max(out, 1))
    width = max((-(-(i + 1) * size // out) - i * size // out for i in range(out)), default=1)
    positions = ops.add(ops.unsqueeze(first, 1), ops.unsqueeze(_numbers(width, like), 0))
    # All windows are of one width then.
    if out and size % out == 0:
        return Windows(positions, None)
    inside = ops.lt(positions, ops.unsqueeze(last, 1))
    return Windows(ops.where.default(inside, positions, ops.unsqueeze(first, 1)), inside)


def take(x: Tensor, dim: int, windows: Windows) -> Tensor:
    """Return x with a dimension replaced by two: the windows and their elements."""
    elements = ops.index_select(x, dim, ops.reshape(windows.places, (-1,)))
    return ops.reshape(elements, (*x.shape[:dim], *windows.places.shape, *x.shape[dim + 1 :]))


def largest(x: Tensor, all_windows: Sequence[Windows]) -> tuple[Any, Any]:
    """Return the largest element of each window and its place; NaN is larger than all, and the last one counts."""
    count = len(all_windows)
    lead, sizes = x.ndim - count, x.shape[x.ndim - count :]
    windowed = x
    for i, windows in enumerate(all_windows):
        windowed = take(windowed, lead + 2 * i, windows)
    # Windows first, then elements, so that one reduction over a flat dimension serves any number of them.
    order = (
        *range(lead),
        *range(lead, windowed.ndim, 2),
        *range(lead + 1, windowed.ndim, 2),
    )
    windowed = ops.permute(windowed, order)
    out, elements = (
        tuple(windowed.shape[: lead + count]),
        tuple(windowed.shape[lead + count :]),
    )
    flat = ops.reshape(windowed, (*out, prod(elements)))
    positions = ops.reshape(flat_places(all_windows, sizes), (*out[lead:], prod(elements)))
    if 0 in out:
        return ops.new_zeros(x, out), ops.new_zeros(positions, out)
    best = ops.argmax(flat, -1, True)
    if not is_integral(x.dtype):
        nan = ops.isnan(flat)
        # argmax takes the first NaN, PyTorch's pooling the last one.
        last = ops.argmax(ops.where.default(nan, _numbers(prod(elements), x), -1), -1, True)
        best = ops.where.default(ops.any.dim(nan, -1, True), last, best)
    values = ops.gather(flat, -1, best)
    where = ops.gather(ops.expand(positions, (*out, prod(elements))), -1, best)
    return ops.squeeze.dim(values, -1), ops.squeeze.dim(where, -1)


def flat_places(all_windows: Sequence[Windows], sizes: Sizes) -> Any:
    """Return the places of the elements of all windows within a channel: (windows..., elements...)."""
    total: Any = 0
    count = len(all_windows)
    for i, windows in enumerate(all_windows):
        shape = [1] * (2 * count)
        shape[i], shape[count + i] = windows.places.shape
        total = ops.add(ops.reshape(ops.mul(windows.places, prod(sizes[i + 1 :])), tuple(shape)), total)
    return total


# --- the largest element ---------------------------------------------------------------------------------------


def max_pool_with_indices(op: str, count: int) -> Callable[..., Any]:
    """Return the composite for so many dimensions."""

    def pool(
        input: Tensor,
        kernel_size: Sequence[int],
        stride: Sequence[int] | None,
        padding: Sequence[int],
        dilation: Sequence[int],
        ceil_mode: bool,
        return_indices: bool,
    ) -> Any:
        check_shapes(op, input, kernel_size, stride, padding, dilation, ceil_mode)
        sizes = input.shape[input.ndim - count :]
        widths = each(op, kernel_size, count, "")
        pads, gaps = each(op, padding, count, ""), each(op, dilation, count, "")
        hops = strides_of(op, widths, stride)
        all_windows = [
            sliding(input, *one, windows_in(one[0], one[1], one[2], one[3], one[4], ceil_mode))
            for one in zip(sizes, widths, hops, pads, gaps, strict=True)
        ]
        return largest(input, all_windows)

    return pool


def adaptive_max_pool_with_indices(op: str, count: int) -> Callable[..., Any]:
    """Return the composite for so many dimensions."""

    def pool(input: Tensor, output_size: Any, return_indices: bool) -> Any:
        check_shapes(op, input, output_size)
        sizes = input.shape[input.ndim - count :]
        requested = each(op, output_size, count, "")
        all_windows = [
            adaptive(input, size, size if new is None else new)
            for size, new in zip(sizes, requested, strict=True)
        ]
        return largest(input, all_windows)

    return pool


def with_or_without_indices(op: str) -> Callable[..., Any]:
    """Return the composite of an operator whose last argument requests the indices, too."""

    def pool(*args: Any) -> Any:
        both = getattr(ops, f"{op}_with_indices")(*args[:-1])
        return both if args[-1] else both[0]

    return pool


def max_pool(op: str) -> Callable[..., Any]:
    """Return the composite of a maximum whose last argument requests the indices: without them half is written."""

    def pool(*args: Any) -> Any:
        result = getattr(ops, f"{op}_with_indices" if args[-1] else f"_{op}")(*args[:-1])
        if op == "max_pool3d" and has_last_channels(args[0]):
            return tuple(map(with_last_channels, result)) if args[-1] else with_last_channels(result)
        return result

    return pool


def has_last_channels(x: Tensor) -> bool:
    """Return whether x is a volume without a batch whose channels lie last; only this pool of PyTorch keeps them so."""
    if x.ndim != 4 or x.layout is not strided or x.is_contiguous():
        return False
    strides = x.stride()
    return bool(order_of_strides((1, *x.shape), (strides[1] * x.shape[1], *strides)))


def with_last_channels(x: Tensor) -> Tensor:
    """Return a volume without a batch with its channels last."""
    return ops.permute(ops.contiguous(ops.permute(x, (1, 2, 3, 0))), (3, 0, 1, 2))


def only_values(op: str) -> Callable[..., Any]:
    """Return the composite of a maximum without indices."""

    def pool(*args: Any) -> Any:
        return getattr(ops, f"{op}_with_indices")(*args)[0]

    return pool


@composite("_unpool")
def unpool(values: Tensor, indices: Tensor, size: Sizes, dims: int) -> Tensor:
    check_shapes("_unpool", values, indices, size, dims)
    lead = len(size) - dims
    rows = prod(size[:lead])
    zeros = ops.new_zeros(values, (rows, prod(size[lead:])))
    shape = (rows, prod(values.shape[lead:]))
    # Windows overlap, so several may have the same largest element.
    added = ops.scatter_add(zeros, 1, ops.reshape(indices, shape), ops.reshape(values, shape))
    return ops.reshape(added, tuple(size))


# --- the mean --------------------------------------------------------------------------------------------------


def avg_pool(op: str, count: int) -> Callable[..., Any]:
    """Return the composite for so many dimensions."""

    def pool(
        input: Tensor,
        kernel_size: Sequence[int],
        stride: Sequence[int] | None,
        padding: Sequence[int],
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> Tensor:
        how = () if count == 1 else (divisor_override,)
        check_shapes(op, input, kernel_size, stride, padding, ceil_mode, count_include_pad, *how)
        x, lead = widened(input), input.ndim - count
        widths, pads = each(op, kernel_size, count, ""), each(op, padding, count, "")
        divisor: Any = 1
        # Sums are separable: dimension by dimension costs the sum of the widths, not their product.
        for i, hop in enumerate(strides_of(op, widths, stride)):
            size, width, pad = input.shape[lead + i], widths[i], pads[i]
            windows = sliding(x, size, width, hop, pad, 1, windows_in(size, width, hop, pad, 1, ceil_mode))
            x = summed(x, lead + i, windows)
            counts = elements(input, size, width, hop, pad, x.shape[lead + i], count_include_pad)
            divisor = ops.mul(ops.reshape(counts, (-1, *(1,) * (count - i - 1))), divisor)
        divisor = divisor if divisor_override is None else divisor_override
        # PyTorch cuts means of integers towards zero.
        if is_integral(input.dtype):
            return ops.div.mode(x, divisor, rounding_mode="trunc")
        return as_type(ops.div.default(x, divisor), input.dtype)

    return pool


@composite("avg_pool1d")
def avg_pool1d(
    input: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] | None,
    padding: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
) -> Any:
    pool = avg_pool("avg_pool1d", 1)
    return pool(input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def summed(x: Tensor, dim: int, windows: Windows) -> Tensor:
    """Return the sums of the windows along a dimension."""
    elements = take(x, dim, windows)
    if windows.inside is not None:
        inside = ops.reshape(windows.inside, (*windows.inside.shape, *(1,) * (x.ndim - dim - 1)))
        elements = ops.where(inside, elements, ops.new_zeros(x, ()))
    return ops.sum.dim(elements, dim + 1)


def elements(
    like: Tensor, size: int, width: int, hop: int, pad: int, out: int, count_include_pad: bool
) -> Tensor:
    """Return how many elements each window along a dimension has."""
    start = ops.sub(ops.mul(_numbers(out, like), hop), pad)
    # With ceil_mode the last window may pass the padding; what lies there is not counted.
    stop = ops.clamp(ops.add(start, width), max=size + pad)
    if count_include_pad:
        return ops.sub(stop, start)
    return ops.sub(ops.clamp(stop, max=size), ops.clamp(start, min=0))


@composite("_avg_unpool")
def avg_unpool(
    grad: Tensor,
    size: Sizes,
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Tensor:
    check_shapes(
        "_avg_unpool",
        grad,
        size,
        kernel_size,
        stride,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override,
    )
    x, lead = widened(grad), grad.ndim - len(size)
    if divisor_override is not None:
        x = ops.div.default(x, divisor_override)
    for i, hop in enumerate(strides_of("_avg_unpool", tuple(kernel_size), stride)):
        width, pad, out = kernel_size[i], padding[i], grad.shape[lead + i]
        if divisor_override is None:
            counts = elements(grad, size[i], width, hop, pad, out, count_include_pad)
            x = ops.div.default(x, ops.reshape(counts, (-1, *(1,) * (x.ndim - lead - i - 1))))
        x = spread_along(x, lead + i, sliding(x, size[i], width, hop, pad, 1, out), size[i])
    return as_type(x, grad.dtype)


@composite("_adaptive_avg_unpool")
def adaptive_avg_unpool(grad: Tensor, size: Sizes) -> Tensor:
    check_shapes("_adaptive_avg_unpool", grad, size)
    x, lead = widened(grad), grad.ndim - len(size)
    for dim, whole in enumerate(size, lead):
        windows = adaptive(x, whole, x.shape[dim])
        inside = windows.inside
        counts: Any = windows.places.shape[1] if inside is None else ops.sum.dim(inside, (1,), True)
        counts = counts if inside is None else ops.reshape(counts, (-1, *(1,) * (x.ndim - dim - 1)))
        x = spread_along(ops.div.default(x, counts), dim, windows, whole)
    return as_type(x, grad.dtype)


def spread_along(x: Tensor, dim: int, windows: Windows, size: int) -> Tensor:
    """Add the elements along a dimension to all places of their windows."""
    shape = (*x.shape[: dim + 1], windows.places.shape[1], *x.shape[dim + 1 :])
    wide = ops.expand(ops.unsqueeze(x, dim + 1), shape)
    if windows.inside is not None:
        inside = ops.reshape(windows.inside, (*windows.inside.shape, *(1,) * (x.ndim - dim - 1)))
        wide = ops.where(inside, wide, ops.new_zeros(x, ()))
    zeros = ops.new_zeros(x, (*x.shape[:dim], size, *x.shape[dim + 1 :]))
    flat = ops.reshape(wide, (*x.shape[:dim], windows.places.numel(), *x.shape[dim + 1 :]))
    return ops.index_add(zeros, dim, ops.reshape(windows.places, (-1,)), flat)


def adaptive_avg_pool(op: str, count: int) -> Callable[..., Any]:
    """Return the composite for so many dimensions."""

    def pool(input: Tensor, output_size: Any) -> Tensor:
        check_shapes(op, input, output_size)
        x, lead = widened(input), input.ndim - count
        for dim, new in enumerate(each(op, output_size, count, ""), lead):
            size = x.shape[dim]
            if new is None or new == size:
                continue
            # The windows do not overlap: a view with one more dimension has them side by side.
            if new and size % new == 0:
                parts = ops.reshape(x, (*x.shape[:dim], new, size // new, *x.shape[dim + 1 :]))
                x = ops.mean.dim(parts, (dim + 1,))
                continue
            windows = adaptive(x, size, new)
            x = summed(x, dim, windows)
            if new and windows.inside is not None:
                counts = ops.sum.dim(windows.inside, (1,))
                x = ops.div.default(x, ops.reshape(counts, (-1, *(1,) * (x.ndim - dim - 1))))
        # A copy: the result of an operator is not its argument.
        return as_type(ops.clone(x) if x is input else x, input.dtype)

    return pool


for dims in (1, 2, 3):
    composite(f"max_pool{dims}d", max_pool(f"max_pool{dims}d"))
    composite(f"_max_pool{dims}d", only_values(f"max_pool{dims}d"))
    composite(f"max_pool{dims}d_with_indices", max_pool_with_indices(f"max_pool{dims}d_with_indices", dims))
    if dims > 1:
        composite(f"avg_pool{dims}d", avg_pool(f"avg_pool{dims}d", dims))
    composite(f"adaptive_avg_pool{dims}d", adaptive_avg_pool(f"adaptive_avg_pool{dims}d", dims))
    composite(f"adaptive_max_pool{dims}d", with_or_without_indices(f"adaptive_max_pool{dims}d"))
    composite(
        f"adaptive_max_pool{dims}d_with_indices",
        adaptive_max_pool_with_indices(f"adaptive_max_pool{dims}d_with_indices", dims),
    )


# --- the mean of powers ----------------------------------------------------------------------------------------


def lp_pool(count: int) -> Callable[..., Any]:
    """Return the composite for so many dimensions."""

    def pool(
        input: Tensor,
        norm_type: float,
        kernel_size: Sequence[int],
        stride: Sequence[int] | None,
        ceil_mode: bool,
    ) -> Tensor:
        op = f"lp_pool{count}d"
        hops = None if stride is None else each(op, stride, count, "stride")
        return ops._lp_pool(input, norm_type, each(op, kernel_size, count, "kernel_size"), hops, ceil_mode)

    return pool


def _power_sums(
    x: Tensor, norm_type: float, kernel_size: Sizes, stride: Sequence[int] | None, ceil_mode: bool
) -> Tensor:
    """Return the means of the powers of windows, times the elements of a whole window."""
    average = getattr(ops, f"avg_pool{len(kernel_size)}d")
    # As PyTorch does: with ceil_mode the mean of a cut window stands for a whole one.
    return ops.mul(average(ops.pow(x, norm_type), kernel_size, stride, 0, ceil_mode), prod(kernel_size))


@composite("_lp_pool")
def lp_pool_windows(
    input: Tensor, norm_type: float, kernel_size: Sizes, stride: Sequence[int] | None, ceil_mode: bool
) -> Tensor:
    check_shapes("_lp_pool", input, norm_type, kernel_size, stride, ceil_mode)
    sums = _power_sums(widened(input), norm_type, kernel_size, stride, ceil_mode)
    # A negative sum of odd powers has no root: NaN, as in PyTorch.
    return as_type(ops.pow(sums, 1.0 / norm_type), input.dtype)


@composite("_lp_pool_backward")
def lp_pool_backward(
    grad: Tensor,
    input: Tensor,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sequence[int] | None,
    ceil_mode: bool,
) -> Tensor:
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
    wanted: Sequence[int] | None,
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
        input: Tensor,
        indices: Tensor,
        kernel_size: Sequence[int],
        stride: Sequence[int] | None,
        padding: Sequence[int],
        output_size: Sequence[int] | None,
    ) -> Tensor:
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
        flat, index = ops.flatten(input, len(lead)), ops.flatten(indices, len(lead))
        zeros = ops.new_zeros(input, (*lead, prod(sizes)))
        return ops.reshape(ops.scatter(zeros, len(lead), index, flat), (*lead, *sizes))

    return unpool


# --- windows at random places ----------------------------------------------------------------------------------


def fractional(op: str, count: int) -> Callable[..., Any]:
    """Return the composite for so many dimensions."""

    def pool(
        input: Tensor,
        kernel_size: Sequence[int],
        output_size: Sequence[int] | None,
        output_ratio: Any,
        return_indices: bool,
        samples: Tensor | None,
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
        for what, value in (("kernel_size", kernel_size), ("output_size", output_size)):
            if isinstance(value, (list, tuple)) and len(value) != count:
                raise ShapeError(
                    f"{op}(): {what} must either be a single int or {count} of them, got {list(value)}"
                )
        widths = each(op, kernel_size, count, "kernel_size")
        sizes = each(op, output_size, count, "output_size")
        if samples is None:
            batch = input.shape[0] if input.ndim == count + 2 else 1
            channels = input.shape[-count - 1]
            samples = ops.rand((batch, channels, count), dtype=input.dtype, device=input.device)
        return ops._fractional_max_pool(input, widths, sizes, samples)

    return pool


@composite("_fractional_max_pool")
def fractional_max_pool(
    input: Tensor, kernel_size: Sequence[int], output_size: Sequence[int], samples: Tensor
) -> tuple[Any, Any]:
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
        positions = ops.add(ops.unsqueeze(starts, 2), ops.arange(width, device=input.device))
        shape = [planes] + [1] * (2 * count)
        shape[1 + i], shape[1 + count + i] = out, width
        total = ops.add(ops.reshape(ops.mul(positions, prod(sizes[i + 1 :])), tuple(shape)), total)
    new, elements = (planes, prod(output_size)), prod(kernel_size)
    positions = ops.reshape(total, (planes, new[1] * elements))
    values = ops.reshape(
        ops.gather(ops.reshape(input, (planes, prod(sizes))), 1, positions), (*new, elements)
    )
    best = ops.argmax(values, -1, True) if values.numel() else ops.new_zeros(positions, (*new, 1))
    if not is_integral(input.dtype) and values.numel():
        nan = ops.isnan(values)
        order = ops.where.default(nan, ops.arange(elements, device=input.device), number(-1, positions))
        best = ops.where.default(ops.any.dim(nan, -1, True), ops.argmax(order, -1, True), best)
    result = (*lead, *output_size)
    where = ops.gather(ops.reshape(positions, (*new, elements)), -1, best)
    return ops.reshape(ops.gather(values, -1, best), result), ops.reshape(where, result)


def _starts(sample: Tensor, size: int, width: int, out: int) -> Tensor:
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


def values_of_fractional(op: str) -> Callable[..., Any]:
    """Return the composite of an operator that returns the indices only on request."""

    def pool(
        input: Tensor,
        kernel: Sequence[int],
        size: Sequence[int] | None,
        ratio: Any,
        return_indices: bool,
        samples: Tensor | None,
    ) -> Any:
        both = getattr(ops, f"{op}_with_indices")(input, kernel, size, ratio, return_indices, samples)
        return both if return_indices else both[0]

    return pool


for dims in (1, 2, 3):
    composite(f"lp_pool{dims}d", lp_pool(dims))
    composite(f"max_unpool{dims}d", max_unpool(dims))
for dims in (2, 3):
    composite(f"fractional_max_pool{dims}d", values_of_fractional(f"fractional_max_pool{dims}d"))
    composite(f"fractional_max_pool{dims}d_with_indices", fractional(f"fractional_max_pool{dims}d", dims))
