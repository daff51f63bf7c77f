"""`__tt_dispatch__`: modes, classes and wrappers, side by side with `__torch_dispatch__` where PyTorch is installed."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import tt
from tests.core.dispatching import DECLINED, Library, agree

# ruff: noqa: N806 - scenarios make their classes for the library that they run in.

# --- modes, side by side -------------------------------------------------------------------------------------------


@pytest.mark.torch
def test_modes_nest_from_the_innermost_out():
    def scenario(lib):
        log = []
        x = lib.module.ones(2)
        with lib.mode("outer", log), lib.mode("inner", log):
            lib.module.exp(x)
        lib.module.exp(x)
        return log

    assert agree(scenario) == [("inner", "exp", [], 1, []), ("outer", "exp", [], 1, [])]


def without_detach(names):
    """Return names less those of PyTorch's detach of saved results, for which tt needs no operator."""
    return [name for name in names if name != "detach"]


@pytest.mark.torch
def test_modes_stand_below_autograd_and_see_the_backward_pass():
    def scenario(lib):
        log = []
        x = lib.module.ones(3, requires_grad=True)
        with lib.mode("mode", log):
            y = lib.module.exp(x) * 2
            found = y.requires_grad
            y.sum().backward()
        return found, without_detach(entry[1] for entry in log), [round(g, 4) for g in x.grad.tolist()]

    requires_grad, names, gradient = agree(scenario)
    assert requires_grad and gradient == [round(2 * np.e, 4)] * 3
    assert names == ["exp", "mul", "sum", "ones_like", "expand", "mul", "mul"]


@pytest.mark.torch
def test_factories_and_changes_in_place_are_seen():
    def scenario(lib):
        log = []
        with lib.mode("mode", log):
            x = lib.module.zeros(3)
            x.add_(1)
            x[0]
        return [entry[1] for entry in log], x.tolist()

    assert agree(scenario) == (["zeros", "add_", "select"], [1.0] * 3)


@pytest.mark.torch
def test_a_mode_answers_in_the_place_of_the_kernel():
    def scenario(lib):
        log = []
        x, other = lib.module.ones(2), lib.module.full((2,), 7.0)
        with lib.mode("mode", log, answer=other):
            return lib.module.exp(x).tolist(), (x + 1).tolist(), lib.module.zeros(3).tolist()

    assert agree(scenario) == ([7.0, 7.0],) * 3


@pytest.mark.torch
def test_a_mode_that_declines_leaves_the_call_to_the_classes():
    def scenario(lib):
        log = []
        W = lib.wrapper("W", log)
        w = W(lib.module.ones(2))
        # The class computes with plain tensors, which no class answers in the block.
        with lib.mode("mode", log, answer=NotImplemented), pytest.raises(TypeError, match=DECLINED):
            lib.module.exp(w)
        return [entry[:2] for entry in log]

    assert agree(scenario) == [("mode", "exp"), ("W", "exp"), ("mode", "exp")]


@pytest.mark.torch
def test_an_exception_in_a_handler_leaves_everything_as_it_was():
    def scenario(lib):
        log = []

        def asked(this, func, types, args=(), kwargs=None):
            raise ValueError("no")

        failing = type("Failing", (lib.Mode,), {lib.protocol: asked})()
        x = lib.module.ones(2, requires_grad=True)
        with lib.mode("outer", log):
            with pytest.raises(ValueError, match="no"), failing:
                lib.module.exp(x)
            lib.module.exp(x)
        y = lib.module.exp(x)
        return without_detach(entry[1] for entry in log), y.requires_grad

    assert agree(scenario) == (["exp"], True)


# --- wrappers, side by side ----------------------------------------------------------------------------------------


@pytest.mark.torch
def test_types_are_told_once_and_subclasses_asked_first():
    def scenario(lib):
        log = []
        A = lib.wrapper("A", log, declines=True)
        B = lib.wrapper("B", log, bases=(A,), declines=True)
        a, b = A(lib.module.ones(2)), B(lib.module.ones(2))
        for call in (lambda: lib.module.add(a, b), lambda: lib.module.cat([a, a, b]), lambda: a.mul_(b)):
            with pytest.raises(TypeError, match=DECLINED):
                call()
        return log

    both = ["B", "A"]
    assert agree(scenario) == [(asked, name, both) for name in ("add", "cat", "mul_") for asked in both]


