"""`__tt_dispatch__`: modes, classes and wrappers, side by side with `__torch_dispatch__` where PyTorch is installed."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest

import tt
from tt.library import TTDispatchMode
from tt.utils._python_dispatch import (
    _get_current_dispatch_mode,
    _get_current_dispatch_mode_stack,
    is_traceable_wrapper_subclass,
    return_and_correct_aliasing,
)
from tt.utils._pytree import tree_map, tree_map_only

# ruff: noqa: N806 - scenarios make their classes for the library that they run in.

# What each library says when all have returned NotImplemented.
DECLINED = r"no implementation found|Multiple dispatch failed"


class Library:
    """One of the two libraries, with what the tests use of it under common names."""

    def __init__(self, name):
        if name == "tt":
            self.module, self.protocol, self.function = tt, "__tt_dispatch__", "__tt_function__"
            self.Mode, self.disabled = TTDispatchMode, tt.overrides.disabled_tt_function_impl
        else:
            torch = pytest.importorskip("torch")
            from torch.utils._python_dispatch import TorchDispatchMode

            self.module, self.protocol, self.function = torch, "__torch_dispatch__", "__torch_function__"
            self.Mode, self.disabled = TorchDispatchMode, torch._C._disabled_torch_function_impl
        self.Tensor = self.module.Tensor

    def name(self, func):
        """Return the name of an operator as both libraries have it."""
        return func.name if self.module is tt else func.overloadpacket.__name__

    def mode(self, name, log, answer=None):
        def asked(this, func, types, args=(), kwargs=None):
            log.append((name, self.name(func), [t.__name__ for t in types], len(args), sorted(kwargs or {})))
            return func(*args, **(kwargs or {})) if answer is None else answer

        return type(name, (self.Mode,), {self.protocol: asked})()

    def wrapper(self, name, log=None, bases=None, declines=False, plain=()):
        """Return a class of tensors that hold another; results are wrapped, but those of the operators in `plain`."""

        def new(cls, inner, requires_grad=False):
            made = self.Tensor._make_wrapper_subclass(
                cls, inner.shape, dtype=inner.dtype, device=inner.device, requires_grad=requires_grad,
                strides=inner.stride(),
            )  # fmt: skip
            made.elem = inner
            return made

        def asked(cls, func, types, args=(), kwargs=None):
            if log is not None:
                log.append((cls.__name__, self.name(func), [t.__name__ for t in types]))
            if declines:
                return NotImplemented
            unwrap = lambda t: t.elem if hasattr(t, "elem") else t  # noqa: E731
            result = func(*tree_map(unwrap, args), **tree_map(unwrap, kwargs or {}))
            if self.name(func) in plain:
                return result
            if self.name(func).endswith("_"):
                return args[0]
            return tree_map_only(self.Tensor, lambda t: t if hasattr(t, "elem") else cls(t), result)

        body = {"__new__": staticmethod(new), "__init__": lambda self, *args, **kwargs: None}
        body |= {self.protocol: classmethod(asked), self.function: self.disabled}
        return type(name, bases or (self.Tensor,), body)


def agree(scenario):
    """Run a scenario in both libraries, and return the common result."""
    pytest.importorskip("torch")
    ours, theirs = scenario(Library("tt")), scenario(Library("torch"))
    assert ours == theirs
    assert ours, "the scenario has seen nothing"
    return ours


# --- modes, side by side -------------------------------------------------------------------------------------------


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


def test_factories_and_changes_in_place_are_seen():
    def scenario(lib):
        log = []
        with lib.mode("mode", log):
            x = lib.module.zeros(3)
            x.add_(1)
            x[0]
        return [entry[1] for entry in log], x.tolist()

    assert agree(scenario) == (["zeros", "add_", "select"], [1.0] * 3)


def test_a_mode_answers_in_the_place_of_the_kernel():
    def scenario(lib):
        log = []
        x, other = lib.module.ones(2), lib.module.full((2,), 7.0)
        with lib.mode("mode", log, answer=other):
            return lib.module.exp(x).tolist(), (x + 1).tolist(), lib.module.zeros(3).tolist()

    assert agree(scenario) == ([7.0, 7.0],) * 3


def test_a_mode_that_declines_leaves_the_call_to_the_classes():
    def scenario(lib):
        log = []
        W = lib.wrapper("W", log)
        w = W(lib.module.ones(2))
        # What the class computes with are plain tensors, which in the block nobody answers.
        with lib.mode("mode", log, answer=NotImplemented), pytest.raises(TypeError, match=DECLINED):
            lib.module.exp(w)
        return [entry[:2] for entry in log]

    assert agree(scenario) == [("mode", "exp"), ("W", "exp"), ("mode", "exp")]


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


def test_modes_come_before_classes():
    def scenario(lib):
        log = []
        W = lib.wrapper("W", log)
        w = W(lib.module.ones(2))
        with lib.mode("mode", log):
            lib.module.exp(w)
        return [entry[:3] for entry in log]

    # What the class computes with is computed inside of the mode's handler, where the mode is off.
    assert agree(scenario) == [("mode", "exp", ["W"]), ("W", "exp", ["W"])]


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


def test_no_grad_and_detach():
    def scenario(lib):
        W = lib.wrapper("W")
        w = W(lib.module.ones(2), requires_grad=True)
        with lib.module.no_grad():
            y = w * 2
        d = (w * 2).detach()
        return y.requires_grad, type(y).__name__, d.requires_grad, type(d).__name__

    assert agree(scenario) == (False, "W", False, "W")


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


# --- tt alone ------------------------------------------------------------------------------------------------------


class Kept(tt.Tensor):
    """Holds a tensor; on module level, so that pickle finds it."""

    __slots__ = ("note",)

    @staticmethod
    def __new__(cls, inner, note="new"):
        made = tt.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, strides=inner.stride())
        made.inner, made.note = inner, note
        return made

    __tt_function__ = tt.overrides.disabled_tt_function_impl

    @classmethod
    def __tt_dispatch__(cls, func, types, args=(), kwargs=None):
        def unwrap(t):
            return t.inner if isinstance(t, cls) else t

        found = func(*tree_map(unwrap, args), **tree_map(unwrap, kwargs or {}))
        if func.name in ("item", "sum"):
            return found
        return tree_map_only(tt.Tensor, cls, found)


def test_printing():
    w = Kept(tt.ones(2, 2))
    assert repr(w) == "Kept(..., size=(2, 2), dtype=tt.float32)"
    assert repr(w.requires_grad_()) == "Kept(..., size=(2, 2), dtype=tt.float32, requires_grad=True)"
    assert repr(w * 2) == "Kept(..., size=(2, 2), dtype=tt.float32, grad_fn=<MulBackward0>)"
    assert repr([Kept(tt.ones(1))]) == "[Kept(..., size=(1,), dtype=tt.float32)]"


def test_values_are_asked_of_the_class_or_refused():
    w = Kept(tt.tensor([2.5]))
    assert w.item() == 2.5 and float(w) == 2.5 and bool(w) and (w > 1).item() is True
    for read in (lambda: w.tolist(), lambda: w.numpy(), lambda: np.asarray(w)):
        with pytest.raises(tt.errors.HiddenValuesError, match="a Kept has no values of its own"):
            read()
    with pytest.raises(TypeError, match="no data of its own"):
        w.as_subclass(tt.Tensor)


@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_keep_class_attributes_and_shape(copier, gradient):
    w = Kept(tt.tensor([[1.0, 2.0, 3.0]]).t(), note="mine")
    w.requires_grad_(gradient)
    w.name = "weight"
    q = copier(w)
    assert type(q) is Kept and q is not w and q.shape == w.shape and q.stride() == w.stride() == (1, 3)
    assert q.note == "mine" and q.name == "weight" and q.requires_grad is gradient
    assert q.inner.tolist() == [[1.0], [2.0], [3.0]] and (q.inner is w.inner) == (copier is copy.copy)
    w.name = "other"
    assert q.name == "weight" and (q * 2).sum().item() == 12.0


def test_copies_made_together_share_what_was_shared():
    inner = tt.ones(2)
    pair = copy.deepcopy([Kept(inner), Kept(inner)])
    pair[0].inner[0] = 5.0
    assert pair[1].inner.tolist() == [5.0, 1.0] and inner.tolist() == [1.0, 1.0]


def test_data_can_be_replaced():
    w = Kept(tt.ones(2), note="old").requires_grad_()
    w.data = Kept(tt.zeros(3), note="new")
    assert w.shape == (3,) and w.inner.tolist() == [0.0] * 3 and w.note == "new" and w.requires_grad
    assert type(w.data) is Kept and not w.data.requires_grad


def test_conversion_arrives():
    w = Kept(tt.ones(2))
    assert (
        w.to(tt.float64).dtype is tt.float64
        and type(w.to(tt.float64)) is Kept
        and w.double().inner.dtype is tt.float64
    )
    assert w.to("meta").inner.device.type == "meta" and w.to(tt.float32) is w


def test_views_share_the_version_of_what_they_view():
    w = Kept(tt.arange(4.0))
    v = w[1:]
    v.mul_(10)
    assert w.inner.tolist() == [0.0, 10.0, 20.0, 30.0] and w._version == v._version == 1 and v._base is w
    parts = w.split(2)
    parts[0].zero_()
    assert w.inner.tolist() == [0.0, 0.0, 20.0, 30.0] and w._version == 2


def test_changes_of_the_shape_in_place():
    w = Kept(tt.arange(6.0).reshape(2, 3))
    assert w.t_() is w and w.shape == (3, 2) and w.inner.shape == (3, 2) and w.stride() == (1, 3)
    assert w.unsqueeze_(0).shape == (1, 3, 2) and w.squeeze_().shape == (3, 2)


def test_composites_in_place_check_the_shape():
    w = Kept(tt.ones(2))
    assert w.zero_() is w and w.inner.tolist() == [0.0, 0.0]
    with pytest.raises(RuntimeError, match="cannot hold"):
        w.xlogy_(tt.ones(3, 2))


def test_out_and_the_gradient_of_accumulation():
    w, target = Kept(tt.ones(2)), Kept(tt.zeros(2))
    assert tt.add(w, 1, out=target) is target and target.inner.tolist() == [2.0, 2.0]
    p = Kept(tt.ones(2)).requires_grad_()
    for _ in range(3):
        (p * 2).sum().backward()
    assert type(p.grad) in (Kept, tt.Tensor) and (p.grad * 1).sum().item() == 12.0
    p.grad = None
    hooked = []
    p.register_hook(lambda g: hooked.append(type(g)))
    (p * 2).sum().backward()
    assert hooked


def test_wrappers_of_meta_and_fake_tensors():
    assert (Kept(tt.ones(2, device="meta")) + 1).inner.device.type == "meta"
    with tt.FakeMode():
        w = Kept(tt.ones(2, 3))
        y = w @ w.t()
    assert type(y) is Kept and y.shape == (2, 2) and repr(y.inner) == "FakeTensor(..., size=(2, 2))"
    real = Kept(tt.ones(2, 3))
    with tt.FakeMode():
        assert repr((real * 2).inner) == "FakeTensor(..., size=(2, 3))"
    assert real.inner.tolist() == [[1.0] * 3] * 2


def test_a_handler_is_below_autograd():
    """What a handler computes is not recorded, whatever it computes with, and it gets the user's own tensors."""
    outside, seen = tt.ones(2, requires_grad=True), []

    class Peek(Kept):
        @classmethod
        def __tt_dispatch__(cls, func, types, args=(), kwargs=None):
            product = outside * 2
            seen.append((args[0], args[0].requires_grad, product.requires_grad, tt.is_grad_enabled()))
            return super().__tt_dispatch__(func, types, args, kwargs)

    w = Peek(tt.ones(2)).requires_grad_()
    y = w.exp()
    assert seen[0][0] is w and seen[0][1:] == (True, False, True)
    assert y.requires_grad and (outside * 2).requires_grad


