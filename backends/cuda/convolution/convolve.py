"""Convolutions on CUDA: cuDNN's where it is installed and takes them, else own kernels.

x is an input (N, C, ...), w a weight (O, C / groups, ...), y a result (N, O, ...).  Three products are each other's
gradients: y from x and w, x from y and w, w from x and y.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Final

from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.layouts import THREADS, contiguous, grid_of, packed
from tt.backends.cuda.launch.programs import Program
from tt.backends.cuda.libraries.cudnn import DTYPES as CUDNN_DTYPES
from tt.backends.cuda.libraries.cudnn import Cudnn, OverCudnn, tables_of
from tt.backends.cuda.runtime.settings import cudnn as settings
from tt.backends.cuda.windows import each, reach, three
from tt.core.library import KernelTable

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["Geometry", "kernel_names", "tables"]

PROGRAM: Final = Program("convolution.cuh")
DTYPES: Final = ("int64", "floating", "complex")
Sizes = Sequence[int]

# Tile sizes of the kernels: elements of a side, elements of a thread, and the depth of a step.
LARGE: Final = (64, 4, 16)
SMALL: Final = (16, 2, 16)
FEW: Final = 8
"""Fewer filters or channels in a group than this would leave most of a tile empty."""
WANTED: Final = 256
"""The number of blocks of the gradient of filters, which has few results and a great depth."""
SLICES: Final = 65535
"""The most blocks along the second and third dimension of a grid."""

SUMS: Final = {"float16": "float32", "bfloat16": "float32"}
"""The dtypes whose sums are kept in another."""


@dataclass(frozen=True)
class Geometry:
    """The windows of a convolution, in three dimensions; fewer have sizes of 1."""

    count: int
    channels: int
    outputs: int
    groups: int
    size: tuple[int, ...]
    width: tuple[int, ...]
    out: tuple[int, ...]
    hop: tuple[int, ...]
    pad: tuple[int, ...]
    gap: tuple[int, ...]

    @classmethod
    def of(
        cls,
        x: Sizes,
        w: Sizes,
        out: Sizes,
        stride: int | Sizes,
        padding: int | Sizes,
        dilation: int | Sizes,
        groups: int,
    ) -> Geometry:
        """Return the geometry of x (N, C, ...), w (O, C / groups, ...) and y (N, O, *out)."""
        dims = len(w) - 2
        hops, pads, gaps = (each(value, dims) for value in (stride, padding, dilation))
        return cls(
            x[0], x[1], w[0], groups, three(x[2:], 1), three(w[2:], 1), three(out, 1),
            three(hops, 1), three(pads, 0), three(gaps, 1),
        )  # fmt: skip

    @property
    def packed(self) -> bytes:
        """As the kernels take it."""
        return packed(
            self.count, self.channels, self.outputs, self.groups, *self.size, *self.width, *self.out, *self.hop,
            *self.pad, *self.gap,
        )  # fmt: skip

    def rows(self, product: str) -> int:
        """Return the rows of a product in each group."""
        return (self.channels if product == "transposed" else self.outputs) // self.groups

    def columns(self, product: str) -> int:
        """Return the columns of a product in each group."""
        if product == "weights":
            return self.channels // self.groups * prod(self.width)
        return self.count * prod(self.size if product == "transposed" else self.out)


def each_alone(geometry: Geometry, product: str) -> bool:
    """Return whether each element of the result gets a thread (or a block, of filters) of its own."""
    few = min(geometry.rows(product), geometry.columns(product)) < FEW
    # Grids have at most 65,535 blocks in the dimensions of rows and groups.
    return few or geometry.groups > SLICES or -(-geometry.rows(product) // LARGE[0]) > SLICES


def tile_of(geometry: Geometry, product: str) -> tuple[int, int, int]:
    """Return the tile for a product."""
    return LARGE if min(geometry.rows(product), geometry.columns(product)) >= LARGE[0] else SMALL


def kernel_names(dtype: str) -> list[str]:
    """Return the names of all kernels for a dtype."""
    sums = SUMS.get(dtype, dtype)
    names = [f"convolution_{product}_alone<{dtype}>" for product in ("forward", "transposed")]
    names += [f"convolution_weights_alone<{dtype}, 128>", f"convolution_parts<{sums}, {dtype}>"]
    for tile, part, deep in (LARGE, SMALL):
        names += [
            f"convolution_{product}<{dtype}, {tile}, {part}, {deep}>" for product in ("forward", "transposed")
        ]
        names += [
            f"convolution_weights<{dtype}, {result}, {tile}, {part}, {deep}>" for result in {dtype, sums}
        ]
    return names


class OwnKernels:
    """The three products by kernels of tt.

    Parameters
    ----------
    backend : CudaBackend
        Where they run.
    """

    def __init__(self, backend: CudaBackend) -> None:
        self.backend = backend

    def dense(self, handle: StridedHandle | None) -> StridedHandle | None:
        """Return a handle whose elements are in row-major order."""
        return None if handle is None else contiguous(self.backend, handle)

    def product(
        self,
        product: str,
        one: StridedHandle,
        two: StridedHandle,
        bias: StridedHandle | None,
        result: StridedHandle,
        geometry: Geometry,
    ) -> None:
        """Write y or x into `result`: product is forward (of x and w) or transposed (of y and w)."""
        args = (self.dense(one), self.dense(two), self.dense(bias), result, geometry.packed)
        dtype, rows, columns = result.dtype.name, geometry.rows(product), geometry.columns(product)
        if each_alone(geometry, product):
            kernel = PROGRAM.kernel(f"convolution_{product}_alone<{dtype}>")
            kernel(self.backend, grid_of(prod(result.shape)), (THREADS,), args)
            return
        tile, part, deep = tile_of(geometry, product)
        kernel = PROGRAM.kernel(f"convolution_{product}<{dtype}, {tile}, {part}, {deep}>")
        grid = (-(-columns // tile), -(-rows // tile), geometry.groups)
        kernel(self.backend, grid, ((tile // part) ** 2,), args)

    def weights(self, x: StridedHandle, y: StridedHandle, w: StridedHandle, geometry: Geometry) -> None:
        """Write the gradient of the filters into `w`."""
        dense_x, dense_y = self.dense(x), self.dense(y)
        dtype, all_of = w.dtype.name, prod(w.shape)
        if each_alone(geometry, "weights"):
            kernel = PROGRAM.kernel(f"convolution_weights_alone<{dtype}, 128>")
            args = (dense_x, dense_y, w, geometry.packed)
            kernel(self.backend, (min(all_of, 1 << 20),), (128,), args)
            return
        tile, part, deep = tile_of(geometry, "weights")
        rows, columns = geometry.rows("weights"), geometry.columns("weights")
        tiles = -(-columns // tile) * -(-rows // tile) * geometry.groups
        depth = geometry.count * prod(geometry.out)
        # Filters are few and sums long: the sums are cut into parts until there are blocks for the whole device.
        parts = max(1, min(-(-WANTED // tiles), depth // (32 * deep), SLICES // geometry.groups))
        sums = SUMS.get(dtype, dtype)
        target = (
            w
            if parts == 1
            else self.backend.empty((parts, *w.shape), w.dtype if sums == dtype else "float32")
        )
        # Parts keep the dtype of the sums, so that only the total is rounded.
        result = dtype if parts == 1 else sums
        kernel = PROGRAM.kernel(f"convolution_weights<{dtype}, {result}, {tile}, {part}, {deep}>")
        grid = (-(-columns // tile), -(-rows // tile), geometry.groups * parts)
        kernel(self.backend, grid, ((tile // part) ** 2,), (dense_x, dense_y, target, parts, geometry.packed))
        if parts > 1:
            kernel = PROGRAM.kernel(f"convolution_parts<{sums}, {dtype}>")
            kernel(self.backend, grid_of(all_of), (THREADS,), (target, w, parts, all_of))


# --- cuDNN -----------------------------------------------------------------------------------------------------


class CudnnKernels(OverCudnn, OwnKernels):
    """The three products by cuDNN; calls that it refuses, by tt's kernels."""

    def product(
        self,
        product: str,
        one: StridedHandle,
        two: StridedHandle,
        bias: StridedHandle | None,
        result: StridedHandle,
        geometry: Geometry,
    ) -> None:
        """Write y or x into `result`."""
        handles = {1: flat(self.packed(one)), 2: flat(self.packed(two)), 3: flat(result)}
        if bias is not None:
            bias = self.dense(bias)
            assert bias is not None
            handles[4] = bias.view(
                (1, bias.shape[0], *(1,) * (handles[3].ndim - 2)),
                (bias.shape[0], *(1,) * (handles[3].ndim - 1)),
            )
        if not self.asked(product, handles, geometry):
            super().product(product, one, two, bias, result, geometry)

    def weights(self, x: StridedHandle, y: StridedHandle, w: StridedHandle, geometry: Geometry) -> None:
        """Write the gradient of the filters into `w`."""
        handles = {1: flat(self.packed(x)), 2: flat(self.packed(y)), 3: flat(w)}
        if not self.asked("weights", handles, geometry):
            super().weights(x, y, w, geometry)

    def packed(self, handle: StridedHandle) -> StridedHandle:
        """Return a handle without gaps: with the channels first or last, as it lies, or else a copy."""
        return handle if handle.is_contiguous or channels_last(handle) else self.backend.clone(handle)

    def asked(self, product: str, handles: dict[int, StridedHandle], geometry: Geometry) -> bool:
        """Run a product with cuDNN; tensor 3 is the result, tensor 4 a bias.  Return whether cuDNN supports it."""
        # cuDNN takes no tensors without elements.
        if any(0 in handle.shape for handle in handles.values()):
            return False
        dtype = handles[3].dtype.name
        described = tuple((uid, handle.shape, handle.strides) for uid, handle in sorted(handles.items()))
        # cuDNN takes two dimensions or three.
        dims = handles[3].ndim - 2
        hop, pad, gap = (list(values[-dims:]) for values in (geometry.hop, geometry.pad, geometry.gap))
        notes: tuple[str, ...] = ()
        # Engines with these notes are excluded: rounding to half precision always, TF32 unless it is
        # allowed.
        if dtype == "float32":
            notes += (
                ("DOWN_CONVERT_INPUTS",) if settings.allow_tf32 else ("DOWN_CONVERT_INPUTS", "TENSOR_CORE")
            )
        if settings.deterministic:
            notes += ("NONDETERMINISTIC",)

        def make(cudnn: Any, graph: Any) -> None:
            kind = getattr(cudnn.data_type, CUDNN_DTYPES[dtype])
            tensors = {
                uid: graph.tensor(dim=list(shape), stride=list(strides), data_type=kind, uid=uid)
                for uid, shape, strides in described
                if uid != 3
            }
            operation, names = {
                "forward": (graph.conv_fprop, ("image", "weight")),
                "transposed": (graph.conv_dgrad, ("loss", "filter")),
                "weights": (graph.conv_wgrad, ("image", "loss")),
            }[product]
            operands = dict(zip(names, (tensors[1], tensors[2]), strict=True))
            output = operation(**operands, pre_padding=pad, post_padding=pad, stride=hop, dilation=gap)
            if 4 in tensors:
                # `described` is in the order of the numbers, so position 2 is the result, tensor 3.
                output.set_dim(list(described[2][1]))
                output = graph.bias(input=output, bias=tensors[4])
            output.set_output(True).set_uid(3).set_data_type(kind)
            output.set_dim(list(described[2][1])).set_stride(list(described[2][2]))

        key = ("convolution", product, dtype, described, tuple(hop), tuple(pad), tuple(gap))
        return self.cudnn.run(
            key, make, dtype, {uid: handle.data_ptr for uid, handle in handles.items()}, notes
        )


