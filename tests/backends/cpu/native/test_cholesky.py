"""Native Cholesky factors: products in float64, agreement with LAPACK, what has no factor, threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg.lapack import dpotrf, spotrf

import tt
from tt.backends.cpu.native.loading import load, status
from tt.core.library import errors

NATIVE = load("cholesky")

pytestmark = pytest.mark.skipif(NATIVE is None, reason=f"native kernels are not in use: {status().reason}")

SIZES = [1, 2, 3, 7, 8, 9, 16, 17, 63, 64, 65, 95, 96, 97, 200, 300]


def definite(*shape: int, dtype: Any = "float64", seed: int = 0) -> Any:
    """Return matrices that are positive-definite, with a condition of about five."""
    x = np.random.default_rng(seed).standard_normal((*shape, shape[-1]))
    return (x @ x.swapaxes(-1, -2) / shape[-1] + np.eye(shape[-1])).astype(dtype)


def one_triangle(a: Any, upper: bool) -> Any:
    """Return the triangle that is read, and NaN in the other one."""
    rows, columns = np.indices(a.shape[-2:])
    return np.where(rows <= columns if upper else rows >= columns, a, np.asarray(np.nan, a.dtype))


def check(whole: Any, given: Any, upper: bool) -> None:
    found, info = NATIVE.linalg_cholesky_ex(given, upper, False)
    assert (found.dtype, info.dtype) == (whole.dtype, np.int32)
    assert (found.shape, info.shape) == (whole.shape, whole.shape[:-2])
    assert not info.any()
    np.testing.assert_array_equal(found, np.triu(found) if upper else np.tril(found))
    n, eps, exact = whole.shape[-1], float(np.finfo(whole.dtype).eps), whole.astype(np.float64)
    wide = np.abs(found).astype(np.float64)
    bound = wide.swapaxes(-1, -2) @ wide if upper else wide @ wide.swapaxes(-1, -2)
    wide = found.astype(np.float64)
    product = wide.swapaxes(-1, -2) @ wide if upper else wide @ wide.swapaxes(-1, -2)
    assert (np.abs(product - exact) <= (n + 3) * eps * bound).all()  # Higham's bound, element by element
    assert np.abs(wide - np.linalg.cholesky(exact, upper=upper)).max() <= 50 * eps
    np.testing.assert_array_equal(NATIVE.linalg_cholesky(given, upper), found)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize(
    "shape",
    [*((n, n) for n in SIZES), (5, 8, 8), (37, 3, 3), (4, 1, 1), (2, 3, 17, 17), (3, 70, 70), (2, 130, 130)],
    ids=str,
)
def test_factors_multiply_to_the_matrix_in_every_memory_order(shape: Any, upper: bool, dtype: str) -> None:
    whole = definite(*shape[:-1], dtype=dtype)
    given = one_triangle(whole, upper)
    check(whole, given, upper)
    check(whole, np.ascontiguousarray(given.swapaxes(-1, -2)).swapaxes(-1, -2), upper)
    check(whole, np.repeat(np.repeat(given, 2, -1), 3, -2)[..., ::3, ::2], upper)
    check(whole[..., ::-1, ::-1], one_triangle(whole[..., ::-1, ::-1], upper), upper)
    check(np.broadcast_to(whole, (2, *whole.shape)), np.broadcast_to(given, (2, *given.shape)), upper)


@pytest.mark.parametrize("shape", [(0, 0), (3, 0, 0), (0, 5, 5), (0, 80, 80)], ids=str)
def test_nothing(shape: Any) -> None:
    found, info = NATIVE.linalg_cholesky_ex(np.zeros(shape), False, True)
    assert found.shape == shape
    assert info.shape == shape[:-2]


@pytest.mark.parametrize("size", [6, 80])
@pytest.mark.parametrize(("dtype", "scale"), [("float32", 1e30), ("float32", 1e-30), ("float64", 1e-300)])
def test_elements_near_the_ends_of_the_range(dtype: str, scale: float, size: int) -> None:
    a = (definite(size) * scale).astype(dtype)
    found = NATIVE.linalg_cholesky(a, False).astype(np.float64) / scale**0.5
    assert np.abs(found @ found.T - a.astype(np.float64) / scale).max() < 8 * size * np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("size", [1, 7, 9, 64, 65, 200])
def test_the_order_of_the_first_minor_that_is_not_positive(size: int, upper: bool, dtype: str) -> None:
    potrf = spotrf if dtype == "float32" else dpotrf
    for column in {0, size // 2, size - 1}:
        a = np.stack([definite(size, dtype=dtype, seed=seed) for seed in range(5)])
        a[1, column, column] = -1
        found, info = NATIVE.linalg_cholesky_ex(a, upper, False)
        assert info.tolist() == [0, column + 1, 0, 0, 0]
        for place in range(5):
            expected, order = potrf(a[place], lower=not upper, clean=True)
            assert order == info[place]
            np.testing.assert_array_equal(found[place], expected)
        text = f"[Bb]atch element 1.*leading minor of order {column + 1} is not"
        with pytest.raises(errors.LinAlgError, match=text):
            NATIVE.linalg_cholesky(a, upper)
        with pytest.raises(errors.LinAlgError, match=text):
            NATIVE.linalg_cholesky_ex(a, upper, True)


@pytest.mark.parametrize("size", [5, 64, 90, 200])
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("diagonal", [False, True])
def test_what_is_not_finite_gives_what_lapack_gives(size: int, special: float, diagonal: bool) -> None:
    a = definite(size)
    column = size // 2
    row = column if diagonal else size - 2
    a[row, column] = a[column, row] = special
    found, info = NATIVE.linalg_cholesky_ex(a, False, False)
    with np.errstate(all="ignore"):
        expected, order = dpotrf(a, lower=True, clean=True)
    assert info == order
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def test_other_dtypes_and_shapes_are_left_to_numpy() -> None:
    a = definite(6)
    skew = np.tril(np.ones((6, 6)), -1) * 0.1j
    hermitian = a + skew + skew.conj().T
    for given in (hermitian, hermitian.conj(), hermitian.astype(np.complex64)):
        found = NATIVE.linalg_cholesky(given, False)
        assert found.dtype == given.dtype
        assert np.abs(found @ found.conj().T - given).max() < 1e-5
    with pytest.raises(ValueError):
        NATIVE.linalg_cholesky(np.ones((2, 3)), False)


@pytest.mark.parametrize("shape", [(500,), (1000,), (100, 8), (6, 100)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("upper", [False, True])
def test_threads_change_no_bits(shape: Any, dtype: str, upper: bool) -> None:
    a = definite(*shape, dtype=dtype)
    before = tt.get_num_threads()
    try:
        found = []
        for threads in (1, 2, 5):
            tt.set_num_threads(threads)
            found.append(NATIVE.linalg_cholesky(a, upper).tobytes())
    finally:
        tt.set_num_threads(before)
    assert found[0] == found[1] == found[2]
