"""Composites of convolutions: windows copied side by side, then matrix products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.mutate.overlap import shares_memory
from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import ShapeError, ValueRangeError
from tt.core.types.dtype import bool_, uint8
from tt.core.types.user_warnings import warn_user
from tt.operators.convolution.shapes import each
from tt.operators.helpers import as_type, check_shapes, widened

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

composites: Final = CompositeTable()
composite = composites.composite

Sizes = Sequence[int]

# --- windows ---------------------------------------------------------------------------------------------------


def grown(self: Tensor, pads: Sequence[tuple[int, int]]) -> Tensor:
    """Return a tensor with zeros before and after its last dimensions; negative numbers cut elements off."""
    first = self.ndim - len(pads)
    for dim, (before, after) in enumerate(pads, first):
        if before < 0 or after < 0:
            begin, end = max(-before, 0), self.shape[dim] - max(-after, 0)
            self = ops.narrow(self, dim, begin, max(end - begin, 0)) if begin < end else self
        ends = [
            ops.new_zeros(self, (*self.shape[:dim], more, *self.shape[dim + 1 :]))
            for more in (max(before, 0), max(after, 0))
        ]
        if before > 0 or after > 0:
            self = ops.cat([ends[0], self, ends[1]], dim)
    return self


def windows(x: Tensor, kernel: Sizes, stride: Sizes, dilation: Sizes, out: Sizes) -> Tensor:
    """Return a view of x (N, C, ...) with each element of the kernel before the places of the window."""
    x = ops.contiguous(x)
    steps = x.stride()[2:]
    gaps = (step * gap for step, gap in zip(steps, dilation, strict=True))
    hops = (step * hop for step, hop in zip(steps, stride, strict=True))
    return ops.as_strided(
        x, (*x.shape[:2], *kernel, *out), (*x.stride()[:2], *gaps, *hops), x.storage_offset()
    )


def columns(
    x: Tensor, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int, out: Sizes
) -> Tensor:
    """Return the windows of x as columns (N, groups, C / groups * kernel, places)."""
    x = grown(x, [(pad, pad) for pad in padding])
    rows = x.shape[1] // groups * prod(kernel)
    # Here the windows are copied: overlapping elements as often as windows have them.
    return ops.reshape(windows(x, kernel, stride, dilation, out), (x.shape[0], groups, rows, prod(out)))


# --- convolution -----------------------------------------------------------------------------------------------


def correlate(x: Tensor, w: Tensor, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Tensor:
    """Return the filters times the windows of a batch."""
    kernel = tuple(w.shape[2:])
    out = places_of(tuple(x.shape[2:]), kernel, stride, padding, dilation)
    windows = columns(x, kernel, stride, padding, dilation, groups, out)
    filters = ops.reshape(w, (groups, w.shape[0] // groups, windows.shape[2]))
    return ops.reshape(ops.matmul(filters, windows), (x.shape[0], w.shape[0], *out))


def batched(input: Tensor, ndim: int) -> Tensor:
    """Return an input in float32 at least, with a batch."""
    return widened(input) if input.ndim == ndim else ops.unsqueeze(widened(input), 0)


def finished(y: Tensor, bias: Tensor | None, input: Tensor) -> Tensor:
    """Return a result with the bias, in the dtype of the input, without the batch that the input lacks."""
    if bias is not None:
        y = ops.add(y, ops.reshape(widened(bias), (-1, *(1,) * (y.ndim - 2))))
    return as_type(y if input.ndim == y.ndim else ops.squeeze.dim(y, 0), input.dtype)


def convolution(op: str, count: int) -> Callable[..., Any]:
    """Return the composite of a convolution over so many dimensions."""

    def conv(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        groups: int,
    ) -> Tensor:
        check_shapes(op, input, weight, bias, stride, padding, dilation, groups)
        stride, padding, dilation = (each(op, value, count, "") for value in (stride, padding, dilation))
        y = correlate(batched(input, weight.ndim), widened(weight), stride, padding, dilation, groups)
        return finished(y, bias, input)

    return conv


def convolution_with_named_padding(op: str, count: int) -> Callable[..., Any]:
    """Return the composite of a convolution whose padding is a word."""

    def conv(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        stride: Sequence[int],
        padding: str,
        dilation: Sequence[int],
        groups: int,
    ) -> Any:
        convolve = getattr(ops, op).default
        if padding not in ("same", "valid"):
            raise ValueRangeError(
                f"{op}(): Invalid padding string: {padding!r}; it must be 'same' or 'valid'"
            )
        if padding == "valid" or weight.ndim != count + 2:
            return convolve(input, weight, bias, stride, 0, dilation, groups)
        if any(hop != 1 for hop in each(op, stride, count, "stride")):
            raise ShapeError(f"{op}(): padding='same' is not supported for strided convolutions")
        gaps = each(op, dilation, count, "dilation")
        whole = [max(gap * (width - 1), 0) for gap, width in zip(gaps, weight.shape[2:], strict=True)]
        if any(pad % 2 for pad in whole):
            warn_user(
                f"{op}(): padding='same' of kernels of an even size takes a copy of the result\n"
                "  try: an odd size, or an even dilation"
            )
        # An odd padding is greater at the end: one place more at the start is computed and left out.
        y = convolve(input, weight, bias, 1, [(pad + 1) // 2 for pad in whole], dilation, groups)
        for dim, pad in enumerate(whole, -count):
            y = ops.narrow(y, dim, 1, y.shape[dim] - 1) if pad % 2 else y
        return ops.clone(y, memory_format="contiguous_format") if any(pad % 2 for pad in whole) else y

    return conv


# --- its transpose ---------------------------------------------------------------------------------------------


def spread(x: Tensor, stride: Sizes) -> Tensor:
    """Return x with zeros between the elements of its last dimensions."""
    for dim, hop in enumerate(stride, 2):
        if hop > 1 and x.shape[dim] > 1:
            size = x.shape[dim]
            gaps = ops.new_zeros(x, (*x.shape[: dim + 1], hop - 1, *x.shape[dim + 1 :]))
            wide = ops.cat([ops.unsqueeze(x, dim + 1), gaps], dim + 1)
            x = ops.reshape(wide, (*x.shape[:dim], size * hop, *x.shape[dim + 1 :]))
            x = ops.narrow(x, dim, 0, (size - 1) * hop + 1)
    return x


def turned(w: Tensor, groups: int) -> Tensor:
    """Return filters (groups * a, b, ...) as (groups * b, a, ...), mirrored in the last dimensions."""
    each_in, each_out, kernel = w.shape[0] // groups, w.shape[1], tuple(w.shape[2:])
    parts = ops.transpose(ops.reshape(w, (groups, each_in, each_out, *kernel)), 1, 2)
    whole = ops.reshape(parts, (groups * each_out, each_in, *kernel))
    return ops.flip(whole, tuple(range(2, w.ndim)))


def transposed_convolution(op: str, count: int) -> Callable[..., Any]:
    """Return the composite of the transpose of a convolution over so many dimensions."""

    def conv_transpose(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        stride: Sequence[int],
        padding: Sequence[int],
        output_padding: Sequence[int],
        groups: int,
        dilation: Sequence[int],
    ) -> Tensor:
        check_shapes(op, input, weight, bias, stride, padding, output_padding, groups, dilation)
        hops, pads = each(op, stride, count, ""), each(op, padding, count, "")
        more, gaps = each(op, output_padding, count, ""), each(op, dilation, count, "")
        # The transpose is a convolution of the spread input with the turned filters.
        x = spread(batched(input, weight.ndim), hops)
        edges = [
            (gap * (width - 1) - pad, gap * (width - 1) - pad + extra)
            for gap, width, pad, extra in zip(gaps, weight.shape[2:], pads, more, strict=True)
        ]
        w = turned(widened(weight), groups)
        ones, zeros = (1,) * count, (0,) * count
        return finished(correlate(grown(x, edges), w, ones, zeros, gaps, groups), bias, input)

    return conv_transpose


for dims in (1, 2, 3):
    composite(f"conv{dims}d", convolution(f"conv{dims}d", dims))
    composite(f"conv{dims}d.padding", convolution_with_named_padding(f"conv{dims}d", dims))
    composite(f"conv_transpose{dims}d", transposed_convolution(f"conv_transpose{dims}d", dims))


# --- the gradient of the filters -------------------------------------------------------------------------------


@composite("_conv_weight")
def conv_weight(
    input: Tensor,
    grad: Tensor,
    weight_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
) -> Tensor:
    x, y = batched(input, len(weight_size)), batched(grad, len(weight_size))
    count, outputs, out = y.shape[0], y.shape[1], tuple(y.shape[2:])
    windows = columns(x, tuple(weight_size)[2:], stride, padding, dilation, groups, out)
    y = ops.reshape(y, (count, groups, outputs // groups, prod(out)))
    # For each example, then summed: a product over the joined batch would need a transposed copy of the
    # windows.
    products = ops.matmul(y, ops.transpose(windows, 2, 3))
    return as_type(ops.reshape(ops.sum.dim(products, 0), tuple(weight_size)), input.dtype)


# --- windows as columns ----------------------------------------------------------------------------------------


@composite("functional_unfold")
def unfold(
    input: Tensor,
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Tensor:
    check_shapes("functional_unfold", input, kernel_size, dilation, padding, stride)
    op = "unfold"
    kernel, gaps = each(op, kernel_size, 2, ""), each(op, dilation, 2, "")
    pads, hops = each(op, padding, 2, ""), each(op, stride, 2, "")
    x = input if input.ndim == 4 else ops.unsqueeze(input, 0)
    windows = columns(x, kernel, hops, pads, gaps, 1, places_of(tuple(x.shape[2:]), kernel, hops, pads, gaps))
    if shares_memory(windows, input):  # windows without padding that lie one after the other are a view still
        windows = ops.clone(windows, memory_format="contiguous_format")
    return ops.squeeze.dim(windows, 1 if input.ndim == 4 else (0, 1))


def places_of(sizes: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> tuple[int, ...]:
    """Return how many windows fit into each dimension."""
    return tuple(
        (size + 2 * pad - gap * (width - 1) - 1) // hop + 1
        for size, pad, gap, width, hop in zip(sizes, padding, dilation, kernel, stride, strict=True)
    )


@composite("functional_fold")
def fold(
    input: Tensor,
    output_size: Sequence[int],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Tensor:
    check_shapes("functional_fold", input, output_size, kernel_size, dilation, padding, stride)
    op = "fold"
    sizes, kernel = each(op, output_size, 2, ""), each(op, kernel_size, 2, "")
    gaps, pads, hops = each(op, dilation, 2, ""), each(op, padding, 2, ""), each(op, stride, 2, "")
    channels = (*input.shape[:-2], input.shape[-2] // prod(kernel))
    whole = [size + 2 * pad for size, pad in zip(sizes, pads, strict=True)]
    # The place of every element of every column in the padded image.
    positions: Any = 0
    for i, count in enumerate(places_of(sizes, kernel, hops, pads, gaps)):
        first = ops.mul(ops.arange(kernel[i], device=input.device), gaps[i])
        steps = ops.mul(ops.arange(count, device=input.device), hops[i])
        along = ops.mul(ops.add(ops.unsqueeze(first, 1), ops.unsqueeze(steps, 0)), whole[1] if i == 0 else 1)
        positions = ops.add(
            ops.reshape(along, (-1, 1, count, 1) if i == 0 else (1, kernel[1], 1, count)), positions
        )
    x = as_type(input, uint8) if input.dtype is bool_ else widened(input)
    # Windows overlap: elements of the same place add up.
    image = ops.index_add(
        ops.new_zeros(x, (*channels, prod(whole))),
        len(channels),
        ops.reshape(positions, (-1,)),
        ops.reshape(x, (*channels, -1)) if x.numel() else ops.new_zeros(x, (*channels, positions.numel())),
    )
    image = ops.reshape(image, (*channels, *whole))
    for dim, (size, pad) in enumerate(zip(sizes, pads, strict=True), len(channels)):
        image = ops.narrow(image, dim, pad, size) if pad else image
    return ops.contiguous(ops.ne(image, 0) if input.dtype is bool_ else as_type(image, input.dtype))


# --- with the batch in the middle ------------------------------------------------------------------------------


@composite("conv_tbc")
def conv_tbc(self: Tensor, weight: Tensor, bias: Tensor, pad: int) -> Tensor:
    for name, tensor, dims in (
        ("the input", self, "time, batch, channels"),
        ("weight", weight, "width, input channels, output channels"),
    ):
        if tensor.ndim != 3:
            raise ShapeError(
                f"conv_tbc(): {name} has the dimensions ({dims}), but its shape is {list(tensor.shape)}"
            )
    if self.shape[2] != weight.shape[1]:
        raise ShapeError(
            f"conv_tbc(): the input has {self.shape[2]} channels, but weight takes {weight.shape[1]}"
        )
    if tuple(bias.shape) != (weight.shape[2],):
        raise ShapeError(
            f"conv_tbc(): bias must have shape [{weight.shape[2]}], the output channels of weight, but has "
            f"{list(bias.shape)}"
        )
    signal, filters = ops.permute(self, (1, 2, 0)), ops.permute(weight, (2, 1, 0))
    return ops.permute(ops.conv1d(signal, filters, bias, (1,), (pad,)), (2, 0, 1))
