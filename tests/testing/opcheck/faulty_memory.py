"""Operators with a fault in their changes, results and sharing."""

from __future__ import annotations

import numpy as np

import tt
from tests.testing.opcheck.made import Made, X, faulty, name
from tt.library import REGISTRY, KernelTable, OpDefinition, Signature

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
