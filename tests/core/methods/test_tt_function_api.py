"""`__tt_function__`: classes and function modes, side by side with `__torch_function__` where PyTorch is installed."""

from __future__ import annotations

import threading

import pytest

import tt
from tt.core.methods.tt_function_api import TTFunctionMode
from tt.overrides import resolve_name

# ruff: noqa: N806 - scenarios make their classes for the library that they run in.

# What each library says when all have returned NotImplemented.
DECLINED = r"no implementation found|Multiple dispatch failed"

# --- both libraries ------------------------------------------------------------------------------------------------


class Library:
    """One of the two libraries, with what the tests use of it under common names."""

    def __init__(self, name):
        if name == "tt":
            self.module, self.protocol = tt, "__tt_function__"
            self.Mode, self.Disable = TTFunctionMode, tt.DisableTTFunctionSubclass
            self.disabled = tt.overrides.disabled_tt_function_impl
        else:
            torch = pytest.importorskip("torch")
            from torch.overrides import TorchFunctionMode

            self.module, self.protocol = torch, "__torch_function__"
            self.Mode, self.Disable = TorchFunctionMode, torch._C.DisableTorchFunctionSubclass
            self.disabled = torch._C._disabled_torch_function_impl
        self.Tensor = self.module.Tensor

    def duck(self, name, log, answer=None, bases=(object,)):
        """Return a class that logs what it is asked; without an answer it declines."""

        def asked(cls, func, types, args=(), kwargs=None):
            log.append((cls.__name__, func.__name__, [t.__name__ for t in types], len(args), kwargs or {}))
            return NotImplemented if answer is None else answer

        return type(name, bases, {self.protocol: classmethod(asked)})

    def mode(self, name, log, answer=None):
        """Return a mode that logs and goes on, or answers."""

        def asked(this, func, types, args=(), kwargs=None):
            log.append((name, func.__name__, [t.__name__ for t in types]))
            return func(*args, **(kwargs or {})) if answer is None else answer

        return type(name, (self.Mode,), {self.protocol: asked})()

    def subclass(self, name, log=None, bases=None):
        """Return a subclass of Tensor that logs and goes on."""
        body = {}
        if log is not None:

            def asked(cls, func, types, args=(), kwargs=None):
                log.append((name, func.__name__, [t.__name__ for t in types]))
                return getattr(super(made, cls), self.protocol)(func, types, args, kwargs)

            body[self.protocol] = classmethod(asked)
        made = type(name, bases or (self.Tensor,), body)
        return made


def in_both(scenario):
    """Return the results of a scenario in tt and in PyTorch; skip without PyTorch."""
    pytest.importorskip("torch")
    return scenario(Library("tt")), scenario(Library("torch"))


def agree(scenario):
    """Run a scenario in both libraries, and return the common result."""
    ours, theirs = in_both(scenario)
    assert ours == theirs
    assert ours, "the scenario has seen nothing"
    return ours


# --- side by side --------------------------------------------------------------------------------------------------


@pytest.mark.torch
def test_ducks_are_asked_from_left_to_right_and_subclasses_first():
    def scenario(lib):
        log = []
        A = lib.duck("A", log)
        B = lib.duck("B", log, bases=(A,))
        C = lib.duck("C", log, answer="c")
        results = [lib.module.stack([A(), lib.module.ones(1), B(), A(), C()])]
        results += [lib.module.add(lib.module.ones(1), C()), lib.module.add(C(), 1, alpha=2)]
        return results, log

    results, log = agree(scenario)
    assert results == ["c"] * 3
    assert [entry[0] for entry in log] == ["B", "A", "C", "C", "C"]
    assert log[0][2] == ["B", "A", "C"] and log[-1][4] == {"alpha": 2}


@pytest.mark.torch
def test_all_that_decline_are_named():
    def scenario(lib):
        log = []
        A, B = lib.duck("A", log), lib.duck("B", log)
        with pytest.raises(TypeError, match=DECLINED) as caught:
            lib.module.mul(A(), B())
        return [name in str(caught.value) for name in ("mul", "A", "B")], log

    assert agree(scenario)[0] == [True, True, True]


