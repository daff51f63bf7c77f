"""Native decompositions of small matrices: products of the factors, in float64, and cases left to LAPACK."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tt.backends.cpu.native.loading import load, status
from tt.core.library import errors

NATIVE = load("decomposition")

pytestmark = pytest.mark.skipif(NATIVE is None, reason=f"native kernels are not in use: {status().reason}")

DTYPES = st.sampled_from([np.float32, np.float64])
BATCHES = st.sampled_from([(), (1,), (5,), (2, 3)])
SIZES = st.sampled_from([1, 2, 3, 5, 8, 17, 48, 49])


def matrices(seed: int, *shape: int, dtype: Any, way: str = "plain") -> Any:
    """Return matrices that are far from singular."""
    a = np.random.default_rng(seed).standard_normal(shape).astype(dtype)
    a += np.eye(*shape[-2:], dtype=dtype) * (2 * max(shape[-2:]) ** 0.5)
    return np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2) if way == "transposed" else a


def near(found: Any, expected: Any, dtype: Any) -> None:
    error = 200 * np.finfo(dtype).eps * np.abs(expected).max(initial=1.0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=error)


@settings(max_examples=60, deadline=None)
@given(BATCHES, SIZES, DTYPES, st.sampled_from(["plain", "transposed"]))
def test_inverses_and_determinants(batch: Any, n: int, dtype: Any, way: str) -> None:
    a = matrices(0, *batch, n, n, dtype=dtype, way=way)
    found = NATIVE.linalg_inv(a)
    assert found.dtype == dtype
    assert found.flags.c_contiguous
    near(found.astype(np.float64) @ a, np.broadcast_to(np.eye(n), a.shape), dtype)
    found = NATIVE.linalg_det(a)
    assert found.dtype == dtype
    if n < 17:
        np.testing.assert_allclose(found, np.linalg.det(a.astype(np.float64)), rtol=3e3 * np.finfo(dtype).eps)


@settings(max_examples=60, deadline=None)
@given(BATCHES, SIZES, st.integers(0, 4), DTYPES)
def test_equations(batch: Any, n: int, m: int, dtype: Any) -> None:
    a = matrices(0, *batch, n, n, dtype=dtype)
    b = np.random.default_rng(1).standard_normal((*batch, n, m) if m else (*batch, n)).astype(dtype)
    found = NATIVE.linalg_solve(a, b, True)
    assert found.dtype == dtype
    wide = found.astype(np.float64)
    near((a @ wide) if m else (a @ wide[..., None])[..., 0], b, dtype)
    with pytest.raises(errors.LinAlgError, match="singular"):
        NATIVE.linalg_solve(np.zeros_like(a), b, True)


@settings(max_examples=60, deadline=None)
@given(BATCHES, SIZES, SIZES, DTYPES)
def test_lu_factors(batch: Any, m: int, n: int, dtype: Any) -> None:
    a = np.random.default_rng(0).standard_normal((*batch, m, n)).astype(dtype)
    factors, pivots, info = NATIVE.linalg_lu_factor_ex(a, False)
    assert (factors.dtype, pivots.dtype, info.dtype) == (dtype, np.int32, np.int32)
    assert not info.any()
    k = min(m, n)
    lower = np.tril(factors[..., :k].astype(np.float64), -1) + np.eye(m, k)
    assert np.abs(lower).max() <= 1
    product = lower @ np.triu(factors[..., :k, :].astype(np.float64))
    for place in np.ndindex(batch):
        for i in range(k - 1, -1, -1):
            rows = [i, pivots[(*place, i)] - 1]
            product[place][rows] = product[place][rows[::-1]]
    near(product, a, dtype)


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from([((), ()), ((3,), (3,)), ((3,), ()), ((), (2,)), ((2, 1), (3,))]),
    SIZES,
    st.integers(0, 5),
    DTYPES,
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_triangular_equations(
    batches: Any, n: int, m: int, dtype: Any, upper: bool, left: bool, unit: bool
) -> None:
    a = matrices(0, *batches[0], n, n, dtype=dtype) / n
    b = np.random.default_rng(1).standard_normal((*batches[1], *((n, m) if left else (m, n)))).astype(dtype)
    found = NATIVE.linalg_solve_triangular(a, b, upper, left, unit)
    assert found.dtype == dtype
    wide = (np.triu if upper else np.tril)(a.astype(np.float64))
    if unit:
        wide = wide - np.eye(n) * np.diagonal(wide, axis1=-2, axis2=-1)[..., None, :] + np.eye(n)
    product = wide @ found if left else found @ wide
    size = np.abs(found).max(initial=1.0)
    np.testing.assert_allclose(
        product, np.broadcast_to(b, product.shape), atol=300 * np.finfo(dtype).eps * size, rtol=0
    )


def test_what_has_no_factor_is_left_to_lapack() -> None:
    a = np.stack([np.eye(3), np.zeros((3, 3)), np.eye(3)]).astype(np.float32)
    with pytest.raises(errors.LinAlgError, match="Batch element 1"):
        NATIVE.linalg_inv(a)
    with pytest.raises(errors.LinAlgError, match="Batch element 1"):
        NATIVE.linalg_lu_factor_ex(a, True)
    assert NATIVE.linalg_lu_factor_ex(a, False)[2].tolist() == [0, 1, 0]
    assert NATIVE.linalg_det(a).tolist() == [1, 0, 1]


@pytest.mark.parametrize("shape", [(3,), (7, 3), (3, 7), (2, 3, 4)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cross_products(shape: tuple[int, ...], dtype: Any) -> None:
    a, b = (np.random.default_rng(seed).standard_normal(shape).astype(dtype) for seed in (0, 1))
    dim = shape.index(3)
    expected = np.cross(a.astype(np.float64), b.astype(np.float64), axis=dim)
    tolerance = 10 * np.finfo(dtype).eps * np.abs(expected).max()
    for way in (dim, dim - len(shape)):
        found = NATIVE.linalg_cross(a, b, way)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)
    if (
        dim
    ):  # other strides; where products are added in one step, it depends on the loop which of both is rounded
        found = NATIVE.linalg_cross(a[::-1], b[::-1], dim)
        np.testing.assert_allclose(found, expected[::-1], rtol=0, atol=tolerance)


def test_vectors_and_matrices_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError):
        NATIVE.linalg_cross(np.zeros(3), np.zeros((2, 3)), -1)
    with pytest.raises(ValueError):
        NATIVE.linalg_cross(np.zeros(4), np.zeros(4), -1)
    with pytest.raises(ValueError):
        NATIVE.linalg_solve_triangular(np.zeros((2, 3)), np.zeros((3, 2)), True, True, False)
    with pytest.raises(ValueError):
        NATIVE.linalg_solve_triangular(np.eye(3), np.zeros((4, 2)), True, True, False)
