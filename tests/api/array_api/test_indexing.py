"""Taking, searching, sorting and sets."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tt
from tests.api.array_api.comparing import DTYPES, check
from tt import array_api as xp

X = "a([[5, 1, 3], [4, 6, 2]])"
CASES = [
    "xp.take(a([5, 6, 7]), a([2, 0]))", f"xp.take({X}, a([1, 1]), axis=0)", f"xp.take({X}, a([0, 2]), axis=-1)",
    f"xp.take_along_axis({X}, a([[0], [2]]))", f"xp.take_along_axis({X}, a([[0, 1, 0]]), axis=0)",
    "xp.take_along_axis(a([5, 6, 7]), a([-1, 0, 0, 1]))", "xp.nonzero(a([0, 3, 4]))",
    "xp.nonzero(a([[True, False], [True, True]]))", "xp.where(a([True, False]), a([1, 2]), a([3, 4]))",
    "xp.where(a([True, False]), a([1, 2], 'int8'), a(3, 'int32'))", "xp.where(a([True, False]), a([1.0, 2.0]), 0)",
    "xp.where(a([[True], [False]]), 1.5, a([1.0, 2.0], 'float32'))", "xp.searchsorted(a([1, 3, 5]), a([0, 3, 6]))",
    "xp.searchsorted(a([1, 3, 5]), a([[3], [5]]), side='right')",
    "xp.searchsorted(a([5, 1, 3]), a([2, 4]), sorter=a([1, 2, 0]))", "xp.searchsorted(a([1.0, 2.0]), a([1.5]))",
    f"xp.sort({X})", f"xp.sort({X}, axis=0)", f"xp.sort({X}, descending=True)", "xp.sort(a([2.0, xp.nan, 1.0]))",
    f"xp.argsort({X})", f"xp.argsort({X}, axis=0, descending=True)", "xp.argsort(a([1, 0, 1, 0]))",
    "xp.argsort(a([1, 0, 1, 0]), descending=True)", "xp.argsort(a([1, 0, 1, 0]), stable=False).shape == (4,)",
    "xp.unique_all(a([3, 1, 3, 2]))", "xp.unique_all(a([[3, 1], [3, 2]]))", "xp.unique_counts(a([3, 1, 3]))",
    "xp.unique_inverse(a([[3, 1], [3, 2]]))", "xp.unique_values(a([3.0, 1.0, 3.0]))",
    "xp.unique_all(a([], 'float32'))", "xp.unique_all(a(4))", "xp.unique_counts(a([0.0, -0.0]))",
    "xp.unique_values(a([True, False, True]))", "xp.unique_counts(a([1 + 1j, 1 + 0j, 1 + 1j, 0j]))",
]  # fmt: skip


@pytest.mark.parametrize("call", CASES)
def test_equals_the_strict_library(call):
    check(call)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sets_and_orders_of_every_dtype(dtype):
    values = np.array([1, 0, 1, 1, 0]).astype(dtype)
    x = xp.asarray(values)
    found = xp.unique_all(x)
    assert found.values.dtype is x.dtype and found.counts.tolist() == [2, 3]
    assert found.indices.tolist() == [1, 0] and found.inverse_indices.tolist() == [1, 0, 1, 1, 0]
    if "complex" not in dtype:
        np.testing.assert_array_equal(xp.sort(x).numpy(), np.sort(values))
        assert xp.argsort(x, descending=True).tolist() == [0, 2, 3, 1, 4]


def test_each_nan_is_a_value_of_its_own():
    found = xp.unique_all(xp.asarray([math.nan, 1.0, math.nan]))
    assert found.counts.tolist() == [1, 1, 1] and sorted(found.inverse_indices.tolist()) == [0, 1, 2]


def test_negative_indices_count_from_the_end():
    x = xp.asarray([[5, 6], [7, 8]])
    assert xp.take(x, xp.asarray([-1], dtype=xp.int8), axis=1).tolist() == [[6], [8]]
    assert xp.take_along_axis(x, xp.asarray([[-1, -2]]), axis=0).tolist() == [[7, 6]]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: xp.take(x, xp.asarray([0])), ValueError, r"take\(\) of an array of 2 dimensions needs an axis"),
        (lambda x: xp.take(x, xp.asarray([0]), axis=2), IndexError, "axis 2 is out of range"),
        (lambda x: xp.take(x, xp.asarray([7]), axis=0), IndexError, "out of bounds"),
        (lambda x: xp.take_along_axis(x, xp.asarray([0])), ValueError, "as many dimensions as each other, not 2 and 1"),
        (lambda x: xp.take_along_axis(x, xp.asarray([[0]]), axis=2), IndexError, "axis 2 is out of range"),
        (lambda x: xp.nonzero(x[0, 0]), ValueError, "zero-dimensional"),
    ],
)  # fmt: skip
def test_what_the_standard_forbids_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(xp.ones((2, 3)))


def test_gradients_go_through_taking_and_sorting():
    x = tt.tensor([3.0, 1.0]).requires_grad_()
    xp.sum(xp.sort(x) * xp.asarray([1.0, 2.0]) + xp.take(x, xp.asarray([0, 0]))).backward()
    assert x.grad.tolist() == [4.0, 1.0]