@pytest.mark.torch
def test_modes_come_before_classes():
    def scenario(lib):
        log = []
        W = lib.wrapper("W", log)
        w = W(lib.module.ones(2))
        with lib.mode("mode", log):
            lib.module.exp(w)
        return [entry[:3] for entry in log]

    # The class's own tensors are computed inside of the mode's handler, where the mode is off.
    assert agree(scenario) == [("mode", "exp", ["W"]), ("W", "exp", ["W"])]


@pytest.mark.torch
@pytest.mark.parametrize(
    "program",
    [
        lambda lib, w: (w * w + 1).sum(),
        lambda lib, w: lib.module.exp(w) @ w,
        lambda lib, w: lib.module.nn.functional.softmax(w, dim=1).log().sum(),
        lambda lib, w: lib.module.nn.functional.linear(w, w).relu(),
        lambda lib, w: lib.module.cat([w, w]).view(-1)[1:],
        lambda lib, w: lib.module.stack([w.t(), w]).mean(),
        lambda lib, w: w.var(0) / w.norm(),
        lambda lib, w: lib.module.where(w > 0, w, -w).cumsum(0),
        lambda lib, w: w.clone().mul_(2).sub_(w),
        lambda lib, w: w[:, 0].clone(),
    ],
)
def test_autograd_works_on_wrappers(program):
    values = [[1.0, -2.0], [3.0, 0.5]]

    def scenario(lib):
        W = lib.wrapper("W")
        w = W(lib.module.tensor(values), requires_grad=True)
        plain = lib.module.tensor(values, requires_grad=True)
        y, z = program(lib, w), program(lib, plain)
        y.sum().backward()
        z.sum().backward()
        assert type(y).__name__ == "W" and type(w.grad).__name__ == "W" and y.requires_grad
        np.testing.assert_allclose(y.elem.detach().numpy(), z.detach().numpy(), rtol=1e-6)
        np.testing.assert_allclose(w.grad.elem.numpy(), plain.grad.numpy(), rtol=1e-5)
        return y.elem.requires_grad, w.is_leaf, y.grad_fn is not None, tuple(y.shape)

    assert agree(scenario)[:3] == (False, True, True)


@pytest.mark.torch
def test_wrappers_show_what_they_were_made_with():
    def scenario(lib):
        W = lib.wrapper("W")
        made = lib.Tensor._make_wrapper_subclass(
            W, (2, 3), strides=(1, 2), dtype=lib.module.float64, requires_grad=True
        )
        return (
            tuple(made.shape), made.stride(), str(made.dtype).split(".")[1], str(made.device), made.requires_grad,
            made.is_leaf, made.ndim, made.numel(), made.is_contiguous(), made.size(1), isinstance(made, lib.Tensor),
            made.storage_offset(), made.element_size(),
        )  # fmt: skip

    assert agree(scenario)[:5] == ((2, 3), (1, 2), "float64", "cpu", True)


def test_a_class_without_the_protocol_is_refused():
    def scenario(lib):
        with pytest.raises(TypeError, match="must define"):
            lib.Tensor._make_wrapper_subclass(type("Plain", (lib.Tensor,), {}), (2,))
        return True

    assert scenario(Library("tt"))
    with pytest.raises(TypeError, match="takes a subclass of Tensor"):
        tt.Tensor._make_wrapper_subclass(int, (2,))


@pytest.mark.torch
def test_parameters_of_wrappers():
    def scenario(lib):
        W = lib.wrapper("W")
        p = lib.module.nn.Parameter(W(lib.module.ones(2)))
        q = copy.deepcopy(p)
        return type(p).__name__, isinstance(p, lib.module.nn.Parameter), p.requires_grad, p.is_leaf, (
            type(q).__name__, isinstance(q, lib.module.nn.Parameter), q.requires_grad, q.elem is not p.elem,
            q.elem.tolist(),
        )  # fmt: skip

    assert agree(scenario)[:4] == ("W", True, True, True)


