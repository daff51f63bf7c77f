"""Formulas of pooling.  g is the gradient of the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from tt.core.library import ops
from tt.plugins.autograd.formulas.convolution import each
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()

# --- the largest element: the gradient goes to where it was found ----------------------------------------------


def largest_input(count: int) -> Callable[..., Any]:
    """Add the gradients at the places of the largest elements, over so many dimensions."""
    return lambda g, indices, input_shape: ops._unpool(g, indices, tuple(input_shape), count)


def values_of(g: Any, indices: Any, dims: int) -> Any:
    """Take the gradients from where the values went."""
    lead = g.ndim - dims
    flat, places = ops.flatten(g, lead), ops.flatten(indices, lead)
    return ops.reshape(ops.gather(flat, lead, places), tuple(indices.shape))


for dims in (1, 2, 3):
    d.of(f"max_pool{dims}d_with_indices", input=largest_input(dims))
    d.of(f"adaptive_max_pool{dims}d_with_indices", input=largest_input(dims))
d.of("_unpool", values=values_of)

# --- the mean: the gradient is shared among the elements of the window -----------------------------------------


def averaged_input(
    g: Any,
    input_shape: Sequence[int],
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
    count: int,
) -> Any:
    """Return the transpose of the sums of windows, of the gradient divided as the sums were."""
    lead, sizes = (
        tuple(input_shape[: len(input_shape) - count]),
        tuple(input_shape[len(input_shape) - count :]),
    )
    widths, pads = each(kernel_size, count), each(padding, count)
    hops = each(stride, count) if stride else widths
    out = g.shape[g.ndim - count :]
    divided = g / (divisor_override or divisor(g, sizes, widths, hops, pads, count_include_pad))
    ones = ops.new_ones(g, (1, 1, *widths))
    whole = [
        (rows - 1) * hop - 2 * pad + width
        for rows, hop, pad, width in zip(out, hops, pads, widths, strict=True)
    ]
    more = [max(size - full, 0) for size, full in zip(sizes, whole, strict=True)]
    spread = getattr(ops, f"conv_transpose{count}d")(
        ops.reshape(divided, (prod(lead), 1, *out)), ones, None, hops, pads, more
    )
    for dim, size in enumerate(sizes, 2):
        spread = spread if spread.shape[dim] == size else ops.narrow(spread, dim, 0, size)
    return ops.reshape(spread, tuple(input_shape))


def divisor(
    g: Any,
    sizes: Sequence[int],
    widths: Sequence[int],
    hops: Sequence[int],
    pads: Sequence[int],
    padded: bool,
) -> Any:
    """Return how many elements each window has."""
    total: Any = 1
    for i, (size, width, hop, pad) in enumerate(zip(sizes, widths, hops, pads, strict=True)):
        behind = len(sizes) - i - 1
        start = ops.arange(g.shape[g.ndim - behind - 1], device=g.device) * hop - pad
        stop = ops.clamp(start + width, max=size + pad)
        counts = stop - start if padded else ops.clamp(stop, max=size) - ops.clamp(start, min=0)
        total = ops.reshape(counts, (-1, *(1,) * behind)) * total
    return total


d.of(
    "avg_pool1d",
    input=lambda g, input_shape, kernel_size, stride, padding, ceil_mode, count_include_pad: averaged_input(
        g, input_shape, kernel_size, stride, padding, ceil_mode, count_include_pad, None, 1
    ),
)
d.of(
    "avg_pool2d",
    input=lambda g, input_shape, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override: (
        averaged_input(
            g, input_shape, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, 2
        )
    ),
)
d.of(
    "avg_pool3d",
    input=lambda g, input_shape, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override: (
        averaged_input(
            g, input_shape, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, 3
        )
    ),
)
