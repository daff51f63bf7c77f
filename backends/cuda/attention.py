"""Attention on CUDA: cuDNN's where it is installed and takes it, else own kernels that never hold the weights."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.layouts import THREADS, contiguous, grid_of, packed
from tt.backends.cuda.launch.programs import Program
from tt.backends.cuda.libraries.cudnn import DTYPES as CUDNN_DTYPES
from tt.backends.cuda.libraries.cudnn import Cudnn, OverCudnn, tables_of
from tt.backends.cuda.runtime.settings import cudnn as settings
from tt.core.library import ATTENTION, KernelTable, errors

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["WIDTHS", "kernel_names", "tables"]

PROGRAM: Final = Program("attention.cuh")
DTYPES: Final = ("float16", "bfloat16", "float32", "float64")
WIDTHS: Final = (32, 64, 128, 256)
"""The numbers of a query or value for which there are kernels; fewer are filled up with zeros."""
ROWS: Final = 32
"""The number of queries (or keys) of a block; each has four threads."""
FEW: Final = 8
"""The number of queries of a block for short sequences."""
KERNELS: Final = ("attention_forward", "attention_queries", "attention_keys")


def kernel_names(dtype: str) -> list[str]:
    """Return the names of all kernels for a dtype."""
    tiled = [
        f"{name}<{dtype}, {width}, {rows}>" for name in KERNELS for width in WIDTHS for rows in (ROWS, FEW)
    ]
    return [f"attention_means<{dtype}>", *tiled]


def wide_type(handle: StridedHandle) -> np.dtype[Any]:
    """Return the dtype in which the elements of a handle are summed."""
    return np.dtype("float64" if handle.dtype.name == "float64" else "float32")


class Found(NamedTuple):
    """The results of attention: the values, and the logarithms of the sums, which are contiguous."""

    output: StridedHandle
    sums: StridedHandle


class AttentionCall(NamedTuple):
    """The sizes of an attention call, with the batches as two dimensions."""

    q: StridedHandle
    k: StridedHandle
    v: StridedHandle
    mask: StridedHandle | None
    causal: bool
    scale: float

    @property
    def heads(self) -> int:
        """The size of the second dimension."""
        return self.q.shape[1]

    @property
    def items(self) -> int:
        """The number of batches and heads."""
        return self.q.shape[0] * self.q.shape[1]


class OwnKernels:
    """Attention by kernels of tt.

    Parameters
    ----------
    backend : CudaBackend
        Where they run.
    """

    def __init__(self, backend: CudaBackend) -> None:
        self.backend = backend

    def in_four(self, handle: StridedHandle) -> StridedHandle:
        """Return a handle of any dimensions as one of four: batch, head, row, column."""
        # Kernels count two dimensions of batches; of more, all are joined, which needs a contiguous handle.
        if handle.ndim > 4:
            handle = handle if handle.is_contiguous else self.backend.clone(handle)
            shape = (1, prod(handle.shape[:-2]), *handle.shape[-2:])
            return handle.view(shape, (0, prod(handle.shape[-2:]), *handle.strides[-2:]))
        more = 4 - handle.ndim
        return handle.view((*(1,) * more, *handle.shape), (*(0,) * more, *handle.strides))

    def called(
        self,
        q: StridedHandle,
        k: StridedHandle,
        v: StridedHandle,
        mask: StridedHandle | None,
        causal: bool,
        scale: float,
    ) -> AttentionCall:
        """Return a call in four dimensions."""
        mask = None if mask is None else self.in_four(mask)
        return AttentionCall(self.in_four(q), self.in_four(k), self.in_four(v), mask, causal, float(scale))

    def found(self, output: StridedHandle, sums: StridedHandle) -> Found:
        """Return results in four dimensions, and the numbers of each query, which are in order, in three."""
        rows = sums.shape[-1]
        heads = prod(sums.shape[1:-1]) if sums.ndim == 3 else prod(sums.shape[:-1])
        batch = sums.shape[0] if sums.ndim == 3 else 1
        return Found(self.in_four(output), sums.view((batch, heads, rows), (heads * rows, rows, 1)))

    def summed(self, sums: StridedHandle, like: StridedHandle) -> StridedHandle:
        """Return the numbers of each query in the dtype in which the kernels read them."""
        dtype = wide_type(like)
        return sums if sums.dtype == dtype else self.backend.cast(sums, dtype)

    def forward(self, call: AttentionCall, found: Found) -> None:
        """Write the result, in row-major order, and the logarithms of its sums."""
        if not (ATTENTION.flash or ATTENTION.mem_efficient or ATTENTION.math):
            raise errors.UnsupportedError(
                "scaled_dot_product_attention(): No available kernel: only cuDNN's is enabled, and it is not installed "
                "or does not take this call\n  try: tt.nn.attention.sdpa_kernel([..., SDPBackend.FLASH_ATTENTION])"
            )
        width = self.width(call)
        if width is None:
            weights, sums = self.weights(call)
            self.backend.copy_into(found.output, self.backend.normalise(weights @ self.wide(call.v)))
            self.backend.copy_into(found.sums, self.backend.normalise(sums))
            return
        handles = (call.q, call.k, call.v, call.mask, *found)
        self.launch("attention_forward", call, width, handles, layouts(call), call.q.shape[2])

    def backward(
        self, call: AttentionCall, g: StridedHandle, found: Found, results: tuple[StridedHandle, ...]
    ) -> None:
        """Write the gradients of queries, keys and values, in row-major order."""
        width = self.width(call)
        if width is None:
            self.backward_in_memory(call, g, found, results)
            return
        # The sum of output times gradient of each query: both kernels need it (FlashAttention's D).
        means = self.backend.empty(found.sums.shape, found.sums.dtype)
        count = call.items * call.q.shape[2]
        args = (
            found.output,
            g,
            means,
            layout(found.output),
            layout(g),
            call.heads,
            call.q.shape[2],
            g.shape[3],
        )
        kernel = PROGRAM.kernel(f"attention_means<{call.q.dtype.name}>")
        kernel(self.backend, grid_of(4 * count), (THREADS,), (*args, count))
        handles = (call.q, call.k, call.v, call.mask, g, found.sums, means)
        strides = (*layouts(call), layout(g))
        self.launch("attention_queries", call, width, (*handles, results[0]), strides, call.q.shape[2])
        self.launch("attention_keys", call, width, (*handles, *results[1:]), strides, call.k.shape[2])

    def width(self, call: AttentionCall) -> int | None:
        """Return the width of the kernels for a call, or None if it is wider than all or its mask holds numbers."""
        if call.mask is not None and call.mask.dtype != np.bool_:
            return None
        needed = max(call.q.shape[3], call.v.shape[3])
        return next((width for width in WIDTHS if width >= needed), None)

    def launch(
        self,
        name: str,
        call: AttentionCall,
        width: int,
        handles: tuple[StridedHandle | None, ...],
        strides: tuple[bytes, ...],
        count: int,
    ) -> None:
        """Launch a kernel with a block for some of the queries or keys, of which there are `count`."""
        # A short sequence would leave most threads of a large block without a query.
        rows = ROWS if count > FEW else FEW
        kernel = PROGRAM.kernel(f"{name}<{call.q.dtype.name}, {width}, {rows}>")
        sizes = (call.heads, call.q.shape[2], call.k.shape[2], call.q.shape[3], call.v.shape[3])
        args = (*handles, *strides, *sizes, call.causal, call.scale)
        kernel(self.backend, (call.items, -(-count // rows)), (4 * rows,), args)

    # --- rows too wide for the registers, masks of numbers: the weights in memory --------------------------------

    def wide(self, handle: StridedHandle) -> Any:
        """Return an array in float32 at least, which arrays of bfloat16 could not be."""
        dtype = wide_type(handle)
        return (handle if handle.dtype == dtype else self.backend.cast(handle, dtype)).array

    def scores(self, call: AttentionCall) -> Any:
        """Return the scaled products, -inf where a pair takes no part, as an array."""
        xp = self.backend.namespace
        # The queries are scaled, of which there are fewer numbers than scores.
        scores = xp.matmul(self.wide(call.q) * call.scale, self.wide(call.k).swapaxes(-1, -2))
        part = None if call.mask is None else call.mask.array
        if call.mask is not None and call.mask.dtype != np.bool_:
            scores, part = scores + self.wide(call.mask), None
        if call.causal:
            rows, columns = (xp.arange(size) for size in scores.shape[-2:])
            lower = rows[:, None] >= columns[None, :]
            part = lower if part is None else xp.logical_and(part, lower)
        if part is not None:
            scores = xp.where(part, scores, scores.dtype.type(-np.inf))
        return scores

    def weights(self, call: AttentionCall) -> tuple[Any, Any]:
        """Return the share of each key in the result of each query, and the logarithms of the sums, as arrays."""
        xp, scores = self.backend.namespace, self.scores(call)
        none = scores.dtype.type(-np.inf)
        # A maximum over no keys does not exist.
        if not scores.shape[-1]:
            return scores, xp.full(scores.shape[:-1], none, dtype=scores.dtype)
        greatest = xp.max(scores, axis=-1, keepdims=True)
        empty = greatest == none
        # In rows without keys -inf - -inf would be NaN; with 0 for the maximum their weights are 0.
        greatest = xp.where(empty, scores.dtype.type(0), greatest)
        exponentials = xp.exp(scores - greatest)
        total = xp.where(empty, scores.dtype.type(1), xp.sum(exponentials, axis=-1, keepdims=True))
        return exponentials / total, xp.where(empty, none, greatest + xp.log(total))[..., 0]

    def backward_in_memory(
        self, call: AttentionCall, g: StridedHandle, kept: Found, results: tuple[StridedHandle, ...]
    ) -> None:
        """Write the gradients of wide rows."""
        xp, scores, slope = self.backend.namespace, self.scores(call), self.wide(g)
        total = kept.sums.array[..., None]
        # The same rows: -inf - inf gives the weight 0.
        weights = xp.exp(scores - xp.where(total == -np.inf, total.dtype.type(np.inf), total))
        changes = xp.matmul(slope, self.wide(call.v).swapaxes(-1, -2))
        mean = xp.sum(slope * self.wide(kept.output), axis=-1, keepdims=True)
        # The gradient of softmax: each weight times the difference of its change from their weighted mean.
        changes = weights * (changes - mean) * call.scale
        gradients = (
            xp.matmul(changes, self.wide(call.k)),
            xp.matmul(changes.swapaxes(-1, -2), self.wide(call.q)),
            xp.matmul(weights.swapaxes(-1, -2), slope),
        )
        for result, gradient in zip(results, gradients, strict=True):
            self.backend.copy_into(result, self.backend.normalise(gradient))


def layout(handle: StridedHandle | None) -> bytes:
    """Return the strides of a handle as the kernels take them."""
    return packed(*((0, 0, 0, 0) if handle is None else handle.strides))


def layouts(call: AttentionCall) -> tuple[bytes, ...]:
    """Return the strides of what goes into a call."""
    return layout(call.q), layout(call.k), layout(call.v), layout(call.mask)


# --- cuDNN -----------------------------------------------------------------------------------------------------


class CudnnKernels(OverCudnn, OwnKernels):
    """Attention by cuDNN; calls that it refuses, by tt's kernels."""

    def forward(self, call: AttentionCall, found: Found) -> None:
        """Write the result, in row-major order, and the logarithms of its sums."""
        if not self.fits(call) or not self.sdpa(call, found):
            super().forward(call, found)

    def backward(
        self, call: AttentionCall, g: StridedHandle, found: Found, results: tuple[StridedHandle, ...]
    ) -> None:
        """Write the gradients of queries, keys and values, in row-major order."""
        if not self.fits(call) or not self.sdpa_backward(call, g, found, results):
            super().backward(call, g, found, results)

    def fits(self, call: AttentionCall) -> bool:
        """Return whether cuDNN computes it as tt does: a row that a mask leaves empty would be no number there."""
        return (
            ATTENTION.cudnn
            and call.mask is None
            and not any(0 in handle.shape for handle in (call.q, call.k, call.v))
        )

    def rows(self, handle: StridedHandle) -> StridedHandle:
        """Return a handle whose rows are contiguous, as cuDNN needs them, and whose elements are its own."""
        # A stride of 0 repeats elements, which cuDNN does not take.
        plain = handle.strides[3] == 1 and all(
            stride > 0 or size == 1 for size, stride in zip(handle.shape, handle.strides, strict=True)
        )
        return handle if plain else self.backend.clone(handle)

    def sdpa(self, call: AttentionCall, result: Found) -> bool:
        """Describe attention and the logarithms of the sums."""
        handles = {
            1: self.rows(call.q), 2: self.rows(call.k), 3: self.rows(call.v), 4: result.output, 5: stats_of(result),
        }  # fmt: skip
        described = {uid: (list(h.shape), list(strides_of(h))) for uid, h in handles.items()}
        dtype = call.q.dtype.name

        def make(cudnn: Any, graph: Any) -> None:
            kind = getattr(cudnn.data_type, CUDNN_DTYPES[dtype])
            q, k, v = (
                graph.tensor(dim=described[u][0], stride=described[u][1], data_type=kind, uid=u)
                for u in (1, 2, 3)
            )
            o, stats = graph.sdpa(
                q=q,
                k=k,
                v=v,
                attn_scale=call.scale,
                generate_stats=True,
                use_causal_mask=call.causal,
            )
            # The logarithms of the sums are float32 whatever the dtype of the operands.
            for uid, tensor in ((4, o), (5, stats)):
                tensor.set_output(True).set_uid(uid).set_data_type(
                    kind if uid == 4 else cudnn.data_type.FLOAT
                )
                tensor.set_dim(described[uid][0]).set_stride(described[uid][1])

        # A dict cannot be a key, so the description goes in as text.
        key = ("attention", dtype, str(described), call.causal, call.scale)
        return self.cudnn.run(key, make, dtype, {uid: handle.data_ptr for uid, handle in handles.items()})

    def sdpa_backward(
        self, call: AttentionCall, g: StridedHandle, kept: Found, results: tuple[StridedHandle, ...]
    ) -> bool:
        """Describe the gradients."""
        handles = {
            1: self.rows(call.q), 2: self.rows(call.k), 3: self.rows(call.v), 4: self.rows(kept.output),
            5: self.rows(g), 6: stats_of(kept), 7: results[0], 8: results[1], 9: results[2],
        }  # fmt: skip
        described = {uid: (list(h.shape), list(strides_of(h))) for uid, h in handles.items()}
        dtype, deterministic = call.q.dtype.name, settings.deterministic

        def make(cudnn: Any, graph: Any) -> None:
            kind = getattr(cudnn.data_type, CUDNN_DTYPES[dtype])
            inputs = [
                graph.tensor(
                    dim=described[u][0],
                    stride=described[u][1],
                    data_type=cudnn.data_type.FLOAT if u == 6 else kind,
                    uid=u,
                )
                for u in range(1, 7)
            ]
            names = ("q", "k", "v", "o", "dO", "stats")
            gradients = graph.sdpa_backward(
                **dict(zip(names, inputs, strict=True)),
                attn_scale=call.scale,
                use_causal_mask=call.causal,
                use_deterministic_algorithm=deterministic,
            )
            for uid, gradient in enumerate(gradients, 7):
                gradient.set_output(True).set_uid(uid).set_data_type(kind)
                gradient.set_dim(described[uid][0]).set_stride(described[uid][1])

        key = ("attention_backward", dtype, str(described), call.causal, call.scale, deterministic)
        return self.cudnn.run(key, make, dtype, {uid: handle.data_ptr for uid, handle in handles.items()})


