"""Python's operators between tensors and arrays of NumPy: tensors, whichever side the array is on."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import tt

ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
INTEGERS = ("and_", "or_", "xor", "lshift", "rshift")
LEFT, RIGHT = [1, 2, 4], [1, 3, 2]


def check(name: str, dtype: str) -> None:
    function = getattr(operator, name)
    left, right = np.array(LEFT, dtype), np.array(RIGHT, dtype)
    expected = function(tt.tensor(left), tt.tensor(right))
    for found in (function(tt.tensor(left), right), function(left, tt.tensor(right))):
        assert type(found) is tt.Tensor
        assert found.dtype is expected.dtype
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("name", [*ARITHMETIC, *COMPARISONS, "matmul"])
def test_floating_arrays(name: str) -> None:
    check(name, "float32")


@pytest.mark.parametrize("name", [*INTEGERS, *COMPARISONS])
def test_integer_arrays(name: str) -> None:
    check(name, "int64")


@pytest.mark.parametrize("name", [*(f"i{n}" for n in ARITHMETIC), "iand", "ior", "ixor"])
def test_arrays_change_a_tensor_in_place(name: str) -> None:
    dtype = tt.int64 if name in ("iand", "ior", "ixor") else tt.float64
    x = tt.tensor(LEFT, dtype=dtype)
    expected = getattr(operator, name)(x.clone(), tt.tensor(RIGHT, dtype=dtype))
    assert getattr(operator, name)(x, np.array(RIGHT, dtype=dtype.name)) is x
    assert x.tolist() == expected.tolist()


def test_arrays_promote_like_tensors() -> None:
    x = tt.ones(2)
    assert (x + np.ones(2)).dtype is tt.float64
    assert (x + np.array(1.0)).dtype is tt.float32  # without dimensions
    assert (x + np.ones(2, np.int64)).dtype is tt.float32


def test_arrays_that_tensors_cannot_share_are_copied() -> None:
    x = tt.tensor([1.0, 2.0, 3.0])
    assert (x == np.array([3.0, 2.0, 1.0])[::-1]).tolist() == [True] * 3
    assert (x == np.array([1.0, 2.0, 3.0], dtype=">f8")).tolist() == [True] * 3


def test_what_cannot_be_compared_is_no_bool() -> None:
    x = tt.ones(2)
    with pytest.raises(RuntimeError, match="do not broadcast"):
        x == np.ones(3)  # noqa: B015
    for other in (np.array(["a", "b"]), np.array([None, None])):
        with pytest.raises(TypeError, match="no dtype corresponds to a NumPy array"):
            x == other  # noqa: B015


@pytest.mark.parametrize(
    ("number", "dtype", "expected"),
    [
        (0.3, tt.float64, 2.0),  # 3.0 of 0.3 in single precision
        (1e300, tt.float64, 1e301),
        (1e300, tt.float32, float("nan")),  # as of infinity
        (-0.0, tt.float64, -0.0),
    ],
)
def test_a_number_is_floor_divided_in_the_dtype_of_the_tensor(number, dtype, expected):
    found = number // tt.tensor([0.1], dtype=dtype)
    assert found.dtype is dtype
    np.testing.assert_equal(found.numpy(), np.array([expected], found.numpy().dtype))


@pytest.mark.parametrize("shape", [(), (2,)])
def test_an_integer_is_floor_divided_in_the_dtype_of_the_tensor_and_wraps_around(shape):
    for number, expected in ((7, 2), (300, 14), (np.int64(7), 2)):
        found = number // tt.full(shape, 3, dtype=tt.uint8)
        assert found.dtype is tt.uint8
        assert (found == expected).all()