@pytest.mark.torch
def test_no_grad_and_detach():
    def scenario(lib):
        W = lib.wrapper("W")
        w = W(lib.module.ones(2), requires_grad=True)
        with lib.module.no_grad():
            y = w * 2
        d = (w * 2).detach()
        return y.requires_grad, type(y).__name__, d.requires_grad, type(d).__name__

    assert agree(scenario) == (False, "W", False, "W")


@pytest.mark.torch
def test_versions_advance_with_changes_in_place():
    def scenario(lib):
        W = lib.wrapper("W")
        w = W(lib.module.ones(2))
        before = w._version
        same = w.add_(1)
        w.mul_(2)
        return before, w._version, same is w, w.elem.tolist()

    assert agree(scenario) == (0, 2, True, [4.0, 4.0])


def test_a_saved_wrapper_that_was_changed_is_refused():
    W = Library("tt").wrapper("W")
    w = W(tt.ones(2), requires_grad=True)
    y = w * 1
    z = y * y
    y.add_(1)
    with pytest.raises(tt.errors.SavedTensorError):
        z.sum().backward()
    y = w * 1
    view = y[:1]
    z = y * y
    view.add_(1)
    with pytest.raises(tt.errors.SavedTensorError):
        z.sum().backward()


# --- the default ---------------------------------------------------------------------------------------------------


def defaulting(lib, log):
    """Return a class of tensors with data that notes a call and leaves it to the default of the protocol."""

    def asked(cls, func, types, args=(), kwargs=None):
        log.append(lib.name(func))
        return getattr(super(kind, cls), lib.protocol)(func, types, args, kwargs)

    body = {lib.protocol: classmethod(asked), lib.function: lib.disabled}
    kind = type("Defaulting", (lib.Tensor,), body)
    return kind


@pytest.mark.torch
def test_the_default_calls_the_kernel_and_returns_plain_tensors():
    def scenario(lib):
        log = []
        x = lib.module.arange(3.0).as_subclass(defaulting(lib, log))
        results = [x + 1, x.clone(), x.mul(x), x.detach()]
        return log, [(type(r) is lib.Tensor, r.tolist()) for r in results]

    log, results = agree(scenario)
    assert log == ["add", "clone", "mul", "detach"] and all(plain for plain, _ in results)


@pytest.mark.torch
def test_the_default_changes_in_place_and_keeps_the_target():
    def scenario(lib):
        log = []
        plain = lib.module.zeros(3)
        x = plain.as_subclass(defaulting(lib, log))
        y = x.add_(2)
        return log, y is x, plain.tolist()

    assert agree(scenario) == (["add_"], True, [2.0] * 3)


@pytest.mark.torch
def test_the_default_is_below_autograd():
    def scenario(lib):
        log = []
        leaf = lib.module.ones(3, requires_grad=True)
        (leaf.as_subclass(defaulting(lib, log)) * 2).sum().backward()
        return log[0], leaf.grad.tolist()

    assert agree(scenario) == ("mul", [2.0] * 3)


@pytest.mark.torch
def test_the_default_passes_the_modes_by():
    def scenario(lib):
        log, modes = [], []
        x = lib.module.ones(2).as_subclass(defaulting(lib, log))
        default = getattr(lib.Tensor, lib.protocol)
        ops = lib.module.ops
        func = ops.mul if lib.module is tt else ops.aten.mul.Tensor
        with lib.mode("mode", modes):
            found = default(func, (), (x, x), {})
        return ["nothing", *log, *modes], type(found) is lib.Tensor

    assert agree(scenario) == (["nothing"], True)


@pytest.mark.torch
def test_a_class_with_the_default_takes_no_part():
    def scenario(lib):
        default = getattr(lib.Tensor, lib.protocol)
        kind = type("Out", (lib.Tensor,), {lib.protocol: default, lib.function: lib.disabled})
        modes = []
        with lib.mode("mode", modes):
            lib.module.ones(2).as_subclass(kind) + 1
        return modes[-1]

    assert agree(scenario) == ("mode", "add", [], 2, [])
    assert tt.Tensor.__tt_dispatch__ is tt.overrides.disabled_tt_dispatch_impl


