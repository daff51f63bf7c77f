"""Repeated calls: earlier calls change no later one."""

from __future__ import annotations

import functools
import typing
from typing import Any

import numpy as np
import pytest

import tt
from tt.core.dispatch.resolve.operators import make_operator
from tt.core.errors import ArgumentError
from tt.core.library import REGISTRY, Mode


def test_calls_of_several_dtypes_take_turns() -> None:
    x, i = tt.ones(2), tt.ones(2, dtype=tt.int64)
    for call, dtype in [(lambda y: y + y, tt.float32), (lambda y: tt.add(y, y), tt.int64)] * 3:
        for values in (x, i) if dtype is tt.int64 else (i, x):
            assert call(values).dtype is values.dtype and call(values).tolist() == [2, 2]


def test_calls_of_two_tensors_that_do_not_promote_take_turns() -> None:
    scores, classes = np.array([[1.0, 2.0, 0.5], [0.0, -1.0, 3.0]]), np.array([1, 0])
    expected = np.mean(np.log(np.exp(scores).sum(1)) - scores[[0, 1], classes])
    chosen = tt.tensor(classes)
    for dtype in (tt.float32, tt.float64, tt.float32, tt.float64):
        x = tt.tensor(scores, dtype=dtype)
        for tensor in (x, x.clone().requires_grad_(), x):
            loss = tt.nn.functional.cross_entropy(tensor, chosen)
            assert loss.dtype is dtype
            np.testing.assert_allclose(loss.detach().numpy(), expected, rtol=1e-6)
    with pytest.raises(IndexError):
        tt.nn.functional.cross_entropy(tt.tensor(scores), tt.tensor([7, 0]))
    with pytest.raises(RuntimeError):
        tt.nn.functional.cross_entropy(tt.tensor(scores), tt.tensor([0.5, 1.0]))


def test_a_registered_kernel_takes_effect_at_the_next_call_and_so_does_its_removal(probe: Any) -> None:
    probe.kernel("mul", np.multiply)
    x = probe.tensor([3.0], tt.float32)
    for _ in range(3):
        assert tt.mul(x, x)._handle.tolist() == (x * x)._handle.tolist() == [9.0]
    handle = probe.kernel("mul", lambda self, other: self * 0 - 1, override=True)
    for _ in range(3):
        assert tt.mul(x, x)._handle.tolist() == (x * x)._handle.tolist() == [-1.0]
    handle.remove()
    assert tt.mul(x, x)._handle.tolist() == (x * x)._handle.tolist() == [9.0]


def test_a_mode_sees_every_call_of_operators_called_before() -> None:
    x = tt.ones(2, 3)
    calls = {
        "add": lambda: x + x, "exp": lambda: tt.exp(x), "sum": lambda: x.sum(), "view": lambda: x.view(3, 2),
        "zeros": lambda: tt.zeros(2), "select": lambda: x[0], "add_": lambda: x.add_(0), "cat": lambda: tt.cat([x, x]),
    }  # fmt: skip
    seen: list[str] = []

    class Watch(Mode):
        def handle(self, caller: Any, args: tuple[Any, ...]) -> Any:
            seen.append(caller.name)
            return caller.dispatch(args)

    for call in calls.values():
        call(), call(), call()
    with Watch():
        for call in calls.values():
            call()
    assert seen == list(calls)


def test_a_function_mode_gets_the_arguments_as_the_user_gave_them() -> None:
    x = tt.ones(2)
    tt.sum(x, 0), tt.sum(x, 0), tt.add(x, x), tt.add(x, x, out=x.clone())
    seen = []

    class Log(tt.overrides.TTFunctionMode):
        def __tt_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append((func, len(args), sorted(kwargs or {})))
            return func(*args, **(kwargs or {}))

    out = tt.zeros(2)
    with Log():
        tt.sum(x, 0)
        tt.sum(x, dim=0)
        tt.add(x, x)
        tt.add(x, x, alpha=1)
        tt.add(x, x, out=out)
    assert seen == [
        (tt.sum, 2, []), (tt.sum, 1, ["dim"]), (tt.add, 2, []), (tt.add, 2, ["alpha"]), (tt.add, 2, ["out"]),
    ]  # fmt: skip


