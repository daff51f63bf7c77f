"""Native factors L U and what follows from them: bounds, agreement with LAPACK, what is left to it, threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg.lapack import dgetrf, sgetrf

import tt
from tt.backends.cpu.decomposition.equations import lu_solve as numpy_lu_solve
from tt.backends.cpu.native.loading import load, status
from tt.core.library import errors

NATIVE = load("lu")

pytestmark = pytest.mark.skipif(NATIVE is None, reason=f"native kernels are not in use: {status().reason}")

DTYPES = st.sampled_from([np.float32, np.float64])
BATCHES = st.sampled_from([(), (1,), (5,), (2, 3)])
# Around the vectors, panels and blocks of each instruction set.
SIZES = st.sampled_from([1, 2, 3, 5, 8, 15, 16, 17, 31, 48, 63, 64, 65, 96, 97, 129, 200, 300])
BOTH_BATCHES = st.sampled_from([((), ()), ((3,), (3,)), ((3,), ()), ((), (2,)), ((2, 1), (3,))])
RIGHT_SIZES = st.sampled_from([1, 2, 5, 17, 48, 49, 100])
WAYS = st.sampled_from(["plain", "transposed", "apart", "backwards"])


def arranged(a: Any, way: str) -> Any:
    """Return the same matrices in another memory order."""
    if way == "transposed":
        return np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2)
    if way == "apart":
        return np.repeat(np.repeat(a, 2, -1), 3, -2)[..., ::3, ::2]
    return np.ascontiguousarray(a[..., ::-1, ::-1])[..., ::-1, ::-1] if way == "backwards" else a


def matrices(seed: int, *shape: int, dtype: Any, way: str = "plain") -> Any:
    """Return matrices that are far from singular, and whose determinants stay in the range."""
    n = shape[-1]
    a = np.random.default_rng(seed).standard_normal(shape) / n**0.5 + 1.3 * np.eye(n)
    return arranged(a.astype(dtype), way)


def near(found: Any, expected: Any, dtype: Any, factor: float = 500) -> None:
    error = factor * np.finfo(dtype).eps * np.abs(expected).max(initial=1.0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=error)


def lower_and_upper(factors: Any) -> tuple[Any, Any]:
    m, n = factors.shape[-2:]
    k = min(m, n)
    wide = factors.astype(np.float64)
    return np.tril(wide[..., :k], -1) + np.eye(m, k), np.triu(wide[..., :k, :])


def unexchanged(product: Any, pivots: Any) -> Any:
    """Return P L U from L U and the exchanges of rows."""
    for place in np.ndindex(product.shape[:-2]):
        for i in range(pivots.shape[-1] - 1, -1, -1):
            rows = [i, pivots[(*place, i)] - 1]
            product[place][rows] = product[place][rows[::-1]]
    return product


@settings(max_examples=100, deadline=None)
@given(BATCHES, SIZES, SIZES, DTYPES, WAYS)
def test_factors_multiply_to_the_matrix_and_exchange_the_rows_that_lapack_does(
    batch: Any, m: int, n: int, dtype: Any, way: str
) -> None:
    a = arranged(np.random.default_rng(m * 1000 + n).standard_normal((*batch, m, n)).astype(dtype), way)
    factors, pivots, info = NATIVE.linalg_lu_factor_ex(a, False)
    assert (factors.dtype, pivots.dtype, info.dtype) == (dtype, np.int32, np.int32)
    assert factors.flags.c_contiguous
    assert (factors.shape, pivots.shape, info.shape) == (a.shape, (*batch, min(m, n)), batch)
    assert not info.any()
    lower, upper = lower_and_upper(factors)
    assert np.abs(lower).max() <= 1
    bound = unexchanged(np.abs(lower) @ np.abs(upper), pivots)  # Higham's, element by element
    error = np.abs(unexchanged(lower @ upper, pivots) - a)
    assert (error <= (min(m, n) + 3) * np.finfo(dtype).eps * bound).all()
    for place in np.ndindex(batch):  # where no two sizes are so near that rounding decides
        expected, rows, _ = dgetrf(a[place].astype(np.float64))
        np.testing.assert_array_equal(pivots[place], rows + 1)
        near(factors[place], expected, dtype, 20000)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [2, 9, 64, 65, 130])
def test_the_first_of_equal_pivots_is_taken(size: int, dtype: Any) -> None:
    a = np.random.default_rng(size).integers(-1, 2, (size, size)).astype(dtype)
    factors, pivots, _ = NATIVE.linalg_lu_factor_ex(a, False)
    first = np.flatnonzero(np.abs(a[:, 0]) == np.abs(a[:, 0]).max())[0]
    assert pivots[0] == first + 1
    signs = np.where(np.arange(size)[:, None] >= np.arange(size), -1.0, 1.0).astype(dtype)
    np.testing.assert_array_equal(NATIVE.linalg_lu_factor_ex(np.triu(signs), False)[1], np.arange(size) + 1)
    near(unexchanged(np.matmul(*lower_and_upper(factors)), pivots), a, dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 2, 9, 20, 64, 65, 130, 200])
def test_the_first_column_without_a_pivot(size: int, dtype: Any) -> None:
    getrf = sgetrf if dtype == np.float32 else dgetrf
    for column in {0, size // 2, size - 1}:
        a = np.stack([matrices(seed, size, size, dtype=dtype) for seed in range(3)])
        a[1, :, column] = 0
        factors, pivots, info = NATIVE.linalg_lu_factor_ex(a, False)
        assert info.tolist() == [0, column + 1, 0] == [getrf(one)[2] for one in a]
        near(unexchanged(np.matmul(*lower_and_upper(factors)), pivots), a, dtype)
        assert NATIVE.linalg_det(a)[1] == 0
        sign, logarithm = NATIVE.linalg_slogdet(a)
        assert (sign[1], logarithm[1]) == (0, -np.inf)
        for call in (
            lambda a=a: NATIVE.linalg_inv(a),
            lambda a=a: NATIVE.linalg_solve(a, a, True),
            lambda a=a: NATIVE.linalg_lu_factor_ex(a, True),
        ):
            with pytest.raises(errors.LinAlgError, match=f"[Bb]atch element 1.*singular|column {column + 1}"):
                call()


@settings(max_examples=80, deadline=None)
@given(BATCHES, SIZES, DTYPES, WAYS)
def test_inverses_and_determinants(batch: Any, n: int, dtype: Any, way: str) -> None:
    a = matrices(n, *batch, n, n, dtype=dtype, way=way)
    found = NATIVE.linalg_inv(a)
    assert found.dtype == dtype
    assert found.flags.c_contiguous
    near(found, np.linalg.inv(a.astype(np.float64)), dtype)
    found = NATIVE.linalg_det(a)
    assert (found.dtype, found.shape) == (dtype, batch)
    sign, logarithm = np.linalg.slogdet(a.astype(np.float64))
    np.testing.assert_allclose(found, sign * np.exp(logarithm), rtol=500 * np.finfo(dtype).eps)
    signs, logarithms = NATIVE.linalg_slogdet(a)
    assert (signs.dtype, logarithms.dtype) == (dtype, dtype)
    np.testing.assert_array_equal(signs, sign)
    near(logarithms, logarithm, dtype)


def test_determinants_leave_the_range_only_in_the_end() -> None:
    a = np.diag(np.array([1e200, 1e200, 1e-200, 1e-200, -3.0]))
    np.testing.assert_allclose(NATIVE.linalg_det(a), -3, rtol=1e-14)
    assert NATIVE.linalg_det(a[:2, :2]) == np.inf
    assert NATIVE.linalg_det(a[2:4, 2:4]) == 0
    for size in (40, 400):
        sign, logarithm = NATIVE.linalg_slogdet(np.eye(size, dtype=np.float32) * np.float32(-1e30))
        assert sign == 1
        np.testing.assert_allclose(logarithm, size * np.log(1e30), rtol=1e-6)
    tiny = np.full((1, 1), 5e-324)
    assert NATIVE.linalg_det(tiny) == 5e-324


@settings(max_examples=100, deadline=None)
@given(
    BOTH_BATCHES,
    SIZES,
    st.sampled_from([1, 2, 5, 16, 24, 25, 48, 49, 100]),
    DTYPES,
    WAYS,
    WAYS,
    st.booleans(),
)
def test_equations(batches: Any, n: int, m: int, dtype: Any, way: str, other: str, left: bool) -> None:
    a = matrices(0, *batches[0], n, n, dtype=dtype, way=way)
    right = np.random.default_rng(1).standard_normal((*batches[1], *((n, m) if left else (m, n))))
    b = arranged(right.astype(dtype), other)
    found = NATIVE.linalg_solve(a, b, left)
    assert found.dtype == dtype
    assert found.flags.c_contiguous
    wide = a.astype(np.float64)
    if left:
        expected = np.linalg.solve(wide, b.astype(np.float64))
    else:
        expected = np.linalg.solve(wide.swapaxes(-1, -2), b.astype(np.float64).swapaxes(-1, -2)).swapaxes(
            -1, -2
        )
    assert found.shape == expected.shape
    near(found, expected, dtype)


@settings(max_examples=100, deadline=None)
@given(
    BOTH_BATCHES,
    SIZES,
    RIGHT_SIZES,
    DTYPES,
    WAYS,
    WAYS,
    st.booleans(),
    st.booleans(),
)
def test_equations_by_given_factors(
    batches: Any, n: int, m: int, dtype: Any, way: str, other: str, left: bool, adjoint: bool
) -> None:
    a = matrices(0, *batches[0], n, n, dtype=dtype)[..., ::-1, :]  # so that rows are exchanged
    factors, pivots, _ = NATIVE.linalg_lu_factor_ex(a, True)
    right = np.random.default_rng(1).standard_normal((*batches[1], *((n, m) if left else (m, n))))
    b, apart = arranged(right.astype(dtype), other), np.repeat(pivots, 2, -1)[..., ::2]
    found = NATIVE.linalg_lu_solve(arranged(factors, way), apart, b, left, adjoint)
    assert found.dtype == dtype
    assert found.flags.c_contiguous
    wide, result = (x.astype(np.float64) for x in (a.swapaxes(-1, -2) if adjoint else a, found))
    product = wide @ result if left else result @ wide
    assert product.shape == np.broadcast_shapes(product.shape, b.shape)
    near(product, np.broadcast_to(b, product.shape), dtype, 500 * max(1.0, float(np.abs(found).max())))
    same = numpy_lu_solve(factors, pivots, b, left, adjoint)
    near(found, same, dtype, 500 * max(1.0, float(np.abs(found).max())))


@settings(max_examples=100, deadline=None)
@given(
    BOTH_BATCHES,
    SIZES,
    RIGHT_SIZES,
    DTYPES,
    WAYS,
    WAYS,
    st.booleans(),
)
def test_equations_and_inverses_by_cholesky_factors(
    batches: Any, n: int, m: int, dtype: Any, way: str, other: str, upper: bool
) -> None:
    whole = matrices(0, *batches[0], n, n, dtype=np.float64)
    factor = (np.triu if upper else np.tril)(whole).astype(dtype)
    read = (np.triu if upper else np.tril)(np.ones((n, n))) != 0
    given = arranged(np.where(read, factor, np.nan).astype(dtype), way)  # what is not read may be anything
    b = arranged(np.random.default_rng(1).standard_normal((*batches[1], n, m)).astype(dtype), other)
    found, inverse = NATIVE.cholesky_solve(b, given, upper), NATIVE.cholesky_inverse(given, upper)
    assert found.dtype == inverse.dtype == dtype
    assert found.flags.c_contiguous and inverse.flags.c_contiguous
    wide = factor.astype(np.float64)
    matrix = wide.swapaxes(-1, -2) @ wide if upper else wide @ wide.swapaxes(-1, -2)
    product = matrix @ found.astype(np.float64)
    scale = max(1.0, float(np.abs(found).max())) * max(1.0, float(np.abs(matrix).max()))
    near(product, np.broadcast_to(b, product.shape), dtype, 500 * scale)
    near(inverse.astype(np.float64) @ matrix, np.broadcast_to(np.eye(n), matrix.shape), dtype, 500 * scale)
    np.testing.assert_array_equal(inverse, inverse.swapaxes(-1, -2))


@pytest.mark.parametrize("size", [3, 20, 70])
@pytest.mark.parametrize("upper", [False, True])
def test_a_zero_on_the_diagonal_of_a_cholesky_factor_divides(size: int, upper: bool) -> None:
    factor = np.eye(size)
    factor[1, 1] = 0
    assert not np.isfinite(NATIVE.cholesky_solve(np.ones((size, 2)), factor, upper)[1]).any()
    assert not np.isfinite(NATIVE.cholesky_inverse(factor, upper)[1, 1])


@pytest.mark.parametrize("size", [3, 20, 70])
@pytest.mark.parametrize("adjoint", [False, True])
def test_given_factors_without_a_pivot_divide_by_zero(size: int, adjoint: bool) -> None:
    factors = np.eye(size)
    factors[1, 1] = 0
    found = NATIVE.linalg_lu_solve(
        factors, np.arange(1, size + 1, dtype=np.int32), np.ones((size, 2)), True, adjoint
    )
    # Zeros times infinity spread NaN to the rows that follow; those of (L U)^T begin at the other end.
    assert not np.isfinite(found[1]).any()
    assert adjoint or (np.isinf(found[1]).all() and np.isfinite(found[2:]).all())


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([((), ()), ((3,), (3,)), ((2, 3), (2, 3)), ((4,), ())]), SIZES, DTYPES, st.booleans())
def test_equations_of_vectors(batches: Any, n: int, dtype: Any, apart: bool) -> None:
    a = matrices(0, *batches[0], n, n, dtype=dtype)
    b = np.random.default_rng(1).standard_normal((*batches[1], n)).astype(dtype)
    b = np.repeat(b, 2, -1)[..., ::2] if apart else b
    found = NATIVE.linalg_solve(a, b, True)
    expected = np.linalg.solve(a.astype(np.float64), b[..., None].astype(np.float64))[..., 0]
    assert (found.dtype, found.shape) == (dtype, expected.shape)
    near(found, expected, dtype)


@settings(max_examples=100, deadline=None)
@given(
    BOTH_BATCHES,
    SIZES,
    RIGHT_SIZES,
    DTYPES,
    WAYS,
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_triangular_equations(
    batches: Any, n: int, m: int, dtype: Any, way: str, upper: bool, left: bool, unit: bool
) -> None:
    whole = matrices(0, *batches[0], n, n, dtype=np.float64)
    triangle = (np.triu if upper else np.tril)(whole, 0)
    read = (np.triu if upper else np.tril)(np.ones((n, n)), int(unit) if upper else -int(unit)) != 0
    a = arranged(np.where(read, whole, np.nan).astype(dtype), way)  # what is not read may be anything
    b = np.random.default_rng(1).standard_normal((*batches[1], *((n, m) if left else (m, n)))).astype(dtype)
    found = NATIVE.linalg_solve_triangular(a, b, upper, left, unit)
    assert found.dtype == dtype
    wide = triangle.astype(dtype).astype(np.float64)
    if unit:
        wide = np.where(np.eye(n) != 0, 1.0, wide)
    product, size = (wide @ found if left else found @ wide), np.abs(found).max(initial=1.0)
    bound = np.abs(wide) @ np.abs(found) if left else np.abs(found) @ np.abs(wide)
    assert np.isfinite(size)
    assert (np.abs(product - b) <= (n + 3) * np.finfo(dtype).eps * bound).all()


@pytest.mark.parametrize("size", [3, 20, 70])
def test_a_zero_on_the_diagonal_of_a_triangle_divides(size: int) -> None:
    a = np.eye(size)
    a[1, 1] = 0
    found = NATIVE.linalg_solve_triangular(a, np.ones((size, 2)), True, True, False)
    assert np.isinf(found[1]).all()


@pytest.mark.parametrize("shape", [(0, 0), (3, 0, 0), (0, 5, 5), (0, 80, 80)], ids=str)
def test_nothing(shape: Any) -> None:
    a = np.zeros(shape)
    assert NATIVE.linalg_inv(a).shape == shape
    assert NATIVE.linalg_det(a).shape == shape[:-2]
    assert NATIVE.linalg_slogdet(a)[0].shape == shape[:-2]
    assert NATIVE.linalg_solve(a, a, True).shape == shape
    assert NATIVE.linalg_solve_triangular(a, a, True, True, False).shape == shape
    assert NATIVE.cholesky_solve(a, a, True).shape == shape
    assert NATIVE.cholesky_inverse(a, False).shape == shape
    none = np.zeros(shape[:-1], np.int32)
    assert NATIVE.linalg_lu_solve(a, none, a, True, False).shape == shape
    factors, pivots, info = NATIVE.linalg_lu_factor_ex(a, True)
    assert (factors.shape, pivots.shape, info.shape) == (shape, shape[:-1], shape[:-2])


@pytest.mark.parametrize("size", [5, 64, 90, 200])
def test_nan_spreads_to_the_whole_inverse(size: int) -> None:
    for place in ((0, 0), (1, 0), (size // 2, 1), (size - 1, size - 1)):
        a = matrices(0, size, size, dtype=np.float64)
        a[place] = np.nan
        factors, pivots, info = NATIVE.linalg_lu_factor_ex(a, True)
        assert info == 0
        assert ((pivots > np.arange(size)) & (pivots <= size)).all()
        assert np.isnan(factors).any()
        assert np.isnan(NATIVE.linalg_inv(a)).all()
        assert np.isnan(NATIVE.linalg_solve(a, np.ones((size, 1)), True)).all()
        assert np.isnan(NATIVE.linalg_det(a))


@pytest.mark.parametrize("size", [5, 64, 90, 200])
def test_an_infinite_diagonal_has_an_inverse(size: int) -> None:
    for place in (0, size - 1):
        a = matrices(0, size, size, dtype=np.float64) + 3 * np.eye(size)  # no rows are exchanged
        a[place, place] = np.inf
        assert NATIVE.linalg_det(a) == np.inf
        rest = np.delete(np.delete(a, place, 0), place, 1)
        found = NATIVE.linalg_inv(a)
        near(np.delete(np.delete(found, place, 0), place, 1), np.linalg.inv(rest), np.float64)
        assert not found[place].any()


@pytest.mark.parametrize("size", [6, 70])
@pytest.mark.parametrize(
    ("dtype", "scale"), [(np.float32, 1e35), (np.float32, 1e-35), (np.float64, 1e-300), (np.float64, 1e-309)]
)
def test_elements_near_the_ends_of_the_range(dtype: Any, scale: float, size: int) -> None:
    a = (matrices(0, size, size, dtype=np.float64) * scale).astype(dtype)
    exact = (a.astype(np.float64) / scale).astype(np.float64)
    error = 1e-3 if scale == 1e-309 else 500 * float(np.finfo(dtype).eps)
    factors, pivots, _ = NATIVE.linalg_lu_factor_ex(a, False)
    lower, upper = lower_and_upper(factors)
    np.testing.assert_allclose(unexchanged(lower @ (upper / scale), pivots), exact, rtol=0, atol=4 * error)
    if scale != 1e-309:
        b = np.ones((size, 2)) * scale
        found = NATIVE.linalg_solve(a, b.astype(dtype), True)
        np.testing.assert_allclose(found, np.linalg.solve(exact, np.ones((size, 2))), rtol=0, atol=10 * error)


@settings(max_examples=60, deadline=None)
@given(BATCHES, SIZES, SIZES, DTYPES, WAYS, st.booleans(), st.booleans())
def test_factors_are_unpacked(
    batch: Any, m: int, n: int, dtype: Any, way: str, data: bool, pivots: bool
) -> None:
    a = np.random.default_rng(0).standard_normal((*batch, m, n)).astype(dtype)
    factors, rows, _ = NATIVE.linalg_lu_factor_ex(a, False)
    exchanges, one, other = NATIVE.lu_unpack(arranged(factors, way), rows, data, pivots)
    lower, upper = lower_and_upper(factors)
    if data:
        np.testing.assert_array_equal(one, lower)
        np.testing.assert_array_equal(other, upper)
    if pivots:
        np.testing.assert_array_equal(exchanges @ (lower @ upper), unexchanged(lower @ upper, rows))
    found = (exchanges, one, other)
    assert [part.dtype for part in found] == [dtype] * 3
    assert [part.shape == (0,) for part in found] == [not pivots, not data, not data]


def test_matrices_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError):
        NATIVE.linalg_solve_triangular(np.zeros((2, 3)), np.zeros((3, 2)), True, True, False)
    with pytest.raises(ValueError):
        NATIVE.linalg_solve_triangular(np.eye(3), np.zeros((4, 2)), True, True, False)
    with pytest.raises(ValueError):
        NATIVE.linalg_inv(np.zeros((2, 3)))
    with pytest.raises(ValueError):
        NATIVE.linalg_solve(np.eye(3), np.ones((4, 2)), True)
    with pytest.raises(errors.PlaceError, match="not between 1 and the 2 rows"):
        NATIVE.lu_unpack(np.eye(2), np.array([1, 3], np.int32), True, True)
    for size, wrong in ((2, 3), (2, 0), (70, 71)):
        pivots = np.full(size, wrong, np.int32)
        with pytest.raises(errors.PlaceError, match=f"not between 1 and the {size} rows"):
            NATIVE.linalg_lu_solve(np.eye(size), pivots, np.ones((size, 1)), True, False)
    with pytest.raises(ValueError):
        NATIVE.linalg_lu_solve(np.eye(3), np.ones(2, np.int32), np.ones((3, 1)), True, False)
    with pytest.raises(ValueError):
        NATIVE.linalg_lu_solve(np.eye(3), np.ones(3, np.int32), np.ones((2, 1)), True, False)


@pytest.mark.parametrize("shape", [(500,), (1000,), (100, 8), (6, 100)], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_change_no_bits(shape: Any, dtype: Any) -> None:
    a = matrices(0, *shape, shape[-1], dtype=dtype)
    before = tt.get_num_threads()
    try:
        found = []
        for threads in (1, 2, 5):
            tt.set_num_threads(threads)
            results = (
                NATIVE.linalg_inv(a),
                NATIVE.linalg_solve(a, a, False),
                NATIVE.cholesky_inverse(a, False),
                NATIVE.cholesky_solve(a, a, True),
                NATIVE.linalg_lu_solve(*NATIVE.linalg_lu_factor_ex(a, False)[:2], a, True, True),
                NATIVE.linalg_lu_factor_ex(a, False)[0],
            )
            found.append([one.tobytes() for one in results])
    finally:
        tt.set_num_threads(before)
    assert found[0] == found[1] == found[2]
