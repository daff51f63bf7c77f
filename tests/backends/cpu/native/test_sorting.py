"""Sorting, selecting and counting in C: what NumPy's kernels find, of every dtype, in whatever memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.backends.cpu.native.places import expect_equal, layouts, outcome
from tt.backends.cpu import sorting, statistics
from tt.backends.cpu.native.loading import load, status

native = load("sorting")
pytestmark = pytest.mark.skipif(native is None, reason=f"native kernels are not built: {status().reason}")

rng = np.random.default_rng(0)
DTYPES = [np.dtype(name) for name in ("f4", "f8", "i8", "i4", "i2", "i1", "u1", "?")]
SHAPES = ((1,), (5,), (41,), (300,), (7, 60), (100, 3), (4, 5, 6), (3000,))


def numbers(shape, dtype: np.dtype, wide: bool) -> np.ndarray:
    """Return numbers with repetitions; floating ones with NaN, infinities and both zeros, or all over the range."""
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind == "f":
        found = rng.standard_normal(shape) * (1e30 if wide else 3)
        special = rng.choice([np.nan, 0.0, -0.0, np.inf, -np.inf, 5e-324, 1.0], shape)
        return np.where(rng.random(shape) < 0.3, special, found).astype(dtype)
    info = np.iinfo(dtype)
    low, high = (info.min, info.max) if wide else (max(info.min, -50), 50)
    return rng.integers(low, high, shape, dtype=dtype, endpoint=True)


def expect_same(found, wanted, what=""):
    found, wanted = (x if isinstance(x, tuple) else (x,) for x in (found, wanted))
    for one, other in zip(found, wanted, strict=True):
        expect_equal(one, np.asarray(other), what)


def inputs(dtype):
    for wide in (False, True):
        for shape in SHAPES:
            yield from layouts(numbers(shape, dtype, wide))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sorting_is_stable_with_nan_last(dtype):
    for x in inputs(dtype):
        for dim in range(-1, x.ndim):
            for descending in (False, True):
                wanted = sorting.sort(x, dim, descending)
                expect_same(native.sort(x, dim, descending), wanted)
                expect_same(native.sort(x, dim, descending, True), wanted)
                expect_same(native.argsort(x, dim, descending, True), wanted[1])


@pytest.mark.parametrize("dtype", DTYPES[:-1], ids=str)
def test_the_first_of_what_is_sorted(dtype):
    for x in inputs(dtype):
        for dim in range(x.ndim):
            size = x.shape[dim]
            for largest in (False, True):
                values, places = sorting.sort(x, dim, largest)
                for k in {1, min(3, size), min(32, size), max(size // 9, 1), max(size // 2, 1), size}:
                    part = (*(slice(None),) * dim, slice(k))
                    wanted = (values[part], places[part])
                    expect_same(native.topk(x, k, dim, largest, True), wanted, (dtype, x.shape, dim, k))


@pytest.mark.parametrize("dtype", DTYPES[:-1], ids=str)
def test_ranks(dtype):
    for x in inputs(dtype):
        for dim in range(-1, x.ndim):
            for k in {1, (x.shape[dim] + 1) // 2, x.shape[dim]}:
                for keep in (False, True):
                    expect_same(native.kthvalue(x, k, dim, keep), statistics.kthvalue(x, k, dim, keep))
            expect_same(native.median_dim(x, dim, True), statistics.median_dim(x, dim, True))
        expect_same(native.median(x), statistics.median(x))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_distinct_elements_and_runs(dtype):
    for x in inputs(dtype):
        for inverse in (False, True):
            for counts in (False, True):
                expect_same(
                    native.unique_consecutive(x, inverse, counts),
                    sorting.unique_consecutive(x, inverse, counts),
                )
                # Which NaN is whose, NumPy leaves open.
                x = np.nan_to_num(x) if dtype.kind == "f" and inverse else x
                expect_same(native.unique(x, True, inverse, counts), sorting.unique(x, True, inverse, counts))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "i8", "u1"])
@pytest.mark.parametrize("longest", [1, 2, 40, 3000])
def test_runs_of_any_length(dtype, longest):
    rng = np.random.default_rng(longest)
    x = np.repeat(np.arange(1000) % 7, rng.integers(1, longest + 1, 1000))[:9001].astype(dtype)
    for n in (0, 1, 2, 256, 257, 258, 9001):
        for inverse in (False, True):
            for counts in (False, True):
                expect_same(
                    native.unique_consecutive(x[:n], inverse, counts),
                    sorting.unique_consecutive(x[:n], inverse, counts),
                )


def test_a_run_of_zeros_is_as_its_first():
    x = np.array([1, -0.0, 0.0, 0.0, 2, 0.0, -0.0] * 100)
    for counts in (False, True):
        found = native.unique_consecutive(x, False, counts)[0]
        assert np.signbit(found).tolist() == [False, True, False, False] * 100


def test_every_nan_is_one_of_its_own():
    x = np.array([np.nan, 1.0, np.nan, 1.0])
    output, inverse, counts = native.unique(x, True, True, True)
    assert output.tolist()[0] == 1.0
    assert np.isnan(output[1:]).tolist() == [True, True]
    assert inverse.tolist() == [1, 0, 2, 0]
    assert counts.tolist() == [2, 1, 1]


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8"])
@pytest.mark.parametrize("right", [False, True])
def test_searching(dtype, right):
    dtype = np.dtype(dtype)
    for size in (1, 2, 3, 8, 100, 1000):
        for wide in (False, True):
            values = numbers((3, 70), dtype, wide)
            rows = np.sort(numbers((3, size), dtype, wide), -1)
            for sequence in (rows[0], rows[:, ::2], np.sort(np.nan_to_num(rows), -1)):
                expect_same(
                    native.searchsorted(sequence, values, right),
                    sorting.searchsorted(sequence, values, right),
                )
            expect_same(
                native.searchsorted(rows[0], values.T, right), sorting.searchsorted(rows[0], values.T, right)
            )
            one = np.asarray(values[0, 0])
            wanted = sorting.searchsorted(rows[0], one, right)
            expect_same(native.searchsorted(rows[0], one, right), wanted)
    assert native.searchsorted(np.zeros(0, dtype), np.zeros(3, dtype), right).tolist() == [0, 0, 0]


@pytest.mark.parametrize("dtype", ["i8", "i4", "i2", "i1", "u1"])
def test_counting(dtype):
    for size in (0, 1, 2, 3, 1001):
        x = rng.integers(0, 100, size).astype(dtype)
        for vector in (x, x[::-1]):
            for least in (0, 7, 200, 100_000):
                expect_same(native.bincount(vector, least), statistics.bincount(vector, least))
    if dtype != "u1":
        wrong = np.array([3, -1], dtype)
        assert outcome(native.bincount, wrong, 0) == outcome(statistics.bincount, wrong, 0)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_histograms(dtype):
    for size in (0, 1, 5, 1000):
        x = rng.standard_normal(size).astype(dtype)
        for low, high in ((0, 0), (-1, 1), (-0.5, 2.5), (1, 1)):
            expect_same(native.histc(x, 10, low, high), statistics.histc(x, 10, low, high))
    special = np.array([np.nan, np.inf, -np.inf, 0.5, 1.0], dtype)
    assert native.histc(special, 2, 0, 1).tolist() == [0, 2]
    huge = np.array([-np.finfo(dtype).max, np.finfo(dtype).max], dtype)
    with np.errstate(all="ignore"):
        expect_same(native.histc(huge, 3, 0, 0), statistics.histc(huge, 3, 0, 0))
    assert outcome(native.histc, special, 2, 0, 0) == outcome(statistics.histc, special, 2, 0, 0)


@given(hnp.arrays(np.float32, st.integers(1, 200), elements=st.floats(width=32, allow_nan=True)))
def test_any_floats_are_sorted(x):
    values, places = native.sort(x, 0, False)
    expect_equal(x[places], values)
    expect_equal(values, np.sort(x))
    assert sorted(places.tolist()) == list(range(len(x)))


def test_threads_change_no_order():
    threads = load("threads")
    before = threads.get_num_threads()
    x = rng.integers(0, 50, (200, 301))
    found = []
    try:
        for count in (1, 2, 5):
            threads.set_num_threads(count)
            sorted_ = native.sort(x, 0, True)
            found.append((*sorted_, *native.topk(x, 5, 1, True, True), *native.kthvalue(x, 9, 1, False)))
    finally:
        threads.set_num_threads(before)
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            expect_equal(one, other)
