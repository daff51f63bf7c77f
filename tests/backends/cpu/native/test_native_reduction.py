"""Native reductions against sums in double precision, over all dtypes, strides and dimensions."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from tt.backends.cpu.native.loading import load

NATIVE = load("reduction")

pytestmark = pytest.mark.skipif(NATIVE is None, reason="the native kernels are not compiled")

FLOATING = {np.dtype(np.float32): 2e-6, np.dtype(np.float64): 1e-13, np.dtype(np.float16): 2e-3,
            np.dtype(ml_dtypes.bfloat16): 2e-2}  # fmt: skip
INTEGRAL = [np.dtype(t) for t in (np.int64, np.int32, np.int16, np.int8, np.uint8, np.uint32)]
SHAPES = [
    (), (1,), (5,), (100,), (5000,), (3, 4), (64, 7), (7, 64), (1000, 3), (2, 3, 4), (10, 20, 30), (300, 5, 17),
    (0, 3), (3, 0), (40000,), (9000, 2), (2, 9000), (300, 300), (600, 40),
]  # fmt: skip


def layouts(array):
    """Yield an array in several layouts in memory."""
    yield array
    if array.ndim == 1:
        yield array[::2]
        yield array[::-1]
    elif array.ndim > 1:
        yield array.T
        yield array[::-1, ::-2]
        yield array.swapaxes(0, 1)[1:]
        yield np.broadcast_to(array[:1], array.shape)


def arrays(dtype, shape):
    random = np.random.default_rng(0)
    if dtype.kind in "iu":
        array = random.integers(0, 50, shape).astype(dtype)
    else:
        array = np.asarray((random.standard_normal(shape) * 3).astype(dtype))
    return layouts(array)


def dims_of(array):
    yield None
    for count in range(1, array.ndim + 1):
        yield from itertools.combinations(range(array.ndim), count)


def assert_near(found, expected, tolerance, dtype):
    assert found.dtype == dtype
    assert found.shape == np.shape(expected)
    with np.errstate(over="ignore"):
        expected = np.asarray(expected, np.float64).astype(dtype).astype(np.float64)
    np.testing.assert_allclose(found.astype(np.float64), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", FLOATING, ids=str)
def test_reductions_of_floating_point_numbers(dtype, shape):
    tolerance = FLOATING[dtype]
    for x, keepdim in itertools.product(arrays(dtype, shape), (False, True)):
        wide = x.astype(np.float64)
        for dim in dims_of(x):
            how = {"axis": dim, "keepdims": keepdim}
            count = x.size if dim is None else int(np.prod([x.shape[d] for d in dim]))
            many = tolerance * max(1.0, count**0.5)
            assert_near(NATIVE.sum(x, dim, keepdim), wide.sum(**how), many, dtype)
            assert_near(NATIVE.norm1(x, dim, keepdim), np.abs(wide).sum(**how), many, dtype)
            assert_near(NATIVE.norm2(x, dim, keepdim), np.sqrt(np.square(wide).sum(**how)), tolerance, dtype)
            assert_near(NATIVE.count_nonzero(x, dim, keepdim), np.count_nonzero(wide, **how), 0, np.int64)
            if not count:
                continue
            assert_near(NATIVE.mean(x, dim, keepdim), wide.mean(**how), tolerance, dtype)
            assert_near(NATIVE.amax(x, dim, keepdim), wide.max(**how), 0, dtype)
            assert_near(NATIVE.amin(x, dim, keepdim), wide.min(**how), 0, dtype)
            assert_near(NATIVE.norm_largest(x, dim, keepdim), np.abs(wide).max(**how), 0, dtype)
            assert_near(NATIVE.norm_smallest(x, dim, keepdim), np.abs(wide).min(**how), 0, dtype)
            if count <= 5:
                assert_near(NATIVE.prod(x, dim, keepdim), wide.prod(**how), tolerance, dtype)
            if x.ndim and x.size:
                assert_near(NATIVE.logsumexp(x, dim, keepdim), logsumexp(wide, **how), tolerance * 2, dtype)
            for correction in (0, 1):
                if count > correction:
                    variance, mean = NATIVE.var_mean(x, dim, correction, keepdim)
                    assert_near(variance, wide.var(ddof=correction, **how), tolerance * 4, dtype)
                    assert_near(mean, wide.mean(**how), tolerance, dtype)
                    deviation = NATIVE.std(x, dim, correction, keepdim)
                    assert_near(deviation, wide.std(ddof=correction, **how), tolerance * 4, dtype)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", [*FLOATING, *INTEGRAL], ids=str)
def test_places_of_extremes_are_the_first_ones(dtype):
    for shape in SHAPES:
        for x, keepdim in itertools.product(arrays(dtype, shape), (False, True)):
            rounded = np.asarray(np.round(x.astype(np.float64)).astype(dtype))  # so that many are equal
            wide = rounded.astype(np.float64)
            for dim in (None, *range(x.ndim)):
                if (x.size if dim is None else x.shape[dim]) == 0:
                    continue
                for name in ("max", "min"):
                    place = getattr(np, f"arg{name}")(wide, axis=dim, keepdims=keepdim)
                    assert_near(getattr(NATIVE, f"arg{name}")(rounded, dim, keepdim), place, 0, np.int64)
                    if dim is not None:
                        values, places = getattr(NATIVE, f"{name}_dim")(rounded, dim, keepdim)
                        assert_near(places, place, 0, np.int64)
                        assert_near(values, getattr(wide, name)(axis=dim, keepdims=keepdim), 0, dtype)


@pytest.mark.parametrize("shape", [(70,), (3000,), (5, 70), (70, 5), (130, 130), (2, 6000)], ids=str)
def test_nan_is_every_extreme_and_is_found_first(shape):
    for dtype in FLOATING:
        x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape).astype(dtype)
        x.flat[[x.size // 3, x.size // 2]] = np.nan
        wide = x.astype(np.float64)
        for dim in range(x.ndim):
            assert_near(NATIVE.amax(x, dim, False), wide.max(dim), 0, dtype)
            assert_near(NATIVE.amin(x, dim, False), wide.min(dim), 0, dtype)
            assert_near(NATIVE.argmax(x, dim, False), wide.argmax(dim), 0, np.int64)
            assert_near(NATIVE.argmin(x, dim, False), wide.argmin(dim), 0, np.int64)
            assert_near(NATIVE.nansum(x, dim, False), np.nansum(wide, dim), FLOATING[dtype] * 50, dtype)


def test_infinities():
    inf = np.float32(np.inf)
    for dtype in (np.float32, np.float64):
        x = np.array([[1, inf, 2], [1, -inf, 2], [inf, -inf, 0], [-inf, -inf, -inf]], dtype)
        for dim in (1, 0):
            with np.errstate(invalid="ignore"):
                rows = x if dim else x.T.copy()
                np.testing.assert_array_equal(NATIVE.sum(rows, dim, False), x.sum(1))
                np.testing.assert_array_equal(NATIVE.var_mean(rows, dim, 0, False)[1], x.mean(1))
            assert np.isnan(NATIVE.var(rows, dim, 0, False)).all()
            lse = NATIVE.logsumexp(rows, dim, False)
            np.testing.assert_allclose(lse, [np.inf, np.log(np.e + np.e**2), np.inf, -np.inf], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["f2", "bfloat16"])
@pytest.mark.parametrize("line", [0, 1, 7, 50, 500, 2048, 2049])
def test_short_lines_of_half_precision_are_summed_like_those_of_floats(dtype, line):
    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    x = np.random.default_rng(line).standard_normal((70, line + 3)).astype(kind)
    for rows in (np.ascontiguousarray(x[:, :line]), x[:, :line], x[::3, :line]):
        wanted = NATIVE.sum(rows.astype("f4"), 1, False).astype(kind)
        np.testing.assert_array_equal(NATIVE.sum(rows, 1, False), wanted)


@pytest.mark.parametrize("dtype", [np.dtype(np.float32), np.dtype(ml_dtypes.bfloat16)], ids=str)
def test_short_lines_of_every_length_are_summed_as_in_double_precision(dtype):
    # Whole numbers, whose sums have no rounding error.
    x = (np.random.default_rng(0).standard_normal((5, 700)) * 8).round().astype(dtype)
    for line in range(600):
        for rows in (np.ascontiguousarray(x[:, :line]), x[:, 3 : line + 3], x[::-2, 1 : line + 1]):
            wanted = rows.astype("f8").sum(1)
            np.testing.assert_array_equal(NATIVE.sum(rows, 1, False), wanted.astype(dtype))
            if line:
                np.testing.assert_array_equal(
                    NATIVE.mean(rows, 1, False), (wanted / line).astype("f4").astype(dtype)
                )


@pytest.mark.parametrize("at", [0, 7, 8, 31, 32, 50, 95, 98, 99])
def test_short_lines_sum_infinities_and_nan(at):
    for dtype in (np.float32, ml_dtypes.bfloat16):
        x = np.ones((3, 100), dtype)
        x[0, at], x[1, at], x[2, at], x[2, at - 1] = np.nan, np.inf, np.inf, -np.inf
        np.testing.assert_array_equal(NATIVE.sum(x, 1, False).astype("f4"), [np.nan, np.inf, np.nan])


def test_lines_of_several_results_are_summed_in_the_same_order_wherever_they_lie():
    x = np.random.default_rng(0).standard_normal((9, 70, 33)).astype("f4")
    wanted = NATIVE.sum(x, (0, 2), False)
    np.testing.assert_allclose(wanted, x.astype("f8").sum((0, 2)), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal([NATIVE.sum(x[:, i], (0, 1), False) for i in range(70)], wanted)


@pytest.mark.parametrize("shape", [(10**6,), (10**6, 1), (1000, 1000), (250, 4000), (500000, 2)], ids=str)
def test_sums_lose_no_more_than_sums_in_pairs(shape):
    x = np.full(shape, 0.1, np.float32)
    for dim in (None, 0):
        exact = x.astype(np.float64).sum(dim)
        np.testing.assert_allclose(
            NATIVE.sum(x, dim, False), exact, rtol=2.5e-7
        )  # two units in the last place
    large = np.random.default_rng(0).standard_normal(10**6).astype(np.float32) + np.float32(1e4)
    assert NATIVE.var(large.reshape(shape), None, 1, False) == pytest.approx(
        large.astype(float).var(ddof=1), rel=1e-4
    )
    doubles = np.random.default_rng(0).standard_normal(10**6)
    cancelling = np.concatenate([doubles * 1e10, [1.0], -doubles * 1e10])
    assert abs(NATIVE.sum(cancelling) - 1) < 1e-2


def test_whole_numbers_wrap_around():
    x = np.full(4, 2**62, np.int64)
    assert NATIVE.sum(x) == 0
    assert NATIVE.sum(x[:3]) == -(2**62)
    assert NATIVE.prod(np.array([2**40, 2**40], np.int64)) == 0


def test_results_do_not_depend_on_the_number_of_threads():
    threads = load("threads")
    before = threads.get_num_threads()
    random = np.random.default_rng(0)
    try:
        for shape, dim in (((3, 400000), 1), ((400000, 3), 0), ((1200, 1000), 0), ((1200, 1000), None)):
            x = random.standard_normal(shape).astype(np.float32)
            for call in (NATIVE.sum, NATIVE.logsumexp, NATIVE.norm2, lambda x, d, k: NATIVE.var(x, d, 1, k)):
                found = []
                for count in (1, 2, 5):
                    threads.set_num_threads(count)
                    found.append(call(x, dim, False).tobytes())
                assert found[0] == found[1] == found[2]
    finally:
        threads.set_num_threads(before)


def test_what_is_wrong_is_refused():
    x = np.zeros((2, 3), np.float32)
    for dim in (2, -3, (0, 5)):
        with pytest.raises(IndexError):
            NATIVE.sum(x, dim, False)
    with pytest.raises(ValueError, match="twice"):
        NATIVE.sum(x, (0, -2), False)
    with pytest.raises(ValueError, match="no elements"):
        NATIVE.amax(x[:0], 0, False)
    with pytest.raises(TypeError, match="complex64"):
        NATIVE.sum(x.astype(np.complex64))
    with pytest.raises(TypeError):
        NATIVE.sum([1.0])
    with pytest.raises(TypeError):
        NATIVE.sum()


def test_arrays_in_another_byte_order_are_read_rightly():
    x = np.arange(12, dtype=">f4").reshape(3, 4)
    np.testing.assert_array_equal(NATIVE.sum(x, 0, False), [12, 15, 18, 21])


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_any_view_sums_as_in_numpy(data):
    shape = tuple(data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=4)))
    x = np.random.default_rng(0).integers(-9, 9, shape).astype(np.float64)
    x = x.transpose(data.draw(st.permutations(range(x.ndim))))
    steps = data.draw(st.lists(st.sampled_from([1, 2, -1, -3]), min_size=x.ndim, max_size=x.ndim))
    x = x[tuple(slice(None, None, step) for step in steps)]
    dim = tuple(data.draw(st.sets(st.integers(0, x.ndim - 1), min_size=1)))
    keepdim = data.draw(st.booleans())
    np.testing.assert_array_equal(NATIVE.sum(x, dim, keepdim), x.sum(dim, keepdims=keepdim))
    np.testing.assert_array_equal(NATIVE.amax(x, dim, keepdim), x.max(dim, keepdims=keepdim))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extremes_of_lines_of_any_length_with_nan_at_any_place(dtype):
    random = np.random.default_rng(0)
    for size in (1, 7, 31, 32, 33, 64, 95, 4096, 4097, 8192 + 50):
        line = random.standard_normal(size).astype(dtype)
        assert NATIVE.amax(line, (0,), False) == line.max()
        assert NATIVE.amin(line, (0,), False) == line.min()
        for fill in (-np.inf, np.inf):
            same = np.full(size, fill, dtype)
            assert NATIVE.amax(same, (0,), False) == NATIVE.amin(same, (0,), False) == fill
        for place in {0, size // 2, size - 1, min(size - 1, 40), min(size - 1, 17)}:
            strange = line.copy()
            strange[place] = np.nan
            assert np.isnan(NATIVE.amax(strange, (0,), False)), (size, place)
            assert np.isnan(NATIVE.amin(strange, (0,), False)), (size, place)
            top = line.copy()
            top[place] = 9
            assert NATIVE.amax(top, (0,), False) == 9 and NATIVE.amin(-top, (0,), False) == -9, (size, place)


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)], ids=str)
@pytest.mark.parametrize("rows", [1, 3, 4, 5, 15, 16, 17, 64, 70])
def test_columns_of_half_precision_of_any_number_of_rows(rows, dtype):
    whole = np.random.default_rng(0).standard_normal((rows, 1403)).astype(dtype)
    whole[0, 3], whole[-1, 5] = np.inf, np.nan
    for array in (whole, whole[:, 1:701], whole[:, :33], whole[:, ::2]):
        wide = array.astype(np.float64)
        assert_near(NATIVE.sum(array, (0,), False), wide.sum(0), FLOATING[dtype], dtype)
        assert_near(NATIVE.mean(array, (0,), False), wide.mean(0), FLOATING[dtype], dtype)
        assert_near(NATIVE.amax(array, (0,), False), wide.max(0), 0, dtype)