def test_arguments_are_refused_in_the_same_words_after_calls_that_worked() -> None:
    x = tt.ones(2, 3)
    wrong: list[Any] = [
        lambda: tt.add(x), lambda: tt.add(x, "a"), lambda: tt.add(x, x, 1), lambda: tt.exp(), lambda: x.view(2.5),
        lambda: x.transpose(0), lambda: tt.softmax(x, 7), lambda: x.add_(x[0:1, 0:1, None].expand(4, 2, 3)),
        lambda: tt.cat([x, 1]), lambda: tt.exp(x, wrong=1),
    ]  # fmt: skip

    def said(call: Any) -> str:
        with pytest.raises((TypeError, ValueError, IndexError, RuntimeError)) as caught:
            call()
        return str(caught.value)

    first = [said(call) for call in wrong]
    for _ in range(3):
        x + x, x.exp(), x.view(6), x.transpose(0, 1), tt.softmax(x, 1), x.add_(x), tt.cat([x, x])
    assert [said(call) for call in wrong] == first


def test_versions_and_views_are_kept_by_every_repetition() -> None:
    for _ in range(3):
        x, y = tt.ones(2, 3), tt.ones(2, 3)
        view = x.view(6)
        assert view._storage is x._storage and view._root is x and view[1:]._root is x
        x.add_(y)
        assert x._version == view._version == 1 and view.tolist() == [2.0] * 6
        assert tt.add(x, y, out=y) is y and y._version == 1 and y.tolist() == [[3.0] * 3] * 2


@pytest.mark.parametrize("dims", [(1,), (0, 1), ([1],), ((0, 1),)])
def test_numbers_that_stand_for_a_list_may_precede_out(dims: tuple[object, ...]) -> None:
    x = tt.tensor([[1.0, 2.0], [3.0, 5.0]])
    for _ in range(3):
        out = tt.empty(0)
        assert tt.ops.var(x, *dims, out=out) is out
        assert out.tolist() == tt.ops.var(x, *dims).tolist()


def test_gradients_are_the_same_in_every_repetition() -> None:
    for _ in range(3):
        x = tt.tensor([1.0, 2.0], requires_grad=True)
        y = tt.tensor([3.0, 4.0])
        ((x * y + x) / y).sum().backward()
        assert x.grad.tolist() == pytest.approx([4 / 3, 5 / 4])
        with tt.no_grad():
            assert not (x * y).requires_grad
        assert type((x * y).grad_fn).__name__ == (x * y).grad_fn.name() == "MulBackward0"
        kept = x * y
        x.data = tt.ones(3)
        assert (x * 2).grad_fn.next_functions[0][0].shape == (3,) and kept.shape == (2,)


def test_overloads_are_told_apart_after_many_calls_of_one() -> None:
    x = tt.tensor([[1.0, 2.0], [3.0, 5.0]])
    for _ in range(4):
        assert x.sum().item() == 11 and tt.sum(x).item() == 11
    for _ in range(4):
        assert x.sum(0).tolist() == [4, 7] and tt.sum(x, 1).tolist() == [3, 8] and x.sum().item() == 11
        assert x.sum(dim=0).tolist() == [4, 7] and x.sum(0, True).tolist() == [[4, 7]]
        assert x.sum((0, 1)).item() == 11 and x.sum(0, dtype=tt.float64).dtype is tt.float64
        with pytest.raises(TypeError):
            x.sum("rows")


def test_a_kernel_that_replaces_the_first_one_serves_the_next_call(probe: Any) -> None:
    probe.kernel("neg", np.negative)
    x = probe.tensor([3.0], tt.float32)
    for _ in range(12):
        assert tt.neg(x)._handle.tolist() == [-3.0]
    handle = probe.kernel("neg", lambda self: self * 7, override=True)
    assert [tt.neg(x)._handle.tolist() for _ in range(3)] == [[21.0]] * 3
    handle.remove()
    assert [tt.neg(x)._handle.tolist() for _ in range(3)] == [[-3.0]] * 3


