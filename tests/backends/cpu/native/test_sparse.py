"""Native kernels of sparse matrices against SciPy and NumPy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from tt.backends.cpu import threads as pool
from tt.backends.cpu.native.loading import load
from tt.core.library import errors

NATIVE = load("sparse")
pytestmark = pytest.mark.skipif(NATIVE is None, reason="the native kernels are not built")

DTYPES = (np.float32, np.float64)
INDICES = (np.int32, np.int64)
SIZES = st.tuples(st.integers(0, 30), st.integers(1, 40), st.integers(0, 90))


def parts(matrix, index=np.int64):
    return matrix.indptr.astype(index), matrix.indices.astype(index), matrix.data


def random(seed, rows, columns, dtype, density=0.2):
    rng = np.random.default_rng(seed)
    found = scipy.sparse.random_array((rows, columns), density=density, format="csr", dtype=dtype, rng=rng)
    found.sort_indices()
    return found


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), SIZES, st.sampled_from(DTYPES), st.sampled_from(INDICES))
def test_products_with_dense_matrices(seed, sizes, dtype, index):
    rows, inner, wide = sizes
    a = random(seed, rows, inner, dtype)
    b = np.random.default_rng(seed).standard_normal((inner, wide)).astype(dtype)
    c = np.random.default_rng(seed).standard_normal((rows, wide)).astype(dtype)
    close = {"rtol": 1e-4 if dtype is np.float32 else 1e-10, "atol": 1e-5}
    np.testing.assert_allclose(NATIVE.times(*parts(a, index), b), a @ b, **close)
    np.testing.assert_allclose(NATIVE.transposed_times(*parts(a, index), c, inner), a.T @ c, **close)
    if wide:
        np.testing.assert_allclose(NATIVE.times(*parts(a, index), b[:, 0].copy()), a @ b[:, 0], **close)
        found = NATIVE.transposed_times(*parts(a, index), c[:, 0].copy(), inner)
        np.testing.assert_allclose(found, a.T @ c[:, 0], **close)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), SIZES, st.sampled_from(DTYPES), st.sampled_from([0.0, 0.02, 0.2, 0.9]))
def test_products_of_sparse_matrices_have_sorted_columns(seed, sizes, dtype, density):
    rows, inner, wide = sizes
    a, b = random(seed, rows, inner, dtype, density), random(seed + 1, inner, wide, dtype, density)
    starts, columns, data = NATIVE.multiply(*parts(a), *parts(b), wide)
    found = scipy.sparse.csr_array((data, columns, starts), (rows, wide))
    np.testing.assert_allclose(found.toarray(), (a @ b).toarray(), rtol=1e-4, atol=1e-6)
    for begin, end in pairwise(starts):
        assert (np.diff(columns[begin:end]) > 0).all()


def test_wide_products_whose_rows_are_sorted():
    a = random(0, 300, 3000, np.float64, 0.01)
    b = random(1, 3000, 100_000, np.float64, 0.001)
    starts, columns, data = NATIVE.multiply(*parts(a), *parts(b), 100_000)
    expected = a @ b
    expected.sort_indices()
    np.testing.assert_array_equal(columns, expected.indices)
    np.testing.assert_array_equal(starts, expected.indptr)
    np.testing.assert_allclose(data, expected.data)


@pytest.mark.exhaustive
def test_threads_give_the_same():
    a = random(2, 4000, 500, np.float64, 0.05)
    b = np.random.default_rng(2).standard_normal((500, 40))
    left, right = parts(a), random(3, 500, 4000, np.float64, 0.05)
    pool = load("threads")
    before = pool.get_num_threads()
    try:
        found = []
        for threads in (1, 2, 3):
            pool.set_num_threads(threads)
            found.append((NATIVE.times(*left, b), *NATIVE.multiply(*left, *parts(right), 4000)))
    finally:
        pool.set_num_threads(before)
    for others in found[1:]:
        for first, second in zip(found[0], others, strict=True):
            np.testing.assert_array_equal(first, second)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 3000), st.sampled_from([1, 2, 2000, 2**22, 10**12]))
def test_keys_are_sorted_stably(seed, count, bound):
    keys = np.random.default_rng(seed).integers(0, bound, count)
    found, order = NATIVE.sort_keys(keys, bound)
    expected = np.argsort(keys, kind="stable")
    np.testing.assert_array_equal(order, expected)
    np.testing.assert_array_equal(found, keys[expected])
    for dtype in DTYPES:
        values = np.arange(count, dtype=dtype) % 17
        unique, sums = NATIVE.sum_runs(found, order, values)
        wanted, inverse = np.unique(keys, return_inverse=True)
        np.testing.assert_array_equal(unique, wanted)
        np.testing.assert_allclose(sums, np.bincount(inverse, values, minlength=len(wanted)))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), SIZES, st.sampled_from(INDICES))
def test_conversions(seed, sizes, index):
    rows, columns, _ = sizes
    for dtype in (np.float32, np.int64, np.complex64):
        a = random(seed, rows, columns, np.float64).astype(dtype)
        starts, plain, data = NATIVE.transpose(*parts(a, index), columns)
        expected = a.tocsc()
        np.testing.assert_array_equal(starts, expected.indptr)
        np.testing.assert_array_equal(plain, expected.indices)
        np.testing.assert_array_equal(data, expected.data)
        assert starts.dtype == plain.dtype == index
        np.testing.assert_array_equal(NATIVE.to_dense(*parts(a, index), columns), a.toarray())
    of_rows = a.tocoo().coords[0].astype(np.int64)
    np.testing.assert_array_equal(NATIVE.starts_of(of_rows, rows), a.indptr)
    np.testing.assert_array_equal(NATIVE.rows_of(a.indptr.astype(np.int64)), of_rows)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (1, 1), (7, 33), (300, 500), (3, 20000), (20000, 3)])
@pytest.mark.parametrize("density", [0.0, 0.002, 0.3, 1.0])
def test_compressed_rows_of_dense_matrices(shape, density, threads):
    rng = np.random.default_rng(shape[0])
    before = pool.get_num_threads()
    pool.set_num_threads(threads)
    try:
        for dtype in (np.float32, np.float64, np.int32, np.int64):
            dense = (rng.integers(1, 9, shape) * (rng.random(shape) < density)).astype(dtype)
            starts, columns, data = NATIVE.from_dense(dense)
            wanted = scipy.sparse.csr_array(dense)
            np.testing.assert_array_equal(starts, wanted.indptr)
            np.testing.assert_array_equal(columns, wanted.indices)
            np.testing.assert_array_equal(data, wanted.data)
            assert starts.dtype == columns.dtype == np.int64
            assert data.dtype == dtype
    finally:
        pool.set_num_threads(before)


def test_both_zeros_are_left_out_of_compressed_rows_and_nan_is_not():
    dense = np.array([[0.0, -0.0, np.nan], [np.inf, 5e-324, 0.0]])
    starts, columns, data = NATIVE.from_dense(dense)
    assert starts.tolist() == [0, 1, 3]
    assert columns.tolist() == [2, 0, 1]
    np.testing.assert_array_equal(data, [np.nan, np.inf, 5e-324])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 50), st.integers(0, 100), st.sampled_from(DTYPES))
def test_products_at_some_places(seed, places, inner, dtype):
    rng = np.random.default_rng(seed)
    left, right = (rng.standard_normal((7, inner)).astype(dtype) for _ in range(2))
    rows, columns = rng.integers(0, 7, (2, places))
    found = NATIVE.sampled(rows, columns, left, right)
    np.testing.assert_allclose(found, (left @ right.T)[rows, columns], rtol=1e-3, atol=1e-4)


def test_special_values_and_no_elements():
    one = scipy.sparse.csr_array(np.array([[np.inf, 0.0], [0.0, np.nan], [0.0, 0.0]]))
    found = NATIVE.times(*parts(one), np.array([[1.0, 0.0], [2.0, 1.0]]))
    np.testing.assert_array_equal(found, [[np.inf, np.nan], [np.nan, np.nan], [0, 0]])
    none = scipy.sparse.csr_array((0, 3))
    assert NATIVE.times(*parts(none), np.ones((3, 2))).shape == (0, 2)
    assert NATIVE.transposed_times(*parts(none), np.ones((0, 2)), 3).tolist() == [[0, 0]] * 3


def test_wrong_arguments_are_refused():
    a = random(4, 3, 4, np.float64)
    for call in (
        lambda: NATIVE.times(*parts(a), np.ones((4, 2), np.float32)),
        lambda: NATIVE.times(*parts(a), np.ones((2, 4)).T),
        lambda: NATIVE.times(a.indptr.astype(np.int32), a.indices.astype(np.int64), a.data, np.ones((4, 2))),
        lambda: NATIVE.times(*parts(a.astype(np.int64)), np.ones((4, 2))),
        lambda: NATIVE.times(1, 2, 3, 4),
        lambda: NATIVE.times(1),
        lambda: NATIVE.multiply(*parts(a), *parts(a, np.int32), 4),
        lambda: NATIVE.sort_keys(np.ones(3), 4),
        lambda: NATIVE.sum_runs(np.ones(3, np.int64), np.ones(2, np.int64), np.ones(3)),
        lambda: NATIVE.sampled(np.ones(3), np.ones(3), np.ones((2, 2)), np.ones((2, 2))),
        lambda: NATIVE.rows_of(np.ones(3)),
        lambda: NATIVE.starts_of(np.ones(3), 2),
        lambda: NATIVE.from_dense(np.ones(3)),
        lambda: NATIVE.from_dense(np.ones((3, 4)).T),
        lambda: NATIVE.from_dense(np.ones((3, 4), np.int8)),
        lambda: NATIVE.transpose(*parts(a.astype(np.int8)), 4),
    ):
        with pytest.raises(TypeError):
            call()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("apart", [1, 3])
@pytest.mark.parametrize(
    ("rows", "count"),
    [
        (1, 0),
        (5, 3),
        (7, 1000),
        (3, 48),
        (40, 641),
        (2, 33),
        (2, 50000),
        (200, 100000),
        (9999, 70000),
        (90000, 40000),
    ],
)
def test_rows_begin_where_the_counts_before_them_end(rows, count, apart, ordered, threads):
    """Blocks within a long row are skipped, rows go on in the next thread's part, rows in any order are counted."""
    row = np.random.default_rng(count).integers(0, rows, count) // apart * apart
    row = np.sort(row) if ordered else row
    wanted = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=rows))])
    before = pool.get_num_threads()
    pool.set_num_threads(threads)
    try:
        np.testing.assert_array_equal(NATIVE.starts_of(row, rows), wanted)
    finally:
        pool.set_num_threads(before)


@pytest.mark.parametrize("count", [1, 5, 1000, 50000])
@pytest.mark.parametrize("wrong", [-1, 5, -(2**63), 2**63 - 1])
def test_rows_that_are_not_there_are_refused(count, wrong):
    for place in (0, count // 2, count - 1):
        row = np.sort(np.random.default_rng(count).integers(0, 5, count))
        row[place] = wrong
        with pytest.raises(errors.IndexValueError):
            NATIVE.starts_of(row, 5)
