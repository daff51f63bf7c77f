"""Shape rules of pooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt.core.errors import DimensionCountError, DivisionByZeroError, DtypeError, ShapeError
from tt.core.shapes.geometry import Described
from tt.core.shapes.registry import Result, RuleTable
from tt.core.types.dtype import int64
from tt.operators.convolution.shapes import dims_of, each, not_negative, positive

rule = RuleTable()

Shape = tuple[int, ...]


def channels_of(op: str, input: Described, count: int) -> tuple[Shape, Shape]:
    """Return the sizes of batch and channels, and the spatial ones: at least one, and none of them zero."""
    if count < 1:
        raise ShapeError(f"{op}(): there is no dimension to pool over: the list of its sizes is empty")
    if input.ndim not in (count + 1, count + 2) or 0 in input.shape[input.ndim - count - 1 :]:
        raise DimensionCountError(
            f"{op}(): the input has {count + 1} dimensions, or {count + 2} with a batch, and only the batch may be "
            f"empty, but this one has shape {list(input.shape)}"
        )
    lead = input.ndim - count
    return tuple(input.shape[:lead]), tuple(input.shape[lead:])


def strides_of(op: str, widths: Shape, stride: Sequence[int] | None) -> Shape:
    """Return the steps of the window: its own size unless they are given."""
    if stride is None or stride == [] or stride == ():
        return widths
    return positive(op, stride, len(widths), "stride")


def windows_in(size: int, width: int, step: int, pad: int, gap: int, ceil_mode: bool) -> int:
    """Return how many windows a dimension has; with ceil_mode, also the last that it does not fill."""
    # With ceil_mode the division rounds up.
    span = size + 2 * pad - gap * (width - 1) - 1 + (step - 1 if ceil_mode else 0)
    out = span // step + 1
    # The last window must start inside the input or the padding before it.
    return out - 1 if ceil_mode and (out - 1) * step >= size + pad else out


def pooled(
    op: str,
    sizes: Shape,
    kernel: Sequence[int],
    stride: Sequence[int] | None,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
) -> Shape:
    """Return the spatial sizes after pooling."""
    count = len(sizes)
    widths = positive(op, kernel, count, "kernel_size")
    steps, gaps = strides_of(op, widths, stride), positive(op, dilation, count, "dilation")
    pads = not_negative(op, padding, count, "padding")
    for pad, width, gap in zip(pads, widths, gaps, strict=True):
        # A window inside the padding alone would have no element.
        if pad > (gap * (width - 1) + 1) // 2:
            raise ShapeError(
                f"{op}(): padding={pad} is more than half of the window, which spans {gap * (width - 1) + 1} elements "
                f"(kernel_size={width}, dilation={gap})"
            )
    result = tuple(
        windows_in(size, width, step, pad, gap, ceil_mode)
        for size, width, step, pad, gap in zip(sizes, widths, steps, pads, gaps, strict=True)
    )
    if min(result) < 1:
        raise ShapeError(
            f"{op}(): an input of spatial size {list(sizes)} would give an output of {list(result)}, whose "
            f"sizes must be at least 1"
        )
    return result


@rule("avg_pool")
def avg_pool(
    input: Described,
    kernel_size: Sequence[int],
    stride: Sequence[int] | None = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    divisor_override: int | None = None,
    *,
    op: str,
) -> Shape:
    """The mean in each window; the operator's name gives the number of spatial dimensions."""
    lead, sizes = channels_of(op, input, dims_of(op))
    if divisor_override == 0:
        raise ShapeError(f"{op}(): divisor_override must not be zero")
    return (*lead, *pooled(op, sizes, kernel_size, stride, padding, 1, ceil_mode))


@rule("max_pool_with_indices")
def max_pool_with_indices(
    input: Described,
    kernel_size: Sequence[int],
    stride: Sequence[int] | None = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    *,
    op: str,
) -> tuple[Result, Result]:
    """The largest value in each window and its place."""
    lead, sizes = channels_of(op, input, dims_of(op))
    shape = (*lead, *pooled(op, sizes, kernel_size, stride, padding, dilation, ceil_mode))
    return Result(shape), Result(shape, dtype=int64)


@rule("max_pool_values")
def max_pool_values(
    input: Described,
    kernel_size: Sequence[int],
    stride: Sequence[int] | None,
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    *,
    op: str,
) -> Shape:
    """The largest value in each window."""
    # Messages name the public operator.
    op = op.removeprefix("_")
    lead, sizes = channels_of(op, input, dims_of(op))
    return (*lead, *pooled(op, sizes, kernel_size, stride, padding, dilation, ceil_mode))


@rule("adaptive_pool")
def adaptive_pool(input: Described, output_size: Any, *, op: str) -> Shape:
    """Windows chosen so that the output has a size; None keeps a dimension."""
    count = dims_of(op)
    if input.ndim <= count:
        raise DimensionCountError(
            f"{op}(): the input must have at least {count + 1} dimensions, but has shape {list(input.shape)}"
        )
    # Without a batch there may be no channels.
    whole = input.ndim == count + 1 and 0 not in input.shape[1:]
    lead, sizes = (input.shape[:1], input.shape[1:]) if whole else channels_of(op, input, count)
    requested = each(op, output_size, len(sizes), "output_size")
    new = tuple(size if want is None else want for size, want in zip(sizes, requested, strict=True))
    if min(new) < 0:
        raise ShapeError(f"{op}(): output_size must be zero or more, got {list(new)}")
    return (*lead, *new)


