"""Tensors next to NumPy's arrays and numbers, and as arguments of its functions."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import tt

BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
]  # fmt: skip


@pytest.mark.parametrize("function", BINARY)
def test_operators_with_arrays_give_tensors_from_both_sides(function):
    array = np.array([3.0, 2.0, 1.5])
    x = np.array([1.0, 2.0, 4.0], np.float32)
    for found, expected in (
        (function(tt.tensor(x), array), function(x, array)),
        (function(array, tt.tensor(x)), function(array, x)),
    ):
        assert isinstance(found, tt.Tensor)
        assert found.numpy().dtype == expected.dtype
        np.testing.assert_allclose(found.numpy(), expected)


@pytest.mark.parametrize(
    "function", [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]
)
def test_bitwise_operators_with_arrays_give_tensors_from_both_sides(function):
    x, array = np.array([1, 6, 12]), np.array([1, 2, 3])
    np.testing.assert_array_equal(function(tt.tensor(x), array).numpy(), function(x, array))
    np.testing.assert_array_equal(function(array, tt.tensor(x)).numpy(), function(array, x))


def test_matrix_products_with_arrays_promote_as_numpy_does():
    x, matrix = tt.tensor([1.0, 2.0, 3.0]), np.arange(9.0).reshape(3, 3)
    assert (matrix @ x).tolist() == [8.0, 26.0, 44.0] and (matrix @ x).dtype is tt.float64
    assert (x @ matrix).tolist() == [24.0, 30.0, 36.0] and (x @ matrix[::-1]).tolist() == [12.0, 18.0, 24.0]
    assert (matrix.astype(int) @ x).dtype is tt.float32
    with pytest.raises(RuntimeError, match="must share one dtype"):
        x @ tt.tensor(matrix)
    assert x.__rmatmul__("a") is NotImplemented and x.__matmul__("a") is NotImplemented


def test_gradients_go_through_operators_with_arrays():
    x = tt.tensor([1.0, 2.0]).requires_grad_()
    (np.array([3.0, 4.0]) * x + np.ones((2, 2)) @ x).sum().backward()
    assert x.grad.tolist() == [5.0, 6.0]


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.bool_])
def test_numbers_of_numpy_are_numbers(kind):
    x = tt.tensor([1.0, 2.0])
    for found in (x * kind(1), kind(1) * x, x + kind(0), kind(1) / tt.ones(2) * x):
        assert isinstance(found, tt.Tensor) and found.dtype is tt.float32
        assert found.tolist() == [1.0, 2.0]
    assert (kind(1) == x).tolist() == [True, False]


def test_masked_arrays_keep_their_rules():
    assert not isinstance(np.ma.ones(3) == tt.ones(3), tt.Tensor)


# --- NumPy's functions -------------------------------------------------------------------------------------------

FUNCTIONS = [
    "np.add(x, 1)", "np.add(1, x)", "np.sin(x)", "np.multiply(np.ones(3), x)", "np.sqrt(x)", "np.maximum(x, 2)",
    "np.matmul(x, x)", "np.add.reduce(x)", "np.add.accumulate(x)", "np.cumsum(x)", "np.cumprod(x)", "np.sign(x)",
    "np.reshape(x, (3, 1))", "np.repeat(x, 2)", "np.take(x, [0, 2])", "np.argsort(x)", "np.transpose(x)", "np.round(x)",
    "np.clip(x, 1, 2)", "np.exp(x, dtype=np.float64)", "np.searchsorted(x, 2)", "np.ptp(x)", "np.real(x)",
]  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("call", FUNCTIONS)
@pytest.mark.filterwarnings("ignore:__array_wrap__ must accept:DeprecationWarning")  # of torch
def test_functions_of_numpy_give_tensors_as_for_torch(call):
    torch = pytest.importorskip("torch")
    found = eval(call, {"np": np, "x": tt.tensor([1.0, 3.0, 2.0])})
    expected = eval(call, {"np": np, "x": torch.tensor([1.0, 3.0, 2.0])})
    assert isinstance(found, tt.Tensor) and isinstance(expected, torch.Tensor)
    assert str(found.dtype).split(".")[1] == str(expected.dtype).split(".")[1]
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-6)


@pytest.mark.parametrize("call", FUNCTIONS)
def test_functions_of_numpy_give_tensors(call):
    array = np.array([1.0, 3.0, 2.0], np.float32)
    found, expected = eval(call, {"np": np, "x": tt.tensor(array)}), eval(call, {"np": np, "x": array})
    assert isinstance(found, tt.Tensor) and found.numpy().dtype == expected.dtype
    np.testing.assert_array_equal(found.numpy(), expected)


def test_methods_of_the_tensor_serve_functions_of_numpy():
    x = tt.tensor([1.0, 3.0, 2.0])
    assert np.mean(x).item() == 2.0 and np.sum(x).item() == 6.0 and np.argmax(x).item() == 1
    assert np.flip(x).tolist() == [2.0, 3.0, 1.0]


def test_tests_of_numpy_give_bools():
    assert np.isnan(tt.tensor([1.0, float("nan")])).dtype is tt.bool


def test_several_results_are_tensors():
    mantissa, exponent = np.frexp(tt.tensor([1.0, 3.0]))
    assert mantissa.tolist() == [0.5, 0.75] and exponent.dtype is tt.int32


def test_an_array_for_the_result_is_returned():
    out = np.zeros(2)
    assert np.add(tt.ones(2), 1, out=out) is out and out.tolist() == [2.0, 2.0]


def test_an_array_that_no_tensor_can_hold_stays_one():
    found = np.add(tt.ones(2), 1, dtype=object)
    assert isinstance(found, np.ndarray) and found.dtype == object
    assert tt.ones(1).__array_wrap__(np.array(None), None, True) is None


def test_functions_of_numpy_keep_the_class_of_a_subclass():
    class Image(tt.Tensor):
        pass

    assert type(np.add(tt.ones(2).as_subclass(Image), 1)) is Image


def test_functions_of_numpy_refuse_to_lose_a_gradient():
    with pytest.raises(RuntimeError, match="would lose it"):
        np.add(tt.ones(2).requires_grad_(), 1)
