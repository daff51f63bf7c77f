"""Kernels of what accumulates along a dimension, in CUDA C++."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.layouts import name_of
from tt.backends.cuda.launch.programs import Program
from tt.backends.cuda.launch.reduction_launch import (
    FLOATING,
    INTEGRAL,
    Tuning,
    aligned,
    axes,
    collapsed,
    workspace,
)
from tt.core.library import KernelTable

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["PROGRAM", "running_sums", "tables"]

PROGRAM: Final = Program("scan.cuh")

_ITEMS: Final = {1: 8, 2: 8, 4: 4, 8: 2}
"""Bytes of an element -> how many neighbours a thread takes at a time: 16 bytes, as far as registers go."""

_SHORT: Final = 512
"""Up to this length a warp serves a line, beyond it a block."""

_ACCUMULATOR: Final = 16
"""The bytes that an accumulator has at most."""

_NUMBERS: Final = (*FLOATING, *INTEGRAL)


def tables(backend: CudaBackend, tuning: Tuning | None = None) -> list[KernelTable]:
    """Return the kernels of a backend; nothing is compiled before it is called."""
    table, tuning = KernelTable(device="cuda"), tuning or Tuning()
    for op, name, with_places, dtypes in (
        ("cumsum", "Sum", False, _NUMBERS),
        ("cumprod", "Product", False, _NUMBERS),
        ("cummax", "Largest", True, (*_NUMBERS, "bool")),
        ("cummin", "Smallest", True, (*_NUMBERS, "bool")),
        ("logcumsumexp", "LogSumExp", False, FLOATING),
    ):
        kernel = _kernel(backend, name, with_places, tuning)
        table.kernel(op, kernel, dtypes=dtypes, takes=("self", "dim"), half="native", priority=1)
    return [table]


def running_sums(backend: CudaBackend) -> Callable[[StridedHandle, int], StridedHandle]:
    """Return a function that adds up along a dimension, for kernels of other families."""
    return _kernel(backend, "Sum", False, Tuning())


class Along(NamedTuple):
    """The plan for scanning lines along a dimension.

    Attributes
    ----------
    kernel : str
        The kernel and its arguments, in which `{0}` is the operation and `{1}` whether it makes totals.
    grid : int
        How many blocks.
    numbers : tuple of int
        Sizes before, along and after the dimension, three strides, the parts of a line and the length of each.
    """

    kernel: str
    grid: int
    numbers: tuple[int, ...]


def _kernel(backend: CudaBackend, name: str, with_places: bool, tuning: Tuning) -> Callable[..., Any]:
    def run(self: StridedHandle, dim: int) -> Any:
        axis = axes(dim, self.ndim)
        out = backend.empty(self.shape, self.dtype)
        positions = backend.empty(self.shape, np.dtype(np.int64)) if with_places else None
        if out.nbytes:
            plan = _plan(self.shape, self.strides, axis, self.dtype.itemsize, aligned(self), tuning)
            if plan is None:
                self = backend.clone(self)
                plan = _plan(self.shape, self.strides, axis, self.dtype.itemsize, aligned(self), tuning)
                assert plan is not None, (
                    "a contiguous tensor has a plan"
                )  # the dimensions on each side join into one
            _launch(backend, f"scan::{name}<{name_of(self.dtype)}>", plan, tuning, self, out, positions)
        return (out, positions) if with_places else out

    return run


def _launch(
    backend: CudaBackend, operation: str, plan: Along, tuning: Tuning, input: StridedHandle, *results: Any
) -> None:
    block, parts = (tuning.threads,), plan.numbers[-2]
    partial = None
    # With lines cut into parts, one launch adds up each part and one scans these sums; the last scan starts
    # from them.
    if parts > 1:
        lines = plan.numbers[0] * plan.numbers[2]
        partial = workspace(backend, lines * parts * _ACCUMULATOR)
        totals = PROGRAM.kernel(plan.kernel.format(operation, "true"))
        totals(backend, (plan.grid,), block, (input, *results, partial, *plan.numbers))
        carries = PROGRAM.kernel(f"scan_carries<{operation}, {tuning.threads}>")
        carries(backend, (min(lines, 2**31 - 1),), block, (partial, lines, parts))
    kernel = PROGRAM.kernel(plan.kernel.format(operation, "false"))
    kernel(backend, (plan.grid,), block, (input, *results, partial, *plan.numbers))


@lru_cache(maxsize=8192)
def _plan(
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    axis: tuple[int, ...],
    itemsize: int,
    may_load: bool,
    tuning: Tuning,
) -> Along | None:
    """Return how lines along a dimension are scanned, or None for a layout that has to be copied."""
    at = axis[0] if axis else 0
    count, step = (shape[at], strides[at]) if axis else (1, 1)
    sides = []
    for dims in (range(at), range(at + 1, len(shape))) if axis else ((), ()):
        runs = collapsed([(shape[d], strides[d]) for d in dims])
        # The kernels know one stride on each side of the line; more cannot be described to them.
        if len(runs) > 1:
            return None
        sides.append(runs[0] if runs else (1, 0))
    (outer, outer_stride), (inner, inner_stride) = sides
    lines, threads, items = outer * inner, tuning.threads, _ITEMS[itemsize]
    # Wide loads are aligned only if every line begins at a multiple of their width.
    whole = outer == 1 or (outer_stride % items == 0 and count % items == 0)
    vectors = str(may_load and inner == 1 and step == 1 and whole).lower()
    chunk, parts = count, 1
    # Neighbouring threads then read neighbouring addresses, which a block along the line would not.
    columns = inner >= 8 and abs(inner_stride) < abs(step)
    if columns:
        # A thread walks along a line; lines are cut if there are too few to keep the GPU busy.
        chunk = -(-count // max(1, min(tuning.blocks * threads // lines, count // 64)))
        parts = -(-count // chunk)
        kernel, tasks = f"scan_columns<{{0}}, {{1}}, {threads}>", -(-lines * parts // threads)
    elif count <= _SHORT:
        tasks = -(-lines * 32 // threads)
        kernel = f"scan_lines<{{0}}, {items}, {vectors}, {{1}}, 32, {threads}>"
    else:
        tile = threads * items
        tiles = -(-count // tile)
        # A part is read twice, so it has to be of at least four tiles to be worth another launch.
        chunk = tile * -(-tiles // max(1, min(tuning.blocks // lines, tiles // 4)))
        parts = -(-count // chunk)
        kernel, tasks = f"scan_lines<{{0}}, {items}, {vectors}, {{1}}, {threads}, {threads}>", lines * parts
    numbers = (outer, count, inner, outer_stride, step, inner_stride, parts, chunk)
    return Along(kernel, min(tasks, 2**31 - 1), numbers)
