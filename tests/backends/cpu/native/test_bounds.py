"""Bounds, numbers in place of others, and division of whole numbers, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import tt
from tt.backends.cpu.native.loading import load, status

P: Any = load("pointwise")
pytestmark = pytest.mark.skipif(P is None, reason=f"native kernels are not in use: {status().reason}")

WHOLE = ["int32", "int64"]


def edges(dtype: str) -> list[int]:
    limits = np.iinfo(dtype)
    near = [n for n in (2**51 - 1, 2**51, 2**51 + 1, 2**53 + 1) if n <= limits.max]
    return [*(sign * n for n in (1, 2, 3, 7, *near) for sign in (1, -1)), limits.max, limits.min]


@pytest.mark.parametrize("dtype", WHOLE)
def test_whole_quotients_and_remainders_at_the_edges(dtype):
    a = np.array([0, *edges(dtype)] * 40, dtype)[
        :, None
    ]  # more than one block, and blocks of near numbers only
    for b in (np.array(edges(dtype), dtype), np.array([3, -7], dtype), dtype_number(5, dtype)):
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(P.floor_divide_integers(a, b), np.floor_divide(a, b))
            np.testing.assert_array_equal(P.remainder_integers(a, b), np.remainder(a, b))


def dtype_number(value: int, dtype: str) -> Any:
    return np.array(value, dtype)


@given(st.sampled_from(WHOLE), st.data())
def test_whole_division_is_that_of_numpy(dtype, data):
    a = data.draw(arrays.arrays(dtype, arrays.array_shapes(min_dims=1, max_dims=3)))
    b = data.draw(arrays.arrays(dtype, a.shape).map(lambda x: np.where(x == 0, 5, x).astype(dtype)))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(P.floor_divide_integers(a, b), np.floor_divide(a, b))
        np.testing.assert_array_equal(P.remainder_integers(a.T, b.T), np.remainder(a, b).T)
    if abs(int(b.flat[0])) < 2**31:
        np.testing.assert_array_equal(P.remainder_integers(a, int(b.flat[0])), np.remainder(a, b.flat[0]))


@pytest.mark.parametrize("name", ["remainder_", "floor_divide_"])
def test_nothing_is_written_where_a_divisor_is_zero(name):
    a = tt.arange(1, 2001)
    b = tt.ones(2000, dtype=tt.int64) * 7
    b[1999] = 0
    for divisor, target in ((b, a.clone()), (b[1::3], a[1::3].clone()), (0, a.clone())):
        before = target.clone()
        with pytest.raises(ZeroDivisionError, match="divided by zero"):
            getattr(target, name)(divisor)
        assert tt.equal(target, before)


@pytest.mark.parametrize("dtype", WHOLE)
@pytest.mark.parametrize(("low", "high"), [(-3, 4), (None, 2), (-1, None), (5, -5)])
def test_whole_numbers_within_numbers(dtype, low, high):
    x = np.arange(-600, 600, dtype=dtype).reshape(24, 50)
    for view in (x, x.T, x[::2, ::3], x[:0]):
        wanted = view if low is None else np.maximum(view, low)
        wanted = wanted if high is None else np.minimum(wanted, high)
        found = P.clamp_integers(view, low, high)
        assert found.dtype == x.dtype
        np.testing.assert_array_equal(found, wanted)
        out = np.empty_like(view)
        assert P.clamp_integers(view, low, high, out) is out
        np.testing.assert_array_equal(out, wanted)


def test_bounds_beyond_the_dtype_and_of_arrays_are_left_to_numpy():
    x = np.arange(6)
    np.testing.assert_array_equal(P.clamp_integers(x, np.full(6, 2), np.array(4)), [2, 2, 2, 3, 4, 4])
    out = np.empty(6, np.int64)
    assert P.clamp_integers(x, np.full(6, 2), None, out) is out
    np.testing.assert_array_equal(out, [2, 2, 2, 3, 4, 5])
    assert tt.clamp(tt.arange(4, dtype=tt.int32), min=1).tolist() == [1, 1, 2, 3]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("low", "high"), [(-1.0, 1.0), (None, 0.5), (0.0, None), (2.0, -2.0), (float("nan"), 1.0)]
)
def test_floats_within_numbers(dtype, low, high):
    x = np.array([-np.inf, -2, -1, -0.0, 0.0, 0.25, 3, np.inf, np.nan] * 9, dtype)
    wanted = x if low is None else np.maximum(x, np.array(low, dtype))
    wanted = wanted if high is None else np.minimum(wanted, np.array(high, dtype))
    np.testing.assert_array_equal(P.clamp(x, low, high), wanted)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("numbers", [(None, None, None), (1.5, 7.0, None), (0.0, None, -3.0), (np.inf, 1, 2)])
def test_numbers_in_place_of_others(dtype, numbers):
    x = np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, 1e-310, -4.0] * 11, dtype)
    wanted = np.nan_to_num(
        x, nan=0.0 if numbers[0] is None else numbers[0], posinf=numbers[1], neginf=numbers[2]
    )
    for found in (P.nan_to_num(x, *numbers), P.nan_to_num(x.copy(), *numbers, np.empty_like(x))):
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))


@pytest.mark.parametrize(("dtype", "units"), [("float32", 4), ("float64", 4)])
@pytest.mark.parametrize("eps", [None, 0.01])
def test_logit_is_exact_in_the_middle_and_at_the_ends(dtype, units, eps):
    from scipy import special

    x = np.concatenate(
        [np.linspace(0, 1, 4001), 0.5 + np.linspace(-1e-4, 1e-4, 200), [1e-30, 1 - 1e-7]]
    ).astype(dtype)
    wide = x.astype(np.longdouble)
    if eps is not None:
        wide = np.clip(wide, np.array(eps, dtype), np.array(1 - eps, dtype))
    wanted = special.logit(wide)
    np.testing.assert_allclose(
        P.logit(x, eps), wanted.astype(dtype), rtol=units * np.finfo(dtype).eps, atol=0
    )
    outside = P.logit(np.array([-1, 2, np.nan], dtype), None)
    assert np.isnan(outside).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_of_exponentials_of_infinities(dtype):
    a = np.array([np.inf, -np.inf, np.inf, -np.inf, np.nan, 1, 0, 80, -800] * 8, dtype)
    b = np.array([np.inf, -np.inf, -np.inf, 2, 1, np.nan, 0, 80, -801] * 8, dtype)
    with np.errstate(invalid="ignore"):
        wanted = np.logaddexp(a, b)
    np.testing.assert_allclose(P.logaddexp(a, b), wanted, rtol=4 * np.finfo(dtype).eps)


def test_logical_not_of_every_dtype():
    for dtype in ("float16", "bfloat16", "float32", "float64"):
        x = tt.tensor([0.0, -0.0, 1.0, float("nan"), 1e-30]).to(getattr(tt, dtype))
        assert tt.logical_not(x).tolist() == [True, True, False, False, dtype == "float16"]
