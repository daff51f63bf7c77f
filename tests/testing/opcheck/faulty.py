"""Operators with a fault for every fault that opcheck names."""

from __future__ import annotations

import itertools

import numpy as np

import tt
from tests.testing.opcheck import faulty_memory
from tests.testing.opcheck.made import FAULTY, Made, X, faulty

__all__ = ["FAULTY", "faulty_memory"]

# --- fake ------------------------------------------------------------------------------------------------------


@faulty("missing_fake")
def no_fake():
    return Made(fake=None)


@faulty("fake_fails")
def a_fake_that_raises():
    return Made(fake=lambda x: x.no_such_attribute)


@faulty("fake_needs_data")
def a_fake_that_looks_at_values():
    return Made(fake=lambda x: tt.empty(int(x.sum().item()), device=x.device))


@faulty("fake_dtype")
def a_fake_of_another_dtype_than_a_composite():
    return Made(
        kernel=None, composite=lambda x: (x * 2).to(tt.float64), backward=lambda ctx, g: 2 * g.to(tt.float32)
    )


@faulty("fake_result")
def a_fake_with_fewer_results():
    return Made("(Tensor x) -> Tensor[]", lambda x: [x + x, x * 3], fake=lambda x: [tt.empty_like(x)], backward=None,
                tags=("nondifferentiable",))  # fmt: skip


@faulty("fake_shape")
def a_fake_of_another_shape():
    return Made(fake=lambda x: tt.empty(x.shape[0], device=x.device))


@faulty("fake_shape")
def a_fake_with_the_shape_of_the_example():
    return Made(fake=lambda x: tt.empty(2, 3, device=x.device, dtype=x.dtype))


@faulty("fake_shape")
def a_fake_that_is_wrong_for_empty_tensors():
    return Made(fake=lambda x: tt.empty([max(n, 1) for n in x.shape], device=x.device, dtype=x.dtype))


@faulty("fake_strides")
def a_fake_in_another_order_of_memory():
    return Made(fake=lambda x: tt.empty_strided(x.shape, (1, x.shape[0]), dtype=x.dtype, device=x.device))


@faulty("fake_aliases")
def a_fake_that_returns_its_argument():
    return Made(fake=lambda x: x)


# --- gradients -------------------------------------------------------------------------------------------------


@faulty("no_gradient")
def no_gradient():
    return Made(backward=None)


@faulty("detached")
def a_composite_that_leaves_the_operators():
    def composite(x):
        return tt.tensor(x.detach().numpy() ** 2) if x.device.type == "cpu" else tt.empty_like(x)

    return Made(kernel=None, composite=composite, backward=None, fake=lambda x: tt.empty_like(x))


@faulty("gradient_wrong")
def a_gradient_that_is_scaled():
    return Made(backward=lambda ctx, g: 3 * g)


@faulty("gradient_wrong", X, X + 1)
def a_gradient_that_forgets_an_argument():
    return Made("(Tensor x, Tensor y) -> Tensor", lambda x, y: x * y, fake=lambda x, y: tt.empty_like(x),
                save=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
                backward=lambda ctx, g: (g * ctx.saved_tensors[1], None))  # fmt: skip


@faulty("gradient_fails")
def a_gradient_that_raises():
    def backward(ctx, g):
        raise ValueError("no")

    return Made(backward=backward)


@faulty("gradient_fails")
def a_gradient_of_another_shape():
    return Made(backward=lambda ctx, g: (2 * g).sum(0, keepdim=True)[:, :2])


@faulty("gradient_mutates")
def a_gradient_that_changes_what_it_gets():
    def backward(ctx, g):
        with tt.no_grad():
            return g.mul_(2)

    return Made(backward=backward)


@faulty("gradient_mutates")
def a_gradient_that_changes_what_was_saved():
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        found = 2 * g * x
        x.detach().numpy()[...] = 0
        return found

    return Made(kernel=lambda x: x * x, save=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
                backward=backward)  # fmt: skip


@faulty("gradient_random")
def a_gradient_that_counts_its_calls():
    calls = itertools.count()
    return Made(backward=lambda ctx, g: (2 + 1e-7 * next(calls)) * g)


@faulty("gradient_undefined")
def a_gradient_that_takes_none_for_something_else():
    def save(ctx, inputs, output):
        ctx.set_materialize_grads(False)

    def backward(ctx, g, h):
        if h is None:
            return 2 * g
        return 3 * h if g is None else 2 * g + 3 * h + 1

    return Made("(Tensor x) -> (Tensor, Tensor)", lambda x: (x + x, x + x + x), save=save, backward=backward,
                fake=lambda x: (tt.empty_like(x), tt.empty_like(x)))  # fmt: skip


