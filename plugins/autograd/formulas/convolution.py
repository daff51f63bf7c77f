"""Formulas of convolutions.  g is the gradient of the result.

The three products of a convolution are each other's gradients: y = conv(x, w), x = conv_transpose(y, w) and
w = _conv_weight(x, y).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt.core.library import Tensor, ops
from tt.plugins.autograd.formulas.helpers import conj
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()


def each(value: Sequence[int], count: int) -> tuple[int, ...]:
    """Return a number for each spatial dimension."""
    values = (value,) if isinstance(value, int) else tuple(value)
    return values * count if len(values) == 1 else values


def in_dtype(g: Tensor, like: Tensor) -> Tensor:
    """Return a gradient in the dtype of another tensor: a program may begin a backward pass with another precision."""
    return g if g.dtype is like.dtype else g.to(like.dtype)


def conv(
    x: Tensor,
    w: Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    sizes: Sequence[int],
) -> Any:
    """Return the convolution, of which the last dimensions are cut to sizes."""
    count = w.ndim - 2
    y = getattr(ops, f"conv{count}d").default(in_dtype(x, w), w, None, stride, padding, dilation, groups)
    for dim, size in enumerate(tuple(sizes)[-count:], y.ndim - count):
        # An output_padding beyond the stride gives the transpose more places than have their own window.
        y = y if y.shape[dim] == size else ops.narrow(y, dim, 0, size)
    return y


def transposed(
    y: Tensor,
    w: Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    sizes: Sequence[int],
) -> Any:
    """Return the transpose of the convolution of an input of the given sizes."""
    count = w.ndim - 2
    hops, pads, gaps = each(stride, count), each(padding, count), each(dilation, count)
    # Several inputs have the same output size where the stride is above 1; this much was cut off.
    more = [
        size - ((rows - 1) * hop - 2 * pad + gap * (width - 1) + 1)
        for size, rows, hop, pad, gap, width in zip(
            tuple(sizes)[-count:], y.shape[-count:], hops, pads, gaps, w.shape[2:], strict=True
        )
    ]
    return getattr(ops, f"conv_transpose{count}d")(in_dtype(y, w), w, None, hops, pads, more, groups, gaps)


def weight_of(
    x: Tensor,
    y: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Tensor:
    """Return the gradient of the filters."""
    hops, pads, gaps = (each(value, len(size) - 2) for value in (stride, padding, dilation))
    return ops._conv_weight(x, in_dtype(y, x), tuple(size), hops, pads, gaps, groups)


def bias_of(g: Tensor, weight_shape: Sequence[int]) -> Tensor:
    """Sum over everything but the channels."""
    channels = g.ndim - len(weight_shape) + 1
    return ops.sum.dim(g, tuple(dim for dim in range(g.ndim) if dim != channels))


# --- convolution -----------------------------------------------------------------------------------------------

for op in ("conv1d", "conv2d", "conv3d"):
    d.of(
        op,
        input=lambda g, input_shape, weight, stride, padding, dilation, groups: transposed(
            g, conj(weight), stride, padding, dilation, groups, input_shape
        ),
        weight=lambda g, input, weight_shape, stride, padding, dilation, groups: weight_of(
            conj(input), g, weight_shape, stride, padding, dilation, groups
        ),
        bias=bias_of,
    )

for op in ("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"):
    d.of(
        op,
        input=lambda g, input_shape, weight, stride, padding, dilation, groups: conv(
            g, conj(weight), stride, padding, dilation, groups, input_shape
        ),
        weight=lambda g, input, weight_shape, stride, padding, dilation, groups: weight_of(
            in_dtype(g, input), conj(input), weight_shape, stride, padding, dilation, groups
        ),
        bias=bias_of,
    )

d.of(
    "_conv_weight",
    input=lambda g, input_shape, grad, stride, padding, dilation, groups: transposed(
        conj(grad), g, stride, padding, dilation, groups, input_shape
    ),
    grad=lambda g, input, grad_shape, stride, padding, dilation, groups: conv(
        conj(input), g, stride, padding, dilation, groups, grad_shape
    ),
)

# --- windows as columns ----------------------------------------------------------------------------------------

d.of(
    "functional_unfold",
    input=lambda g, input_shape, kernel_size, dilation, padding, stride: ops.functional_fold(
        g, tuple(input_shape)[-2:], kernel_size, dilation, padding, stride
    ),
)
d.of(
    "functional_fold",
    input=lambda g, kernel_size, dilation, padding, stride: ops.functional_unfold(
        g, kernel_size, dilation, padding, stride
    ),
)
