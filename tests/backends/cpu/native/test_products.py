"""Native products of matrices: their values against float64, for operands of any strides and shapes."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.processes import printed_by
from tt.backends.cpu.native.loading import load, status

NATIVE = load("products")

pytestmark = pytest.mark.skipif(NATIVE is None, reason=f"native kernels are not in use: {status().reason}")

EPS = {np.float32: 1.2e-7, np.float64: 2.3e-16}
DTYPES = st.sampled_from([np.float32, np.float64])
INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
SIZES = st.sampled_from([0, 1, 2, 3, 7, 8, 9, 16, 17, 31, 33, 48, 50])
WAYS = ("plain", "transposed", "every other", "reversed", "repeated")


def array(seed: int, shape: tuple[int, ...], dtype: Any, way: str = "plain") -> Any:
    """Return numbers that lie in memory in some way; integers are of the whole range, so that products wrap around."""
    random = np.random.default_rng(seed)
    if np.issubdtype(dtype, np.integer):
        limits = np.iinfo(dtype)
        x = random.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    else:
        x = random.standard_normal(shape).astype(dtype)
    if way == "transposed" and x.ndim > 1:
        return np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)
    if way == "every other":
        return np.repeat(x, 2, -1)[..., ::2]
    if way == "reversed":
        return x[..., ::-1]
    if way == "repeated" and x.ndim > 1 and x.shape[-2]:
        return np.broadcast_to(x[..., :1, :], shape)
    return x


def close(found: Any, expected: Any, dtype: Any, terms: int) -> None:
    """Compare with float64; rounding errors add up at random."""
    assert found.dtype == dtype
    assert found.shape == expected.shape
    assert found.flags.c_contiguous
    error = 8 * EPS[dtype] * np.abs(expected).max(initial=1.0) * max(terms, 4) ** 0.5
    np.testing.assert_allclose(found, expected, rtol=0, atol=error)


def same(result: Any, expected: Any) -> None:
    """Compare integers, which are exact modulo the size of their dtype."""
    assert result.dtype == expected.dtype
    assert result.flags.c_contiguous
    np.testing.assert_array_equal(result, expected)


def wide(*arrays: Any) -> Any:
    return [a.astype(np.float64) for a in arrays]


@settings(max_examples=150, deadline=None)
@given(SIZES, SIZES, SIZES, DTYPES, st.sampled_from(WAYS), st.sampled_from(WAYS))
def test_two_matrices(m: int, k: int, n: int, dtype: Any, one: str, other: str) -> None:
    a, b = array(0, (m, k), dtype, one), array(1, (k, n), dtype, other)
    close(NATIVE.mm(a, b), np.matmul(*wide(a, b)), dtype, k)
    close(NATIVE.matmul(a, b), np.matmul(*wide(a, b)), dtype, k)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shape", [(130, 300, 250), (700, 270, 40), (33, 520, 1100)])
def test_matrices_beyond_the_caches(shape: tuple[int, int, int], way: str, dtype: Any) -> None:
    m, k, n = shape
    a, b = array(0, (m, k), dtype, way), array(1, (k, n), dtype, way)
    close(NATIVE.mm(a, b), np.matmul(*wide(a, b)), dtype, k)


@settings(max_examples=100, deadline=None)
@given(SIZES, SIZES, DTYPES, st.sampled_from(WAYS), st.sampled_from(WAYS))
def test_vectors(m: int, k: int, dtype: Any, one: str, other: str) -> None:
    a, x = array(0, (m, k), dtype, one), array(1, (k,), dtype, other)
    close(NATIVE.mv(a, x), np.matmul(*wide(a, x)), dtype, k)
    close(NATIVE.matmul(a, x), np.matmul(*wide(a, x)), dtype, k)
    close(NATIVE.matmul(x, a.T), np.matmul(*wide(a, x)), dtype, k)
    close(NATIVE.dot(x, x[::-1]), np.dot(*wide(x, x[::-1])), dtype, k)


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(
        [((2,), (2,)), ((3, 2), (2,)), ((2,), (3, 1)), ((), (4,)), ((4,), ()), ((0,), (1,)), ((2, 1), (1, 3))]
    ),
    st.tuples(SIZES, SIZES, SIZES),
    DTYPES,
    st.sampled_from(WAYS),
    st.sampled_from(WAYS),
)
def test_batches(batches: Any, sizes: Any, dtype: Any, one: str, other: str) -> None:
    m, k, n = sizes
    a, b = array(0, (*batches[0], m, k), dtype, one), array(1, (*batches[1], k, n), dtype, other)
    close(NATIVE.matmul(a, b), np.matmul(*wide(a, b)), dtype, k)
    if len(batches[0]) == len(batches[1]) == 1 and batches[0] == batches[1]:
        close(NATIVE.bmm(a, b), np.matmul(*wide(a, b)), dtype, k)
    x = array(2, (k,), dtype, one)
    close(NATIVE.matmul(a, x), np.matmul(*wide(a, x)), dtype, k)
    close(NATIVE.matmul(x, b), np.matmul(*wide(x, b)), dtype, k)


@settings(max_examples=100, deadline=None)
@given(
    st.tuples(SIZES, SIZES, SIZES),
    DTYPES,
    st.sampled_from(WAYS),
    st.sampled_from(["none", "row", "one", "all"]),
)
def test_linear(sizes: Any, dtype: Any, way: str, which: str) -> None:
    m, k, n = sizes
    x, w = array(0, (2, m, k), dtype, way), array(1, (n, k), dtype, way)
    bias = {
        "none": None,
        "row": array(2, (n,), dtype),
        "one": array(2, (1,), dtype),
        "all": array(2, (m, n), dtype),
    }[which]
    expected = np.matmul(*wide(x, w.T)) + (0 if bias is None else bias.astype(np.float64))
    close(NATIVE.linear(x, w, bias), expected, dtype, k)
    close(NATIVE.linear(x.swapaxes(0, 1), w, None), np.matmul(*wide(x.swapaxes(0, 1), w.T)), dtype, k)
    if n:
        close(NATIVE.linear(x, w[0], None), np.matmul(*wide(x, w[0])), dtype, k)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "sizes", [(130, 600, 50), (64, 257, 48), (1, 300, 70), (9, 513, 1), (16, 0, 20), (400, 33, 500)]
)
def test_a_bias_is_added_once_however_the_product_is_divided(sizes: tuple[int, int, int], dtype: Any) -> None:
    m, k, n = sizes
    x, w, bias = array(1, (m, k), dtype), array(2, (n, k), dtype), array(3, (n,), dtype)
    close(NATIVE.linear(x, w, bias), np.matmul(*wide(x, w.T)) + wide(bias)[0], dtype, k)
    close(
        NATIVE.linear(x, w, array(3, (2 * n,), dtype)[::2]),
        np.matmul(*wide(x, w.T)) + wide(array(3, (2 * n,), dtype)[::2])[0],
        dtype,
        k,
    )


@settings(max_examples=100, deadline=None)
@given(
    st.tuples(SIZES, SIZES, SIZES),
    DTYPES,
    st.sampled_from([1, 0, 2.5]),
    st.sampled_from([1, 0, -0.5]),
    st.sampled_from(["scalar", "row", "column", "matrix"]),
)
def test_addmm(sizes: Any, dtype: Any, beta: float, alpha: float, which: str) -> None:
    m, k, n = sizes
    a, b = array(0, (m, k), dtype), array(1, (k, n), dtype)
    shape = {"scalar": (), "row": (n,), "column": (m, 1), "matrix": (m, n)}[which]
    added = array(2, shape, dtype)
    expected = beta * added.astype(np.float64) + alpha * np.matmul(*wide(a, b))
    close(NATIVE.addmm(added, a, b, beta, alpha), expected, dtype, k)
    if beta == alpha == 1:
        close(NATIVE.addmm(added, a, b), expected, dtype, k)


def test_addmm_does_not_read_what_counts_for_nothing() -> None:
    a, b = array(0, (3, 4), np.float32), array(1, (4, 5), np.float32)
    nan = np.full((3, 5), np.nan, np.float32)
    np.testing.assert_array_equal(NATIVE.addmm(nan, a, b, 0, 1), NATIVE.mm(a, b))


@pytest.mark.parametrize("n", [1, 5, 16, 47, 50])
def test_special_values_stay_in_their_rows_and_columns(n: int) -> None:
    a, b = array(0, (9, 20), np.float32), array(1, (20, n), np.float32)
    a[3, 7], b[2, n - 1] = np.nan, np.inf
    found = NATIVE.mm(a, b)
    bad = np.zeros((9, n), bool)
    bad[3] = bad[:, n - 1] = True
    np.testing.assert_array_equal(~np.isfinite(found), bad)


ALONG = st.sampled_from([1, 2, 3, 5, 8, 10, 13, 30, 33])


@settings(max_examples=100, deadline=None)
@given(ALONG, st.integers(30, 300), ALONG, DTYPES, st.booleans())
def test_few_rows_or_columns_whose_operands_are_contiguous_along_the_sum(
    m: int, k: int, n: int, dtype: Any, swapped: bool
) -> None:
    x, w, bias = array(0, (m, k), dtype), array(1, (n, k), dtype), array(2, (n,), dtype)
    if swapped:
        x, w, bias = w, x, array(2, (m,), dtype)
    expected = np.matmul(*wide(x, w.T))
    close(NATIVE.mm(x, w.T), expected, dtype, k)
    close(NATIVE.linear(x, w, bias), expected + wide(bias)[0], dtype, k)
    close(NATIVE.addmm(expected.astype(dtype), x, w.T), 2 * expected, dtype, k)
    close(NATIVE.mv(w, x[0]), expected[0], dtype, k)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [128, 129, 143, 150, 255])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_a_special_value_at_any_place_of_a_sum_is_added_once(k: int, value: float, dtype: Any) -> None:
    x, w = np.ones((3, k), dtype), np.ones((2, k), dtype)
    for place in range(k):
        changed = x.copy()
        changed[1, place] = value
        found = NATIVE.mm(changed, w.T)
        np.testing.assert_array_equal(found[[0, 2]], k)
        np.testing.assert_array_equal(found[1], value)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("m", [3, 9, 200])
@pytest.mark.parametrize("n", [1, 2, 7, 10, 15, 17, 25, 49, 65, 100])
def test_columns_of_a_wider_matrix_are_multiplied_without_their_neighbours(
    m: int, n: int, dtype: Any
) -> None:
    a, b = array(0, (m, 90), dtype), np.full((90, n + 40), np.nan, dtype)
    b[:, 5 : 5 + n] = array(1, (90, n), dtype)
    close(NATIVE.mm(a, b[:, 5 : 5 + n]), np.matmul(*wide(a, b[:, 5 : 5 + n])), dtype, 90)
    windows = np.lib.stride_tricks.sliding_window_view(array(2, (89 + n,), dtype), n)
    close(NATIVE.mm(a, windows), np.matmul(*wide(a, windows)), dtype, 90)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("m", [*range(120, 137), 1030])
def test_every_row_is_computed_once_however_the_rows_are_divided(m: int, dtype: Any) -> None:
    a, b = array(0, (m, 300), dtype), array(1, (300, m + 3), dtype)
    close(NATIVE.mm(a, b), np.matmul(*wide(a, b)), dtype, 300)
    close(
        NATIVE.mm(a[:, ::-1].T[:40], b[:40, : m + 3].T[:m]),
        np.matmul(*wide(a[:, ::-1].T[:40], b[:40].T[:m])),
        dtype,
        m,
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "sizes",
    # The last three have columns that belong to different tiles if threads share them.
    [(300, 200, 310), (17, 600, 400), (66, 784, 65), (2, 700, 900), (900, 700, 9),
     (20, 600, 52), (20, 1300, 76), (20, 600, 104)],
)  # fmt: skip
def test_threads_do_not_change_results(sizes: tuple[int, int, int], dtype: Any) -> None:
    threads = load("threads")
    m, k, n = sizes
    a, b, bias = array(0, (m, k), dtype), array(1, (k, n), dtype), array(2, (n,), dtype)
    w = np.ascontiguousarray(b.T)
    x, y = array(2, (40, 30, 50), dtype), array(3, (40, 50, 20), dtype)
    before, found = threads.get_num_threads(), []
    try:
        for count in (1, 2, 3, 8):
            threads.set_num_threads(count)
            found.append(
                (NATIVE.mm(a, b), NATIVE.mm(a, w.T), NATIVE.linear(a, w, bias), NATIVE.bmm(x, y),
                 NATIVE.mv(a, w[0]), NATIVE.mv(a.T, a[:, 0]), NATIVE.mm(w, a.T))
            )  # fmt: skip
    finally:
        threads.set_num_threads(before)
    for others in zip(*found, strict=True):
        for other in others[1:]:
            np.testing.assert_array_equal(others[0], other)


@settings(max_examples=150, deadline=None)
@given(SIZES, SIZES, SIZES, st.sampled_from(INTEGERS), st.sampled_from(WAYS), st.sampled_from(WAYS))
def test_integers_wrap_around(m: int, k: int, n: int, dtype: Any, one: str, other: str) -> None:
    a, b = array(0, (m, k), dtype, one), array(1, (k, n), dtype, other)
    bias, sums = array(2, (n,), dtype), array(3, (m, n), dtype)
    same(NATIVE.mm(a, b), a @ b)
    same(NATIVE.addmm(sums, a, b), a @ b + sums)
    same(NATIVE.linear(a, b.T, bias), a @ b + bias)
    for column in range(min(n, 1)):
        same(NATIVE.mv(a, b[:, column]), a @ b[:, column])
    for row in range(min(m, 1)):
        same(NATIVE.dot(a[row], a[row, ::-1]), np.dot(a[row], a[row, ::-1]))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize(
    "sizes", [(130, 300, 250), (33, 520, 1100), (1, 700, 900), (900, 700, 1), (700, 2, 700)]
)
def test_integers_beyond_the_caches(sizes: tuple[int, int, int], dtype: Any) -> None:
    m, k, n = sizes
    a, b = array(0, (m, k), dtype), array(1, (n, k), dtype)
    same(NATIVE.mm(a, b.T), a @ b.T)
    same(NATIVE.matmul(a[:, None, :], b.T), a[:, None, :] @ b.T)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_batches_of_integers_broadcast(dtype: Any) -> None:
    a, b = array(0, (4, 1, 7, 30), dtype), array(1, (3, 30, 5), dtype)
    same(NATIVE.matmul(a, b), a @ b)
    same(NATIVE.bmm(a[:3, 0], b), a[:3, 0] @ b)


@settings(max_examples=40, deadline=None)
@given(SIZES, SIZES, DTYPES, st.sampled_from(WAYS), st.sampled_from(WAYS))
def test_all_pairs(m: int, n: int, dtype: Any, one: str, other: str) -> None:
    x, y = array(0, (m,), dtype, one), array(1, (n,), dtype, other)
    np.testing.assert_array_equal(NATIVE.outer(x, y), np.multiply.outer(x, y))


SERVED = """
import tt
x, w = tt.arange(12.0).reshape(3, 4), tt.arange(20.0).reshape(5, 4)
for op, count in [("mm", 2), ("matmul", 2), ("bmm", 2), ("mv", 2), ("dot", 2), ("addmm", 3)]:
    found = tt.explain(op, ["cpu:float32"] * count).resolution
    print(*(one.reason for one in found.candidates if one.taken))