def test_a_class_with_data_of_its_own_and_the_protocol():
    seen = []

    class Logged(tt.Tensor):
        __tt_function__ = tt.overrides.disabled_tt_function_impl

        @classmethod
        def __tt_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append(func.name)
            plain = tree_map_only(cls, lambda t: tt.tensor(t.plain), args)
            return func(*plain, **(kwargs or {}))

    x = tt.Tensor._make_subclass(Logged, tt.ones(2))
    x.plain = [1.0, 2.0]
    assert (x + 1).tolist() == [2.0, 3.0] and seen == ["add"]
    assert x.tolist() == [1.0, 1.0] and repr(x) == "Logged([1., 1.])" and seen == ["add"]


class Whole(TTDispatchMode):
    """Takes composites whole, and declines some."""

    __tt_dispatch_whole__ = True

    def __init__(self, declined=()):
        self.seen, self.declined = [], declined

    def __tt_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(func.name)
        if func.name in self.declined:
            return NotImplemented
        return func(*args, **(kwargs or {}))


def test_composites_arrive_whole_where_that_is_asked_for():
    x = tt.ones(2, 2)
    with Whole() as mode:
        tt.stack([x, x])
        tt.hstack([x, x])
    assert mode.seen == ["stack", "hstack"]
    with Whole(declined=("hstack",)) as mode:
        assert tt.hstack([x, x]).shape == (2, 4)
    assert mode.seen[0] == "hstack" and mode.seen[-1] == "cat"
    with Whole() as mode:
        tt.stack([x.requires_grad_(), x])
    assert mode.seen == ["unsqueeze", "unsqueeze", "cat"]