@rule("adaptive_pool_with_indices")
def adaptive_pool_with_indices(input: Described, output_size: Any, *, op: str) -> tuple[Result, Result]:
    """As `adaptive_pool`, and where the values were found."""
    shape = adaptive_pool(input, output_size, op=op)
    return Result(shape), Result(shape, dtype=int64)


@rule("fractional_max_pool")
def fractional_max_pool(
    input: Described, kernel_size: Shape, output_size: Shape, samples: Described, *, op: str
) -> tuple[Result, Result]:
    """The largest value in each window and its place.

    samples has a number for each plane and dimension, and may be for more batches.
    """
    count = len(kernel_size)
    name = f"fractional_max_pool{count}d"
    lead, sizes = channels_of(name, input, count)
    widths = positive(name, tuple(kernel_size), count, "kernel_size")
    news = not_negative(name, tuple(output_size), count, "output_size")
    for size, width, new in zip(sizes, widths, news, strict=True):
        if new + width - 1 > size:
            raise ShapeError(
                f"{name}(): {new} windows of {width} elements start at different places of at least {new + width - 1} "
                f"elements, but the input has the sizes {list(sizes)}"
            )
    # Without a batch, samples still have a dimension for it, of size one.
    expected = (*((1,) if len(lead) == 1 else ()), *lead, count)
    if samples.ndim != 3 or tuple(samples.shape[1:]) != expected[1:] or samples.shape[0] < expected[0]:
        raise ShapeError(
            f"{name}(): expected _random_samples of shape {list(expected)}, or for more batches, got "
            f"{list(samples.shape)}"
        )
    if samples.dtype is not input.dtype:
        raise DtypeError(
            f"{name}(): expected _random_samples of the dtype of the input, {input.dtype}, got {samples.dtype}"
        )
    shape = (*lead, *news)
    return Result(shape), Result(shape, dtype=int64)


@rule("unpool")
def unpool(values: Described, indices: Described, size: Shape, dims: int, *, op: str) -> Shape:
    """The size passed by the caller."""
    if tuple(values.shape) != tuple(indices.shape) or (
        tuple(values.shape[:-dims]) != tuple(size[:-dims]) or values.ndim != len(size)
    ):
        raise ShapeError(
            f"{op}(): values {list(values.shape)} and indices {list(indices.shape)} do not fit the size {list(size)}"
        )
    return tuple(size)


@rule("avg_unpool")
def avg_unpool(
    grad: Described,
    size: Shape,
    kernel_size: Sequence[int],
    stride: Sequence[int] | None,
    padding: Sequence[int],
    ceil_mode: bool,
    divisor_override: int | None = None,
    *,
    op: str,
) -> Shape:
    """The size passed by the caller; grad has its windows."""
    lead, sizes = channels_of(op, grad, len(size))
    if divisor_override == 0:
        raise ShapeError(f"{op}(): divisor_override must not be zero")
    windows = pooled(op, tuple(size), kernel_size, stride, padding, 1, ceil_mode)
    if windows != sizes:
        raise ShapeError(
            f"{op}(): the gradient has {list(sizes)} windows, but {list(size)} has {list(windows)}"
        )
    return (*lead, *size)


@rule("adaptive_avg_unpool")
def adaptive_avg_unpool(grad: Described, size: Shape, *, op: str) -> Shape:
    """The size passed by the caller."""
    count = len(size)
    lead = tuple(grad.shape[:-count])
    if (
        len(lead) not in (1, 2) or 0 in grad.shape[-count:]
    ):  # of no channels, as of an empty batch, there are means
        channels_of(op, grad, count)
    if min(size, default=0) < 1:
        raise ShapeError(f"{op}(): the input of which this is the gradient is empty: {list(size)}")
    return (*lead, *size)


@rule("lp_pool")
def lp_pool(
    input: Described,
    norm_type: float,
    kernel_size: Sequence[int],
    stride: Sequence[int] | None,
    ceil_mode: bool,
    *,
    op: str,
) -> Shape:
    """A number for each window; channels, and maybe a batch, lie before the dimensions of windows."""
    op = f"lp_pool{len(kernel_size)}d"
    if not norm_type:
        raise DivisionByZeroError(f"{op}(): norm_type must not be 0, as the root would not exist")
    lead, sizes = channels_of(op, input, len(kernel_size))
    return (*lead, *pooled(op, sizes, kernel_size, stride, 0, 1, ceil_mode))


@rule("lp_pool_backward")
def lp_pool_backward(
    grad: Described,
    input: Described,
    norm_type: float,
    kernel_size: Sequence[int],
    stride: Sequence[int] | None,
    ceil_mode: bool,
    *,
    op: str,
) -> Shape:
    """The gradient of the input."""
    shape = lp_pool(input, norm_type, kernel_size, stride, ceil_mode, op=op)
    if tuple(grad.shape) != shape:
        raise ShapeError(f"{op}(): grad {list(grad.shape)} has not the shape of the result, {list(shape)}")
    return tuple(input.shape)
