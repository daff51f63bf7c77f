"""Pooling on CUDA by own kernels: a thread for each element of the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.backends.cuda.combining import Combiner, reduce_in_order
from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.gather_scatter import Mover
from tt.backends.cuda.launch.layouts import THREADS, contiguous, grid_of, packed
from tt.backends.cuda.launch.programs import Program
from tt.backends.cuda.windows import each, three
from tt.core.library import DETERMINISM, KernelTable, contiguous_strides

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["kernel_names", "tables"]

PROGRAM: Final = Program("pooling.cuh")
Sizes = Sequence[int]

LARGEST: Final = (
    "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64",
)  # fmt: skip
MEANS: Final = ("int64", "float16", "bfloat16", "float32", "float64")
# The type in which values are added by atomics; the others have none.
ADDED: Final = {
    "float16": "float32", "bfloat16": "float32", "float32": "float32", "float64": "float64", "int64": "int64",
}  # fmt: skip


def kernel_names(dtype: str) -> list[str]:
    """Return the names of all kernels for a dtype."""
    names = [f"largest<{dtype}>"] if dtype in LARGEST else []
    if dtype in MEANS:
        names += [
            f"{name}<{dtype}, {which}>" for name in ("mean", "mean_backward") for which in ("true", "false")
        ]
    if dtype in MEANS[1:]:
        names.append(f"largest_at<{dtype}>")
    if dtype in ADDED:
        names.append(f"placed_sums<{dtype}, {ADDED[dtype]}>")
    return names


def windows_in(size: int, width: int, step: int, pad: int, gap: int, ceil_mode: bool) -> int:
    """Return how many windows a dimension has; with ceil_mode, also the last that it does not fill."""
    span = size + 2 * pad - gap * (width - 1) - 1
    out = (-(-span // step) if ceil_mode else span // step) + 1
    # As in PyTorch, a window that would begin in the padding on the right is left out.
    return out - 1 if ceil_mode and (out - 1) * step >= size + pad else out


class Windows:
    """The windows over the last dimensions of a tensor.

    Attributes
    ----------
    lead : tuple of int
        The sizes before those dimensions.
    sizes, out : tuple of int
        The sizes of those dimensions, and how many windows each has.
    """

    def __init__(
        self,
        lead: Sizes,
        sizes: Sizes,
        kernel: int | Sizes,
        stride: int | Sizes | None,
        padding: int | Sizes,
        dilation: int | Sizes,
        ceil_mode: bool,
    ) -> None:
        count = len(sizes)
        self.lead, self.sizes = tuple(lead), tuple(sizes)
        self.widths, self.pads, self.gaps = (each(value, count) for value in (kernel, padding, dilation))
        # No stride, or an empty one, means that windows do not overlap.
        self.hops = each(stride, count) if stride else self.widths
        self.out = tuple(
            windows_in(*one, ceil_mode)
            for one in zip(self.sizes, self.widths, self.hops, self.pads, self.gaps, strict=True)
        )

    @classmethod
    def over(cls, x: StridedHandle, count: int, *how: Any) -> Windows:
        """Return the windows over the last so many dimensions."""
        return cls(x.shape[: x.ndim - count], x.shape[x.ndim - count :], *how)

    @property
    def packed(self) -> bytes:
        """As the kernels take them."""
        return packed(
            prod(self.lead), *three(self.sizes, 1), *three(self.widths, 1), *three(self.out, 1),
            *three(self.hops, 1), *three(self.pads, 0), *three(self.gaps, 1),
        )  # fmt: skip


def covering(lead: Sizes, sizes: Sizes, out: Sizes) -> bytes:
    """Return windows that together cover the dimensions, as the kernels take them."""
    ones, zeros = (1, 1, 1), (0, 0, 0)
    return packed(prod(lead), *three(sizes, 1), *ones, *three(out, 1), *ones, *zeros, *ones)


def tables(backend: CudaBackend) -> list[KernelTable]:
    """Return the kernels of this family."""
    table = KernelTable(device="cuda")
    options: dict[str, Any] = {"half": "native", "priority": 1, "check": True}
    for count in (1, 2, 3):
        table.kernel(f"max_pool{count}d_with_indices", _largest(backend, count), dtypes=LARGEST, **options)
        table.kernel(f"avg_pool{count}d", _mean(backend, count), dtypes=MEANS, **options)
        table.kernel(f"adaptive_avg_pool{count}d", _adaptive(backend, count), dtypes=MEANS[1:], **options)
        table.kernel(
            f"adaptive_max_pool{count}d_with_indices",
            _largest_cover(backend, count),
            dtypes=MEANS[1:],
            **options,
        )
    table.kernel("_fractional_max_pool", _fractional(backend), dtypes=MEANS[1:], **options)
    table.kernel("_unpool", _unpool(backend), dtypes=tuple(ADDED), **options)
    table.kernel("_avg_unpool", _mean_backward(backend), dtypes=MEANS[1:], **options)
    table.kernel("_adaptive_avg_unpool", _adaptive_backward(backend), dtypes=MEANS[1:], **options)
    return [table]


def _launch(backend: CudaBackend, name: str, count: int, *args: Any) -> None:
    PROGRAM.kernel(name)(backend, grid_of(count), (THREADS,), args)


def _largest(backend: CudaBackend, count: int) -> Callable[..., tuple[StridedHandle, StridedHandle]]:
    def largest(
        input: StridedHandle,
        kernel_size: int | Sizes,
        stride: int | Sizes | None,
        padding: int | Sizes,
        dilation: int | Sizes,
        ceil_mode: bool,
    ) -> tuple[StridedHandle, StridedHandle]:
        windows = Windows.over(input, count, kernel_size, stride, padding, dilation, ceil_mode)
        shape = (*windows.lead, *windows.out)
        values, positions = backend.empty(shape, input.dtype), backend.empty(shape, "int64")
        name = f"largest<{input.dtype.name}>"
        _launch(backend, name, prod(shape), contiguous(backend, input), values, positions, windows.packed)
        return values, positions

    return largest


def _largest_at(
    backend: CudaBackend,
    input: StridedHandle,
    out: Sizes,
    windows: bytes,
    samples: StridedHandle | None = None,
) -> tuple[StridedHandle, StridedHandle]:
    shape = (*input.shape[: input.ndim - len(out)], *out)
    values, positions = backend.empty(shape, input.dtype), backend.empty(shape, "int64")
    args = (contiguous(backend, input), samples, values, positions, windows, len(out))
    _launch(backend, f"largest_at<{input.dtype.name}>", prod(shape), *args)
    return values, positions


def _largest_cover(backend: CudaBackend, count: int) -> Callable[..., tuple[StridedHandle, StridedHandle]]:
    def largest(
        input: StridedHandle, output_size: int | Sequence[int | None], return_indices: bool
    ) -> tuple[StridedHandle, StridedHandle]:
        lead, sizes = input.shape[: input.ndim - count], input.shape[input.ndim - count :]
        out = _wanted(sizes, output_size)
        return _largest_at(backend, input, out, covering(lead, sizes, out))

    return largest


def _wanted(sizes: Sizes, output_size: int | Sequence[int | None]) -> Sizes:
    """Return how many windows each dimension has; None stands for its size."""
    count = len(sizes)
    counts = (output_size,) * count if isinstance(output_size, int) else tuple(output_size)
    counts = counts * count if len(counts) == 1 else counts
    return tuple(size if want is None else want for size, want in zip(sizes, counts, strict=True))


def _fractional(backend: CudaBackend) -> Callable[..., tuple[StridedHandle, StridedHandle]]:
    def fractional(
        input: StridedHandle, kernel_size: Sizes, output_size: Sizes, samples: StridedHandle
    ) -> tuple[StridedHandle, StridedHandle]:
        count, ones = len(kernel_size), (1, 1, 1)
        out = each(output_size, count)
        lead, sizes = input.shape[:-count], input.shape[-count:]
        windows = packed(
            prod(lead), *three(sizes, 1), *three(kernel_size, 1), *three(out, 1), *ones, 0, 0, 0, *ones
        )
        drawn = samples if samples.dtype == input.dtype else backend.cast(samples, input.dtype)
        return _largest_at(backend, input, out, windows, contiguous(backend, drawn))

    return fractional


def _unpool(backend: CudaBackend) -> Callable[..., StridedHandle]:
    def unpool(values: StridedHandle, indices: StridedHandle, size: Sizes, dims: int) -> StridedHandle:
        dtype = values.dtype.name
        if DETERMINISM.required and values.dtype.kind == "f":  # below, atomics add in any order
            return _unpool_in_order(backend, values, indices, size, dims)
        # In the wider type, which atomics know; the cast at the end rounds once.
        sums = backend.normalise(backend.namespace.zeros(tuple(size), dtype=np.dtype(ADDED[dtype])))
        each_of, channel = prod(values.shape[values.ndim - dims :]), prod(size[len(size) - dims :])
        dense = contiguous(backend, values), contiguous(backend, indices)
        name = f"placed_sums<{dtype}, {ADDED[dtype]}>"
        _launch(backend, name, prod(values.shape), *dense, sums, each_of, channel, prod(values.shape))
        return sums if ADDED[dtype] == dtype else backend.cast(sums, values.dtype)

    return unpool


def _unpool_in_order(
    backend: CudaBackend, values: StridedHandle, indices: StridedHandle, size: Sizes, dims: int
) -> StridedHandle:
    lead = prod(values.shape[: values.ndim - dims])
    rows = (lead, prod(values.shape[values.ndim - dims :]))
    positions, source = (
        contiguous(backend, h).view(rows, contiguous_strides(rows)) for h in (indices, values)
    )
    shape = (lead, prod(size[len(size) - dims :]))
    sums = backend.normalise(backend.namespace.zeros(shape, dtype=values.dtype))
    reduce_in_order(Combiner(Mover(backend)), sums, 1, positions, source, "sum", True, "scatter_add")
    return sums.view(tuple(size), contiguous_strides(tuple(size)))


def _mean(backend: CudaBackend, count: int) -> Callable[..., StridedHandle]:
    def mean(
        input: StridedHandle,
        kernel_size: int | Sizes,
        stride: int | Sizes | None,
        padding: int | Sizes,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None = None,
    ) -> StridedHandle:
        windows = Windows.over(input, count, kernel_size, stride, padding, 1, ceil_mode)
        y = backend.empty((*windows.lead, *windows.out), input.dtype)
        # PyTorch refuses a divisor of 0, so that number can stand for none.
        args = (contiguous(backend, input), y, count_include_pad, divisor_override or 0, windows.packed)
        _launch(backend, f"mean<{input.dtype.name}, false>", prod(y.shape), *args)
        return y

    # The operator of one dimension has no divisor, and kernels take exactly its arguments.
    def without_divisor(
        input: StridedHandle,
        kernel_size: int | Sizes,
        stride: int | Sizes | None,
        padding: int | Sizes,
        ceil_mode: bool,
        count_include_pad: bool,
    ) -> StridedHandle:
        return mean(input, kernel_size, stride, padding, ceil_mode, count_include_pad)

    return without_divisor if count == 1 else mean


def _mean_backward(backend: CudaBackend) -> Callable[..., StridedHandle]:
    def mean_backward(
        grad: StridedHandle,
        size: Sizes,
        kernel_size: Sizes,
        stride: Sizes | None,
        padding: Sizes,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> StridedHandle:
        lead = grad.shape[: grad.ndim - len(size)]
        windows = Windows(lead, size, kernel_size, stride, padding, 1, ceil_mode)
        x = backend.empty((*lead, *size), grad.dtype)
        args = (contiguous(backend, grad), x, count_include_pad, divisor_override or 0, windows.packed)
        _launch(backend, f"mean_backward<{grad.dtype.name}, false>", prod(x.shape), *args)
        return x

    return mean_backward


def _adaptive(backend: CudaBackend, count: int) -> Callable[..., StridedHandle]:
    def adaptive(input: StridedHandle, output_size: int | Sequence[int | None]) -> StridedHandle:
        lead, sizes = input.shape[: input.ndim - count], input.shape[input.ndim - count :]
        out = _wanted(sizes, output_size)
        y = backend.empty((*lead, *out), input.dtype)
        args = (contiguous(backend, input), y, False, 0, covering(lead, sizes, out))
        _launch(backend, f"mean<{input.dtype.name}, true>", prod(y.shape), *args)
        return y

    return adaptive


def _adaptive_backward(backend: CudaBackend) -> Callable[..., StridedHandle]:
    def adaptive_backward(grad: StridedHandle, size: Sizes) -> StridedHandle:
        count = len(size)
        lead, out = grad.shape[: grad.ndim - count], grad.shape[grad.ndim - count :]
        x = backend.empty((*lead, *size), grad.dtype)
        args = (contiguous(backend, grad), x, False, 0, covering(lead, size, out))
        _launch(backend, f"mean_backward<{grad.dtype.name}, true>", prod(x.shape), *args)
        return x

    return adaptive_backward