def stats_of(found: Found) -> StridedHandle:
    """Return the logarithms of the sums in cuDNN's shape, with a last dimension of 1."""
    sums = found.sums
    return sums.view((*sums.shape, 1), (*sums.strides, 1))


def strides_of(handle: StridedHandle) -> tuple[int, ...]:
    """Return strides in which those of dimensions of size 1, which are arbitrary, fit a row-major order."""
    strides, expected = [], 1
    for size, stride in zip(reversed(handle.shape), reversed(handle.strides), strict=True):
        strides.append(expected if size == 1 else stride)
        expected = max(expected, strides[-1] * size)
    return tuple(reversed(strides))


# --- tables ----------------------------------------------------------------------------------------------------


def tables(backend: CudaBackend, cudnn: Cudnn) -> list[KernelTable]:
    """Return the kernels of tt, and those over cuDNN, which go before them."""
    return tables_of(
        _add, OwnKernels(backend), CudnnKernels(backend, cudnn), cudnn, DTYPES, ("float16", "bfloat16")
    )


def _add(table: KernelTable, kernels: OwnKernels, **options: Any) -> None:
    table.kernel("_attention", _attention(kernels), **options)
    table.kernel("_attention_backward", _attention_backward(kernels), **options)


def _attention(kernels: OwnKernels) -> Callable[..., tuple[StridedHandle, ...]]:
    def attention(
        query: StridedHandle,
        key: StridedHandle,
        value: StridedHandle,
        mask: StridedHandle | None,
        is_causal: bool,
        scale: float,
    ) -> tuple[StridedHandle, ...]:
        result = kernels.backend.empty((*query.shape[:-1], value.shape[-1]), query.dtype)
        sums = kernels.backend.empty(query.shape[:-1], wide_type(query))
        call = kernels.called(query, key, value, mask, is_causal, scale)
        kernels.forward(call, kernels.found(result, sums))
        return result, sums

    return attention


def _attention_backward(kernels: OwnKernels) -> Callable[..., tuple[StridedHandle, ...]]:
    def attention_backward(
        grad: StridedHandle,
        query: StridedHandle,
        key: StridedHandle,
        value: StridedHandle,
        mask: StridedHandle | None,
        output: StridedHandle,
        logsumexp: StridedHandle,
        is_causal: bool,
        scale: float,
    ) -> tuple[StridedHandle, ...]:
        results = tuple(kernels.backend.empty(handle.shape, query.dtype) for handle in (query, key, value))
        call = kernels.called(query, key, value, mask, is_causal, scale)
        forward_results = kernels.found(output, contiguous(kernels.backend, kernels.summed(logsumexp, query)))
        kernels.backward(call, kernels.in_four(grad), forward_results, tuple(map(kernels.in_four, results)))
        return results

    return attention_backward