def channels_last(handle: StridedHandle) -> bool:
    """Return whether the elements are without gaps with the channels innermost."""
    if handle.ndim < 4 or handle.is_contiguous:
        return False
    expected = 1
    # From the innermost dimension outwards, each stride is the number of elements inside.
    for dim in (1, *range(handle.ndim - 1, 1, -1), 0):
        if handle.shape[dim] != 1 and handle.strides[dim] != expected:
            return False
        expected *= handle.shape[dim]
    return True


def flat(handle: StridedHandle) -> StridedHandle:
    """Return a handle of one spatial dimension as one of two."""
    if handle.ndim != 3:
        return handle
    (count, channels, length), (one, two, step) = handle.shape, handle.strides
    return handle.view((count, channels, 1, length), (one, two, step * length, step))


# --- tables ----------------------------------------------------------------------------------------------------


def tables(backend: CudaBackend, cudnn: Cudnn) -> list[KernelTable]:
    """Return the kernels of tt, and those over cuDNN, which go before them."""
    return tables_of(
        _add, OwnKernels(backend), CudnnKernels(backend, cudnn), cudnn, DTYPES, tuple(CUDNN_DTYPES)
    )


def _add(table: KernelTable, kernels: OwnKernels, **options: Any) -> None:
    for dims in (1, 2, 3):
        table.kernel(f"conv{dims}d", _convolution(kernels), **options)
        table.kernel(f"conv_transpose{dims}d", _transposed(kernels), **options)
    table.kernel("_conv_weight", _weights(kernels), **options)


