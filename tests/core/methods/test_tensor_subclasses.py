"""Subclasses of `Tensor`: which members they see, and of which class results are; side by side with PyTorch."""

from __future__ import annotations

import pytest

import tt
from tt.overrides import resolve_name

from .both_libraries import DECLINED, agree, in_both

# ruff: noqa: N806 - scenarios make their classes for the library that they run in.


@pytest.mark.torch
def test_results_are_of_the_subclass_as_in_torch():
    def scenario(lib):
        Image = lib.subclass("Image")
        Small = lib.subclass("Small", bases=(Image,))
        x, y = lib.module.ones(2, 3).as_subclass(Image), lib.module.ones(2, 3).as_subclass(Small)
        plain = lib.module.ones(2, 3)
        results = [
            x + 1, plain + x, x + y, y - x, x[0], x[:, 1], x.sum(), x.t(), x.clone(), x.detach(),
            x.to(lib.module.float64),
            lib.module.stack([plain, x]), lib.module.nn.functional.relu(x), x.new_zeros(2), lib.module.zeros_like(x),
            x.requires_grad_(), (x * 2).sum(), x.cpu(), x.reshape(-1), -x, x == x, x.T, x.max(),
        ]  # fmt: skip
        named = x.max(0)
        several = x.split(1)
        return (
            [type(r).__name__ for r in (*results, *named, *several)],
            type(x.shape).__name__,
            type(x.tolist()).__name__,
        )

    names, shape, values = agree(scenario)
    assert set(names) == {"Image", "Small"} and (shape, values) == ("Size", "list")


@pytest.mark.torch
def test_parameters_give_plain_tensors():
    def scenario(lib):
        p = lib.module.nn.Parameter(lib.module.ones(2))
        return type(p + 1).__name__, type(p[0]).__name__, type(p.detach()).__name__

    assert agree(scenario) == ("Tensor", "Tensor", "Tensor")


@pytest.mark.torch
def test_super_goes_on_and_unrelated_subclasses_decline():
    def scenario(lib):
        log = []
        A, B = lib.subclass("A", log), lib.subclass("B", log)
        a, b = lib.module.ones(1).as_subclass(A), lib.module.ones(1).as_subclass(B)
        with pytest.raises(TypeError, match=DECLINED):
            lib.module.add(a, b)
        # PyTorch's methods have a name of their own, which for this function is the same.
        return log

    assert agree(scenario) == [("A", "add", ["A", "B"]), ("B", "add", ["A", "B"])]


@pytest.mark.torch
def test_a_subclass_is_asked_before_its_base():
    def scenario(lib):
        log = []
        A = lib.subclass("A", log)
        B = lib.subclass("B", log, bases=(A,))
        a, b = lib.module.ones(1).as_subclass(A), lib.module.ones(1).as_subclass(B)
        return type(lib.module.add(a, b)).__name__, log

    # B's handler calls that of A with super().
    assert agree(scenario) == ("B", [("B", "add", ["B", "A"]), ("A", "add", ["B", "A"])])


@pytest.mark.torch
def test_members_are_seen():
    def scenario(lib):
        log = []
        x = lib.module.ones(2, 2).as_subclass(lib.subclass("A", log))
        _ = x.shape, x.dtype, x.device, x.size(), x.numel(), x.dim(), x[0], x.tolist(), x.is_contiguous()
        x[0] = 1
        x.requires_grad_()
        _ = x.requires_grad, x.is_leaf, x.grad, repr(x), len(x), x.element_size()
        return [(name, func) for name, func, _ in log]

    ours, theirs = in_both(scenario)
    # PyTorch's repr looks at the class with further calls.
    assert [f for _, f in ours] == [
        "__get__", "__get__", "__get__", "size", "numel", "dim", "__getitem__", "tolist", "is_contiguous",
        "__setitem__", "requires_grad_", "__get__", "__get__", "__get__", "__repr__", "__len__", "element_size",
    ]  # fmt: skip
    assert [f for _, f in theirs][:9] == [
        "__get__", "__get__", "__get__", "size", "numel", "dim", "__getitem__", "tolist", "is_contiguous",
    ]  # fmt: skip


@pytest.mark.torch
def test_the_switch_makes_plain_tensors_and_passes_ducks_by():
    def scenario(lib):
        Image = lib.subclass("Image")
        x = lib.module.ones(2).as_subclass(Image)
        log = []
        with lib.Disable():
            found = type(x + 1).__name__, type(x.sum()).__name__
            with pytest.raises(TypeError):
                lib.module.add(lib.duck("D", log, answer=1)(), 1)
        return found, log, type(x + 1).__name__

    assert agree(scenario) == (("Tensor", "Tensor"), [], "Image")


@pytest.mark.torch
def test_a_class_that_takes_no_part():
    def scenario(lib):
        Plain = type("Plain", (lib.Tensor,), {lib.protocol: lib.disabled})
        x = lib.module.ones(2).as_subclass(Plain)
        return type(x).__name__, type(x + 1).__name__, type(x[0]).__name__

    assert agree(scenario) == ("Plain", "Tensor", "Tensor")


def test_tracing_does_not_change_what_classes_do():
    class Image(tt.Tensor):
        pass

    x = tt.ones(2).as_subclass(Image)
    with tt.trace_calls() as calls:
        y = x + 1
    assert type(y) is Image and "add" in [call.operator for call in calls.calls]


def test_backward_is_no_affair_of_the_class():
    log = []

    class Log(tt.Tensor):
        @classmethod
        def __tt_function__(cls, func, types, args=(), kwargs=None):
            log.append(resolve_name(func))
            return super().__tt_function__(func, types, args, kwargs)

    x = tt.ones(3).as_subclass(Log).requires_grad_()
    loss = (x * x).exp().sum()
    log.clear()
    loss.backward()
    tt.autograd.grad((x * 2).sum(), x)
    assert log == ["tt.Tensor.backward", "tt.mul", "tt.sum", "tt.autograd.grad"]
    with tt.DisableTTFunctionSubclass():
        assert type(x.grad) is tt.Tensor and x.grad.allclose(2 * x.detach() * (x * x).exp())


def test_a_subclass_may_define_a_member_itself():
    class Named:
        def tolist(self):
            return "mine"

    class Image(Named, tt.Tensor):
        @property
        def shape(self):
            return "shape"

    x = tt.ones(2).as_subclass(Image)
    assert x.tolist() == "mine" and x.shape == "shape" and (x + 1).tolist() == "mine"


def test_an_attribute_may_have_the_name_of_a_method():
    class Image(tt.Tensor):
        pass

    x = tt.ones(2).as_subclass(Image)
    x.values, x.numel = "mine", 5
    assert x.values == "mine" and x.numel == 5 and x.dim() == 1
    del x.numel
    assert x.numel() == 2


def test_plain_calls_look_for_no_protocol(monkeypatch):
    from tt.core.dispatch.intercept import tt_function as overrides

    def never(*args):
        raise AssertionError("the protocol was looked for")

    class Unused(tt.Tensor):
        @classmethod
        def __tt_function__(cls, func, types, args=(), kwargs=None):
            return never()

    monkeypatch.setattr(overrides, "call_overrides", never)
    x = tt.ones(2, 2).requires_grad_()
    (tt.nn.functional.linear(x, x)[0] + x.max(0).values).sum()
    x.detach()[tt.tensor([0])] = 2.0
    assert x[[0], 1].tolist() == [2.0]
