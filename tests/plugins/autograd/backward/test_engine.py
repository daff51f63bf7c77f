"""Backward passes: accumulation, ownership, hooks, arguments, errors."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import tt
from tests.threads import in_threads


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """One entry for each gradient that was copied because somebody else held it."""
    from tt.plugins.autograd.backward import validate_grads as fitting

    made: list[Any] = []
    original = fitting.copy

    def copy(gradient: Any) -> Any:
        made.append(tuple(gradient.shape))
        return original(gradient)

    monkeypatch.setattr(fitting, "copy", copy)
    return made


# --- who owns a gradient ---------------------------------------------------------------------------------------


def test_a_leaf_adopts_a_gradient_that_nobody_else_holds(copies: list[Any]) -> None:
    x = tt.ones(100, requires_grad=True)
    (x * 2).sum().backward()
    assert not copies
    assert x.grad is not None and x.grad.is_contiguous()


def test_two_leaves_do_not_share_a_gradient(copies: list[Any]) -> None:
    x, y = tt.ones(100, requires_grad=True), tt.ones(100, requires_grad=True)
    ((x + y) * 2).sum().backward()
    assert len(copies) == 1
    assert x.grad is not None and y.grad is not None
    x.grad.zero_()
    assert y.grad.sum().item() == 200.0


def test_a_gradient_of_the_user_is_not_adopted() -> None:
    x, gradient = tt.ones(3, requires_grad=True), tt.ones(3)
    (x + 0).backward(gradient)
    assert x.grad is not None
    x.grad.zero_()
    assert gradient.tolist() == [1.0, 1.0, 1.0]


def test_an_expanded_gradient_is_made_dense() -> None:
    x = tt.ones(3, requires_grad=True)
    x.sum().backward()
    assert x.grad is not None and x.grad.stride() == (1,)
    x.grad[0] = 5.0
    assert x.grad.tolist() == [5.0, 1.0, 1.0]


def test_a_gradient_seen_by_a_hook_is_not_adopted() -> None:
    x, seen = tt.ones(3, requires_grad=True), []
    x.register_hook(seen.append)
    (x * 2).sum().backward()
    assert x.grad is not None
    x.grad.zero_()
    assert seen[0].tolist() == [2.0, 2.0, 2.0]


def test_gradients_accumulate_in_place() -> None:
    x = tt.ones(3, requires_grad=True)
    (x * 2).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    assert x.grad is first and first is not None and first.tolist() == [5.0, 5.0, 5.0]


def test_sums_of_many_gradients_do_not_change_what_others_hold() -> None:
    x = tt.ones(3, requires_grad=True)
    gradient = tt.ones(3)
    y = x * 1
    (y + y + y + y).backward(gradient)
    assert gradient.tolist() == [1.0, 1.0, 1.0]
    assert x.grad is not None and x.grad.tolist() == [4.0, 4.0, 4.0]


# --- the shape, dtype and device of a gradient -----------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (1,), (3,), (1, 3), (2, 1), (2, 3), (1, 1, 3)])
def test_a_gradient_has_the_shape_of_what_was_broadcast(shape: tuple[int, ...]) -> None:
    x = tt.ones(shape, requires_grad=True)
    (x * tt.ones(2, 3)).sum().backward()
    assert x.grad is not None and tuple(x.grad.shape) == shape
    assert x.grad.sum().item() == 6.0 if len(shape) < 3 else True


@pytest.mark.parametrize(
    "dtype", [tt.float16, tt.bfloat16, tt.float32, tt.float64, tt.complex64, tt.complex128]
)
def test_a_gradient_has_the_dtype_of_its_tensor(dtype: tt.dtype) -> None:
    x = tt.ones(2, dtype=dtype, requires_grad=True)
    (x * tt.tensor([1.0, 2.0], dtype=tt.float64)).abs().sum().backward()
    assert x.grad is not None and x.grad.dtype is dtype


def test_integers_have_no_gradient() -> None:
    with pytest.raises(RuntimeError, match="floating point and complex tensors can require"):
        tt.ones(2, dtype=tt.int64).requires_grad_()
    with pytest.raises(RuntimeError, match="floating point and complex tensors can require"):
        tt.ones(2, dtype=tt.int64).requires_grad = True


# --- arguments and errors --------------------------------------------------------------------------------------


def x() -> tt.Tensor:
    return tt.ones(3, requires_grad=True)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: tt.ones(2).backward(),
            "tensor 0 has no history to differentiate",
        ),
        (lambda: (x() * 1).backward(), "needs a gradient to start from; only one of one element"),
        (
            lambda: (x() * 1j).sum().backward(),
            "needs a gradient to start from; only a real one",
        ),
        (lambda: x().sum().backward(tt.ones(2)), r"gradient 0 has shape \[2\], and its output \[\]"),
        (
            lambda: tt.autograd.grad(x().sum(), x()),
            "do not depend on input",
        ),
        (lambda: tt.autograd.grad(x().sum(), []), r"grad\(\): inputs is empty"),
        (
            lambda: tt.autograd.backward(x().sum(), inputs=[]),
            r"backward\(\): inputs is empty",
        ),
        (
            lambda: tt.autograd.grad(x().sum(), tt.ones(3)),
            "one of the inputs does not require a gradient",
        ),
        (
            lambda: (x() * 1).requires_grad_(False),
            "requires_grad is changed on leaves only",
        ),
        (lambda: tt.zeros(1).retain_grad(), "retain_grad\\(\\): the tensor does not require a gradient"),
        (
            lambda: tt.zeros(1).register_hook(print),
            "a hook is for a tensor that requires a gradient",
        ),
        (lambda: setattr(x(), "grad", tt.zeros(2)), "has the same shape, not \\[2\\]"),
        (
            lambda: setattr(x(), "grad", tt.zeros(3, dtype=tt.float64)),
            "has the same dtype, not",
        ),
    ],
)
def test_wrong_calls_get_the_errors_of_torch(call: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call()


def test_a_gradient_must_be_a_tensor() -> None:
    with pytest.raises(TypeError, match=r"\.grad is a tensor or None, not int"):
        x().grad = 3


def test_grad_returns_none_or_zeros_for_unused_inputs() -> None:
    a, b = x(), x()
    assert tt.autograd.grad(a.sum(), [a, b], allow_unused=True)[1] is None
    found = tt.autograd.grad(a.sum(), [a, b], materialize_grads=True)[1]
    assert found is not None and found.tolist() == [0.0, 0.0, 0.0]
    assert a.grad is None


def test_grad_of_an_intermediate_tensor_stops_there() -> None:
    a = x()
    b = a * 2
    c = (b * b).sum()
    (gradient,) = tt.autograd.grad(c, b)
    assert gradient is not None and gradient.tolist() == [4.0, 4.0, 4.0]
    assert a.grad is None


def test_many_vectors_at_once() -> None:
    a = x()
    (jacobian,) = tt.autograd.grad(a * a, a, tt.eye(3), is_grads_batched=True)
    assert jacobian is not None and jacobian.tolist() == (2 * np.eye(3)).tolist()


def test_create_graph_records_the_gradient() -> None:
    a = tt.tensor(2.0, requires_grad=True)
    (a**3).backward(create_graph=True)
    first = a.grad
    assert first is not None and first.requires_grad
    a.grad = None
    first.backward()
    assert a.grad is not None and a.grad.item() == 12.0


def test_gradients_are_not_recorded_otherwise() -> None:
    a = x()
    (a * a).sum().backward()
    assert a.grad is not None and not a.grad.requires_grad
    assert tt.is_grad_enabled()


# --- hooks -----------------------------------------------------------------------------------------------------


def test_hooks_run_in_order_and_can_be_removed() -> None:
    a, log = x(), []
    handle = a.register_hook(lambda g: log.append("first"))
    a.register_hook(lambda g: log.append("second"))
    a.sum().backward()
    handle.remove()
    a.sum().backward()
    assert log == ["first", "second", "second"]


def test_a_hook_sees_the_sum_of_all_paths() -> None:
    a, seen = x(), []
    b = a * 2
    b.register_hook(lambda g: seen.append(g.tolist()))
    (b + b * 3).sum().backward()
    assert seen == [[4.0, 4.0, 4.0]]


def test_hooks_of_nodes() -> None:
    a, seen = x(), []
    b = a * 2
    b.grad_fn.register_prehook(lambda gs: (gs[0] * 10,))
    b.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs[0].tolist(), outputs[0].tolist())))
    b.sum().backward()
    assert seen == [([20.0] * 3, [10.0] * 3)]
    assert a.grad is not None and a.grad.tolist() == [20.0] * 3


def test_a_hook_after_accumulation_sees_the_gradient() -> None:
    a, seen = x(), []
    a.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.tolist()))
    (a * 4).sum().backward()
    assert seen == [[4.0, 4.0, 4.0]]


@pytest.mark.parametrize(
    ("hook", "error", "message"),
    [
        (lambda g: 3, TypeError, "must return a Tensor or None, not int"),
        (lambda g: g[:1], RuntimeError, "has changed the size of value"),
        (lambda g: g.half(), RuntimeError, "has changed the type of value"),
    ],
)
def test_a_hook_that_returns_something_else_is_refused(
    hook: Any, error: type[Exception], message: str
) -> None:
    a = x()
    a.register_hook(hook)
    with pytest.raises(error, match=message):
        a.sum().backward()


# --- recording on and off --------------------------------------------------------------------------------------


def test_recording_is_switched_for_blocks_and_functions() -> None:
    a = x()
    with tt.no_grad():
        assert not (a * 2).requires_grad
        with tt.enable_grad():
            assert (a * 2).requires_grad
        assert not tt.is_grad_enabled()
    assert tt.is_grad_enabled()

    @tt.no_grad
    def bare(a: Any) -> Any:
        return a * 2

    @tt.no_grad()
    def called(a: Any) -> Any:
        return a * 2

    @tt.no_grad()
    def generator(a: Any) -> Any:
        yield a * 2
        assert not tt.is_grad_enabled()
        yield a * 3

    assert not bare(a).requires_grad and not called(a).requires_grad
    for made in generator(a):
        assert not made.requires_grad and tt.is_grad_enabled()
    tt.set_grad_enabled(False)
    assert not (a * 2).requires_grad
    tt.set_grad_enabled(True)
    with tt.set_grad_enabled(False):
        assert not tt.is_grad_enabled()
    assert tt.is_grad_enabled()


def test_an_exception_switches_recording_back() -> None:
    with pytest.raises(KeyError), tt.no_grad():
        raise KeyError
    assert tt.is_grad_enabled()


def test_recording_is_switched_for_one_thread_only() -> None:
    a, inside = x(), []
    with tt.no_grad():
        thread = threading.Thread(target=lambda: inside.append((tt.is_grad_enabled(), (a * 2).requires_grad)))
        thread.start()
        thread.join()
    assert inside == [(True, True)]


def test_threads_can_share_a_leaf() -> None:
    a = tt.ones(3, requires_grad=True)

    def work() -> None:
        for _ in range(20):
            tt.autograd.grad((a * a).sum(), a)

    in_threads(*[work] * 4)
    assert a.grad is None


# --- data that is replaced -------------------------------------------------------------------------------------


def test_a_leaf_whose_data_was_replaced_gets_gradients_that_fit() -> None:
    a = tt.ones(3, requires_grad=True)
    (a * 2).sum().backward()
    a.data = tt.ones(2, 2, dtype=tt.float64)
    a.grad = None
    (a * 3).sum().backward()
    assert a.grad is not None and tuple(a.grad.shape) == (2, 2) and a.grad.dtype is tt.float64
