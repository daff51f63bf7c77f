"""Native scans against NumPy in double precision, over all dtypes, strides and dimensions."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest

import tt
from tt.backends.cpu.native.loading import load

NATIVE = load("scan")

pytestmark = pytest.mark.skipif(NATIVE is None, reason="the native kernels are not compiled")

FLOATING = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-12, np.dtype(np.float16): 2e-3,
            np.dtype(ml_dtypes.bfloat16): 2e-2}  # fmt: skip
INTEGRAL = [np.dtype(t) for t in (np.int64, np.int32, np.int16, np.int8, np.uint8, np.uint32)]
SHAPES = [(), (1,), (5,), (3000,), (3, 4), (64, 7), (3000, 3), (3, 2500), (2, 3, 4), (10, 20, 30), (0, 3), (3, 0),
          (300, 270), (33, 2, 65)]  # fmt: skip


def layouts(array):
    yield array
    if array.ndim > 1:
        yield array.T
        yield array[::-1, ::-2]
        yield np.broadcast_to(array[:1], array.shape)


def make(dtype, shape):
    random = np.random.default_rng(0)
    if dtype.kind in "iu":
        return np.asarray(random.integers(0, 5, shape).astype(dtype))
    return np.asarray(random.standard_normal(shape).astype(dtype))


def extremes(x, dim, larger):
    """Return the extreme so far and its last place, one after the other."""
    lines = np.moveaxis(x, dim, 0)
    values, places = np.empty_like(lines), np.empty(lines.shape, np.int64)
    best, place = lines[:1].copy()[0], np.zeros(lines.shape[1:], np.int64)
    for i, line in enumerate(lines):
        better = (line >= best if larger else line <= best) | (line != line)
        best, place = np.where(better, line, best), np.where(better, i, place)
        values[i], places[i] = best, place
    return np.moveaxis(values, 0, dim), np.moveaxis(places, 0, dim)


@pytest.mark.parametrize("dtype", [*FLOATING, np.dtype(np.int64)], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums_and_products(dtype, shape):
    tolerance = FLOATING.get(dtype, 0)
    for x in layouts(make(dtype, shape)):
        wide = x.astype(np.float64) if dtype in FLOATING else x
        for dim in range(-max(x.ndim, 1), max(x.ndim, 1)):
            expected = np.cumsum(wide, dim if x.ndim else None).reshape(x.shape)
            found = NATIVE.cumsum(x, dim)
            assert found.dtype == dtype
            assert found.flags.c_contiguous
            np.testing.assert_allclose(
                found.astype(wide.dtype), expected, rtol=tolerance, atol=tolerance * 10
            )
            with np.errstate(all="ignore"):
                expected = np.cumprod(wide, dim if x.ndim else None).reshape(x.shape)
                expected = expected.astype(dtype).astype(wide.dtype)
            found = NATIVE.cumprod(x, dim).astype(wide.dtype)
            np.testing.assert_allclose(found, expected, rtol=tolerance * 2, atol=tolerance * 1e-3)


@pytest.mark.sampled(10)
@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", [*FLOATING, *INTEGRAL], ids=str)
def test_extremes_so_far(dtype):
    for shape in SHAPES[1:]:
        for x in layouts(make(dtype, shape)):
            x = np.round(x.astype(np.float64) * 2).astype(dtype)
            if dtype in FLOATING and x.size > 3:
                x.flat[x.size // 2] = np.nan
            for dim in range(x.ndim):
                if not x.size:
                    continue
                for name in ("cummax", "cummin"):
                    values, places = getattr(NATIVE, name)(x, dim)
                    expected = extremes(x.astype(np.float64), dim, name == "cummax")
                    np.testing.assert_array_equal(values.astype(np.float64), expected[0])
                    np.testing.assert_array_equal(places, expected[1])


@pytest.mark.parametrize("dtype", FLOATING, ids=str)
def test_logarithms_of_sums_of_exponentials(dtype):
    for shape in SHAPES[1:]:
        for x in layouts(make(dtype, shape)):
            for dim in range(x.ndim):
                wide = np.logaddexp.accumulate(x.astype(np.float64), dim)
                found = NATIVE.logcumsumexp(x, dim).astype(np.float64)
                np.testing.assert_allclose(found, wide, rtol=FLOATING[dtype] * 2, atol=FLOATING[dtype] * 2)


def test_logarithms_at_their_ends():
    inf = np.inf
    x = np.array([-inf, -inf, 0, 100, -1000, 100, 1e4, inf, -inf, 0])
    expected = np.logaddexp.accumulate(x)
    np.testing.assert_allclose(NATIVE.logcumsumexp(x, 0), expected)
    ends = [inf, -inf, 1e30, -1e30, 800.0, 1.0, np.nan]
    for row in itertools.product(ends, repeat=4):
        with np.errstate(invalid="ignore"):
            expected = np.logaddexp.accumulate(np.array(row))
        np.testing.assert_allclose(NATIVE.logcumsumexp(np.array(row), 0), expected, err_msg=str(row))
    with_nan = NATIVE.logcumsumexp(np.array([-inf, np.nan, 1.0, inf]), 0)
    np.testing.assert_array_equal(np.isnan(with_nan), [False, True, True, True])


def test_long_sums_are_exact():
    x = np.full(10**6, 0.1, np.float32)
    expected = np.cumsum(x.astype(np.float64))
    np.testing.assert_allclose(NATIVE.cumsum(x, 0), expected, rtol=1.2e-7)
    infinite = NATIVE.cumsum(np.array([1, np.inf, 1, -np.inf, 1], np.float32), 0)
    np.testing.assert_array_equal(infinite, [1, np.inf, np.inf, np.nan, np.nan])


def test_whole_numbers_wrap_around():
    x = np.full(4, 2**62, np.int64)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(NATIVE.cumsum(x, 0), np.cumsum(x))
        np.testing.assert_array_equal(NATIVE.cumprod(x, 0), np.cumprod(x))


def test_what_is_wrong_is_refused():
    with pytest.raises(IndexError):
        NATIVE.cumsum(np.zeros(3), 1)
    with pytest.raises(TypeError, match="complex64"):
        NATIVE.cumsum(np.zeros(3, np.complex64), 0)


@pytest.mark.filterwarnings("error")
def test_differences_of_differences_of_infinities_are_silent() -> None:
    x = tt.tensor([3e38, np.inf, np.inf, -np.inf])
    assert np.isnan(tt.diff(x, 2).numpy()[1]) and tt.diff(x, 1).numpy()[0] == np.inf
