"""Every fault that opcheck names is found in an operator that has it, and in no other."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tt
from tt.core.testing.opcheck import FAULTS
from tt.library import REGISTRY, KernelTable, OpDefinition, Signature, custom_op, opcheck

X = tt.tensor([[0.5, -1.5, 2.0], [1.0, 0.25, -3.0]])
COUNT = itertools.count()


def name():
    """Return a name that no operator has."""
    return f"faulty::op{next(COUNT)}"


class Made:
    """An operator from its parts; every part that is not given is right for "twice"."""

    def __init__(
        self, schema="(Tensor x) -> Tensor", kernel=lambda x: x + x, *, fake=lambda x: tt.empty_like(x),
        backward=lambda ctx, g: 2 * g, save=None, composite=None, dtypes="floating", result="same", tags=(),
    ):  # fmt: skip
        self.op = custom_op(name(), _declares, schema=schema, result=result, tags=tags)
        if kernel is not None:
            self.op.kernel("cpu", kernel, dtypes=dtypes)
        if composite is not None:
            self.op.composite(composite)
        if fake is not None:
            self.op.fake(fake)
        if save is not None:
            self.op.setup_context(save)
        if backward is not None:
            self.op.backward(backward)

    def __enter__(self):
        return self.op

    def __exit__(self, *exception):
        self.op.remove()


def _declares(): ...


FAULTY = {}


def faulty(fault, *args):
    """Register what makes an operator with a fault, and the arguments on which it shows."""

    def add(make):
        FAULTY[make.__name__] = (fault, make, args or (X,))
        return make

    return add


# --- schema ----------------------------------------------------------------------------------------------------


@faulty("call_fails")
def a_kernel_that_raises():
    def kernel(x):
        raise ValueError("no")

    return Made(kernel=kernel)


@faulty("mutated_input")
def an_input_that_is_changed():
    def kernel(x):
        x *= 2
        return x.copy()

    return Made(kernel=kernel)


@faulty("mutated_input", X, X.clone())
def only_the_last_element_of_the_second_input_is_changed():
    def kernel(x, y):
        result = x + y
        y.reshape(-1)[-1:] = 7
        return result

    return Made("(Tensor x, Tensor y) -> Tensor", kernel, fake=lambda x, y: tt.empty_like(x),
                backward=lambda ctx, g: (g, g))  # fmt: skip


@faulty("mutated_input", [X, X + 1])
def a_tensor_of_a_list_is_changed():
    def kernel(xs):
        xs[1][...] = 0
        return xs[0] + 1

    return Made("(Tensor[] xs) -> Tensor", kernel, fake=lambda xs: tt.empty_like(xs[0]), backward=None,
                tags=("nondifferentiable",))  # fmt: skip


@faulty("mutated_input", X, X + 1)
def more_is_changed_than_is_declared():
    def kernel(x, y):
        x *= 2
        y *= 2

    return Made("(Tensor(a!) x, Tensor y) -> ()", kernel, fake=lambda x, y: None, backward=None)


@faulty("never_mutated")
def less_is_changed_than_is_declared():
    return Made("(Tensor(a!) x) -> Tensor", lambda x: x + x, backward=None)


@faulty("mutated_outside")
def a_declared_change_reaches_beside_the_argument():
    def kernel(x):
        memory = x if x.base is None else x.base
        memory *= 2

    return Made("(Tensor(a!) x) -> ()", kernel, fake=lambda x: None, backward=None)


@faulty("layout_wrong")
def a_declared_change_that_is_lost_for_other_strides():
    def kernel(x):
        flat = x.reshape(-1)  # a copy, where x is not contiguous
        flat *= 2

    return Made("(Tensor(a!) x) -> ()", kernel, fake=lambda x: None, backward=None)


@faulty("changed_metadata")
def a_composite_that_makes_its_argument_require_a_gradient():
    def composite(x):
        if x.device.type != "meta" and not x.requires_grad:
            x.requires_grad_()
        return x.detach() * 2

    return Made(kernel=None, composite=composite, backward=None, fake=None, tags=("nondifferentiable",))


@faulty("bumped_version")
def a_composite_that_changes_its_argument_and_changes_it_back():
    def composite(x):
        x.detach().add_(0)
        return x * 2

    return Made(kernel=None, composite=composite, backward=None, fake=None)


@faulty("wrong_result")
def a_composite_that_forgets_to_return():
    return Made(kernel=None, composite=lambda x: None, fake=None)


@faulty("wrong_result")
def a_composite_that_returns_an_array():
    return Made(kernel=None, composite=lambda x: x.detach().numpy() * 2, fake=None)


@faulty("wrong_dtype")
def a_kernel_whose_result_dtype_depends_on_values():
    def kernel(x):
        return x + x if kernel.calls.pop() else (x + x).astype(np.float64)

    kernel.calls = [False] * 1000 + [True]
    return Made(kernel=kernel, dtypes=("float32",))


@faulty("wrong_device")
def a_composite_that_leaves_the_device():
    return Made(kernel=None, composite=lambda x: tt.empty(2, 3, device="meta"), fake=None)


@faulty("mutated_list", [X, X + 1])
def a_composite_that_appends_to_its_list():
    def composite(xs):
        xs.append(xs[0])
        return xs[0] * 1

    return Made("(Tensor[] xs) -> Tensor", None, composite=composite, fake=None, backward=None)


@faulty("version_not_bumped")
def a_change_behind_the_back_of_autograd():
    def composite(x):
        if type(x._handle) is np.ndarray:
            x.detach().numpy()[...] *= 2
        return x * 1

    return Made("(Tensor(a!) x) -> Tensor", None, composite=composite, fake=None, backward=None)


# --- aliasing --------------------------------------------------------------------------------------------------


@faulty("aliased_input")
def the_argument_is_returned():
    return Made(kernel=lambda x: x, backward=lambda ctx, g: g)


@faulty("aliased_input")
def a_view_of_the_argument_is_returned():
    return Made(kernel=lambda x: x.T, fake=lambda x: tt.empty_strided(x.shape[::-1], x.stride()[::-1], dtype=x.dtype,
                device=x.device), backward=lambda ctx, g: g.T)  # fmt: skip


@faulty("alias_not_shared")
def a_view_that_copies():
    return Made.__new__(View)


class View(Made):
    """An operator of the kind `view` whose kernel copies."""

    def __enter__(self):
        definition = OpDefinition(
            Signature.parse(f"{name()}(Tensor(a) x) -> Tensor(a)"),
            "view",
            meta="same",
            promote=("x",),
            grad=(),
        )
        table = KernelTable(device="cpu")
        table.kernel(definition.name, lambda x: x.copy())
        self.handles = [REGISTRY.add_definitions(definition), REGISTRY.add(table)]
        return definition.name

    def __exit__(self, *exception):
        for handle in reversed(self.handles):
            handle.remove()


@faulty("results_share")
def two_results_in_one_memory():
    def kernel(x):
        found = x * 2
        return found, found

    return Made("(Tensor x) -> (Tensor, Tensor)", kernel, fake=lambda x: (tt.empty_like(x), tt.empty_like(x)),
                backward=lambda ctx, g, h: 2 * (g + h))  # fmt: skip


@faulty("result_kept")
def a_result_that_is_kept_from_call_to_call():
    memory = {}

    def kernel(x):
        found = memory.setdefault((x.shape, x.dtype), np.empty_like(x))
        np.multiply(x, 2, out=found)
        return found

    return Made(kernel=kernel)


@faulty("result_overlaps")
def a_result_whose_rows_are_one():
    return Made(
        kernel=lambda x: np.lib.stride_tricks.as_strided(x[:1] * 2, x.shape, (0, x.itemsize), writeable=True),
        fake=lambda x: tt.empty_like(x),
        backward=None, tags=("nondifferentiable",),
    )  # fmt: skip


@faulty("readonly_result")
def a_result_that_cannot_be_changed():
    def kernel(x):
        found = x + x
        found.flags.writeable = False
        return found

    return Made(kernel=kernel)


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


def test_there_is_a_faulty_operator_for_every_fault():
    elsewhere = {
        "device_fails",
        "device_wrong",
    }  # they need a second device: tests/thirdparty/test_acme_ops.py
    assert {fault for fault, _, _ in FAULTY.values()} == set(FAULTS) - elsewhere


@pytest.mark.parametrize("which", FAULTY)
def test_the_fault_is_found_and_named(which):
    fault, make, args = FAULTY[which]
    with make() as op:
        report = opcheck(op, args, raise_exception=False)
        with pytest.raises(tt.errors.OpCheckError) as caught:
            opcheck(op, args)
    assert fault in [failure.fault for failure in report.failures], str(report)
    assert caught.value.failures and caught.value.op.startswith("faulty::")
    assert fault in str(caught.value)
    for failure in report.failures:
        assert failure.hint and failure.snippet.startswith("import tt\n") and failure.message
        assert report[failure.test] != "SUCCESS"


def doubled(x):
    x *= 2


def added(x, y):
    x += y
    return x * 2


def doubled_and_returned(x):
    x *= 2
    return x


@pytest.mark.parametrize(
    ("schema", "kernel", "fake", "args"),
    [
        ("(Tensor(a!) x) -> ()", doubled, lambda x: None, (X,)),
        ("(Tensor(a!) x, Tensor y) -> Tensor", added, lambda x, y: tt.empty_like(x), (X, X + 1)),
        ("(Tensor(a!) x) -> Tensor(a!)", doubled_and_returned, lambda x: x, (X,)),
    ],
)
def test_operators_that_change_what_they_declare_have_no_failure(schema, kernel, fake, args):
    with Made(schema, kernel, fake=fake, backward=None) as op:
        report = opcheck(op, args)
    assert report.ok and set(report.values()) == {"SUCCESS"}


def test_a_right_operator_has_no_failure():
    with Made() as op:
        report = opcheck(op, (X,))
    assert report.ok and set(report.values()) == {"SUCCESS"}