print((x @ w.T).sum().item())
"""


@pytest.mark.parametrize(("asked", "native"), [("", True), ("native", True), ("blas", False)])
def test_blas_serves_if_it_is_asked_to(asked: str, native: bool) -> None:
    printed = printed_by(SERVED, {**os.environ, "TT_PRODUCTS": asked})
    a, b = np.arange(12.0).reshape(3, 4), np.arange(20.0).reshape(5, 4)
    assert printed.splitlines()[-1] == str((a @ b.T).sum())
    assert printed.count("by NumPy") == (0 if native else 6)


def test_an_unknown_choice_is_refused_by_the_first_product() -> None:
    code = "import tt\ntry:\n    tt.ones(2, 2) @ tt.ones(2, 2)\nexcept tt.errors.TTError as error:\n    print(error)"
    printed = printed_by(code, {**os.environ, "TT_PRODUCTS": "magic"})
    assert "unknown choice; known: native, blas, mkl, scipy" in printed


def test_what_does_not_fit_is_refused() -> None:
    a, b = np.zeros((2, 3)), np.zeros((4, 5))
    calls: tuple[Callable[[], Any], ...] = (
        lambda: NATIVE.mm(a, b),
        lambda: NATIVE.mm(a, b[0]),
        lambda: NATIVE.mm(a, a.T.astype(np.float32)),
        lambda: NATIVE.mv(a, b[0]),
        lambda: NATIVE.dot(a[0], b[0]),
        lambda: NATIVE.matmul(a, b),
        lambda: NATIVE.matmul(np.zeros((2, 2, 3)), np.zeros((3, 3, 3))),
        lambda: NATIVE.bmm(np.zeros((2, 2, 3)), np.zeros((1, 3, 3))),
        lambda: NATIVE.linear(a, b, None),
        lambda: NATIVE.linear(a, np.zeros((4, 3)), np.zeros(3)),
        lambda: NATIVE.addmm(np.zeros(7), a, a.T),
        lambda: NATIVE.mm([[1.0]], [[1.0]]),
    )
    for call in calls:
        with pytest.raises(ValueError):
            call()
