"""Dispatch modes: whole composites, arguments, threads, decorators, and their place among other modes."""

from __future__ import annotations

import threading

import pytest

import tt
from tests.core.dispatching import Kept
from tt.core.library import Mode
from tt.library import TTDispatchMode
from tt.utils._python_dispatch import (
    _get_current_dispatch_mode,
    _get_current_dispatch_mode_stack,
    is_traceable_wrapper_subclass,
    return_and_correct_aliasing,
)


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

    class M(Mode):
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
