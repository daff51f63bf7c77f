"""Recurrent layers and their gradients.

One product with the input serves all steps; then each step is a product with the state and one kernel for all gates.

See Note [Recurrent layers] in `tt.operators.recurrent.shapes` for the layout of rows and of saved values.  Half types
are computed in float32, as on the CPU: a state that is rounded after each step would lose digits at each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.layouts import THREADS, contiguous, grid_of, name_of, packed
from tt.backends.cuda.launch.programs import Program
from tt.backends.cuda.launch.reduction_launch import FLOATING, Tuning, Walker, only, wide
from tt.backends.cuda.linalg.products import Products
from tt.backends.cuda.reduction import PROGRAM as REDUCTION
from tt.core.library import KernelTable, contiguous_strides, errors

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend
    from tt.backends.cuda.libraries.cublaslt import CublasLt

__all__ = ["PROGRAM", "kernel_names", "tables"]

PROGRAM: Final = Program("recurrent.cuh")

MODES: Final = {
    "lstm": ("rnn::Lstm", 4, 5),
    "gru": ("rnn::Gru", 3, 4),
    "tanh": ("rnn::Tanh", 1, 0),
    "relu": ("rnn::Relu", 1, 0),
}
"""Each mode's struct, how many gates it has, and how many vectors it keeps for the gradients."""

LAYER: Final = (
    "input", "hx", "cx", "w_ih", "w_hh", "b_ih", "b_hh", "w_hr", "batch_sizes", "mode", "reverse",
)  # fmt: skip
BACKWARD: Final = (
    "grad", "h_grad", "c_grad", "saved_grad", "input", "hx", "cx", "w_ih", "w_hh", "w_hr", "batch_sizes", "output",
    "saved", "mode", "reverse",
)  # fmt: skip


def kernel_names(dtype: str) -> list[str]:
    """Return the names of all kernels for a dtype, float32 or float64."""
    steps = [
        f"{name}<{mode}, {dtype}>" for name in ("rnn_step", "rnn_step_back") for mode, *_ in MODES.values()
    ]
    return [*steps, *(f"{name}<{dtype}>" for name in ("rnn_slope", "rnn_before", "rnn_place"))]


def tables(backend: CudaBackend, cublaslt: CublasLt | None = None) -> list[KernelTable]:
    """Return the kernels of this family; products are the cublaslt's where it is installed."""
    table, layers = KernelTable(device="cuda"), _Layers(backend, cublaslt)
    options: dict[str, Any] = {"dtypes": FLOATING, "half": "native", "priority": 1, "check": True}
    table.kernel("_rnn_layer", layers.forward, takes=LAYER, **options)
    table.kernel("_rnn_layer_backward", layers.backward, takes=BACKWARD, **options)
    return [table]


class _Rows:
    """The rows of each step, and the order of the steps.

    Attributes
    ----------
    sizes, starts : list of int
        How many rows each step has, and its first one.
    order : range
        The steps in the order in which states follow each other.
    """

    def __init__(
        self,
        backend: CudaBackend,
        op: str,
        input: StridedHandle,
        batch: int,
        batch_sizes: StridedHandle | None,
        reverse: bool,
    ) -> None:
        if batch_sizes is None:
            self.sizes = [input.shape[1]] * input.shape[0]
        else:
            if batch_sizes.dtype.kind not in "iu":
                raise errors.ValueRangeError(
                    f"{op}(): batch_sizes must be a vector of int64, got {batch_sizes.dtype}"
                )
            self.sizes = _on_host(backend, batch_sizes)
            self._check(op, input.shape[0], batch)
        *self.starts, self.count = [0, *accumulate(self.sizes)]
        steps = range(len(self.sizes))
        self.order = steps[::-1] if reverse else steps
        self._next = -1 if reverse else 1

    def _check(self, op: str, rows: int, batch: int) -> None:
        sizes = self.sizes
        falling = all(a >= b for a, b in pairwise(sizes))
        if not sizes or sizes[-1] < 1 or not falling or sum(sizes) != rows or sizes[0] != batch:
            raise errors.ValueRangeError(
                f"{op}(): batch_sizes must be positive, never rise, start with the batch of hx ({batch}) and add up to "
                f"the {rows} rows of the packed input; got {sizes}"
            )

    def step(self, t: int, hidden: int, fresh: int = 0) -> bytes:
        """Return a step as the kernels take it; so many rows have a product of the step after it."""
        # Packed steps have different numbers of rows: only rows that both steps have carry a state over.
        previous = t - self._next
        there = 0 <= previous < len(self.sizes)
        known = min(self.sizes[t], self.sizes[previous]) if there else 0
        before = self.starts[previous] if there else 0
        return packed(self.starts[t], self.sizes[t], hidden, known, before, fresh)