def test_the_default_refuses_wrappers_without_data():
    log = []
    kind = defaulting(Library("tt"), log)
    wrapper = tt.Tensor._make_wrapper_subclass(kind, (3,))
    with pytest.raises(RuntimeError, match="a Defaulting has no data"):
        wrapper + 1
    assert log == ["add"]
    with pytest.raises(TypeError, match="must define __tt_dispatch__"):
        tt.Tensor._make_wrapper_subclass(tt.Tensor, (3,))


# --- functions for single operators --------------------------------------------------------------------------------


def answering(lib, op, kind, scope):
    """Let the class or mode answer an operator with its first argument plus ten."""
    register = lib.module.library.register_tt_dispatch if lib.module is tt else None
    register = register or lib.module.library.register_torch_dispatch

    def answer(this, func, types, args, kwargs):
        return args[0] if this is None else lib.module.full((2,), 10.0)

    return register(op, kind, answer, lib=scope)


def doubled(lib, name):
    """Return a custom operator and the library that holds what is added to it."""

    def body(x):
        return x * 2

    body.__annotations__ = {"x": lib.Tensor, "return": lib.Tensor}
    op = lib.module.library.custom_op(f"dispatching::{name}", mutates_args=())(body)
    return op, lib.module.library.Library("dispatching", "FRAGMENT")


@pytest.mark.torch
def test_a_function_answers_an_operator_for_a_mode():
    def scenario(lib):
        log = []
        op, scope = doubled(lib, "for_a_mode")
        mode = lib.mode("mode", log)
        answering(lib, "dispatching::for_a_mode", type(mode), scope)
        x = lib.module.ones(2)
        with mode:
            inside = op(x).tolist()
            names = [entry[1] for entry in log if entry[1] not in ("full", "detach")]
            lib.module.exp(x)
        with type("Other", (type(mode),), {})():
            other = op(x).tolist()
        return inside, names, [entry[1] for entry in log].count("exp"), op(x).tolist(), other

    with tt.library.scoped():
        assert agree(scenario) == ([10.0] * 2, [], 1, [2.0] * 2, [2.0] * 2)


@pytest.mark.torch
def test_a_function_answers_an_operator_for_a_class():
    def scenario(lib):
        log = []
        W = lib.wrapper("W", log)
        op, scope = doubled(lib, "for_a_class")
        answering(lib, "dispatching::for_a_class", W, scope)
        found = op(W(lib.module.ones(2)))
        return type(found) is lib.Tensor, found.tolist(), log

    with tt.library.scoped():
        assert agree(scenario) == (True, [10.0] * 2, [])


def test_functions_for_single_operators_are_checked_and_undone():
    mode = Library("tt").mode("mode", [])
    with tt.library.scoped():
        op, _ = doubled(Library("tt"), "undone")
        op.register_tt_dispatch(type(mode), lambda mode, func, types, args, kwargs: args[0])
        with pytest.raises(RuntimeError, match="__tt_dispatch__ of mode for dispatching::undone"):
            op.register_tt_dispatch(type(mode), lambda mode, func, types, args, kwargs: args[0])
        with pytest.raises(TypeError, match="a subclass of Tensor or a mode"):
            op.register_tt_dispatch(tt.Tensor, lambda *args: args[0])
        handle = op.handles[-1]
        with mode:
            assert op(tt.ones(1)).item() == 1
            handle.remove()
            assert op(tt.ones(1)).item() == 2
    add = lambda mode, func, types, args, kwargs: func(*args) + 1  # noqa: E731
    with tt.library.scoped():
        tt.library.register_tt_dispatch("exp", type(mode), add)
        with mode:
            assert tt.exp(tt.zeros(1)).item() == 2
    with mode:
        assert tt.exp(tt.zeros(1)).item() == 1