def test_a_class_takes_composites_whole():
    class Greedy(Kept):
        __tt_dispatch_whole__ = True
        seen: list = []  # noqa: RUF012 - shared by all instances on purpose

        @classmethod
        def __tt_dispatch__(cls, func, types, args=(), kwargs=None):
            cls.seen.append(func.name)
            return super().__tt_dispatch__(func, types, args, kwargs)

    x = Greedy(tt.ones(2))
    assert tt.stack([x, x]).shape == (2, 2) and Greedy.seen == ["stack"]


def test_the_arguments_are_written_as_the_schema_has_them():
    seen = []

    class Written(TTDispatchMode):
        def __tt_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append((func.name, args[1:], kwargs))
            return func(*args, **(kwargs or {}))

    x = tt.ones(2, 2)
    with Written():
        x.sum(1, True)
        x.sum(dim=1)
        tt.add(x, 2, alpha=3)
        x.add(2, alpha=1)
        x.clone()
    assert seen == [
        ("sum", ((1,), True), {}), ("sum", ((1,),), {}), ("add", (2,), {"alpha": 3}), ("add", (2,), {}),
        ("clone", (), {}),
    ]  # fmt: skip


def test_the_function_of_a_handler_tells_of_itself():
    seen = []

    class Told(TTDispatchMode):
        def __tt_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    x = tt.ones(2)
    with Told():
        x.add_(1)
        x.max(0)
        x + 1
    assert seen[0] is tt.ops.add_ and seen[1] is tt.ops.max.dim and seen[2] is tt.ops.add
    assert [f.name for f in seen] == ["add_", "max", "add"]
    assert seen[1].overloadpacket is tt.max and seen[0].overloadpacket is tt.ops.add_
    assert str(seen[2].schema) == "add(Tensor self, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor"


