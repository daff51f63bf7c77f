"""Arguments of `backward` and `grad`, and their faults."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import tt


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
        (lambda: x().sum().backward(tt.ones(2)), r"grad_output\[0\] has a shape of tt.Size\(\[2\]\)"),
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
    with pytest.warns(UserWarning, match="hold one another"):
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


# --- generators ---------------------------------------------------------------------------------------------------


def test_generators_are_taken_for_tensors_as_lists_are():
    model = tt.nn.Linear(2, 1)
    x = tt.tensor([[1.0, 2.0]])
    one = tt.ones(())
    for outputs, gradients in (
        (lambda: model(x).sum(), lambda: None),
        (lambda: (loss for loss in [model(x).sum()]), lambda: (g for g in [one])),
    ):
        weight, bias = tt.autograd.grad(outputs(), model.parameters(), gradients())
        assert weight.tolist() == [[1.0, 2.0]] and bias.tolist() == [1.0]
        tt.autograd.backward(outputs(), gradients(), inputs=model.parameters())
        assert [p.grad.tolist() for p in model.parameters()] == [[[1.0, 2.0]], [1.0]]
        model.zero_grad()
    model(x).sum().backward(inputs=(p for p in [model.bias]))
    assert model.weight.grad is None and model.bias.grad.tolist() == [1.0]


def test_generators_are_taken_where_tensors_have_tangents():
    def derivative(v):
        (first,) = tt.autograd.grad(
            (v**3 for _ in range(1)), (w for w in [v]), (tt.ones(()) for _ in range(1))
        )
        return first

    x = tt.tensor(2.0, requires_grad=True)
    value, tangent = tt.func.jvp(derivative, (x,), (tt.tensor(1.0),))
    assert (value.item(), tangent.item()) == (12.0, 12.0)


def test_zeros_that_stand_for_none_can_be_differentiated_again() -> None:
    first, unused = x(), tt.ones((), requires_grad=True)
    gradients = tt.autograd.grad(
        (first * first).sum(), [first, unused], create_graph=True, materialize_grads=True
    )
    for gradient, expected in zip(gradients, (2, 0), strict=True):
        again = tt.autograd.grad(gradient.sum(), [first, unused], materialize_grads=True)
        assert [value.tolist() for value in again] == [[expected] * 3, 0] and not again[1].requires_grad


def test_inputs_in_a_dict_give_gradients_in_a_dict() -> None:
    a, b = x(), x()
    found = tt.autograd.grad((a * b * 2).sum(), {"b": b, "a": a})
    assert list(found) == ["b", "a"] and found["a"].tolist() == [2, 2, 2]
    with pytest.raises(TypeError, match="must be a dict"):
        tt.autograd.grad((a * b).sum(), OrderedDict(a=a))
