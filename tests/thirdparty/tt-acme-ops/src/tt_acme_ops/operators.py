"""Implementations of the operators: those that are defined here by `custom_op`, and those that ops.yaml defines."""

import numpy as np

import tt
from tt.library import CompositeTable, KernelTable, custom_op, ops

# --- acme::twice: a kernel, a fake, a gradient -----------------------------------------------------------------


@custom_op("acme::twice")
def twice(x: tt.Tensor) -> tt.Tensor:
    """Doubles x."""


@twice.kernel("cpu")
def twice_on_cpu(x):
    return x + x


@twice.fake
def twice_without_data(x):
    return tt.empty_like(x)


@twice.backward
def twice_backward(ctx, gradient):
    return 2 * gradient


# --- acme::soft_clip: an option, and a gradient that needs what was given --------------------------------------


@custom_op("acme::soft_clip")
def soft_clip(x: tt.Tensor, limit: float = 1.0) -> tt.Tensor:
    """Bends x smoothly so that it stays between -limit and limit."""


@soft_clip.kernel("cpu", dtypes=("float32", "float64"))
def soft_clip_on_cpu(x, limit):
    return np.tanh(x / x.dtype.type(limit)) * x.dtype.type(limit)


@soft_clip.fake
def soft_clip_without_data(x, limit):
    return tt.empty_like(x)


@soft_clip.setup_context
def save(ctx, inputs, output):
    ctx.save_for_backward(output)
    ctx.limit = inputs[1]


@soft_clip.backward
def soft_clip_backward(ctx, gradient):
    (y,) = ctx.saved_tensors
    return gradient * (1 - (y / ctx.limit) ** 2), None


# --- acme::decay_: changes its argument ------------------------------------------------------------------------


@custom_op("acme::decay_", mutates="x")
def decay_(x: tt.Tensor, rate: float) -> None:
    """Shrinks x in place by a rate."""


@decay_.kernel("cpu", dtypes=("float32", "float64"))
def decay_on_cpu(x, rate):
    x *= x.dtype.type(1 - rate)


@decay_.fake
def decay_without_data(x, rate):
    return None


# --- acme::scaled_add, acme::moving_average: defined by ops.yaml -----------------------------------------------

composites = CompositeTable()
kernels = KernelTable(device="cpu")


@composites.composite("acme::scaled_add")
def scaled_add(self, other, scale):
    return ops.add(self, ops.mul(other, scale))


@kernels.kernel("acme::scaled_add", dtypes="floating")
def scaled_add_on_cpu(self, other, scale):
    return self + other * scale


@composites.composite("acme::moving_average")
def moving_average(x, size):
    return ops.mean.dim(ops.unfold(x, -1, size, 1), -1)


@kernels.kernel("acme::moving_average", dtypes=("float32", "float64"), check=True)
def moving_average_on_cpu(x, size):
    return np.lib.stride_tricks.sliding_window_view(x, size, -1).mean(-1, dtype=x.dtype)