@faulty("second_gradient_fails")
def a_gradient_that_cannot_be_differentiated():
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        if tt.is_grad_enabled():
            raise TypeError("only once")
        return 2 * g * x

    return Made(kernel=lambda x: x * x, save=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
                backward=backward)  # fmt: skip


@faulty("gradient_layout")
def a_gradient_that_relies_on_memory():
    def backward(ctx, g):
        if not g.is_contiguous():
            return g * 0
        return 2 * g

    return Made(backward=backward)


@faulty("second_gradient_wrong")
def a_gradient_that_is_a_constant_to_the_second_derivative():
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * tt.tensor(2 * x.detach().numpy())

    return Made(kernel=lambda x: x * x, save=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
                backward=backward)  # fmt: skip


# --- repetition ------------------------------------------------------------------------------------------------


@faulty("vmap_wrong")
def a_composite_that_reads_the_values_of_the_first_example():
    def composite(x):
        inside = getattr(x._handle, "value", x)  # behind vmap's wrapper
        return x + float(inside.reshape(-1)[0].item() if x.device.type == "cpu" else 0)

    return Made(kernel=None, composite=composite, backward=None, fake=lambda x: tt.empty_like(x))


@faulty("vmap_fails")
def a_composite_that_asks_for_values():
    def composite(x):
        if x.device.type != "meta" and type(x._handle).__name__ != "ndarray":
            raise TypeError("no batches")
        return x * 2

    return Made(kernel=None, composite=composite, backward=None, fake=lambda x: tt.empty_like(x))


@faulty("nondeterministic")
def a_kernel_that_draws_from_numpy():
    return Made(kernel=lambda x: x + np.random.default_rng().random(x.shape).astype(x.dtype), backward=None,
                tags=("nondifferentiable",))  # fmt: skip


@faulty("nondeterministic")
def a_kernel_that_counts_its_calls():
    calls = itertools.count()
    return Made(kernel=lambda x: x + x.dtype.type(next(calls)), backward=None, tags=("nondifferentiable",))


@faulty("untagged_random")
def a_composite_that_draws_and_does_not_say_so():
    return Made(kernel=None, composite=lambda x: x + tt.rand_like(x), backward=None, fake=None)


@faulty("seed_ignored")
def a_random_operator_that_ignores_the_seed():
    return Made(kernel=lambda x: x + np.random.default_rng().random(x.shape).astype(x.dtype), backward=None,
                tags=("nondifferentiable", "random"))  # fmt: skip


# --- layouts, dtypes -------------------------------------------------------------------------------------------


@faulty("layout_wrong")
def a_kernel_that_reads_memory_in_order():
    def kernel(x):
        memory = np.lib.stride_tricks.as_strided(x, (x.size,), (x.itemsize,))
        return (memory + memory).reshape(x.shape)

    return Made(kernel=kernel)


@faulty("layout_fails")
def a_kernel_that_takes_contiguous_memory_only():
    def kernel(x):
        if not x.flags.c_contiguous:
            raise AssertionError("not contiguous")
        return x + x

    return Made(kernel=kernel)


@faulty("mutated_outside")
def a_kernel_that_writes_beside_its_argument():
    def kernel(x):
        if x.base is not None and x.base.size > x.size:
            x.base.reshape(-1)[1] = 0
        return x + x

    return Made(kernel=kernel)


@faulty("empty_fails")
def a_kernel_that_breaks_without_elements():
    return Made(kernel=lambda x: x + x + 0 * x.dtype.type(1 / len(x)))


@faulty("dtype_fails")
def a_kernel_registered_for_more_than_it_serves():
    return Made(
        kernel=lambda x: x**3, dtypes="all", backward=lambda ctx, g: None, tags=("nondifferentiable",)
    )


@faulty("dtype_wrong")
def a_kernel_that_is_wrong_in_one_dtype():
    return Made(kernel=lambda x: x + x if x.dtype != np.float16 else x)


@faulty("dtype_wrong", tt.full((4000,), 0.1))
def a_kernel_that_sums_in_half_precision():
    def kernel(x):
        found = x.dtype.type(0)
        for value in x.reshape(-1):
            found = x.dtype.type(found + value)
        return np.asarray(found)

    return Made(kernel=kernel, fake=lambda x: x.new_empty(()), backward=None, tags=("nondifferentiable",))
