"""Softmax along a dimension, its logarithm, and the gradients of both, in CUDA C++."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final, NamedTuple

from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.layouts import name_of
from tt.backends.cuda.launch.programs import Program
from tt.backends.cuda.launch.reduction_launch import FLOATING, Tuning, aligned, axes, collapsed, line_width
from tt.core.library import KernelTable

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["PROGRAM", "tables"]

PROGRAM: Final = Program("softmax.cuh")


def tables(backend: CudaBackend, tuning: Tuning | None = None) -> list[KernelTable]:
    """Return the kernels of a backend; nothing is compiled before it is called."""
    table, tuning = KernelTable(device="cuda"), tuning or Tuning()
    kernel = partial(table.kernel, dtypes=FLOATING, half="native", priority=1)
    for op, name in (("softmax", "Softmax"), ("log_softmax", "LogSoftmax")):
        forward = _kernel(backend, f"{name}Forward", tuning)
        backward = _kernel(backend, f"{name}Backward", tuning)
        kernel(op, lambda self, dim, f=forward: f(dim, self), takes=("self", "dim"))
        kernel(
            f"_{op}_backward",
            lambda grad, output, dim, f=backward: f(dim, grad, output),
            takes=("grad", "output", "dim"),
        )
    return [table]


class Along(NamedTuple):
    """The lines along a dimension, and the kernel that processes them.

    Attributes
    ----------
    kernel : str
        The kernel and its arguments, in which `{}` is the computed function.
    grid : int
        How many blocks.
    numbers : tuple of int
        Sizes before, along and after the dimension, and three strides for each of two inputs.
    """

    kernel: str
    grid: int
    numbers: tuple[int, ...]


def _kernel(backend: CudaBackend, name: str, tuning: Tuning) -> Callable[..., StridedHandle]:
    def run(dim: int, *inputs: StridedHandle) -> StridedHandle:
        first = inputs[0]
        if any(other.shape != first.shape for other in inputs):
            raise ValueError(
                "a gradient and a result that do not fit each other, which the shape rule refuses"
            )
        axis = axes(dim, first.ndim)
        out = backend.empty(first.shape, first.dtype)
        if 0 in first.shape:
            return out
        plan = _plan(first.shape, tuple(i.strides for i in inputs), axis, _lanes(inputs), tuning)
        if plan is None:
            inputs = tuple(backend.clone(i) for i in inputs)
            plan = _plan(first.shape, tuple(i.strides for i in inputs), axis, _lanes(inputs), tuning)
            assert plan is not None, (
                "contiguous tensors have a plan"
            )  # the dimensions on each side join into one
        kernel = PROGRAM.kernel(plan.kernel.format(f"{name}<{name_of(first.dtype)}>"))
        kernel(backend, (plan.grid,), (tuning.threads,), (inputs[0], inputs[-1], out, *plan.numbers))
        return out

    return run


def _lanes(inputs: tuple[StridedHandle, ...]) -> int:
    return 16 // inputs[0].dtype.itemsize if aligned(*inputs) else 1


@lru_cache(maxsize=8192)
def _plan(
    shape: tuple[int, ...],
    strides: tuple[tuple[int, ...], ...],
    axis: tuple[int, ...],
    lanes: int,
    tuning: Tuning,
) -> Along | None:
    """Return how lines along a dimension are gone over, or None for a layout that has to be copied."""
    at = axis[0] if axis else 0
    count = shape[at] if axis else 1
    outer = inner = 1
    walked: list[int] = []
    for each in strides:
        steps = []
        for dims in (range(at), range(at + 1, len(shape))) if axis else ((), ()):
            runs = collapsed([(shape[d], each[d]) for d in dims])
            if len(runs) > 1:
                return None
            steps.append(runs[0] if runs else (1, 0))
        (outer, outer_stride), (inner, inner_stride) = steps
        walked += (outer_stride, each[at] if axis else 1, inner_stride)
    lines = outer * inner
    # Where neighbouring lines are closer than the elements of one, threads side by side take lines side by side.
    if inner >= 8 and abs(walked[2]) < abs(walked[1]):
        kernel, grid = f"softmax_columns<{{}}, {tuning.threads}>", outer * -(-inner // 32)
    else:
        steps_fit = all(step % lanes == 0 for step in walked[0::3]) and count % lanes == 0
        plain = inner == 1 and all(step == 1 for step in walked[1::3])
        # Vectors need lines without gaps, each of which begins at a multiple of the vector.
        lanes = lanes if plain and steps_fit else 1
        width, packs, together = line_width(count, lanes, tuning)
        kernel = f"softmax_lines<{{}}, {lanes}, {packs}, {width}, {tuning.threads}>"
        grid = -(-lines // together)
    numbers = (outer, count, inner, *walked, *(walked if len(strides) == 1 else ()))
    return Along(kernel, min(grid, 2**31 - 1), numbers)