def _on_host(backend: CudaBackend, handle: StridedHandle | np.ndarray[Any, Any]) -> list[int]:
    """Return the sizes of packed steps, for which the host waits if they are on the device."""
    array = backend.to_numpy(handle) if isinstance(handle, StridedHandle) else handle
    numbers: list[int] = array.tolist()
    return numbers


class _Layers:
    """The kernels of a backend, as functions over handles."""

    def __init__(self, backend: CudaBackend, library: CublasLt | None) -> None:
        self.backend, self._library = backend, library
        self._products: Products | None = None
        self._sum = Walker(backend, REDUCTION, Tuning()).reduce

    @property
    def products(self) -> Products:
        """Products by the library, or by CuPy where it is not installed, which is found out at first use."""
        if self._products is None:
            library = self._library
            self._products = Products(
                self.backend, None if library is None or library.problem() is not None else library
            )
        return self._products

    def _launch(self, name: str, count: int, *args: Any) -> None:
        if count:
            PROGRAM.kernel(name)(self.backend, grid_of(count), (THREADS,), args)

    def _wide(self, handle: StridedHandle | None) -> Any:
        """Return a handle in row-major order as gates are computed, None for None."""
        if handle is None:
            return None
        dtype = wide(handle.dtype)
        return contiguous(self.backend, handle if dtype == handle.dtype else self.backend.cast(handle, dtype))

    def _own(self, handle: StridedHandle | None, like: StridedHandle) -> StridedHandle:
        """Return a copy that may be written; zeros for None."""
        if handle is not None:
            # The kernels of the steps write the states in place, and the argument must stay.
            return self.backend.clone(contiguous(self.backend, handle))
        return self._zeros(like.shape, like.dtype)

    def _zeros(self, shape: Sequence[int], dtype: np.dtype[Any]) -> StridedHandle:
        return self.backend.normalise(self.backend.namespace.zeros(tuple(shape), dtype=dtype))

    def _times(self, one: StridedHandle, two: StridedHandle) -> StridedHandle:
        return self.products.product(one, two)

    # --- forward -----------------------------------------------------------------------------------------------

    def forward(
        self, input: StridedHandle, hx: StridedHandle, cx: StridedHandle | None, w_ih: StridedHandle,
        w_hh: StridedHandle, b_ih: StridedHandle | None, b_hh: StridedHandle | None, w_hr: StridedHandle | None,
        batch_sizes: StridedHandle | None, mode: str, reverse: bool,
    ) -> tuple[StridedHandle, ...]:  # fmt: skip
        backend, dtype, lead = self.backend, input.dtype, input.shape[:-1]
        name, gates, kept_vectors = MODES[mode]
        rows = _Rows(backend, "_rnn_layer", input, hx.shape[0], batch_sizes, reverse)
        hidden, out = w_hh.shape[0] // gates, hx.shape[1]
        x, u, v, p, q, w = map(self._wide, (input, w_ih, w_hh, b_ih, b_hh, w_hr))
        h = self._own(self._wide(hx), hx)
        c = None if cx is None else self._own(self._wide(cx), cx)
        # The products with the inputs do not depend on earlier steps: one product serves all of them.
        own = self.products.linear(_flat(x), u, p)
        output = backend.empty((rows.count, out), x.dtype)
        kept = backend.empty((rows.count, kept_vectors * hidden), x.dtype)
        raw = None if w is None else backend.empty((hx.shape[0], hidden), x.dtype)
        # A view, made once for all steps.
        turned = _turned(v)
        for t in rows.order:
            size, step = rows.sizes[t], rows.step(t, hidden)
            recurrent = self._times(_first(h, size), turned)
            # With a projection the new state is a product, so `rnn_place` writes it afterwards.
            states = (h, c, output) if w is None else (None, c, None)
            self._launch(
                f"rnn_step<{name}, {name_of(x.dtype)}>",
                size * hidden,
                own,
                recurrent,
                q,
                *states,
                kept,
                raw,
                step,
            )
            if w is not None and raw is not None:
                projected = self._times(_first(raw, size), _turned(w))
                self._launch(f"rnn_place<{name_of(x.dtype)}>", size * out, projected, output, h, step, out)
        cell = backend.empty((0,), x.dtype) if c is None else c
        shape, width = (*lead, out), (*lead, kept_vectors * hidden)
        last = (self._narrow(one, dtype) for one in (h, cell))
        return (
            self._narrow(output, dtype).view(shape, contiguous_strides(shape)), *last,
            kept.view(width, contiguous_strides(width)),
        )  # fmt: skip

    def _narrow(self, handle: StridedHandle, dtype: np.dtype[Any]) -> StridedHandle:
        return handle if handle.dtype == dtype else self.backend.cast(handle, dtype)

    # --- gradients ---------------------------------------------------------------------------------------------

    def backward(
        self, grad: StridedHandle, h_grad: StridedHandle | None, c_grad: StridedHandle | None,
        saved_grad: StridedHandle | None, input: StridedHandle, hx: StridedHandle, cx: StridedHandle | None,
        w_ih: StridedHandle, w_hh: StridedHandle, w_hr: StridedHandle | None, batch_sizes: StridedHandle | None,
        output: StridedHandle, saved: StridedHandle, mode: str, reverse: bool,
    ) -> tuple[StridedHandle, ...]:  # fmt: skip
        backend, dtype = self.backend, input.dtype
        name, gates, _ = MODES[mode]
        rows = _Rows(backend, "_rnn_layer_backward", input, hx.shape[0], batch_sizes, reverse)
        hidden, out = w_hh.shape[0] // gates, hx.shape[1]
        g, x, y, kept, h, c, u, v, w, extra = map(
            self._wide, (grad, input, output, saved, hx, cx, w_ih, w_hh, w_hr, saved_grad)
        )
        state = self._own(self._wide(h_grad), h)
        to_cell = None if c is None else self._own(self._wide(c_grad), c)
        own = backend.empty((rows.count, gates * hidden), x.dtype)
        # In a GRU the reset gate multiplies the recurrent product before it is added: its gradient is one of its own.
        recurrent = backend.empty((rows.count, gates * hidden), x.dtype) if mode == "gru" else own
        befores = backend.empty((rows.count, out), x.dtype)
        slopes = backend.empty((rows.count, out), x.dtype)
        projected = None if w is None else backend.empty((rows.count, hidden), x.dtype)
        short, product, fresh = name_of(x.dtype), None, 0
        for t in rows.order[::-1]:
            size, start, step = rows.sizes[t], rows.starts[t], rows.step(t, hidden, fresh)
            slope = _part(slopes, start, size)
            there = None if projected is None else _part(projected, start, size)
            most = max(size, fresh) * max(out, hidden)
            self._launch(f"rnn_slope<{short}>", most, g, state, product, kept, slope, there, step, out)
            self._launch(f"rnn_before<{short}>", size * out, y, h, befores, step, out)
            if w is not None:
                slope = self._times(slope, w)
            self._launch(
                f"rnn_step_back<{name}, {short}>", size * hidden, slope, kept, extra, y, h, c,
                state if w is None else None, to_cell, own, recurrent, step,
            )  # fmt: skip
            # The gradient that this step gives to the state before it, which the next turn adds.
            product, fresh = self._times(_part(recurrent, start, size), v), size
        # The rest goes to the first states, of the whole batch.
        everything = packed(0, hx.shape[0], hidden, 0, 0, fresh)
        self._launch(
            f"rnn_slope<{short}>", hx.shape[0] * out, None, state, product, kept, state, None, everything, out
        )
        # The steps kept their rows so that each weight's gradient is one product over all of them.
        nothing = backend.empty((0,), x.dtype)
        gradients = (
            self._times(own, u).view(input.shape, contiguous_strides(input.shape)), state,
            nothing if to_cell is None else to_cell, self._times(_turned(own), _flat(x)),
            self._times(_turned(recurrent), befores), self._total(own), self._total(recurrent),
            backend.empty((0,), x.dtype) if projected is None else self._times(_turned(slopes), projected),
        )  # fmt: skip
        return tuple(self._narrow(one, dtype) for one in gradients)

    def _total(self, rows: StridedHandle) -> StridedHandle:
        """Return the sum of rows."""
        name = f"reduction::Sum<{name_of(rows.dtype)}>"
        return only(self._sum(name, (rows,), (0,), False, (rows.dtype, None)))


def _flat(x: StridedHandle) -> StridedHandle:
    """Return a handle in row-major order by rows: without a dimension of steps."""
    return x if x.ndim == 2 else x.view((x.shape[0] * x.shape[1], x.shape[2]), (x.shape[2], 1))


def _turned(x: StridedHandle) -> StridedHandle:
    return x.view(x.shape[::-1], x.strides[::-1])


def _part(x: StridedHandle, start: int, count: int) -> StridedHandle:
    """Return some rows."""
    return x.view((count, x.shape[1]), x.strides, x.offset + start * x.shape[1])


def _first(x: StridedHandle, count: int) -> StridedHandle:
    return x if x.shape[0] == count else _part(x, 0, count)