@pytest.mark.torch
@pytest.mark.parametrize(
    "call",
    [
        lambda lib, d: lib.module.ones(2) + d,
        lambda lib, d: lib.module.ones(2) * d,
        lambda lib, d: lib.module.ones(2) @ d,
        lambda lib, d: lib.module.ones(2).add(d),
        lambda lib, d: lib.module.ones(2).add_(d),
        lambda lib, d: lib.module.ones(2) < d,
        lambda lib, d: lib.module.max(d),
        lambda lib, d: lib.module.max(d, 0),
        lambda lib, d: lib.module.sum(d, dim=0),
        lambda lib, d: lib.module.cat([d, d]),
        lambda lib, d: lib.module.add(lib.module.ones(2), 1, out=d),
        lambda lib, d: lib.module.where(d, 1, 2),
        lambda lib, d: lib.module.nn.functional.linear(lib.module.ones(2), d),
        lambda lib, d: lib.module.linalg.inv(d),
        lambda lib, d: lib.module.einsum("i,i", lib.module.ones(2), d),
    ],
)
def test_a_duck_is_found_wherever_it_stands(call):
    def scenario(lib):
        log = []
        return call(lib, lib.duck("D", log, answer="quack")()), len(log)

    assert agree(scenario) == ("quack", 1)


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
    # PyTorch's repr looks at the class with further calls; each library names the entry by its own function.
    assert [f for _, f in ours] == [
        "__get__", "__get__", "__get__", "size", "numel", "dim", "getitem", "tolist", "is_contiguous", "setitem",
        "requires_grad_", "__get__", "__get__", "__get__", "represent", "length", "element_size",
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


@pytest.mark.torch
def test_modes_nest_from_the_innermost_out_and_are_off_in_their_handlers():
    def scenario(lib):
        log = []
        with lib.mode("outer", log), lib.mode("inner", log):
            x = lib.module.ones(2)
            lib.module.add(x, 1)
        lib.module.add(x, 1)
        return log

    assert agree(scenario) == [(name, func, []) for func in ("ones", "add") for name in ("inner", "outer")]


@pytest.mark.torch
def test_a_mode_entered_twice_is_asked_twice():
    def scenario(lib):
        log = []
        mode = lib.mode("twice", log)
        with mode, lib.mode("between", log), mode:
            lib.module.ones(1)
        return [entry[0] for entry in log]

    assert agree(scenario) == ["twice", "between", "twice"]


@pytest.mark.torch
def test_modes_come_before_classes_and_are_told_their_types():
    def scenario(lib):
        log = []
        x = lib.module.ones(1).as_subclass(lib.subclass("A", log))
        D = lib.duck("D", log, answer="quack")
        with lib.mode("mode", log):
            found = lib.module.add(x, D())
        return found, [entry[:3] for entry in log]

    found, log = agree(scenario)
    assert log[0] == ("mode", "add", ["A", "D"]) and log[1][:2] == ("A", "add") and found == "quack"


@pytest.mark.torch
def test_a_mode_that_declines_leaves_the_call_to_the_classes():
    def scenario(lib):
        log = []
        D = lib.duck("D", log, answer="quack")
        with lib.mode("mode", log, answer=NotImplemented):
            found = lib.module.add(D(), 1)
            with pytest.raises(TypeError, match=DECLINED):
                lib.module.add(lib.duck("E", log)(), 1)
        return found, [entry[0] for entry in log]

    assert agree(scenario) == ("quack", ["mode", "D", "mode", "E"])


@pytest.mark.torch
def test_a_mode_answers_in_the_place_of_the_operator():
    def scenario(lib):
        log = []
        x = lib.module.ones(2)
        with lib.mode("mode", log, answer="mine"):
            return lib.module.exp(x), x + 1, x.sum(), lib.module.zeros(3), log

    assert agree(scenario)[:4] == ("mine",) * 4


@pytest.mark.torch
def test_an_exception_in_a_handler_leaves_the_modes_as_they_were():
    def scenario(lib):
        log = []

        def asked(this, func, types, args=(), kwargs=None):
            raise ValueError("no")

        failing = type("Failing", (lib.Mode,), {lib.protocol: asked})()
        with lib.mode("outer", log):
            with pytest.raises(ValueError, match="no"), failing:
                lib.module.ones(1)
            lib.module.ones(1)
        lib.module.ones(1)
        return log

    assert agree(scenario) == [("outer", "ones", [])]


@pytest.mark.torch
def test_modes_see_only_what_the_user_calls():
    def scenario(lib):
        log = []
        w = lib.module.ones(3, requires_grad=True)
        with lib.mode("mode", log):
            y = lib.module.stack([w, w])
            z = lib.module.sum(lib.module.softmax(y, 0))
            z.backward()
        return [func for _, func, _ in log]

    assert agree(scenario) == ["stack", "softmax", "sum", "backward"]


@pytest.mark.torch
def test_the_arguments_arrive_as_they_were_written():
    def scenario(lib):
        seen = []

        def asked(this, func, types, args=(), kwargs=None):
            seen.append((len(args), dict(kwargs or {})))
            return func(*args, **(kwargs or {}))

        mode = type("Written", (lib.Mode,), {lib.protocol: asked})()
        x = lib.module.ones(2, 2)
        with mode:
            lib.module.sum(x, dim=1)
            lib.module.sum(x, 1, keepdim=True)
            lib.module.add(x, 1, alpha=1)
            lib.module.zeros(2, dtype=lib.module.float64, requires_grad=True)
        return [(count, sorted(kwargs)) for count, kwargs in seen]

    assert agree(scenario) == [
        (1, ["dim"]), (2, ["keepdim"]), (2, ["alpha"]), (1, ["dtype", "requires_grad"])
    ]  # fmt: skip


# --- tt alone ------------------------------------------------------------------------------------------------------


class Duck:
    """Answers every call with what it was."""

    @classmethod
    def __tt_function__(cls, func, types, args=(), kwargs=None):
        return func


def test_one_object_stands_for_function_method_operator_and_alias():
    x = tt.ones(2)
    assert tt.add(x, Duck()) is (x + Duck()) is x.add(Duck()) is tt.add is tt.Tensor.add is tt.ops.add
    assert tt.pow(x, Duck()) is (x ** Duck()) is tt.pow is tt.Tensor.pow
    assert tt.max(Duck()) is tt.max(Duck(), 0) is tt.max is tt.Tensor.max
    assert tt.subtract(Duck(), 1) is tt.sub and tt.ops.max.dim(Duck(), 0) is tt.ops.max.dim
    assert hash(tt.max) == hash(tt.Tensor.max) and x.add_(Duck()) is tt.Tensor.add_


def test_a_function_is_the_same_object_after_operators_were_added():
    before = tt.ops.max, tt.Tensor.pow
    op = tt.library.custom_op("overrides_test::twice", mutates=())(_twice)
    assert (tt.ops.max, tt.Tensor.pow) == before and tt.pow is tt.ops.pow is before[1]
    assert tt.ops.overrides_test.twice(Duck()) is tt.ops.overrides_test.twice
    assert resolve_name(tt.ops.overrides_test.twice) == "tt.ops.overrides_test.twice"
    op.remove()


def _twice(x: tt.Tensor) -> tt.Tensor:
    return x * 2


def test_every_overridable_function_of_a_tensor_arrives():
    reached, missing = 0, []
    for function, dummy in tt.overrides.get_testing_overrides().items():
        callers = getattr(function, "callers", None)
        caller = next(iter(callers.values())) if callers else function
        operator = getattr(caller, "operator", None)
        if operator is None:
            continue
        arguments = operator.arguments
        if not any(a.type.is_tensor for a in arguments):
            continue
        given = []
        for argument in arguments:
            if argument.keyword_only or argument.default is not tt.core.schema.model.MISSING:
                break
            value = (
                Duck()
                if argument.type.is_tensor
                else {"dtype": tt.float32, "str": "i"}.get(argument.type.base, 1)
            )
            given.append([value] if argument.type.list else value)
        if not any(isinstance(v, Duck) for v in tt.utils._pytree.tree_leaves(given)):
            continue
        reached += 1
        if function(*given) is not function:
            missing.append(resolve_name(function))
        assert dummy(*given) == -1
    assert not missing and reached > 350


def test_names_resolve_and_are_found_again():
    for namespace, functions in tt.overrides.get_overridable_functions().items():
        assert functions, namespace
        for function in functions:
            name = resolve_name(function)
            assert name is not None, function
            found = tt
            for part in name.split(".")[1:]:
                found = getattr(found, part)
            assert found == function, name
    assert resolve_name(print) is None


def test_ignored_functions_are_no_overridable_ones():
    listed = {f for functions in tt.overrides.get_overridable_functions().values() for f in functions}
    assert not listed & tt.overrides.get_ignored_functions()


def test_the_mode_is_the_threads_own():
    seen, done = [], threading.Event()

    class Log(TTFunctionMode):
        def __tt_function__(self, func, types, args=(), kwargs=None):
            seen.append(threading.current_thread().name)
            return func(*args, **(kwargs or {}))

    def elsewhere():
        tt.ones(2) + 1
        done.set()

    with Log():
        thread = threading.Thread(target=elsewhere, name="elsewhere")
        thread.start()
        thread.join()
        tt.ones(2)
    assert done.is_set() and seen == [threading.main_thread().name]


def test_a_mode_decorates_functions():
    class Log(TTFunctionMode):
        seen = 0

        def __tt_function__(self, func, types, args=(), kwargs=None):
            Log.seen += 1
            return func(*args, **(kwargs or {}))

    @Log()
    def program(x):
        """Doc."""
        return x + 1

    assert program(tt.ones(1)).item() == 2.0 and program.__doc__ == "Doc." and Log.seen == 1
    assert program(tt.ones(1)).item() == 2.0 and Log.seen == 2


def test_indexing_and_values_are_seen_by_modes():
    seen = []

    class Log(TTFunctionMode):
        def __tt_function__(self, func, types, args=(), kwargs=None):
            seen.append(resolve_name(func))
            return func(*args, **(kwargs or {}))

    x = tt.ones(2, 2)
    with Log():
        x[0], x[x > 0]
        x[0] = 2
        x[0, 0].item(), x.tolist(), x.numpy()
    assert seen == [
        "tt.Tensor.__getitem__", "tt.gt", "tt.Tensor.__getitem__", "tt.Tensor.__setitem__", "tt.Tensor.__getitem__",
        "tt.Tensor.item", "tt.Tensor.tolist", "tt.Tensor.numpy",
    ]  # fmt: skip


def test_tensors_made_of_data_are_seen_by_modes():
    seen = []

    class Doubles(TTFunctionMode):
        def __tt_function__(self, func, types, args=(), kwargs=None):
            seen.append(resolve_name(func) or func.__name__)
            return func(*args, **{**(kwargs or {}), **({"dtype": tt.float64} if func is tt.tensor else {})})

    with Doubles():
        assert tt.tensor([1.0]).dtype is tt.float64 and tt.tensor([1.0], requires_grad=True).requires_grad
        assert tt.as_tensor([1.0]).dtype is tt.float32
    assert seen == ["tensor", "tensor", "as_tensor"] and tt.tensor([1.0]).dtype is tt.float32


def test_tracing_does_not_change_what_classes_do():
    class Image(tt.Tensor):
        pass

    x = tt.ones(2).as_subclass(Image)
    with tt.trace_calls() as calls:
        y = x + 1
    assert type(y) is Image and "add" in [call.operator for call in calls.calls]


def test_the_current_mode_and_the_stack():
    from tt.overrides import BaseTTFunctionMode, _get_current_function_mode, _get_current_function_mode_stack

    with BaseTTFunctionMode() as outer, BaseTTFunctionMode() as inner:
        assert _get_current_function_mode() is inner
        assert _get_current_function_mode_stack() == [outer, inner]
        assert (tt.ones(2) + 1).tolist() == [2.0, 2.0]
        with tt.overrides.DisableTTFunction():
            assert _get_current_function_mode() is None
    assert _get_current_function_mode() is None and _get_current_function_mode_stack() == []


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
    assert log == ["tt.Tensor.backward", "tt.mul", "tt.sum"]
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


def test_functions_of_ones_own_take_part():
    from tt.overrides import (
        handle_tt_function,
        has_tt_function,
        has_tt_function_unary,
        has_tt_function_variadic,
    )

    def half(x):
        if has_tt_function_unary(x):
            return handle_tt_function(half, (x,), x)
        return x / 2

    assert half(tt.ones(1)).item() == 0.5 and half(Duck()) is half
    assert has_tt_function_variadic(1, Duck()) and not has_tt_function((1, tt.ones(1)))
    with pytest.raises(tt.errors.NoOverrideError, match="asked of no argument's class"):
        handle_tt_function(half, (1,), 1)
    wrapped = tt.overrides.wrap_tt_function(lambda x: (x,))(lambda x: x / 2)
    assert wrapped(Duck()) is wrapped and wrapped(tt.ones(1)).item() == 0.5


def test_tensor_likes_and_methods_are_told():
    assert tt.overrides.is_tensor_like(Duck()) and tt.overrides.is_tensor_like(tt.nn.Parameter())
    assert not tt.overrides.is_tensor_like(1.0)
    assert tt.overrides.is_tensor_method_or_property(tt.Tensor.size)
    assert not tt.overrides.is_tensor_method_or_property(tt.linalg.inv)
    assert tt.Tensor.grad.__get__ in tt.overrides.get_default_nowrap_functions()


def test_plain_calls_look_for_no_protocol(monkeypatch):
    from tt.core.dispatch.intercept import tt_function as overrides

    def never(*args):
        raise AssertionError("the protocol was looked for")

    monkeypatch.setattr(overrides, "call_overrides", never)
    x = tt.ones(2, 2).requires_grad_()
    (tt.nn.functional.linear(x, x)[0] + x.max(0).values).sum()
    assert x.requires_grad
