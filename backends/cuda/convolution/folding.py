"""Windows of images as columns, and images from columns, by own kernels."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Final

from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.layouts import THREADS, contiguous, grid_of, name_of, packed
from tt.backends.cuda.launch.programs import Program
from tt.backends.cuda.windows import each, reach
from tt.core.library import KernelTable

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["PROGRAM", "kernel_names", "tables"]

PROGRAM: Final = Program("folding.cuh")

UNITS: Final = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64", 16: "complex128"}
"""Words by which elements are copied, by their size."""


def kernel_names(dtype: str) -> list[str]:
    """Return the names of all kernels for a dtype."""
    return [*(f"windows_to_columns<{unit}>" for unit in UNITS.values()), f"columns_to_image<{dtype}>"]


def tables(backend: CudaBackend) -> list[KernelTable]:
    """Return the kernels of this family."""
    table = KernelTable(device="cuda")
    options: dict[str, Any] = {"dtypes": "all", "half": "native", "priority": 1, "check": True}

    def launch(name: str, count: int, source: StridedHandle, out: StridedHandle, how: bytes) -> StridedHandle:
        PROGRAM.kernel(name)(backend, grid_of(count), (THREADS,), (contiguous(backend, source), out, how))
        return out

    @table.kernel("functional_unfold", **options)
    def unfold(
        input: StridedHandle,
        kernel_size: int | Sequence[int],
        dilation: int | Sequence[int],
        padding: int | Sequence[int],
        stride: int | Sequence[int],
    ) -> StridedHandle:
        how, window, blocks = _folded(input.shape, kernel_size, dilation, padding, stride)
        shape = (*input.shape[:-3], input.shape[-3] * window, blocks)
        out = backend.empty(shape, input.dtype)
        # Elements are only moved, so one kernel for each size serves all dtypes.
        return launch(f"windows_to_columns<{UNITS[input.dtype.itemsize]}>", prod(shape), input, out, how)

    @table.kernel("functional_fold", **options)
    def fold(
        input: StridedHandle,
        output_size: int | Sequence[int],
        kernel_size: int | Sequence[int],
        dilation: int | Sequence[int],
        padding: int | Sequence[int],
        stride: int | Sequence[int],
    ) -> StridedHandle:
        channels = input.shape[-2] // prod(each(kernel_size, 2))
        shape = (*input.shape[:-2], channels, *each(output_size, 2))
        how, _, _ = _folded(shape, kernel_size, dilation, padding, stride)
        out = backend.empty(shape, input.dtype)
        return launch(f"columns_to_image<{name_of(input.dtype)}>", prod(shape), input, out, how)

    return [table]


def _folded(
    image: tuple[int, ...],
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int],
    padding: int | Sequence[int],
    stride: int | Sequence[int],
) -> tuple[bytes, int, int]:
    """Return the struct `Folded` of an image's shape, the elements of a window, and how many windows there are."""
    widths, gaps, pads, hops = (each(value, 2) for value in (kernel_size, dilation, padding, stride))
    blocks = tuple(
        reach(size, pad, width, gap, hop)
        for size, pad, width, gap, hop in zip(image[-2:], pads, widths, gaps, hops, strict=True)
    )
    how = packed(prod(image[:-2]), *image[-2:], *widths, *blocks, *hops, *pads, *gaps)
    return how, prod(widths), prod(blocks)
