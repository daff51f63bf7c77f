"""Losses of several classes with a margin, and their gradients, in CUDA C++: a warp for each row of scores.

Invalid classes are recorded on the device and raised when the host next waits for it (see
`runtime/device_asserts.py`); until then their losses and gradients are NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.layouts import THREADS, contiguous, grid_of, name_of
from tt.backends.cuda.launch.programs import Program
from tt.backends.cuda.launch.reduction_launch import FLOATING
from tt.backends.cuda.runtime.device_asserts import kind_of
from tt.core.library import KernelTable

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["PROGRAM", "kernel_names", "tables"]

PROGRAM: Final = Program("margins.cuh")


def kernel_names(dtype: str) -> list[str]:
    """Return the names of all kernels for a dtype."""
    return [
        f"{loss}{what}<{dtype}>" for loss in ("multi_margin", "multilabel_margin") for what in ("", "_slopes")
    ]


def tables(backend: CudaBackend) -> list[KernelTable]:
    """Return the kernels of this family."""
    table = KernelTable(device="cuda")
    options: dict[str, Any] = {"dtypes": FLOATING, "half": "native", "priority": 1, "check": True}

    def launch(
        op: str, grad: StridedHandle | None, input: StridedHandle, target: StridedHandle, *how: Any
    ) -> StridedHandle:
        rows, classes = input.shape
        name = f"{op[1:]}<{name_of(input.dtype)}>"
        out = backend.empty((rows,), input.dtype)
        arrays = [contiguous(backend, input), contiguous(backend, target)]
        if grad is not None:
            name = name.replace("<", "_slopes<")
            out = backend.empty((rows, classes), input.dtype)
            arrays.insert(0, contiguous(backend, grad))
        # Scratch for the kernel: which classes are targets, as the target lists them by number.
        if op == "_multilabel_margin":
            arrays.append(backend.empty((rows, classes), "bool"))
        args = (*arrays, out, rows, classes, *how, np.uint64(backend.failures.address), kind_of(op))
        # A warp takes a row.
        PROGRAM.kernel(name)(backend, grid_of(rows * 32), (THREADS,), args)
        backend.failures.launched()
        return out

    @table.kernel("_multi_margin", **options)
    def multi_margin(input: StridedHandle, target: StridedHandle, p: int, margin: float) -> StridedHandle:
        return launch("_multi_margin", None, input, target, p, float(margin))

    @table.kernel("_multi_margin_backward", **options)
    def multi_margin_backward(
        grad: StridedHandle, input: StridedHandle, target: StridedHandle, p: int, margin: float
    ) -> StridedHandle:
        return launch("_multi_margin", grad, input, target, p, float(margin))

    @table.kernel("_multilabel_margin", **options)
    def multilabel_margin(input: StridedHandle, target: StridedHandle) -> StridedHandle:
        return launch("_multilabel_margin", None, input, target)

    @table.kernel("_multilabel_margin_backward", **options)
    def multilabel_margin_backward(
        grad: StridedHandle, input: StridedHandle, target: StridedHandle
    ) -> StridedHandle:
        return launch("_multilabel_margin", grad, input, target)

    return [table]
