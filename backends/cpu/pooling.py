"""Kernels of pooling: the elements at one place of all windows form an array, and the arrays are combined in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import product
from math import prod
from typing import Any, Final

import numpy as np

from tt.backends.cpu.convolution import overlaps
from tt.core.library import KernelTable, errors

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu", by="NumPy")

Array = Any
"""A NumPy array."""
Sizes = Sequence[int]


def each(value: int | Sequence[int], count: int) -> tuple[int, ...]:
    """Return a number for each spatial dimension."""
    values = (value,) if isinstance(value, int) else tuple(value)
    return values * count if len(values) == 1 else values


def windows_in(size: int, width: int, step: int, pad: int, gap: int, ceil_mode: bool) -> int:
    """Return how many windows a dimension has; with ceil_mode, also the last that it does not fill."""
    span = size + 2 * pad - gap * (width - 1) - 1
    out = (-(-span // step) if ceil_mode else span // step) + 1
    # As in PyTorch, the last window begins inside the input or its left padding, never in the right
    # padding.
    return out - 1 if ceil_mode and (out - 1) * step >= size + pad else out


class Geometry:
    """The windows over the last dimensions of an input.

    Attributes
    ----------
    sizes, widths, hops, pads, gaps, out : tuple of int
        Of each dimension: its size, the window's size, its steps, the padding, the dilation, and how many windows.
    """

    def __init__(
        self,
        x: Array,
        count: int,
        kernel: int | Sequence[int],
        stride: int | Sequence[int] | None,
        padding: int | Sequence[int],
        dilation: int | Sequence[int],
        ceil_mode: bool,
    ) -> None:
        self.sizes = x.shape[x.ndim - count :]
        self.widths, self.pads, self.gaps = each(kernel, count), each(padding, count), each(dilation, count)
        self.hops = each(stride, count) if stride else self.widths
        self.out = tuple(
            windows_in(*one, ceil_mode)
            for one in zip(self.sizes, self.widths, self.hops, self.pads, self.gaps, strict=True)
        )

    def reaches(self) -> list[list[tuple[int, slice, slice]]]:
        """Return for each dimension what `overlaps` does."""
        return [
            overlaps(*one)
            for one in zip(self.sizes, self.out, self.widths, self.hops, self.pads, self.gaps, strict=True)
        ]

    def starts(self) -> list[Array]:
        """Return for each dimension where the windows start, with the padding before them."""
        return [np.arange(n) * hop - pad for n, hop, pad in zip(self.out, self.hops, self.pads, strict=True)]


def grid(parts: Sequence[Array], combine: Callable[[Array, Array], Array]) -> Array:
    """Return one-dimensional arrays combined, each along its own dimension."""
    shaped = (part.reshape(-1, *(1,) * (len(parts) - i - 1)) for i, part in enumerate(parts))
    return reduce(combine, shaped)


# --- the largest element ---------------------------------------------------------------------------------------


def largest(x: Array, windows: Geometry) -> tuple[Array, Array]:
    """Return the largest element of each window, and its place; NaN is larger than all, and the last one counts."""
    lead = x.shape[: x.ndim - len(windows.sizes)]
    # min() propagates NaN, so one pass finds out whether the comparison needs its extra term.
    nan = x.dtype.kind not in "iub" and bool(x.size) and bool(np.isnan(x.min()))
    floor = -np.inf if x.dtype.kind not in "iub" else np.iinfo(x.dtype).min
    best = np.full((*lead, *windows.out), floor, x.dtype)
    # The first element of a window outside the padding is the largest until a larger one is found: the
    # dilation's steps out of the padding are rounded up.
    begins = [
        -(np.minimum(start, 0) // gap) for start, gap in zip(windows.starts(), windows.gaps, strict=True)
    ]
    # Only those of a window's elements are numbered that some window has outside the padding: a window may be long.
    reaches = windows.reaches()
    elements = [
        np.union1d(begin, [k for k, _, _ in reach]).astype(np.int64)
        for begin, reach in zip(begins, reaches, strict=True)
    ]
    counts = [len(numbers) for numbers in elements]
    # Eight bits as long as they suffice: the products below move a quarter of the memory or less.
    number = np.arange(prod(counts), dtype=np.int8 if prod(counts) < 128 else np.int32).reshape(counts)
    first = [np.searchsorted(numbers, begin) for numbers, begin in zip(elements, begins, strict=True)]
    position = np.broadcast_to(number[np.ix_(*first)], best.shape).copy()
    for at in product(*reaches):
        # Rows of windows are short: one copy is faster than three operations on strided elements.
        value = np.ascontiguousarray(x[(..., *(inside for _, inside, _ in at))])
        whole = value.shape == best.shape
        outside: Any = (..., *(into for _, _, into in at))
        known, where = (best, position) if whole else (best[outside], position[outside])
        better = value > known
        if nan:
            better |= np.isnan(value)
        np.maximum(known, value, out=known)
        # The numbers rise, so the last one that was better is the greatest: no branch for each element.
        which = tuple(
            int(np.searchsorted(numbers, k)) for numbers, (k, _, _) in zip(elements, at, strict=True)
        )
        np.maximum(where, better.view(np.int8) * number[which], out=where)
    return best, flat_places(position, elements, windows)


def flat_places(place: Array, elements: Sequence[Array], windows: Geometry) -> Array:
    """Return numbers of elements of windows, of which those listed are counted, as numbers within a channel."""
    steps = [prod(windows.sizes[i + 1 :]) for i in range(len(windows.sizes))]
    shifts = [numbers * gap * step for numbers, gap, step in zip(elements, windows.gaps, steps, strict=True)]
    first = grid([start * step for start, step in zip(windows.starts(), steps, strict=True)], np.add)
    return grid(shifts, np.add).reshape(-1).take(place) + first


def max_pool(count: int) -> Any:
    """Return the kernel for so many dimensions."""

    def kernel(
        input: Array,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None,
        padding: int | Sequence[int],
        dilation: int | Sequence[int],
        ceil_mode: bool,
    ) -> tuple[Array, Array]:
        return largest(input, Geometry(input, count, kernel_size, stride, padding, dilation, ceil_mode))

    return kernel


@cpu.kernel("_unpool", dtypes="number", check=True)
def unpool(values: Array, indices: Array, size: Sizes, dims: int) -> Array:
    # A copy, because another thread may change indices between the check and the use.
    count, elements, indices = prod(size[:-dims]), prod(size[-dims:]), indices.copy()
    if indices.size and (indices.min() < 0 or indices.max() >= elements):
        raise errors.IndexValueError("an index is outside of its channel")
    flat = (
        indices.reshape(count, prod(indices.shape[-dims:])) + np.arange(count)[:, None] * elements
    ).reshape(-1)
    # bincount adds its weights in double precision, in less time than np.add.at.
    if values.dtype.kind == "f":
        return np.bincount(flat, values.reshape(-1), count * elements).astype(values.dtype).reshape(size)
    result = np.zeros(count * elements, values.dtype)
    np.add.at(result, flat, values.reshape(-1))
    return result.reshape(size)


# --- the mean --------------------------------------------------------------------------------------------------


def sums(x: Array, windows: Geometry) -> Array:
    """Return the sum of each window: along one dimension after the other."""
    lead = x.ndim - len(windows.sizes)
    for axis, (reach, out) in enumerate(zip(windows.reaches(), windows.out, strict=True), lead):
        before: Any = (slice(None),) * axis
        total = np.zeros((*x.shape[:axis], out, *x.shape[axis + 1 :]), x.dtype)
        for _, inside, outside in reach:
            total[(*before, outside)] += x[(*before, inside)]
        x = total
    return x


def divisors(windows: Geometry, count_include_pad: bool) -> Array:
    """Return how many elements each window has."""
    counts = []
    for size, width, pad, start in zip(
        windows.sizes, windows.widths, windows.pads, windows.starts(), strict=True
    ):
        # As in PyTorch, what ceil_mode adds behind the right padding counts in no case.
        stop = np.minimum(start + width, size + pad)
        counts.append(stop - start if count_include_pad else np.minimum(stop, size) - np.maximum(start, 0))
    return grid(counts, np.multiply)


def mean_of(
    input: Array,
    count: int,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None,
    padding: int | Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Array:
    """Return the mean of each window."""
    windows = Geometry(input, count, kernel_size, stride, padding, 1, ceil_mode)
    total = sums(input, windows)
    divisor = np.asarray(divisor_override or divisors(windows, count_include_pad))
    if input.dtype.kind == "f":
        total /= divisor.astype(input.dtype)
        return total
    quotient = np.abs(total) // np.abs(divisor)  # as in C, towards zero
    return quotient * np.sign(total) * np.sign(divisor)


@cpu.kernel("avg_pool1d", dtypes=("int64", "floating"), check=True)
def avg_pool1d(
    input: Array,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None,
    padding: int | Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
) -> Array:
    return mean_of(input, 1, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool(count: int) -> Any:
    """Return the kernel for so many dimensions."""

    def kernel(
        input: Array,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None,
        padding: int | Sequence[int],
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> Array:
        return mean_of(
            input, count, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
        )

    return kernel


for dims in (1, 2, 3):
    cpu.kernel(f"max_pool{dims}d_with_indices", max_pool(dims), dtypes="real_number", check=True)
    if dims > 1:
        cpu.kernel(f"avg_pool{dims}d", avg_pool(dims), dtypes=("int64", "floating"), check=True)