def test_methods_are_bound_to_instances_and_are_the_operators_on_the_class() -> None:
    x = tt.ones(2, 2)
    assert x.transpose(0, 1).shape == (2, 2) and tt.Tensor.transpose is tt.transpose
    assert x.transpose.__self__ is x and tt.Tensor.sum is tt.sum and tt.Tensor.sum(x).item() == 4
    assert tt.nn.Parameter.transpose is tt.transpose


def test_a_function_is_a_method_of_tensors_alone() -> None:
    class Net(tt.nn.Module):
        act, largest, convolve = tt.tanh, tt.max, tt.nn.functional.conv1d

    class Plain:
        act = tt.nn.functional.gelu

    x = tt.tensor([[1.0, -2.0]])
    assert Net().act is tt.tanh and Plain().act is Plain.act is tt.nn.functional.gelu
    assert Net().act(x).tolist() == x.tanh().tolist() and Net().largest(x).item() == 1.0
    assert Net().largest(x, 1).indices.item() == 0
    assert Net().convolve(x[None], tt.ones(1, 1, 1)).shape == (1, 1, 2)

    class Like:
        act = tt.tanh

        @classmethod
        def __tt_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func, args

    class Sub(tt.Tensor):
        act = tt.tanh

    like = Like()
    assert like.act() == (tt.tanh, (like,))
    assert x.as_subclass(Sub).act().tolist() == x.tanh().tolist()


@pytest.mark.parametrize(
    "function", [tt.tanh, tt.max, tt.nn.functional.gelu, tt.nn.functional.relu, tt.linalg.inv]
)
def test_functions_have_the_names_that_programs_look_for(function: Any) -> None:
    assert isinstance(function.__qualname__, str) and function.__qualname__ == function.__name__
    assert typing.get_type_hints(function) == {}

    @functools.wraps(function)
    def wrapper(*args: Any) -> Any:
        return function(*args)

    assert wrapper.__qualname__ == function.__name__ and wrapper.__module__ == function.__module__


@pytest.mark.torch
def test_functions_written_in_c_do_not_bind_in_pytorch_either() -> None:
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        act, largest, gelu = torch.tanh, torch.max, torch.nn.functional.gelu

    x = torch.tensor([1.0, -2.0])
    assert Net().act(x).tolist() == x.tanh().tolist() and Net().largest(x).item() == 1.0
    assert Net().gelu is torch.nn.functional.gelu


def test_a_bool_is_a_number_where_a_float_is_asked_for_and_none_where_an_int_is() -> None:
    padded = tt.nn.functional.pad(tt.tensor([False, True]), (1, 1), value=True)
    assert padded.tolist() == [True, False, True, True]
    assert tt.quantile(tt.tensor([1.0, 3.0]), True).item() == 3.0
    assert tt.dropout(tt.ones(2), True, True).tolist() == [0.0, 0.0]
    for call in (lambda: tt.roll(tt.ones(2), True), lambda: tt.ones(2).sum(True), lambda: tt.ones((True, 2))):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(TypeError, match="must be float"):
        tt.nn.functional.pad(tt.ones(2), (1, 1), value=np.True_)


def test_calls_with_the_leading_tensors_alone_need_no_binder() -> None:
    unary, binary = (
        make_operator(REGISTRY.operator(name).definition, REGISTRY).overload() for name in ("exp", "add")
    )
    x, y = tt.zeros(2), tt.ones(2)
    for _ in range(2):
        assert unary(x).tolist() == [1, 1] and binary(x, y).tolist() == [1, 1]
        with Mode():
            assert unary(x).tolist() == [1, 1] and binary(x, y).tolist() == [1, 1]
        assert unary.binder is None and binary.binder is None
    with pytest.raises(ArgumentError, match="'other'"):
        binary(x, object())
    assert binary(x, y, alpha=1).tolist() == [1, 1] and binary.binder is not None
    assert binary(x, y).tolist() == [1, 1]
