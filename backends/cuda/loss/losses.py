"""Losses and their gradients, in CUDA C++.

Invalid classes and probabilities are recorded on the device and raised when the host next waits
for it (see `runtime/device_asserts.py`); until then their losses and gradients are NaN.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.layouts import contiguous, name_of
from tt.backends.cuda.launch.programs import Program
from tt.backends.cuda.launch.reduction_launch import (
    FLOATING,
    Tuning,
    Walker,
    aligned,
    elementwise,
    index_type,
    only,
    wide,
    workspace,
)
from tt.backends.cuda.runtime.device_asserts import kind_of
from tt.core.library import KernelTable, errors

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["PROGRAM", "tables"]

PROGRAM: Final = Program("loss.cuh")

KINDS: Final = {
    "square": "Square", "absolute": "Absolute", "smooth": "Smooth", "huber": "Huber", "probability": "Probability",
    "logit": "Logit", "divergence": "Divergence", "log_divergence": "LogDivergence",
}  # fmt: skip

_INT64: Final = np.dtype(np.int64)


def tables(backend: CudaBackend, tuning: Tuning | None = None) -> list[KernelTable]:
    """Return the kernels of a backend; nothing is compiled before it is called."""
    table = KernelTable(device="cuda")
    losses = _Losses(backend, tuning or Tuning())
    classes, kind = ("ignore_index", "reduction", "label_smoothing"), ("kind", "reduction", "parameter")
    for op, function, takes in (
        ("nll_loss", losses.nll_loss, ("input", "target", "weight", "ignore_index", "reduction")),
        ("_cross_entropy", losses.cross_entropy, ("input", "target", "weight", *classes)),
        ("_cross_entropy_backward", losses.cross_entropy_backward,
         ("grad", "input", "target", "weight", "logsumexp", *classes)),
        ("_elementwise_loss", losses.elementwise, ("input", "target", *kind)),
        ("_elementwise_loss_backward", losses.elementwise_backward, ("grad", "input", "target", *kind)),
        ("binary_cross_entropy", losses.of_probabilities, ("input", "target", "reduction")),
        ("binary_cross_entropy_with_logits", losses.with_logits, ("input", "target", "reduction")),
    ):  # fmt: skip
        table.kernel(op, function, dtypes=FLOATING, takes=takes, half="native", priority=1)
    return [table]


def _check_reduction(reduction: str) -> None:
    if reduction not in ("none", "mean", "sum"):
        raise errors.ValueRangeError(f"{reduction} is not a valid value for reduction (none, mean, sum)")


class _Classes:
    """Scores and targets, checked, in row-major order.

    Attributes
    ----------
    input, target, weight : StridedHandle
        The scores, int64 places, and the weights of classes or None.
    classes, inner, count : int
        How many classes there are, numbers after them, and targets.
    """

    def __init__(
        self, backend: CudaBackend, input: StridedHandle, target: StridedHandle, weight: StridedHandle | None
    ) -> None:
        if target.dtype not in (_INT64, np.dtype(np.uint8)):
            raise errors.DtypeError(
                f"nll_loss(): expected target dtype to be Long or Byte, but got {target.dtype}"
            )
        axis = 1 if input.ndim > 1 else 0
        if not axis and target.shape == (1,):
            target = target.view((), ())  # scores without a batch may have a target with a dimension
        rest = input.shape[:axis] + input.shape[axis + 1 :]
        fits = input.ndim > 0 and target.shape == rest
        if not fits or (weight is not None and weight.shape != input.shape[axis : axis + 1]):
            # Kernels are called with what the shape rule let through; this only guards direct calls of one.
            raise ValueError("sizes that do not fit, which the shape rule refuses")
        self.axis, self.classes, self.inner = axis, input.shape[axis], prod(input.shape[2:])
        self.count = prod(target.shape)
        self.input = contiguous(backend, input)
        self.target = contiguous(backend, target if target.dtype == _INT64 else backend.cast(target, _INT64))
        self.weight = None if weight is None else contiguous(backend, weight)


class _Losses:
    """The kernels of a backend, as functions over handles."""

    def __init__(self, backend: CudaBackend, tuning: Tuning) -> None:
        self.backend, self.tuning = backend, tuning
        self._walk = Walker(backend, PROGRAM, tuning).reduce

    def _kernel(self, name: str, blocks: int, *args: Any) -> None:
        PROGRAM.kernel(name)(self.backend, (blocks,), (self.tuning.threads,), args)

    # --- classes -----------------------------------------------------------------------------------------------

    def nll_loss(
        self,
        input: StridedHandle,
        target: StridedHandle,
        weight: StridedHandle | None,
        ignore_index: int,
        reduction: str,
    ) -> StridedHandle:
        _check_reduction(reduction)
        return self._losses(
            _Classes(self.backend, input, target, weight), None, None, None, ignore_index, reduction, 0.0
        )

    def cross_entropy(
        self,
        input: StridedHandle,
        target: StridedHandle,
        weight: StridedHandle | None,
        ignore_index: int,
        reduction: str,
        label_smoothing: float,
    ) -> tuple[StridedHandle, StridedHandle]:
        _check_reduction(reduction)
        classes = _Classes(self.backend, input, target, weight)
        lse, smooth = self._scores(classes, label_smoothing)
        out = self.backend.empty(target.shape, input.dtype)
        loss = self._losses(classes, lse, smooth, out, ignore_index, reduction, float(label_smoothing))
        return loss, out

    def _scores(self, given: _Classes, smoothing: float) -> tuple[Any, ...]:
        """Return the logarithms of the sums of exponentials, as computed, and what smoothing adds."""
        compute, smooth = wide(given.input.dtype), str(smoothing > 0).lower()
        pair = np.dtype(
            np.complex64 if compute.itemsize == 4 else np.complex128
        )  # two numbers, see loss::Whole
        # Ordered, since the weight of a class is read at its place along the line.
        return self._walk(
            f"loss::Scores<{name_of(given.input.dtype)}, {smooth}>", (given.input,), (given.axis,), False,
            (pair, compute if smoothing > 0 else None), extra=given.weight, ordered=True,
        )  # fmt: skip

    def _losses(
        self,
        given: _Classes,
        lse: StridedHandle | None,
        smooth: StridedHandle | None,
        lse_out: StridedHandle | None,
        ignored: int,
        reduction: str,
        smoothing: float,
    ) -> StridedHandle:
        backend, dtype, each = self.backend, given.input.dtype, reduction == "none"
        loss = backend.empty(given.target.shape if each else (), dtype)
        # Sums by blocks, then their sum in one block: atomics would add in another order each time.
        blocks = min(elementwise(given.count, self.tuning), self.tuning.blocks)
        sums = None if each else workspace(backend, blocks * 2 * wide(dtype).itemsize)
        self._kernel(
            f"class_losses<{name_of(dtype)}, {self.tuning.threads}>", blocks, given.input, given.target, given.weight,
            lse, smooth, loss if each else None, lse_out, sums, given.count, given.classes, given.inner, int(ignored),
            smoothing, np.uint64(backend.failures.address), kind_of("nll_loss"),
        )  # fmt: skip
        if sums is not None:
            total = f"class_total<{name_of(dtype)}, {self.tuning.threads}>"
            self._kernel(total, 1, sums, loss, None, blocks, reduction == "mean")
        backend.failures.launched()
        return loss

    def _kept(self, given: _Classes, ignored: int) -> StridedHandle:
        """Return the sum of the weights of all targets, on the device."""
        dtype, threads = given.input.dtype, self.tuning.threads
        blocks = min(elementwise(given.count, self.tuning), self.tuning.blocks)
        sums = workspace(self.backend, blocks * 2 * wide(dtype).itemsize)
        self._kernel(
            f"class_weights<{name_of(dtype)}, {threads}>", blocks, given.target, given.weight, sums, given.count,
            given.classes, int(ignored),
        )  # fmt: skip
        # Wide, as half precision cannot count more than 2048 elements.
        kept = self.backend.empty((), wide(dtype))
        self._kernel(f"class_total<{name_of(dtype)}, {threads}>", 1, sums, None, kept, blocks, False)
        return kept

    def cross_entropy_backward(
        self,
        grad: StridedHandle,
        input: StridedHandle,
        target: StridedHandle,
        weight: StridedHandle | None,
        logsumexp: StridedHandle,
        ignore_index: int,
        reduction: str,
        label_smoothing: float,
    ) -> StridedHandle:
        _check_reduction(reduction)
        backend, dtype, each = self.backend, input.dtype, reduction == "none"
        classes = _Classes(backend, input, target, weight)
        if logsumexp.shape != target.shape or grad.shape != (target.shape if each else ()):
            raise ValueError("a gradient that does not fit, which the shape rule refuses")
        out = backend.empty(input.shape, dtype)
        count = prod(input.shape)
        if not count:
            return out
        # The mean divides by the weights of the targets that are not ignored, so they are added up first.
        kept = self._kept(classes, ignore_index) if reduction == "mean" else None
        weights = None
        # Smoothing spreads over all classes, so each slope needs the sum of their weights.
        if classes.weight is not None and label_smoothing > 0:
            operation = f"loss::Total<{name_of(dtype)}>"
            weights = self._walk(operation, (classes.weight,), (0,), False, (wide(dtype), None))[0]
        # 16 bytes are loaded at once if the memory is aligned and no elements are left over.
        lanes = 16 // dtype.itemsize if aligned(classes.input) and count % (16 // dtype.itemsize) == 0 else 1
        self._kernel(
            f"class_slopes<{name_of(dtype)}, {lanes}, {index_type(count)}>", elementwise(count // lanes, self.tuning),
            contiguous(backend, grad), classes.input, classes.target, classes.weight,
            contiguous(backend, logsumexp), kept, weights, out, count, classes.classes, classes.inner, each,
            int(ignore_index), float(label_smoothing),
        )  # fmt: skip
        return out

    # --- element by element ------------------------------------------------------------------------------------

    def of_probabilities(self, input: StridedHandle, target: StridedHandle, reduction: str) -> StridedHandle:
        return self.elementwise(input, target, "probability", reduction, 0.0)

    def with_logits(self, input: StridedHandle, target: StridedHandle, reduction: str) -> StridedHandle:
        return self.elementwise(input, target, "logit", reduction, 0.0)

    def elementwise(
        self, input: StridedHandle, target: StridedHandle, kind: str, reduction: str, parameter: float
    ) -> StridedHandle:
        input, target, count, lanes = self._pair(input, target, kind, reduction)
        dtype = input.dtype
        # The refusal of PyTorch for inputs outside of [0, 1] is noted on the device, and raised when the
        # host next waits.
        if kind == "probability" and count:
            failures = self.backend.failures
            self._kernel(
                f"expect_probabilities<{name_of(dtype)}>", elementwise(count, self.tuning), input, count,
                np.uint64(failures.address), kind_of("binary_cross_entropy"),
            )  # fmt: skip
            failures.launched()
        if reduction == "none":
            out = self.backend.empty(input.shape, dtype)
            if count:
                self._kernel(
                    f"element_losses<loss::{KINDS[kind]}, {name_of(dtype)}, {lanes}>",
                    elementwise(count // lanes, self.tuning), input, target, out, count, float(parameter),
                )  # fmt: skip
            return out
        operation = (
            f"loss::Elements<loss::{KINDS[kind]}, {name_of(dtype)}, {str(reduction == 'mean').lower()}>"
        )
        results = self._walk(
            operation,
            (input, target),
            tuple(range(input.ndim)),
            False,
            (dtype, None),
            fact=float(parameter),
            ordered=True,
        )
        return only(results)

    def elementwise_backward(
        self,
        grad: StridedHandle,
        input: StridedHandle,
        target: StridedHandle,
        kind: str,
        reduction: str,
        parameter: float,
    ) -> StridedHandle:
        input, target, count, lanes = self._pair(input, target, kind, reduction)
        each = reduction == "none"
        if grad.shape != (input.shape if each else ()) or grad.dtype != input.dtype:
            raise ValueError("a gradient that does not fit, which the shape rule refuses")
        out = self.backend.empty(input.shape, input.dtype)
        if count:
            name = (
                f"element_slopes<loss::{KINDS[kind]}, {name_of(input.dtype)}, {lanes}, {str(each).lower()}>"
            )
            self._kernel(
                name, elementwise(count // lanes, self.tuning), contiguous(self.backend, grad), input, target, out,
                count, reduction == "mean", float(parameter),
            )  # fmt: skip
        return out

    def _pair(
        self, input: StridedHandle, target: StridedHandle, kind: str, reduction: str
    ) -> tuple[StridedHandle, StridedHandle, int, int]:
        """Return input and target in row-major order, how many elements they have, and how many are loaded at once."""
        _check_reduction(reduction)
        if kind not in KINDS or input.shape != target.shape or input.dtype != target.dtype:
            raise ValueError("a loss that does not fit, which the shape rule refuses")
        input, target = contiguous(self.backend, input), contiguous(self.backend, target)
        count, lanes = prod(input.shape), 16 // input.dtype.itemsize
        return input, target, count, lanes if aligned(input, target) and count % lanes == 0 else 1
