"""Kernels of CUDA that draw random numbers, and dropout.  docs/design/random.md specifies the numbers of a seed."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.backends.array_api.random import (
    HALF,
    UNIT_BITS,
    check_integers,
    check_normal,
    check_permutation,
    check_probability,
    check_uniform,
    threshold,
)
from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.gather_scatter import BLOCK, Mover
from tt.backends.cuda.launch.layouts import grid_of, name_of
from tt.backends.cuda.launch.programs import Program
from tt.backends.cuda.runtime.device_asserts import kind_of
from tt.backends.cuda.scan import running_sums
from tt.backends.cuda.sorting import stable_order
from tt.core.library import Generator, KernelTable, errors, reserve

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["tables"]

RANDOM: Final = Program("random.cuh")

PARTS: Final = {"complex64": ("float32", 2), "complex128": ("float64", 2)}
"""Complex dtypes: the dtype of their parts, and how many there are."""

# The structs `Drawn` and `Affine` of sources/random.cuh.
_DRAWN: Final = struct.Struct("@QQqQ")
_AFFINE: Final = struct.Struct("@ddqq")


def tables(backend: CudaBackend) -> list[KernelTable]:
    """Return the kernels of this family."""
    table, drawing = KernelTable(device="cuda"), Drawing(Mover(backend))
    _of_a_size(table, drawing)
    _like_a_tensor(table, drawing)
    _by_functions(table, drawing)
    _by_weights(table, drawing)
    _dropout(table, drawing)
    return [table]


def _count(size: Sequence[int]) -> int:
    if any(n < 0 for n in size):
        raise ValueError("a size is negative")
    return prod(size)


class Drawing:
    """Draws numbers into new handles.

    Parameters
    ----------
    mover : Mover
        Makes handles; its backend's engine launches.
    """

    def __init__(self, mover: Mover) -> None:
        self.mover, self.backend = mover, mover.backend

    def reserved(self, generator: Generator | None, words: int, count: int) -> bytes:
        """Take so many words of a generator; return the struct `Drawn`."""
        blocks, numbers = -(-words // 4), self.backend.captured_numbers
        # A captured kernel reads where its numbers begin from memory: a constant would repeat them at every replay.
        if numbers is not None and numbers.is_capturing():
            seed, offset, state = numbers.reserve(generator, blocks)
        else:
            (seed, offset), state = reserve(generator, blocks, self.backend.device_type), 0
        return _DRAWN.pack(seed, offset, count, state)

    def launch(self, name: str, words: int, args: Sequence[Any]) -> None:
        """Launch a kernel with a thread for each block of four words."""
        if words:
            RANDOM.kernel(name)(self.backend, grid_of(-(-words // 4)), BLOCK, args)

    def units(
        self,
        size: Sequence[int],
        generator: Generator | None,
        dtype: np.dtype[Any],
        scale: float = 1.0,
        shift: float = 0.0,
    ) -> StridedHandle:
        """Return uniform numbers, scaled and shifted; of complex dtypes real and imaginary part by turns."""
        out = self.mover.empty(size, dtype)
        name, parts = PARTS.get(name_of(dtype), (name_of(dtype), 1))
        count = parts * _count(size)
        # A double takes two words, so that all of its 53 bits are random.
        words = count * (2 if name == "float64" else 1)
        drawn = self.reserved(generator, words, count)
        self.launch(f"draw_uniform<{name}>", words, (out, drawn, _affine(scale, shift, parts)))
        return out

    def normals(
        self,
        size: Sequence[int],
        generator: Generator | None,
        dtype: np.dtype[Any],
        scale: float = 1.0,
        shift: float = 0.0,
    ) -> StridedHandle:
        """Return normal numbers, scaled and shifted; of complex dtypes real and imaginary part by turns."""
        out = self.mover.empty(size, dtype)
        name, parts = PARTS.get(name_of(dtype), (name_of(dtype), 1))
        count = parts * _count(size)
        # Box and Muller make normal numbers in pairs.
        words = (count + count % 2) * (2 if name == "float64" else 1)
        drawn = self.reserved(generator, words, count)
        # The variance of a complex number is 1, half of it in each part.
        unit = math.sqrt(0.5) if parts == 2 else 1.0
        self.launch(f"draw_normal<{name}>", words, (out, drawn, unit, _affine(scale, shift, parts)))
        return out

    def below(
        self, size: Sequence[int], generator: Generator | None, dtype: np.dtype[Any], limit: int
    ) -> StridedHandle:
        """Return which words are below a limit."""
        out, count = self.mover.empty(size, dtype), prod(size)
        self.launch(
            f"draw_below<{name_of(dtype)}>", count, (out, self.reserved(generator, count, count), limit)
        )
        return out

    def probable(
        self, size: Sequence[int], p: StridedHandle, generator: Generator | None, dtype: np.dtype[Any]
    ) -> StridedHandle:
        """Return ones with the probabilities of a handle, which are checked on the device."""
        out, count = self.mover.empty(size, dtype), prod(size)
        words = count * (2 if p.dtype.itemsize == 8 else 1)
        failures = self.backend.failures
        drawn = self.reserved(generator, words, count)
        args = (out, self.mover.contiguous(p, tuple(size)), drawn, failures.address, kind_of("bernoulli"))
        self.launch(f"draw_bernoulli<{name_of(dtype)}, {name_of(p.dtype)}>", words, args)
        failures.launched()
        return out


def _affine(scale: float, shift: float, parts: int) -> bytes:
    return _AFFINE.pack(scale, shift, parts, int(scale == 1.0 and shift == 0.0))


# --- of a size -------------------------------------------------------------------------------------------------


def _of_a_size(table: KernelTable, drawing: Drawing) -> None:
    mover = drawing.mover

    @table.kernel("rand", dtypes="floating_complex", half="native", priority=1)
    def rand(size: Sequence[int], generator: Generator | None, dtype: np.dtype[Any]) -> StridedHandle:
        _count(size)
        return drawing.units(tuple(size), generator, dtype)

    @table.kernel("randn", dtypes="floating_complex", half="native", priority=1)
    def randn(size: Sequence[int], generator: Generator | None, dtype: np.dtype[Any]) -> StridedHandle:
        _count(size)
        return drawing.normals(tuple(size), generator, dtype)

    @table.kernel("randint.low", dtypes="real", half="native", priority=1)
    def randint(
        low: int, high: int, size: Sequence[int], generator: Generator | None, dtype: np.dtype[Any]
    ) -> StridedHandle:
        kind = np.dtype(dtype)
        limits = (0, 1) if kind.kind == "b" else HALF if kind == np.float16 else None
        if kind.kind in "iu":
            limits = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
        check_integers(low, high, limits, name_of(kind) if kind.kind in "fV" else None)
        span, count = high - low, _count(size)
        # One word suffices for a span up to 2**32; beyond, two are taken modulo the span.
        long = span > 2**32
        out = mover.empty(tuple(size), kind)
        words = 2 * count if long else count
        args = (out, drawing.reserved(generator, words, count), _signed(low), _signed(span), int(low < 0))
        drawing.launch(f"draw_integers<{name_of(kind)}, {2 if long else 4}>", words, args)
        return out

    @table.kernel("randperm", dtypes="real_number", half="native", priority=1)
    def randperm(n: int, generator: Generator | None, dtype: np.dtype[Any]) -> StridedHandle:
        kind = np.dtype(dtype)
        check_permutation(n, int(np.iinfo(kind).max) if kind.kind in "iu" else name_of(kind))
        keys = mover.empty((n,), np.dtype(np.uint64))
        drawing.launch("draw_words", 2 * n, (keys, drawing.reserved(generator, 2 * n, n)))
        if not n:
            return mover.empty((0,), kind)
        _, order = stable_order(mover, keys, 2**64 - 1)
        return order if order.dtype == kind else drawing.backend.cast(order, kind)


def _signed(value: int) -> int:
    """Return the number of int64 with the same 64 bits."""
    return (value + 2**63) % 2**64 - 2**63


# --- like a tensor ---------------------------------------------------------------------------------------------


def _like_a_tensor(table: KernelTable, drawing: Drawing) -> None:
    @table.kernel("uniform", dtypes="floating_complex", half="native", priority=1)
    def uniform(self: StridedHandle, from_: float, to: float, generator: Generator | None) -> StridedHandle:
        check_uniform(from_, to, np.dtype(self.dtype).name)
        return drawing.units(self.shape, generator, self.dtype, to - from_, from_)

    @table.kernel("normal", dtypes="floating_complex", half="native", priority=1)
    def normal(self: StridedHandle, mean: float, std: float, generator: Generator | None) -> StridedHandle:
        check_normal(std)
        return drawing.normals(self.shape, generator, self.dtype, std, mean)

    @table.kernel("bernoulli.p", half="native", priority=1)
    def bernoulli_p(self: StridedHandle, p: float, generator: Generator | None) -> StridedHandle:
        check_probability(p)
        return drawing.below(self.shape, generator, self.dtype, threshold(p))

    @table.kernel("bernoulli", dtypes="floating", half="native", priority=1)
    def bernoulli(self: StridedHandle, generator: Generator | None) -> StridedHandle:
        return drawing.probable(self.shape, self, generator, self.dtype)

    @table.kernel("bernoulli.Tensor", half="native", check=True, priority=1)
    def bernoulli_tensor(self: StridedHandle, p: StridedHandle, generator: Generator | None) -> StridedHandle:
        if name_of(p.dtype) not in UNIT_BITS:
            raise errors.DispatchError(
                "bernoulli_", f"the probabilities are of {p.dtype} instead of a floating point dtype"
            )
        return drawing.probable(self.shape, p, generator, self.dtype)

    @table.kernel("exponential", dtypes="floating", half="native", priority=1)
    def exponential(self: StridedHandle, lambd: float, generator: Generator | None) -> StridedHandle:
        if not lambd > 0:
            raise errors.ValueRangeError(f"exponential_(): the rate lambd is positive, and {lambd} is not")
        out, count = drawing.mover.empty(self.shape, self.dtype), prod(self.shape)
        words = count * (2 if self.dtype.itemsize == 8 else 1)
        name = f"draw_exponential<{name_of(self.dtype)}>"
        drawing.launch(name, words, (out, drawing.reserved(generator, words, count), float(lambd)))
        return out


def _by_functions(table: KernelTable, drawing: Drawing) -> None:
    """Add the numbers that are computed in double precision, whatever the dtype."""

    def draw(self: StridedHandle, generator: Generator | None, kernel: str, *numbers: float) -> StridedHandle:
        out, count = drawing.mover.empty(self.shape, self.dtype), prod(self.shape)
        words = 2 * (count + count % 2) if "normal" in kernel else 2 * count
        drawing.launch(kernel, words, (out, drawing.reserved(generator, words, count), *numbers))
        return out

    @table.kernel("cauchy", dtypes="floating", half="native", priority=1)
    def cauchy(
        self: StridedHandle, median: float, sigma: float, generator: Generator | None
    ) -> StridedHandle:
        if not sigma > 0:
            raise errors.ValueRangeError(f"cauchy_(): sigma must be positive, got {sigma}")
        name = f"draw_by_function<{name_of(self.dtype)}, Cauchy>"
        return draw(self, generator, name, float(median), float(sigma), 0.0)

    @table.kernel("log_normal", dtypes="floating", half="native", priority=1)
    def log_normal(
        self: StridedHandle, mean: float, std: float, generator: Generator | None
    ) -> StridedHandle:
        if not std > 0:
            raise errors.ValueRangeError(f"log_normal_(): std must be positive, got {std}")
        return draw(self, generator, f"draw_log_normal<{name_of(self.dtype)}>", float(mean), float(std))

    @table.kernel("geometric", dtypes="real_number", half="native", priority=1)
    def geometric(self: StridedHandle, p: float, generator: Generator | None) -> StridedHandle:
        if not 0 < p < 1:
            raise errors.ValueRangeError(f"geometric_(): p must be between 0 and 1, got {p}")
        whole = self.dtype.kind in "iu"
        # Doubles count no further without gaps.
        most = float(min(int(np.iinfo(self.dtype).max), 2**53)) if whole else math.inf
        name = f"draw_by_function<{name_of(self.dtype)}, Geometric>"
        return draw(self, generator, name, math.log1p(-p), 0.0, most)


# --- places by their weights -----------------------------------------------------------------------------------


def _by_weights(table: KernelTable, drawing: Drawing) -> None:
    mover, backend, sums = drawing.mover, drawing.backend, running_sums(drawing.backend)

    @table.kernel("multinomial", dtypes="floating", half="native", check=True, priority=1)
    def multinomial(
        self: StridedHandle, num_samples: int, replacement: bool, generator: Generator | None
    ) -> StridedHandle:
        columns, failures = self.shape[-1], backend.failures
        weights = mover.contiguous(self)
        rows, name = prod(self.shape[:-1]), name_of(self.dtype)
        if rows:
            noted = (weights, rows, columns, failures.address, kind_of("multinomial"))
            # A warp of 32 threads checks a row.
            RANDOM.kernel(f"check_weights<{name}>")(backend, grid_of(32 * rows), BLOCK, noted)
            failures.launched()
        out, count = mover.empty((*self.shape[:-1], num_samples), np.dtype(np.int64)), rows * num_samples
        if not replacement:
            rates, numbers = mover.empty(self.shape, np.dtype(np.float64)), rows * columns
            drawn = drawing.reserved(generator, numbers, numbers)
            drawing.launch(f"draw_rates<{name}>", numbers, (rates, weights, drawn))
            # Of exponential times with these rates, the smallest come first.
            order = backend.normalise(backend.namespace.argsort(rates.array, stable=True)) if count else rates
            return mover.take(out, order, out.shape, order.strides, out.strides)
        drawn = drawing.reserved(generator, 2 * count, count)
        wide = weights if name == "float64" else backend.cast(weights, np.dtype(np.float64))
        if count:
            args = (out, sums(wide, -1), wide, drawn, num_samples, columns)
            drawing.launch("pick_places", 2 * count, args)
        return out


# --- dropout ---------------------------------------------------------------------------------------------------


def _dropout(table: KernelTable, drawing: Drawing) -> None:
    mover = drawing.mover

    @table.kernel("native_dropout", dtypes="floating_complex", half="native", priority=1)
    def native_dropout(
        input: StridedHandle, p: float, train: bool | None
    ) -> tuple[StridedHandle, StridedHandle]:
        if not 0 <= p <= 1:
            raise ValueError("no probability, which the shape rule refuses")
        mask = mover.empty(input.shape, np.dtype(np.bool_))
        out = mover.empty(input.shape, input.dtype)
        if train is False:
            mover.take(out, input, input.shape, input.strides, out.strides)
            return out, mover.fill(mask, b"\1")
        name, parts = PARTS.get(name_of(input.dtype), (name_of(input.dtype), 1))
        count, values = prod(input.shape), mover.contiguous(input)
        drawn, scale = drawing.reserved(None, count, count), 1 / (1 - p) if p < 1 else 0.0
        args = (out, mask, values, drawn, threshold(1 - p), scale)
        drawing.launch(f"drop_elements<{name}, {parts}>", count, args)
        return out, mask

    @table.kernel("native_dropout_backward", dtypes="floating_complex", half="native", priority=1)
    def native_dropout_backward(
        grad_output: StridedHandle, mask: StridedHandle, scale: float
    ) -> StridedHandle:
        if mask.shape != grad_output.shape or mask.dtype != np.bool_:
            raise ValueError("a mask of another shape, which the shape rule refuses")
        name, parts = PARTS.get(name_of(grad_output.dtype), (name_of(grad_output.dtype), 1))
        out, count = mover.empty(grad_output.shape, grad_output.dtype), prod(grad_output.shape)
        if count:
            kernel = RANDOM.kernel(f"drop_gradient<{name}, {parts}>")
            args = (out, mover.contiguous(grad_output), mover.contiguous(mask), count, float(scale))
            kernel(drawing.backend, grid_of(count * parts), BLOCK, args)
        return out
