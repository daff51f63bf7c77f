"""Reductions, cumulative sums and differences."""

from __future__ import annotations

import array_api_strict as strict
import numpy as np
import pytest

import tt
from tests.api.array_api.comparing import DTYPES, check, compare
from tt import array_api as xp

SHAPE = (2, 3, 4)
AXES = [None, 0, -1, (0, 2), (-1, 0), (), (0, 1, 2)]
REDUCTIONS = ["all", "any", "count_nonzero", "max", "mean", "min", "prod", "std", "sum", "var"]


def both(dtype):
    """Return the same array of both libraries."""
    values = np.arange(24).reshape(SHAPE) % 5 + (dtype in ("float32", "float64")) * 0.5
    values = values.astype(dtype)
    return xp.asarray(values), strict.asarray(values)


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("keepdims", [True, False])
def test_every_dtype_and_choice_of_axes(name, keepdims):
    served = 0
    for dtype in DTYPES:
        ours, theirs = both(dtype)
        for axis in AXES:
            try:
                expected = getattr(strict, name)(theirs, axis=axis, keepdims=keepdims)
            except TypeError:
                continue  # not defined by the standard
            compare(getattr(xp, name)(ours, axis=axis, keepdims=keepdims), expected)
            served += 1
    assert served >= 2 * len(AXES)


@pytest.mark.parametrize("correction", [0, 1, 0.5])
@pytest.mark.parametrize("axis", [None, 1, (0, 2)])
@pytest.mark.parametrize("name", ["std", "var"])
def test_corrections(name, axis, correction):
    ours, theirs = both("float64")
    options = {"axis": axis, "correction": correction}
    compare(getattr(xp, name)(ours, **options), getattr(strict, name)(theirs, **options))


def test_the_variance_of_single_elements():
    x = xp.asarray([1.0, 2.0])
    assert xp.var(x, axis=()).tolist() == [0.0, 0.0] and xp.std(x, axis=()).tolist() == [0.0, 0.0]
    assert xp.all(xp.isnan(xp.var(x, axis=(), correction=1)))


@pytest.mark.parametrize(
    "call",
    [
        "xp.sum(a([1, 2], 'int8'), dtype=xp.int16)", "xp.prod(a([1.5, 2.0]), dtype=xp.float32)",
        "xp.sum(a([], 'float32'))", "xp.prod(a([], 'uint8'))", "xp.all(a([], 'bool'))", "xp.any(a([], 'bool'))",
        "xp.max(a([1.0, xp.nan]))", "xp.min(a([xp.nan, 1.0]))", "xp.sum(a(3, 'uint16'))", "xp.max(a(3))",
        "xp.argmax(a([1, 5, 5]))", "xp.argmin(a([[3, 1], [1, 4]]))", "xp.argmax(a([[3, 1], [1, 4]]), axis=0)",
        "xp.argmin(a([[3, 1], [1, 4]]), axis=-1, keepdims=True)", "xp.argmax(a([[3, 1]]), keepdims=True)",
        "xp.argmax(a([1.0, xp.nan, 2.0]))",
        "xp.cumulative_sum(a([1, 2, 3], 'uint8'))", "xp.cumulative_sum(a([1.0, 2.0]), include_initial=True)",
        "xp.cumulative_sum(a([[1, 2], [3, 4]]), axis=-2)", "xp.cumulative_prod(a([[1, 2], [3, 4]]), axis=1)",
        "xp.cumulative_prod(a([[1, 2], [3, 4]], 'int16'), axis=0, include_initial=True)",
        "xp.cumulative_prod(a([2, 3]), dtype=xp.float32)", "xp.cumulative_sum(a([], 'int8'), include_initial=True)",
        "xp.diff(a([1, 4, 9, 16]))", "xp.diff(a([1, 4, 9, 16]), n=2)", "xp.diff(a([[1, 2], [4, 8]]), axis=0)",
        "xp.diff(a([1.0, 2.0]), prepend=a([0.0]), append=a([5.0]))", "xp.diff(a([1, 2]), n=0)",
    ],
)  # fmt: skip
def test_equals_the_strict_library(call):
    check(call)


def test_large_unsigned_numbers_stay_unsigned():
    x = xp.asarray([2**63, 1], dtype=xp.uint64)
    assert xp.sum(x).item() == 2**63 + 1 and xp.prod(x).item() == 2**63


def test_bools_have_a_first_maximum():
    assert xp.argmax(xp.asarray([False, True, True])).item() == 1


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: xp.sum(x, axis=2), IndexError, "axis 2 is out of range for an array of 2 dimensions"),
        (lambda x: xp.max(x, axis=(0, -2)), ValueError, "twice"),
        (lambda x: xp.cumulative_sum(x), ValueError, r"cumulative_sum\(\) of an array of 2 dimensions needs an axis"),
        (lambda x: xp.cumulative_prod(x, axis=-3), IndexError, "axis -3 is out of range"),
    ],
)  # fmt: skip
def test_axes_that_are_not_there_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(xp.ones((2, 3)))


def test_gradients_go_through_products_over_several_axes():
    x = tt.full((2, 2), 2.0).requires_grad_()
    xp.prod(x, axis=(0, 1)).backward()
    assert x.grad.tolist() == [[8.0, 8.0], [8.0, 8.0]]
