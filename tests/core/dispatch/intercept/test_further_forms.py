"""Calls in the form of PyTorch's first versions, and numbers that are copied."""

from __future__ import annotations

import numpy as np
import pytest

import tt

X, Y, Z = tt.tensor([1.0, 2.0]), tt.tensor([3.0, 4.0]), tt.tensor([5.0, 6.0])
M = tt.tensor([[1.0, 2.0], [3.0, 4.0]])

CASES = {
    "add": (lambda t, x, y, z, m: t.add(x, 2, y), lambda t, x, y, z, m: x + 2 * y),
    "add_": (lambda t, x, y, z, m: x.clone().add_(-0.5, y), lambda t, x, y, z, m: x - 0.5 * y),
    "add of a tensor": (lambda t, x, y, z, m: x.add(t.tensor(2.0), y), lambda t, x, y, z, m: x + 2 * y),
    "add of a number": (lambda t, x, y, z, m: t.add(x, t.tensor(2.0), 3), lambda t, x, y, z, m: x + 2 * 3),
    "add of bools": (
        lambda t, x, y, z, m: t.add(t.tensor(True), t.tensor(True), True),
        lambda t, x, y, z, m: t.tensor(True),
    ),
    "sub": (lambda t, x, y, z, m: x.sub(3, y), lambda t, x, y, z, m: x - 3 * y),
    "sub_": (lambda t, x, y, z, m: x.clone().sub_(3, y), lambda t, x, y, z, m: x - 3 * y),
    "addcmul_": (lambda t, x, y, z, m: x.clone().addcmul_(0.1, y, z), lambda t, x, y, z, m: x + 0.1 * y * z),
    "addcmul": (lambda t, x, y, z, m: t.addcmul(x, 2, y, z), lambda t, x, y, z, m: x + 2 * y * z),
    "addcdiv_": (lambda t, x, y, z, m: x.clone().addcdiv_(-1, y, z), lambda t, x, y, z, m: x - y / z),
    "addmm": (lambda t, x, y, z, m: t.addmm(2, m, 3, m, m), lambda t, x, y, z, m: 2 * m + 3 * (m @ m)),
    "addmm, beta": (lambda t, x, y, z, m: t.addmm(2, m, m, m), lambda t, x, y, z, m: 2 * m + m @ m),
    "addmm_": (lambda t, x, y, z, m: m.clone().addmm_(0, m, m), lambda t, x, y, z, m: m @ m),
    "addmm, method": (lambda t, x, y, z, m: m.addmm(2, 3, m, m), lambda t, x, y, z, m: 2 * m + 3 * (m @ m)),
    "addmv": (lambda t, x, y, z, m: t.addmv(2, x, 3, m, y), lambda t, x, y, z, m: 2 * x + 3 * (m @ y)),
    "addr": (lambda t, x, y, z, m: m.addr(2, 3, x, y), lambda t, x, y, z, m: 2 * m + 3 * t.outer(x, y)),
    "baddbmm": (
        lambda t, x, y, z, m: t.baddbmm(2, m[None], 3, m[None], m[None]),
        lambda t, x, y, z, m: (2 * m + 3 * (m @ m))[None],
    ),
    "addbmm": (
        lambda t, x, y, z, m: t.addbmm(2, m, 3, m[None], m[None]),
        lambda t, x, y, z, m: 2 * m + 3 * (m @ m),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_factors_may_come_before_the_tensors(case):
    older, today = CASES[case]
    with pytest.warns(UserWarning, match=r"^This overload of \w+ is deprecated"):
        found = older(tt, X, Y, Z, M)
    tt.testing.assert_close(found, today(tt, X, Y, Z, M))


@pytest.mark.torch
@pytest.mark.parametrize("case", CASES)
def test_pytorch_takes_them(case):
    import torch

    there = [torch.tensor(value.tolist()) for value in (X, Y, Z, M)]
    with pytest.warns(UserWarning):
        assert torch.allclose(CASES[case][0](torch, *there), CASES[case][1](torch, *there))
        tt.testing.assert_close(
            CASES[case][0](tt, X, Y, Z, M).tolist(), CASES[case][0](torch, *there).tolist()
        )


def test_an_older_form_has_gradients_and_takes_out():
    x, out = tt.ones(2, requires_grad=True), tt.empty(2)
    with pytest.warns(UserWarning):
        x.add(3, x * 2).sum().backward()
        assert tt.add(X, 2, Y, out=out) is out
    assert x.grad.tolist() == [7.0, 7.0] and out.tolist() == [7.0, 10.0]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: X.add_(Y, Y, Y),
        lambda: X.add(2, 3, 4),
        lambda: X.mul(2, Y),
        lambda: X.addcmul(2, Y),
        lambda: tt.add(X, 2, Y, beta=1),
    ],
)
def test_other_calls_are_refused_as_before(wrong):
    with pytest.raises(TypeError):
        wrong()