def test_the_mode_is_the_threads_own_and_known_to_it():
    seen = []

    class Log(TTDispatchMode):
        def __tt_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(threading.current_thread().name)
            assert _get_current_dispatch_mode() is None
            return func(*args, **(kwargs or {}))

    with Log() as mode:
        assert _get_current_dispatch_mode() is mode and _get_current_dispatch_mode_stack() == [mode]
        thread = threading.Thread(target=lambda: tt.ones(2) + 1)
        thread.start()
        thread.join()
        tt.ones(2)
    assert seen == [threading.main_thread().name] and _get_current_dispatch_mode() is None


def test_a_mode_decorates_functions():
    seen = []

    class Log(TTDispatchMode):
        def __tt_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func.name)
            return func(*args, **(kwargs or {}))

    program = Log()(lambda x: x + 1)
    assert program(tt.ones(1)).item() == 2.0 and seen == ["add"]


def test_functions_come_first_then_plain_modes_then_dispatch():
    order = []

    class F(tt.overrides.TTFunctionMode):
        def __tt_function__(self, func, types, args=(), kwargs=None):
            order.append("function")
            return func(*args, **(kwargs or {}))

    class D(TTDispatchMode):
        def __tt_dispatch__(self, func, types, args=(), kwargs=None):
            order.append("dispatch")
            return func(*args, **(kwargs or {}))

    class M(tt.library.Mode):
        def handle(self, caller, args):
            order.append("plain")
            return caller.dispatch(args)

    x = tt.ones(1)
    with D(), M(), F():
        x.exp()
    assert order == ["function", "plain", "dispatch"]
    order.clear()
    with F(), D(), M():
        x.exp()
    assert order == ["function", "plain", "dispatch"]


