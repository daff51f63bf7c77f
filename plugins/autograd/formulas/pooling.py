"""Formulas of pooling.  g is the gradient of the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tt.core.library import Tensor, ops
from tt.plugins.autograd.formulas.convolution import each
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()

# --- the largest element: the gradient goes to where it was found ----------------------------------------------


def largest_input(count: int) -> Callable[..., Any]:
    """Add the gradients at the places of the largest elements, over so many dimensions."""
    return lambda g, indices, input_shape: ops._unpool(g, indices, tuple(input_shape), count)


def values_of(g: Tensor, indices: Tensor, dims: int) -> Tensor:
    """Take the gradients from where the values went."""
    lead = g.ndim - dims
    flat, index = ops.flatten(g, lead), ops.flatten(indices, lead)
    return ops.reshape(ops.gather(flat, lead, index), tuple(indices.shape))


for dims in (1, 2, 3):
    d.of(f"max_pool{dims}d_with_indices", input=largest_input(dims))
    d.of(f"adaptive_max_pool{dims}d_with_indices", input=largest_input(dims))
d.of(
    "_fractional_max_pool",
    input=lambda g, indices, input_shape, kernel_size: ops._unpool(
        g, indices, tuple(input_shape), len(kernel_size)
    ),
)
d.of("_unpool", values=values_of)

# --- the mean: the gradient is shared among the elements of the window -----------------------------------------


def shared(size: Sequence[int], g: Tensor, *how: Any) -> Tensor:
    """Share the gradients of means among the elements of the windows."""
    stride = how[1]
    count = len(size)
    kernel, padding = each(how[0], count), each(how[2], count)
    step = each(stride, count) if stride else None
    return ops._avg_unpool(g, size, kernel, step, padding, *how[3:])


def averaged(g: Tensor, size: Sequence[int], *how: Any) -> Any:
    """Return the means of a gradient over the same windows."""
    count = len(size)
    return getattr(ops, f"avg_pool{count}d")(g, *(how[:-1] if count == 1 else how))


d.of(
    "avg_pool1d",
    input=lambda g, input_shape, kernel_size, stride, padding, ceil_mode, count_include_pad: shared(
        tuple(input_shape)[-1:], g, kernel_size, stride, padding, ceil_mode, count_include_pad, None
    ),
)
d.of(
    "avg_pool2d",
    input=lambda g, input_shape, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override: (
        shared(
            tuple(input_shape)[-2:],
            g,
            kernel_size,
            stride,
            padding,
            ceil_mode,
            count_include_pad,
            divisor_override,
        )
    ),
)
d.of(
    "avg_pool3d",
    input=lambda g, input_shape, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override: (
        shared(
            tuple(input_shape)[-3:],
            g,
            kernel_size,
            stride,
            padding,
            ceil_mode,
            count_include_pad,
            divisor_override,
        )
    ),
)
d.of(
    "_avg_unpool",
    grad=lambda g, size, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override: (
        averaged(g, size, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    ),
)


def adaptively_shared(count: int) -> Callable[..., Any]:
    """Share the gradients of the means over so many dimensions; where there are none, they are zero."""

    def share(g: Tensor, input_shape: Sequence[int]) -> Tensor:
        if 0 in g.shape[-count:]:
            return ops.new_zeros(g, tuple(input_shape))
        return ops._adaptive_avg_unpool(g, tuple(input_shape)[-count:])

    return share


for dims in (1, 2, 3):
    d.of(f"adaptive_avg_pool{dims}d", input=adaptively_shared(dims))
d.of(
    "_adaptive_avg_unpool",
    grad=lambda g, grad_shape, size: getattr(ops, f"adaptive_avg_pool{len(size)}d")(
        g, tuple(grad_shape)[-len(size) :]
    ),
)


# --- the mean of powers ----------------------------------------------------------------------------------------

d.of(
    "_lp_pool",
    input=lambda g, input, norm_type, kernel_size, stride, ceil_mode: ops._lp_pool_backward(
        g, input, norm_type, kernel_size, stride, ceil_mode
    ),
)