def test_numbers_are_copied_into_every_element():
    assert tt.zeros(2).copy_(2).tolist() == [2.0, 2.0] and tt.zeros(2).copy_(True).tolist() == [1.0, 1.0]
    assert tt.zeros(2, dtype=tt.int64).copy_(1.5).tolist() == [1, 1]
    x = tt.ones(2, requires_grad=True)
    changed = (x * 1).copy_(5)
    changed.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]
    for wrong in ([1], "a", None):
        with pytest.raises(TypeError):
            tt.zeros(2).copy_(wrong)


NUMBERS = {
    "add": lambda t, x: t.add(2.5, x),
    "add, alpha": lambda t, x: t.add(2, x, alpha=3),
    "sub": lambda t, x: t.sub(2, x),
    "sub, alpha": lambda t, x: t.sub(2, other=x, alpha=3),
    "subtract": lambda t, x: t.subtract(2.5, x),
    "mul": lambda t, x: t.mul(2.5, x),
    "multiply": lambda t, x: t.multiply(2, x),
    "div": lambda t, x: t.div(7, x),
    "div, rounded": lambda t, x: t.div(7, x, rounding_mode="floor"),
    "divide": lambda t, x: t.divide(7, x),
    "true_divide": lambda t, x: t.true_divide(7.0, x),
    "floor_divide": lambda t, x: t.floor_divide(7, x),
    "two numbers": lambda t, x: t.mul(2, 3),
    "two numbers, one a float": lambda t, x: t.add(2, 3.5),
    "out": lambda t, x: t.mul(2, x, out=t.empty_like(x)),
    "two numbers, rounded": lambda t, x: t.div(7, 2, rounding_mode="trunc"),
    "two numbers, alpha": lambda t, x: t.sub(7, 2, alpha=3),
    "two booleans": lambda t, x: t.add(True, True),
    "by keyword": lambda t, x: t.div(input=7, other=x, rounding_mode="floor"),
    "two numbers by keyword": lambda t, x: t.floor_divide(input=7, other=2),
    "two of NumPy's numbers": lambda t, x: t.add(np.float64(2), np.int64(3)),
    "a number of Python and one of NumPy": lambda t, x: t.mul(2, np.float32(1.5)),
}


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int8"])
@pytest.mark.parametrize("case", NUMBERS)
def test_a_number_serves_as_the_first_tensor(case, dtype):
    import torch

    result = NUMBERS[case](tt, tt.tensor([1, 2, 3], dtype=getattr(tt, dtype)))
    expected = NUMBERS[case](torch, torch.tensor([1, 2, 3], dtype=getattr(torch, dtype)))
    assert str(result.dtype)[3:] == str(expected.dtype)[6:]
    assert result.tolist() == expected.tolist()


def test_a_number_before_a_tensor_has_no_gradient_and_the_tensor_has():
    x = tt.tensor([1.0, 2.0], requires_grad=True)
    tt.div(6.0, x).sum().backward()
    assert x.grad.tolist() == [-6.0, -1.5]


@pytest.mark.torch
@pytest.mark.parametrize("other", [2, 2.0, True, [1.0, 2.0], [True, False]])
def test_a_boolean_first_is_subtracted_from_nowhere(other):
    import torch

    for library in (torch, tt):
        operand = library.tensor(other) if isinstance(other, list) else other
        with pytest.raises(RuntimeError, match=r"Subtraction, the `-`|the `-` operator with a bool"):
            library.sub(True, operand)


@pytest.mark.parametrize("call", [lambda: tt.mul(2, "text"), lambda: tt.mul(2), lambda: tt.atan2(2.0, X)])
def test_numbers_go_where_pytorch_takes_them_only(call):
    with pytest.raises(TypeError):
        call()
