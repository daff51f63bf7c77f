"""The two names of each protocol: which attribute of a class answers."""

from __future__ import annotations

import pytest

import tt
from tt.core.types.protocols import DISPATCH_METHODS, FUNCTION_METHODS, method_of, spell_both


def handler(answer):
    return classmethod(lambda cls, func, types, args=(), kwargs=None: (answer, func))


def made(name, bases=(object,), **methods):
    return type(name, bases, {f"__{key}__": handler(value) for key, value in methods.items()})


@pytest.mark.parametrize("names", [FUNCTION_METHODS, DISPATCH_METHODS])
def test_the_class_nearest_decides_and_in_one_class_the_name_of_tt(names):
    own, other = names
    ours, theirs = type("Ours", (), {own: 1}), type("Theirs", (), {other: 1})
    assert [method_of(kind, names) for kind in (ours, theirs, int)] == [own, other, None]
    assert method_of(type("Below", (ours,), {other: 1}), names) == other
    assert method_of(type("Below", (theirs,), {own: 1}), names) == own
    assert method_of(type("Both", (), {own: 1, other: 1}), names) == own
    assert method_of(type("Off", (), {own: None, other: None}), names) is None


def test_a_class_gets_the_name_that_it_lacks_and_its_bases_stay():
    base = type("Base", (), {"__torch_function__": 1})
    kind = type("Kind", (base,), {})
    spell_both(kind, FUNCTION_METHODS)
    assert kind.__tt_function__ == 1
    assert not hasattr(base, "__tt_function__")
    both = type("Both", (), {"__tt_function__": 1, "__torch_function__": 2})
    spell_both(both, FUNCTION_METHODS)
    assert (both.__tt_function__, both.__torch_function__) == (1, 2)


@pytest.mark.parametrize(
    "call",
    [
        lambda duck: tt.add(duck, 1),
        lambda duck: tt.ones(2) + duck,
        lambda duck: duck_on_the_left(duck, tt.ones(2)),
        lambda duck: tt.stack([duck, tt.ones(2)]),
        lambda duck: tt.nn.functional.linear(tt.ones(2), duck),
        lambda duck: tt.numel(duck),
        lambda duck: tt.autograd.grad(duck, tt.ones(1)),
        lambda duck: tt.ones(3)[duck],
        lambda duck: tt.max(duck),
    ],
)
def test_pytorchs_name_answers_wherever_that_of_tt_does(call):
    results = []
    for name in ("tt_function", "torch_function"):
        answer, func = call(made("Duck", **{name: "quack"})())
        results.append((answer, tt.overrides.resolve_name(func)))
    assert results[0] == results[1]
    assert results[0][0] == "quack"
    assert results[0][1] is not None


def duck_on_the_left(duck, tensor):
    return tensor.__rmul__(duck)


def test_a_class_with_both_names_answers_tt_by_the_name_of_tt():
    duck = made("Duck", tt_function="ours", torch_function="theirs")()
    assert tt.exp(duck)[0] == "ours"
    x = tt.ones(2).as_subclass(made("Both", (tt.Tensor,), tt_function="ours", torch_function="theirs"))
    assert tt.exp(x)[0] == "ours"
    assert type(x).__torch_function__(None, ())[0] == "theirs"


def test_a_mixin_that_is_no_tensor_answers_for_a_tensor():
    mixin = made("Mixin", torch_function="mixed")
    kind = type("Kind", (mixin, tt.Tensor), {})
    assert tt.exp(tt.ones(1).as_subclass(kind))[0] == "mixed"
    assert not hasattr(mixin, "__tt_function__")


def test_super_leads_through_classes_of_both_names():
    seen = []

    class Ours(tt.Tensor):
        @classmethod
        def __tt_function__(cls, func, types, args=(), kwargs=None):
            seen.append("ours")
            return super().__tt_function__(func, types, args, kwargs)

    class Theirs(Ours):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append("theirs")
            return super().__torch_function__(func, types, args, kwargs)

    class Last(Theirs):
        @classmethod
        def __tt_function__(cls, func, types, args=(), kwargs=None):
            seen.append("last")
            return super().__tt_function__(func, types, args, kwargs)

    y = tt.ones(2).as_subclass(Last).exp()
    assert (seen, type(y)) == (["last", "theirs", "ours"], Last)


def test_a_parameter_of_a_library_goes_on_with_that_of_parameters():
    class Scale(tt.nn.Parameter):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return super().__torch_function__(func, types, args, kwargs)

    # `Parameter` takes no part, so the call is nobody's, as in PyTorch.
    with pytest.raises(TypeError, match="returned NotImplemented"):
        Scale(tt.ones(2)).exp()


def test_a_name_that_is_set_later_is_found():
    class Image(tt.Tensor): ...

    x = tt.ones(2).as_subclass(Image)
    Image.__torch_function__ = handler("later")
    assert tt.exp(x)[0] == "later"


def test_modes_answer_by_either_name():
    for base, name in (
        (tt.overrides.TTFunctionMode, "__torch_function__"),
        (tt.overrides.TorchFunctionMode, "__tt_function__"),
        (tt.library.TTDispatchMode, "__torch_dispatch__"),
        (tt.utils._python_dispatch.TorchDispatchMode, "__tt_dispatch__"),
    ):
        mode = type("Seven", (base,), {name: lambda self, func, types, args=(), kwargs=None: tt.tensor(7.0)})
        with mode():
            result = tt.ones(3)
        assert result.shape == (), name


def test_is_tensor_like_and_has_torch_function_see_both_names():
    overrides = tt.overrides
    for name in ("tt_function", "torch_function"):
        duck = made("Duck", **{name: 1})()
        assert overrides.is_tensor_like(duck)
        assert overrides.has_torch_function((tt.ones(1), duck))
        assert overrides.has_torch_function_unary(duck)
        assert overrides.has_torch_function_variadic(1, duck)
        assert overrides.handle_torch_function(tt.exp, (duck,), duck) == (1, tt.exp)
    assert not overrides.has_torch_function((tt.ones(1), 1))


def test_a_rule_of_one_operator_serves_a_class_with_pytorchs_name():
    class Inner(tt.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return super().__torch_dispatch__(func, types, args, kwargs)

    with tt.library.scoped():
        tt.library.register_torch_dispatch("tt::exp", Inner, lambda cls, func, types, args, kwargs: 7)
        x = tt.ones(2).as_subclass(Inner)
        assert (x.exp(), (x + 1).tolist()) == (7, [2.0, 2.0])


@pytest.mark.torch
def test_tensors_of_pytorch_are_no_tensor_likes():
    torch = pytest.importorskip("torch")

    class Image(torch.Tensor): ...

    for theirs in (torch.ones(2), torch.nn.Parameter(torch.ones(2)), torch.ones(2).as_subclass(Image)):
        assert not tt.overrides.is_tensor_like(theirs)
        with pytest.raises(TypeError, match="exp"):
            tt.exp(theirs)