def _batched(handle: StridedHandle, ndim: int) -> StridedHandle:
    """Return a handle with a batch."""
    if handle.ndim == ndim:
        return handle
    return handle.view((1, *handle.shape), (prod(handle.shape), *handle.strides))


def _result(backend: CudaBackend, like: StridedHandle, shape: Sizes) -> StridedHandle:
    """Return memory for a result, with channels last if the input has them last."""
    if not channels_last(like):
        return backend.empty(shape, like.dtype)
    count, channels, *sizes = shape
    result = backend.empty((count, *sizes, channels), like.dtype)
    order = (0, len(shape) - 1, *range(1, len(shape) - 1))
    return result.view(shape, [result.strides[dim] for dim in order])


def _unbatched(handle: StridedHandle, like: StridedHandle) -> StridedHandle:
    return handle if handle.ndim == like.ndim else handle.view(handle.shape[1:], handle.strides[1:])


def _written(
    kernels: OwnKernels, product: str, one: StridedHandle, two: StridedHandle, bias: StridedHandle | None,
    shape: Sizes, geometry: Geometry,
) -> StridedHandle:  # fmt: skip
    # tt's own kernels write row-major results only.
    last = isinstance(kernels, CudnnKernels)
    result = _result(kernels.backend, one, shape) if last else kernels.backend.empty(shape, one.dtype)
    kernels.product(product, one, two, bias, result, geometry)
    return result


