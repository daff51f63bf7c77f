"""The elements of a tensor on the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt
from tt.core.errors import DataDependentError
from tt.core.library import REGISTRY, handle_of

INTERNALS = {
    "base",
    "bump_version",
    "ensure_storage",
    "handle",
    "keys",
    "promotion",
    "record",
    "set_data",
    "spec",
}


def test_the_handle_is_the_array_of_the_backend_and_shares_the_memory() -> None:
    x = tt.zeros(2, 3)
    array = handle_of(x.t())
    assert type(array) is np.ndarray and array.shape == (3, 2)
    array[1, 0] = 5
    assert x[0, 1] == 5


def test_the_handle_of_a_view_without_memory_is_up_to_date() -> None:
    strict = pytest.importorskip("array_api_strict")
    from tt.library import ArrayApiBackend

    tt.ones(1)
    backend = ArrayApiBackend(strict, "apart")
    handles = [REGISTRY.add_backend(backend), REGISTRY.add(backend.kernels())]
    try:
        x = tt.zeros(4, device="apart")
        view = x[1:3]
        x.add_(2)
        assert np.asarray(handle_of(view)).tolist() == [2.0, 2.0]
    finally:
        for handle in reversed(handles):
            handle.remove()


def test_what_is_no_tensor_has_no_handle() -> None:
    wrong: Any = [1, 2]
    with pytest.raises(TypeError, match="takes a tensor, not list"):
        handle_of(wrong)


def test_what_the_dispatcher_keeps_is_private() -> None:
    x = tt.ones(2)
    assert not INTERNALS & set(dir(x))
    for name in INTERNALS:
        with pytest.raises(AttributeError):
            getattr(x, name)


@pytest.mark.parametrize("value", [True, 3, -2.5, 1 + 2j])
def test_item_returns_the_python_number(value):
    assert tt.tensor(value).item() == value and type(tt.tensor(value).item()) is type(value)
    assert tt.tensor([[value]]).item() == value


def test_item_needs_exactly_one_element():
    with pytest.raises(RuntimeError, match="only a tensor of one element is a number; this one has 2"):
        tt.ones(2).item()
    with pytest.raises(RuntimeError, match="only a tensor of one element is a number; this one has 0"):
        tt.ones(0).item()


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "complex64"])
def test_tolist_gives_nested_python_numbers(dtype):
    x = tt.tensor([[1, 0], [1, 1]], dtype=getattr(tt, dtype))
    assert x.tolist() == [[1, 0], [1, 1]]
    assert type(x.tolist()[0][0]) in (bool, int, float, complex)
    assert x[0, 0].tolist() == 1 and tt.ones(0, 2).tolist() == []


def test_truth_needs_exactly_one_element():
    assert tt.tensor([[2.0]]) and not tt.tensor(0)
    with pytest.raises(RuntimeError, match="a tensor with more than one value is neither true nor false"):
        bool(tt.ones(2))
    with pytest.raises(RuntimeError, match="a tensor with no values is neither true nor false"):
        bool(tt.ones(0))
    assert tt.tensor(1).is_nonzero()


def test_numbers_from_tensors():
    assert int(tt.tensor([1.7])) == 1 and float(tt.tensor(3)) == 3.0 and complex(tt.tensor(1.5)) == 1.5
    assert [10, 20, 30][tt.tensor(1)] == 20 and range(5)[tt.tensor([2])] == 2
    with pytest.raises(TypeError, match="only a tensor of one integer is an index"):
        [1, 2][tt.tensor(1.0)]
    with pytest.raises(RuntimeError, match="is beyond the range of float64"):
        float(tt.tensor(1j))
    with pytest.raises(ValueError):
        int(tt.ones(2))


def test_format_applies_to_numbers():
    assert f"{tt.tensor(3.14159):.2f}" == "3.14"
    with pytest.raises(TypeError, match="unsupported format string"):
        f"{tt.ones(2):.2f}"


def test_tensors_without_values_refuse_to_tell_them():
    x = tt.ones((), device="meta")
    for read in (lambda: x.item(), lambda: x.tolist(), lambda: x.numpy(), lambda: bool(x), lambda: float(x)):
        with pytest.raises(DataDependentError, match="depends on the values"):
            read()


def test_numpy_shares_the_memory():
    x = tt.zeros(2, 3)
    array = x.t().numpy()
    assert array.shape == (3, 2) and array.strides == (4, 12)
    array[0, 0] = 5.0
    assert x[0, 0].item() == 5.0
    array.flags.writeable = False  # of the array alone
    x.add_(1)
    assert array[0, 0] == 6.0


def test_numpy_refuses_what_is_not_plain_memory_of_the_host():
    leaf = tt.ones(2, requires_grad=True)
    for convert in (lambda: leaf.numpy(), lambda: np.asarray(leaf), lambda: np.array(leaf)):
        with pytest.raises(RuntimeError, match=r"numpy\(\) of a tensor that requires a gradient"):
            convert()
    assert leaf.numpy(force=True).tolist() == [1.0, 1.0]


def test_numpy_functions_take_tensors():
    x = tt.arange(4.0)
    assert np.asarray(x).dtype == np.float32 and np.shares_memory(np.asarray(x), x.numpy())
    assert np.array(x, dtype="int8").dtype == np.int8
    assert not np.shares_memory(np.array(x, copy=True), x.numpy())
    assert np.sum(x.numpy()) == 6.0
    with pytest.raises(ValueError, match="copy"):
        np.array(x, dtype="int8", copy=False)
    import ml_dtypes

    assert np.asarray(x.bfloat16()).dtype == ml_dtypes.bfloat16


def test_array_protocols_are_there_only_where_they_apply():
    assert tt.ones(2).__array_interface__["shape"] == (2,)
    assert not hasattr(tt.ones(2, device="meta"), "__array_interface__")
    assert not hasattr(tt.ones(2), "__cuda_array_interface__")


def test_arithmetic_with_numpy_arrays_on_the_left_is_not_taken_over_by_numpy():
    found = np.float64(2.0) * tt.ones(2)
    assert isinstance(found, tt.Tensor)


def test_under_no_grad_arrays_of_tensors_that_require_gradients_are_given():
    x = tt.tensor([1.0, 2.0], requires_grad=True)
    with tt.no_grad():
        assert x.numpy().tolist() == [1.0, 2.0]
        assert np.asarray(x).tolist() == [1.0, 2.0]
        assert np.shares_memory(x.numpy(), x.detach().numpy())
    with pytest.raises(RuntimeError, match="requires a gradient"):
        x.numpy()


def test_a_function_computes_with_arrays_of_its_arguments():
    class Product(tt.autograd.Function):
        @staticmethod
        def forward(x, y):
            return tt.tensor(x.numpy() * y.numpy())

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * y, g * x

    x, y = tt.tensor([1.0, 2.0], requires_grad=True), tt.tensor([3.0, 4.0])
    Product.apply(x, y).sum().backward()
    assert x.grad.tolist() == [3.0, 4.0]
    assert tt.func.grad(lambda v: Product.apply(v, y).sum())(x.detach()).tolist() == [3.0, 4.0]
