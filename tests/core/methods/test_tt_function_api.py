"""`__tt_function__`: classes and function modes, side by side with `__torch_function__` where PyTorch is installed."""

from __future__ import annotations

import threading

import pytest

import tt
from tt.core.methods.tt_function_api import TTFunctionMode
from tt.overrides import resolve_name

from .both_libraries import DECLINED, Duck, agree

# ruff: noqa: N806 - scenarios make their classes for the library that they run in.

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


def test_the_current_mode_and_the_stack():
    from tt.overrides import BaseTTFunctionMode, _get_current_function_mode, _get_current_function_mode_stack

    with BaseTTFunctionMode() as outer, BaseTTFunctionMode() as inner:
        assert _get_current_function_mode() is inner
        assert _get_current_function_mode_stack() == [outer, inner]
        assert (tt.ones(2) + 1).tolist() == [2.0, 2.0]
        with tt.overrides.DisableTTFunction():
            assert _get_current_function_mode() is None
    assert _get_current_function_mode() is None and _get_current_function_mode_stack() == []


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
