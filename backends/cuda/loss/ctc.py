"""The loss of sequences whose alignment is unknown, and its gradient, by own kernels: a block for each item."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.layouts import contiguous, name_of, packed, uploaded
from tt.backends.cuda.launch.programs import Program
from tt.backends.cuda.launch.reduction_launch import FLOATING, wide
from tt.backends.cuda.runtime.device_asserts import kind_of
from tt.core.library import KernelTable

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["PROGRAM", "kernel_names", "tables"]

PROGRAM: Final = Program("ctc.cuh")

MOST_THREADS: Final = 512
"""Of a block; more states than these are taken by turns."""

SEQUENCES: Final = ("log_probs", "targets", "input_lengths", "target_lengths")


def kernel_names(dtype: str) -> list[str]:
    """Return the names of all kernels for a dtype, float32 or float64."""
    return [f"ctc_forward<{dtype}>", f"ctc_backward<{dtype}>"]


def tables(backend: CudaBackend) -> list[KernelTable]:
    """Return the kernels of this family."""
    table = KernelTable(device="cuda")
    options: dict[str, Any] = {"dtypes": FLOATING, "half": "native", "priority": 1, "check": True}

    def as_computed(handle: StridedHandle) -> StridedHandle:
        dtype = wide(handle.dtype)
        return contiguous(backend, handle if handle.dtype == dtype else backend.cast(handle, dtype))

    def narrow(handle: StridedHandle, dtype: np.dtype[Any]) -> StridedHandle:
        return handle if handle.dtype == dtype else backend.cast(handle, dtype)

    def launch(name: str, x: StridedHandle, labels: int, *args: Any) -> None:
        # A barrier waits for whole warps.
        threads = min(-(-(2 * labels + 1) // 32) * 32, MOST_THREADS)
        PROGRAM.kernel(f"{name}<{name_of(x.dtype)}>")(backend, (x.shape[1],), (threads,), args)

    def lengths(inputs: Sequence[int], targets: Sequence[int]) -> StridedHandle:
        return uploaded(backend, np.array([*inputs, *targets], np.int64))

    @table.kernel("_ctc_loss", takes=(*SEQUENCES, "blank", "zero_infinity"), **options)
    def ctc_loss(
        log_probs: StridedHandle, targets: StridedHandle, input_lengths: Sequence[int],
        target_lengths: Sequence[int], blank: int, zero_infinity: bool,
    ) -> tuple[StridedHandle, StridedHandle]:  # fmt: skip
        x, (steps, batch, classes) = as_computed(log_probs), log_probs.shape
        labels = targets.shape[1]
        loss = backend.empty((batch,), x.dtype)
        # The states are the labels with a blank before, between and after them.
        log_alpha = backend.empty((batch, steps, 2 * labels + 1), x.dtype)
        how = packed(steps, batch, classes, labels, blank, int(zero_infinity))
        sizes = contiguous(backend, targets), lengths(input_lengths, target_lengths)
        failure = np.uint64(backend.failures.address), kind_of("ctc_loss")
        launch("ctc_forward", x, labels, x, *sizes, loss, log_alpha, how, *failure)
        backend.failures.launched()
        return narrow(loss, log_probs.dtype), narrow(log_alpha, log_probs.dtype)

    @table.kernel(
        "_ctc_loss_backward",
        takes=("grad", *SEQUENCES, "loss", "log_alpha", "blank", "zero_infinity"),
        **options,
    )
    def ctc_loss_backward(
        grad: StridedHandle, log_probs: StridedHandle, targets: StridedHandle, input_lengths: Sequence[int],
        target_lengths: Sequence[int], loss: StridedHandle, log_alpha: StridedHandle, blank: int, zero_infinity: bool,
    ) -> StridedHandle:  # fmt: skip
        g, x, losses, alpha = map(as_computed, (grad, log_probs, loss, log_alpha))
        (steps, batch, classes), labels = log_probs.shape, targets.shape[1]
        states = 2 * labels + 1
        slope, rows = backend.empty(x.shape, x.dtype), backend.empty((batch, 2, states), x.dtype)
        shares, links = (
            backend.empty((batch, states), x.dtype),
            backend.empty((batch, labels), np.dtype(np.int64)),
        )
        how = packed(steps, batch, classes, labels, blank, int(zero_infinity))
        launch(
            "ctc_backward", x, labels, g, x, contiguous(backend, targets), lengths(input_lengths, target_lengths),
            links, losses, alpha, rows, shares, slope, how,
        )  # fmt: skip
        return narrow(slope, log_probs.dtype)

    return [table]
