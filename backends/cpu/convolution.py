"""Kernels of convolutions: windows copied side by side (im2col), then matrix products.

x is an input (N, C, ...), w a weight (O, C / groups, ...), y a result (N, O, ...).  Three kernels are each other's
gradients: y from x and w, x from y and w, w from x and y.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tt.core.library import KernelTable

__all__ = ["cpu", "padded", "windows"]

cpu: Final = KernelTable(device="cpu", by="NumPy")

Array = Any
"""A NumPy array; a more precise type could not express shapes that the geometry determines."""
Sizes = Sequence[int]

# As many bytes of copied windows as stay in the cache until the product reads them.
BLOCK: Final = 1 << 21
DTYPES: Final = ("int64", "floating", "complex")

# --- windows ---------------------------------------------------------------------------------------------------


def padded(x: Array, padding: Sizes, value: float = 0) -> Array:
    """Return x with a value around its last dimensions."""
    if not any(padding):
        return x
    lead = x.ndim - len(padding)
    sizes = (size + 2 * pad for size, pad in zip(x.shape[lead:], padding, strict=True))
    result = np.full((*x.shape[:lead], *sizes), value, x.dtype)
    inner: Any = (slice(pad, pad + size) for size, pad in zip(x.shape[lead:], padding, strict=True))
    result[(..., *inner)] = x
    return result


def batch_inside(x: Array, padding: Sizes) -> Array:
    """Return x (N, C, ...) with zeros around it, in memory with the batch as the last dimension."""
    lead = x.shape[:2]
    sizes = (size + 2 * pad for size, pad in zip(x.shape[2:], padding, strict=True))
    result = np.moveaxis(np.zeros((lead[1], *sizes, lead[0]), x.dtype), -1, 0)
    inner: Any = (slice(pad, pad + size) for size, pad in zip(x.shape[2:], padding, strict=True))
    result[(..., *inner)] = x
    return result


def windows(x: Array, kernel: Sizes, stride: Sizes, dilation: Sizes, out: Sizes) -> Array:
    """Return a view of x (N, C, ...) with each element of the kernel before the places of the window."""
    steps = x.strides[2:]
    # Of one element or window the step is never taken, and may be longer than any memory.
    gaps = (step * gap if width > 1 else 0 for step, gap, width in zip(steps, dilation, kernel, strict=True))
    hops = (step * hop if count > 1 else 0 for step, hop, count in zip(steps, stride, out, strict=True))
    return as_strided(x, (*x.shape[:2], *kernel, *out), (*x.strides[:2], *gaps, *hops), writeable=False)


def blocks(count: int, nbytes: int) -> Iterator[slice]:
    """Yield parts of a batch whose windows, of so many bytes an item, fit into the cache together."""
    step = max(1, BLOCK // max(nbytes, 1))
    return (slice(start, min(start + step, count)) for start in range(0, count, step))


def reach(size: int, pad: int, width: int, gap: int, hop: int) -> int:
    """Return how many windows fit into a dimension."""
    return (size + 2 * pad - gap * (width - 1) - 1) // hop + 1


def is_pointwise(kernel: Sizes, stride: Sizes, padding: Sizes) -> bool:
    """Return whether every window is one element, each in its place, so that nothing need be copied."""
    return all(width == hop == 1 and not pad for width, hop, pad in zip(kernel, stride, padding, strict=True))


def is_short(count: int, out: Sizes) -> bool:
    """Return whether the rows of the result are so short that the batch is better copied as the innermost loop."""
    return count >= 4 and out[-1] < 16


# --- the three products ----------------------------------------------------------------------------------------


def forward(x: Array, w: Array, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Array:
    """Return y: for each item, the filters times the windows."""
    count, channels = x.shape[:2]
    outputs, kernel = w.shape[0], w.shape[2:]
    out = tuple(map(reach, x.shape[2:], padding, kernel, dilation, stride))
    # The elements of one window in a group are a column of the matrix, its positions the columns.
    rows, positions = channels // groups * prod(kernel), prod(out)
    filters = w.reshape(groups, outputs // groups, rows)
    # Each window is one element: the input is the matrix of windows already.
    if is_pointwise(kernel, stride, padding):
        y = filters @ x.reshape(count, groups, rows, positions)
        return y.reshape(count, outputs, *out)
    short = is_short(count, out)
    view = windows((batch_inside if short else padded)(x, padding), kernel, stride, dilation, out)
    y = np.empty((count, groups, outputs // groups, positions), x.dtype)
    # The windows take the kernel's size times the memory of the input: only a part of them is copied at a
    # time.
    for part in blocks(count, groups * rows * positions * x.itemsize):
        items = part.stop - part.start
        # With few windows an item gives BLAS too little: the items of the part become one product.
        if short:
            columns = np.moveaxis(view[part], 0, -1).reshape(groups, rows, positions * items)
            products = (filters @ columns).reshape(groups, outputs // groups, positions, items)
            y[part] = np.moveaxis(products, -1, 0)
        else:
            np.matmul(filters, view[part].reshape(items, groups, rows, positions), out=y[part])
    return y.reshape(count, outputs, *out)


def transposed(
    y: Array, w: Array, sizes: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:
    """Return x of the given sizes: every element of y adds its filter to the window from which it came."""
    count, outputs, *out = y.shape
    channels, kernel = groups * w.shape[1], w.shape[2:]
    rows, positions = channels // groups * prod(kernel), prod(out)
    filters = w.reshape(groups, outputs // groups, rows).swapaxes(1, 2)
    if is_pointwise(kernel, stride, padding) and tuple(out) == tuple(sizes):
        x = filters @ y.reshape(count, groups, outputs // groups, positions)
        return x.reshape(count, channels, *sizes)
    x = np.empty((count, channels, *sizes), y.dtype)
    short = is_short(count, out)
    reaches = [overlaps(*each) for each in zip(sizes, out, kernel, stride, padding, dilation, strict=True)]
    for part in blocks(count, groups * rows * positions * y.itemsize):
        items = part.stop - part.start
        columns = np.moveaxis(y[part], 0, -1 if short else 1)
        added = filters @ columns.reshape(groups, outputs // groups, items * positions)
        if short:
            added = np.moveaxis(added.reshape(channels, *kernel, *out, items), -1, 1 + len(kernel))
            target = np.moveaxis(np.zeros((channels, *sizes, items), y.dtype), -1, 1)
        else:
            added = added.reshape(channels, *kernel, items, *out)
            target = np.zeros((channels, items, *sizes), y.dtype)
        # One product gives what every element of y adds to every place of its window; overlapping sums
        # follow.
        # Windows overlap, and NumPy's += adds only once to an element: each place of the filter is added on its own.
        for overlap in product(*reaches):
            at = tuple(k for k, _, _ in overlap)
            into: Any = (..., *(to for _, to, _ in overlap))
            target[into] += added[(slice(None), *at, slice(None), *(source for _, _, source in overlap))]
        x[part] = target.swapaxes(0, 1)
    return x


def reached(size: int, out: int, width: int, hop: int, pad: int, gap: int) -> Sequence[int]:
    """Return the places in a window, rising, that may meet an element of x: not all, if a window is long."""
    # The set is made only where a window has more elements than all windows together could meet.
    if width <= out * (size // gap + 1):
        return range(width)
    offsets: set[int] = set()
    for start in range(-pad, out * hop - pad, hop):
        offsets.update(range(max(0, -(start // gap)), min(width - 1, (size - 1 - start) // gap) + 1))
    return sorted(offsets)


def overlaps(size: int, out: int, width: int, hop: int, pad: int, gap: int) -> list[tuple[int, slice, slice]]:
    """Return for each place k in a window which elements of x it meets, and from which windows."""
    parts = []
    for k in reached(size, out, width, hop, pad, gap):
        shift = k * gap - pad
        # Rounds towards the inside: the first window at or after the edge, the last one that does not pass
        # it.
        first, last = max(0, -(shift // hop)), min(out - 1, (size - 1 - shift) // hop)
        if first <= last:
            begin = first * hop + shift
            parts.append((k, slice(begin, last * hop + shift + 1, hop), slice(first, last + 1)))
    return parts


def weights(
    x: Array, y: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:
    """Return w: the products of the elements of y with their windows, summed over the batch."""
    count, channels = x.shape[:2]
    outputs, out = y.shape[1], y.shape[2:]
    rows, positions, each = channels // groups * prod(kernel), prod(out), outputs // groups
    result = np.zeros((groups, each, rows), x.dtype)
    short = is_short(count, out)
    view = windows((batch_inside if short else padded)(x, padding), kernel, stride, dilation, out)
    for part in blocks(count, groups * rows * positions * x.itemsize):
        items = part.stop - part.start
        if not short and each * rows < positions:  # few sums of many terms
            columns = view[part].reshape(items, groups, rows, positions)
            products = y[part].reshape(items, groups, each, positions) @ columns.swapaxes(2, 3)
            result += products.sum(0)
        else:  # as one product: the batch next to the positions
            columns = np.moveaxis(view[part], 0, -1 if short else 1 + len(kernel))
            factors = np.moveaxis(y[part], 0, -1 if short else 1).reshape(groups, each, items * positions)
            result += factors @ columns.reshape(groups, rows, items * positions).swapaxes(1, 2)
    return result.reshape(outputs, channels // groups, *kernel)


# --- kernels ---------------------------------------------------------------------------------------------------


def each(value: int | Sequence[int], count: int) -> tuple[int, ...]:
    """Return a number for each spatial dimension."""
    values = (value,) if isinstance(value, int) else tuple(value)
    return values * count if len(values) == 1 else values


def add_bias(y: Array, bias: Array | None) -> Array:
    """Add a number to each channel, in place."""
    if bias is not None:
        y += bias.reshape(-1, *(1,) * (y.ndim - 2))
    return y


def convolution(
    input: Array,
    weight: Array,
    bias: Array | None,
    stride: int | Sequence[int],
    padding: int | Sequence[int],
    dilation: int | Sequence[int],
    groups: int,
) -> Array:
    """Serve conv1d, conv2d and conv3d."""
    count = weight.ndim - 2
    geometry = each(stride, count), each(padding, count), each(dilation, count)
    if input.ndim == weight.ndim:
        return add_bias(forward(input, weight, *geometry, groups), bias)
    return add_bias(forward(input[None], weight, *geometry, groups), bias)[0]


def transposed_convolution(
    input: Array,
    weight: Array,
    bias: Array | None,
    stride: int | Sequence[int],
    padding: int | Sequence[int],
    output_padding: int | Sequence[int],
    groups: int,
    dilation: int | Sequence[int],
) -> Array:
    """Serve conv_transpose1d, conv_transpose2d and conv_transpose3d."""
    count = weight.ndim - 2
    hops, pads, gaps = each(stride, count), each(padding, count), each(dilation, count)
    y = input if input.ndim == weight.ndim else input[None]
    sizes = tuple(
        (size - 1) * hop - 2 * pad + gap * (width - 1) + more + 1
        for size, hop, pad, gap, width, more in zip(
            y.shape[2:], hops, pads, gaps, weight.shape[2:], each(output_padding, count), strict=True
        )
    )
    x = add_bias(transposed(y, weight, sizes, hops, pads, gaps, groups), bias)
    return x if input.ndim == weight.ndim else x[0]


for dims in (1, 2, 3):
    # NumPy would read beyond the memory for a window that does not fit.
    cpu.kernel(f"conv{dims}d", convolution, dtypes=DTYPES, check=True)
    cpu.kernel(f"conv_transpose{dims}d", transposed_convolution, dtypes=DTYPES, check=True)


@cpu.kernel("_conv_weight", dtypes=DTYPES, check=True)
def conv_weight(
    input: Array, grad: Array, weight_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:
    if input.ndim < len(weight_size):
        input, grad = input[None], grad[None]
    return weights(input, grad, tuple(weight_size)[2:], stride, padding, dilation, groups)


# --- windows as columns ----------------------------------------------------------------------------------------


@cpu.kernel("functional_unfold", half="native", check=True)
def unfold(
    input: Array,
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int],
    padding: int | Sequence[int],
    stride: int | Sequence[int],
) -> Array:
    kernel, gaps = each(kernel_size, 2), each(dilation, 2)
    pads, hops = each(padding, 2), each(stride, 2)
    x = input if input.ndim == 4 else input[None]
    out = tuple(map(reach, x.shape[2:], pads, kernel, gaps, hops))
    view = windows(padded(x, pads), kernel, hops, gaps, out)
    columns = view.reshape(*input.shape[:-3], input.shape[-3] * prod(kernel), prod(out))
    # Windows without padding that lie one after the other are a view still.
    return columns.copy() if np.may_share_memory(columns, input) else columns


@cpu.kernel("functional_fold", check=True)
def fold(
    input: Array,
    output_size: int | Sequence[int],
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int],
    padding: int | Sequence[int],
    stride: int | Sequence[int],
) -> Array:
    kernel, gaps, sizes = each(kernel_size, 2), each(dilation, 2), each(output_size, 2)
    pads, hops = each(padding, 2), each(stride, 2)
    out = tuple(map(reach, sizes, pads, kernel, gaps, hops))
    channels = (*input.shape[:-2], input.shape[-2] // prod(kernel))
    columns = input.reshape(*channels, *kernel, *out)
    x = np.zeros((*channels, *sizes), input.dtype)
    rows, lines = (overlaps(*one) for one in zip(sizes, out, kernel, hops, pads, gaps, strict=True))
    # As in `transposed`: windows overlap, so each place of the kernel is added on its own.
    for (i, into_row, row), (j, into_line, line) in product(rows, lines):
        x[..., into_row, into_line] += columns[..., i, j, row, line]
    return x