def _convolution(kernels: OwnKernels) -> Callable[..., StridedHandle]:
    def convolution(
        input: StridedHandle,
        weight: StridedHandle,
        bias: StridedHandle | None,
        stride: int | Sizes,
        padding: int | Sizes,
        dilation: int | Sizes,
        groups: int,
    ) -> StridedHandle:
        dims = weight.ndim - 2
        x = _batched(input, weight.ndim)
        out = tuple(
            map(reach, x.shape[2:], each(padding, dims), weight.shape[2:], each(dilation, dims), each(stride, dims))
        )  # fmt: skip
        geometry = Geometry.of(x.shape, weight.shape, out, stride, padding, dilation, groups)
        y = _written(kernels, "forward", x, weight, bias, (x.shape[0], weight.shape[0], *out), geometry)
        return _unbatched(y, input)

    return convolution


def _transposed(kernels: OwnKernels) -> Callable[..., StridedHandle]:
    def transposed(
        input: StridedHandle,
        weight: StridedHandle,
        bias: StridedHandle | None,
        stride: int | Sizes,
        padding: int | Sizes,
        output_padding: int | Sizes,
        groups: int,
        dilation: int | Sizes,
    ) -> StridedHandle:
        dims = weight.ndim - 2
        y = _batched(input, weight.ndim)
        sizes = tuple(
            (size - 1) * hop - 2 * pad + gap * (width - 1) + more + 1
            for size, hop, pad, gap, width, more in zip(
                y.shape[2:],
                each(stride, dims),
                each(padding, dims),
                each(dilation, dims),
                weight.shape[2:],
                each(output_padding, dims),
                strict=True,
            )
        )
        shape = (y.shape[0], weight.shape[1] * groups, *sizes)
        geometry = Geometry.of(shape, weight.shape, y.shape[2:], stride, padding, dilation, groups)
        x = _written(kernels, "transposed", y, weight, bias, shape, geometry)
        return _unbatched(x, input)

    return transposed


def _weights(kernels: OwnKernels) -> Callable[..., StridedHandle]:
    def weights(
        input: StridedHandle,
        grad: StridedHandle,
        weight_size: Sizes,
        stride: Sizes,
        padding: Sizes,
        dilation: Sizes,
        groups: int,
    ) -> StridedHandle:
        x, y = _batched(input, len(weight_size)), _batched(grad, len(weight_size))
        geometry = Geometry.of(x.shape, weight_size, y.shape[2:], stride, padding, dilation, groups)
        w = kernels.backend.empty(weight_size, x.dtype)
        kernels.weights(x, y, w, geometry)
        return w

    return weights
