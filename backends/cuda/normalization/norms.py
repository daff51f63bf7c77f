"""Layer, group, RMS and batch normalisation with their gradients, in CUDA C++.

Gradients compute mean and deviation of their line again, as the operators give them only the input; for the sums over
lines they leave both, in the dtype of the computation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.backends.cuda import reduction
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
    line_width,
    wide,
    workspace,
)
from tt.core.library import KernelTable, contiguous_strides

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["PROGRAM", "tables"]

PROGRAM: Final = Program("normalization.cuh")

_EPS: Final = {name: float(np.finfo(name).eps) for name in ("float32", "float64")}
_BATCH: Final = ("input", "weight", "bias", "running_mean", "running_var", "training", "eps")


def tables(backend: CudaBackend, tuning: Tuning | None = None) -> list[KernelTable]:
    """Return the kernels of a backend; nothing is compiled before it is called."""
    table = KernelTable(device="cuda")
    norms = _Norms(backend, tuning or Tuning())
    shape, groups = ("normalized_shape", "weight"), ("num_groups", "weight")
    for op, function, takes in (
        ("layer_norm", norms.layer_norm, ("input", *shape, "bias", "eps")),
        ("rms_norm", norms.rms_norm, ("input", *shape, "eps")),
        ("group_norm", norms.group_norm, ("input", *groups, "bias", "eps")),
        ("_layer_norm_backward", norms.layer_norm_backward, ("grad", "input", *shape, "eps")),
        ("_rms_norm_backward", norms.rms_norm_backward, ("grad", "input", *shape, "eps")),
        ("_group_norm_backward", norms.group_norm_backward, ("grad", "input", *groups, "eps")),
    ):  # fmt: skip
        table.kernel(op, function, dtypes=FLOATING, takes=takes, half="native", priority=1)
    # Of a half dtype in float32: statistics that are rounded before they are applied would cost results their digits.
    wide_only = ("float32", "float64")
    table.kernel("_batch_norm", norms.batch_norm, dtypes=wide_only, takes=_BATCH, priority=1)
    table.kernel(
        "_batch_norm_backward",
        norms.batch_norm_backward,
        dtypes=wide_only,
        takes=("grad", "input", "weight", "mean", "var", "training", "eps"),
        priority=1,
    )
    return [table]


@dataclass(frozen=True, slots=True)
class _Lines:
    """The normalised groups: `count` elements, `lines` times; see normalization.cuh for the others."""

    lines: int
    count: int
    groups: int
    channels: int
    inner: int
    weights: tuple[int, ...]
    """The shape of the weights."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """The arguments of kernels."""
        return self.lines, self.count, self.groups, self.channels, self.inner


def _last(input: StridedHandle, shape: Sequence[int]) -> _Lines:
    """Return the lines of the last dimensions."""
    sizes = tuple(shape)
    if not sizes or input.shape[len(input.shape) - len(sizes) :] != sizes or len(sizes) > input.ndim:
        raise ValueError("sizes that do not fit, which the shape rule refuses")
    count = prod(sizes)
    return _Lines(prod(input.shape) // count if count else 0, count, 1, 0, 1, sizes)


def _grouped(input: StridedHandle, groups: int) -> _Lines:
    """Return the lines of groups of channels."""
    if input.ndim < 2 or groups <= 0 or input.shape[1] % groups or prod(input.shape) == groups:
        raise ValueError("sizes that do not fit, which the shape rule refuses")
    channels, inner = input.shape[1] // groups, prod(input.shape[2:])
    count = channels * inner
    return _Lines(input.shape[0] * groups if count else 0, count, groups, channels, inner, (input.shape[1],))


class _Norms:
    """The kernels of a backend, as functions over handles."""

    def __init__(self, backend: CudaBackend, tuning: Tuning) -> None:
        self.backend, self.tuning = backend, tuning
        self._moments = Walker(backend, reduction.PROGRAM, tuning).reduce
        self._sums = Walker(backend, PROGRAM, tuning).reduce

    # --- over lines --------------------------------------------------------------------------------------------

    def layer_norm(
        self,
        input: StridedHandle,
        shape: Sequence[int],
        weight: StridedHandle | None,
        bias: StridedHandle | None,
        eps: float,
    ) -> StridedHandle:
        return self._forward(input, _last(input, shape), weight, bias, eps, True)

    def rms_norm(
        self, input: StridedHandle, shape: Sequence[int], weight: StridedHandle | None, eps: float | None
    ) -> StridedHandle:
        return self._forward(input, _last(input, shape), weight, None, self._eps(input, eps), False)

    def group_norm(
        self,
        input: StridedHandle,
        groups: int,
        weight: StridedHandle | None,
        bias: StridedHandle | None,
        eps: float,
    ) -> StridedHandle:
        return self._forward(input, _grouped(input, groups), weight, bias, eps, True)

    def layer_norm_backward(
        self,
        grad: StridedHandle,
        input: StridedHandle,
        shape: Sequence[int],
        weight: StridedHandle | None,
        eps: float,
    ) -> tuple[StridedHandle, ...]:
        return self._backward(grad, input, _last(input, shape), weight, eps, True)

    def rms_norm_backward(
        self,
        grad: StridedHandle,
        input: StridedHandle,
        shape: Sequence[int],
        weight: StridedHandle | None,
        eps: float | None,
    ) -> tuple[StridedHandle, ...]:
        return self._backward(grad, input, _last(input, shape), weight, self._eps(input, eps), False)

    def group_norm_backward(
        self, grad: StridedHandle, input: StridedHandle, groups: int, weight: StridedHandle | None, eps: float
    ) -> tuple[StridedHandle, ...]:
        return self._backward(grad, input, _grouped(input, groups), weight, eps, True)

    @staticmethod
    def _eps(input: StridedHandle, eps: float | None) -> float:
        return _EPS[name_of(wide(input.dtype))] if eps is None else float(eps)

    def _parameters(self, input: StridedHandle, lines: _Lines, *given: StridedHandle | None) -> list[Any]:
        """Return parameters in row-major order and one dtype: the dtype of the input, or the compute dtype."""
        for value in given:
            if value is not None and value.shape != lines.weights:
                raise ValueError("a parameter that does not fit, which the shape rule refuses")
        # Mixed precision has half inputs and float32 parameters: all parameters then go in float32.
        same = all(value is None or value.dtype == input.dtype for value in given)
        dtype = input.dtype if same else wide(input.dtype)
        parameters: list[Any] = [name_of(dtype)]
        for value in given:
            if value is not None and value.dtype != dtype:
                value = self.backend.cast(value, dtype)
            parameters.append(None if value is None else contiguous(self.backend, value))
        return parameters

    def _arguments(
        self, lines: _Lines, dtype: str, parameter: str, centred: bool, lanes: int
    ) -> tuple[str, int]:
        """Return the arguments of a kernel over lines, and its blocks."""
        # Otherwise the second line would begin in the midst of a 16-byte load.
        lanes = lanes if lines.count % lanes == 0 else 1
        width, packs, together = line_width(lines.count, lanes, self.tuning)
        flags = ", ".join(str(flag).lower() for flag in (centred, lines.channels > 0))
        arguments = f"<{dtype}, {parameter}, {flags}, {lanes}, {packs}, {width}, {self.tuning.threads}>"
        return arguments, min(-(-lines.lines // together), 2**31 - 1)

    def _forward(
        self,
        input: StridedHandle,
        lines: _Lines,
        weight: StridedHandle | None,
        bias: StridedHandle | None,
        eps: float,
        centred: bool,
    ) -> StridedHandle:
        backend = self.backend
        input = contiguous(backend, input)
        parameter, weight, bias = self._parameters(input, lines, weight, bias)
        out = backend.empty(input.shape, input.dtype)
        lanes = 16 // input.dtype.itemsize if aligned(input) else 1
        arguments, grid = self._arguments(lines, name_of(input.dtype), parameter, centred, lanes)
        PROGRAM.kernel(f"norm_forward{arguments}")(
            backend, (grid,), (self.tuning.threads,), (input, weight, bias, out, *lines.numbers, float(eps))
        )
        return out

    def _backward(
        self,
        grad: StridedHandle,
        input: StridedHandle,
        lines: _Lines,
        weight: StridedHandle | None,
        eps: float,
        centred: bool,
    ) -> tuple[StridedHandle, ...]:
        if grad.shape != input.shape:
            raise ValueError("a gradient that does not fit the input, which the shape rule refuses")
        backend, dtype, threads = self.backend, input.dtype, self.tuning.threads
        grad, input = contiguous(backend, grad), contiguous(backend, input)
        parameter, weight = self._parameters(input, lines, weight)
        out, compute = backend.empty(input.shape, dtype), wide(dtype)
        statistics = backend.empty((3 * lines.lines,), compute)
        lanes = 16 // dtype.itemsize if aligned(grad, input) else 1
        arguments, grid = self._arguments(lines, name_of(dtype), parameter, centred, lanes)
        PROGRAM.kernel(f"norm_backward{arguments}")(
            backend, (grid,), (threads,), (grad, input, weight, out, statistics, *lines.numbers, float(eps))
        )
        sums, parts = self._weight_sums(grad, input, statistics, lines)
        weights = backend.empty(lines.weights, dtype)
        biases = backend.empty(lines.weights, dtype) if centred else None
        count = prod(lines.weights)
        # A warp of 32 threads adds the parts of one weight.
        PROGRAM.kernel(f"norm_weight_parts<{name_of(dtype)}, {threads}>")(
            backend, (-(-count * 32 // threads),), (threads,), (sums, weights, biases, count, parts)
        )
        return (out, weights) if biases is None else (out, weights, biases)

    def _weight_sums(
        self, grad: StridedHandle, input: StridedHandle, statistics: StridedHandle, lines: _Lines
    ) -> tuple[StridedHandle, int]:
        """Return the sums for the gradients of weights by parts, and how many parts there are."""
        backend, threads, blocks = self.backend, self.tuning.threads, self.tuning.blocks
        dtype, weights, size = name_of(input.dtype), prod(lines.weights), wide(input.dtype).itemsize
        if not lines.lines or not weights:
            return workspace(backend, 0), 0
        if not lines.channels:
            tiles, rows = -(-weights // 32), threads // 32
            # One after the other a thread adds at most some hundred lines, which keeps digits.
            parts = max(1, min(blocks // tiles, -(-lines.lines // (rows * 16))), lines.lines // (rows * 256))
            sums = workspace(backend, parts * weights * 2 * size)
            PROGRAM.kernel(f"norm_weight_columns<{dtype}, {threads}>")(
                backend, (tiles * parts,), (threads,),
                (grad, input, statistics, sums, lines.lines, lines.count, parts),
            )  # fmt: skip
            return sums, parts
        samples = lines.lines // lines.groups
        each = samples * lines.inner
        parts = max(1, min(blocks // weights, -(-each // (threads * 4))), each // (threads * 256))
        sums = workspace(backend, parts * weights * 2 * size)
        PROGRAM.kernel(f"norm_weight_channels<{dtype}, {index_type(each)}, {threads}>")(
            backend, (min(weights * parts, 2**31 - 1),), (threads,),
            (grad, input, statistics, sums, samples, weights, lines.channels, lines.inner, parts),
        )  # fmt: skip
        return sums, parts

    # --- by channel --------------------------------------------------------------------------------------------

    def batch_norm(
        self,
        input: StridedHandle,
        weight: StridedHandle | None,
        bias: StridedHandle | None,
        mean: StridedHandle | None,
        var: StridedHandle | None,
        training: bool,
        eps: float,
    ) -> tuple[StridedHandle, ...]:
        backend, dtype = self.backend, input.dtype
        self._check_channels(input, weight, bias, mean, var)
        if not training and (mean is None or var is None):
            raise ValueError("without training, running_mean and running_var are needed")
        (input,), out = _dense(backend, input)
        if training:
            var, mean = self._statistics(input)
        else:
            # Copies, because a kernel's results must not share memory with its arguments.
            mean, var = (self._as(value, dtype, copy=True) for value in (mean, var))
        weight, bias = (self._as(value, dtype) for value in (weight, bias))
        if out.nbytes:
            channels, inner, count, lanes = self._by_channel(input)
            factors, threads = backend.empty((channels,), wide(dtype)), self.tuning.threads
            PROGRAM.kernel(f"batch_norm_factors<{name_of(dtype)}>")(
                backend, (-(-channels // threads),), (threads,), (weight, var, factors, channels, float(eps))
            )
            PROGRAM.kernel(f"batch_norm_apply<{name_of(dtype)}, {lanes}, {index_type(count)}>")(
                backend, (elementwise(count // lanes, self.tuning),), (threads,),
                (input, factors, bias, mean, out, count, channels, inner),
            )  # fmt: skip
        return out, mean, var

    def _statistics(self, input: StridedHandle) -> tuple[Any, ...]:
        """Return variance and mean of each channel."""
        dims, dtype = (0, *range(2, input.ndim)), input.dtype
        return self._moments(
            f"reduction::Variance<{name_of(dtype)}>", (input,), dims, False, (dtype, dtype),
            fact=float(prod(input.shape[d] for d in dims)),
        )  # fmt: skip

    def batch_norm_backward(
        self,
        grad: StridedHandle,
        input: StridedHandle,
        weight: StridedHandle | None,
        mean: StridedHandle,
        var: StridedHandle,
        training: bool,
        eps: float,
    ) -> tuple[StridedHandle, ...]:
        backend, dtype, threads = self.backend, input.dtype, self.tuning.threads
        self._check_channels(input, weight, mean, var)
        if grad.shape != input.shape:
            raise ValueError("a gradient that does not fit the input, which the shape rule refuses")
        (input, grad), out = _dense(backend, input, grad)
        if training and mean.dtype != dtype:
            # Statistics rounded to a half dtype have lost the digits that the gradient of the input needs.
            var, mean = self._statistics(input)
        weight, mean, var = (self._as(value, dtype) for value in (weight, mean, var))
        compute = wide(dtype)
        centre = mean if dtype == compute else backend.cast(mean, compute)
        sum_g, sum_gx = self._sums(
            f"normalization::ChannelSums<{name_of(dtype)}>", (grad, input), (0, *range(2, input.ndim)), False,
            (compute, compute), extra=centre,
        )  # fmt: skip
        channels = input.shape[1]
        weights, biases = backend.empty((channels,), dtype), backend.empty((channels,), dtype)
        factors, size = backend.empty((3 * channels,), compute), prod(input.shape) // max(channels, 1)
        PROGRAM.kernel(f"batch_norm_weights<{name_of(dtype)}>")(
            backend, (-(-channels // threads),), (threads,),
            (sum_g, sum_gx, weight, var, weights, biases, factors, channels, size, bool(training), float(eps)),
        )  # fmt: skip
        if out.nbytes:
            channels, inner, count, lanes = self._by_channel(input, grad)
            PROGRAM.kernel(f"batch_norm_slope<{name_of(dtype)}, {lanes}, {index_type(count)}>")(
                backend, (elementwise(count // lanes, self.tuning),), (threads,),
                (grad, input, mean, factors, out, count, channels, inner),
            )  # fmt: skip
        return out, weights, biases

    def _by_channel(self, *inputs: StridedHandle) -> tuple[int, int, int, int]:
        """Return channels, neighbours that share one, elements, and how many of these are loaded at once."""
        first = inputs[0]
        count, inner = prod(first.shape), prod(first.shape[2:])
        lanes = 16 // first.dtype.itemsize if aligned(*inputs) else 1
        return (
            first.shape[1],
            # With channels last, neighbours in memory belong to different channels.
            inner if first.is_contiguous else 1,
            count,
            lanes if count % lanes == 0 else 1,
        )

    def _as(self, value: Any, dtype: np.dtype[Any], copy: bool = False) -> Any:
        """Return a parameter in a dtype and in row-major order."""
        if value is None:
            return None
        if value.dtype != dtype:
            return contiguous(self.backend, self.backend.cast(value, dtype))
        return self.backend.clone(value) if copy else contiguous(self.backend, value)

    @staticmethod
    def _check_channels(input: StridedHandle, *parameters: StridedHandle | None) -> None:
        if input.ndim < 2 or any(p is not None and p.shape != input.shape[1:2] for p in parameters):
            raise ValueError("sizes that do not fit, which the shape rule refuses")


def _dense(backend: CudaBackend, *inputs: StridedHandle) -> tuple[tuple[StridedHandle, ...], StridedHandle]:
    """Return tensors that all have row-major order, or all have their channels last, and a new one like them."""
    first = inputs[0]
    order = (0, *range(2, first.ndim), 1)
    shape = [first.shape[d] for d in order]
    strides = contiguous_strides(shape)
    last = tuple(strides[order.index(d)] for d in range(first.ndim))

    def fits(value: StridedHandle) -> bool:
        return all(n == 1 or a == b for n, a, b in zip(value.shape, value.strides, last, strict=True))

    if not first.is_contiguous and all(fits(value) for value in inputs):
        new = backend.empty(shape, first.dtype)
        return inputs, new.view(first.shape, last)
    return tuple(contiguous(backend, value) for value in inputs), backend.empty(first.shape, first.dtype)