def test_tracing_and_explaining_see_the_layer():
    with tt.trace_calls() as calls:
        Kept(tt.ones(2)) + 1
    assert [(c.operator, c.depth) for c in calls.calls if c.operator == "add"] == [("add", 0), ("add", 1)]
    with tt.count() as counts:
        Kept(tt.ones(2)) + 1
    assert sum(n for (operator, _, _), n in counts.calls.items() if operator == "add") == 2


def test_custom_operators_arrive():
    @tt.library.custom_op("python_dispatch_test::twice", mutates=())
    def twice(x: tt.Tensor) -> tt.Tensor:
        return x * 2

    try:
        seen = []

        class Log(TTDispatchMode):
            def __tt_dispatch__(self, func, types, args=(), kwargs=None):
                seen.append(func.name)
                return func(*args, **(kwargs or {}))

        with Log():
            tt.ops.python_dispatch_test.twice(tt.ones(2))
        assert seen == ["ones", "python_dispatch_test::twice"]
        assert type(tt.ops.python_dispatch_test.twice(Kept(tt.ones(2)))) is Kept
    finally:
        twice.remove()


def test_all_that_decline_are_named():
    class Shy(Kept):
        @classmethod
        def __tt_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(
        tt.errors.NoOverrideError, match=r"'tt.ops.exp': __tt_dispatch__ was asked of the types \[Shy\]"
    ) as e:
        Shy(tt.ones(2)).exp()
    assert e.value.types == ("Shy",) and e.value.protocol == "__tt_dispatch__" and e.value.mode is None


def test_what_handlers_of_pytorch_use_is_there():
    assert return_and_correct_aliasing(tt.ops.exp, (), {}, 5) == 5
    assert not is_traceable_wrapper_subclass(Kept(tt.ones(1))) and not is_traceable_wrapper_subclass(1)

    class Flat(Kept):
        def __tensor_flatten__(self):
            return ["inner"], None

        @staticmethod
        def __tensor_unflatten__(inner, context, size, stride):
            return Flat(inner["inner"])

    assert is_traceable_wrapper_subclass(Flat(tt.ones(1)))
