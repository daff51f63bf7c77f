"""LAPACK in single precision: as exact as float32, with the errors of the other precisions."""

from __future__ import annotations

import numpy as np
import pytest

import tt


@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (60, 60), (3, 0, 0), (0, 4, 4), (2, 3, 7, 7)])
@pytest.mark.parametrize("part", ["L", "U"])
def test_matrices_of_float32_are_decomposed_to_their_precision(shape, part):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    size, rough = shape[-1], 40 * np.finfo(np.float32).eps
    symmetric = x + x.mT
    other = np.full(shape, np.nan, np.float32)  # the triangle that is not read
    seen = np.tril(symmetric) + np.triu(other, 1) if part == "L" else np.triu(symmetric) + np.tril(other, -1)
    values, vectors = tt.linalg.eigh(tt.tensor(seen), UPLO=part)
    assert values.dtype == vectors.dtype == tt.float32
    expected = np.linalg.eigvalsh(symmetric.astype(np.float64))
    np.testing.assert_allclose(values.numpy(), expected, atol=rough * max(size, 1))
    np.testing.assert_array_equal(tt.linalg.eigvalsh(tt.tensor(seen), UPLO=part).shape, expected.shape)
    turned = vectors.numpy().astype(np.float64)
    np.testing.assert_allclose(
        turned * values.numpy()[..., None, :] @ turned.mT, symmetric, atol=rough * max(size, 1)
    )
    positive = (x @ x.mT + size * np.eye(size)).astype(np.float32)
    factor = tt.linalg.cholesky(tt.tensor(positive), upper=part == "U")
    assert factor.dtype == tt.float32
    assert factor.is_contiguous()
    lower = factor.numpy().astype(np.float64).mT if part == "U" else factor.numpy().astype(np.float64)
    np.testing.assert_array_equal(lower, np.tril(lower))
    np.testing.assert_allclose(lower @ lower.mT, positive, atol=rough * max(size, 1) ** 2)


@pytest.mark.parametrize("shape", [(1, 1), (60, 17), (17, 60), (4, 0), (0, 3, 3), (2, 3, 7, 5)])
def test_singular_values_of_float32_are_found_to_their_precision(shape):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    expected = np.linalg.svd(x.astype(np.float64), compute_uv=False)
    for array in (tt.tensor(x), tt.tensor(x.mT.copy()).mT):
        for full in (True, False):
            U, S, Vh = (part.numpy() for part in tt.linalg.svd(array, full_matrices=full))
            assert U.dtype == S.dtype == Vh.dtype == np.float32
            np.testing.assert_allclose(S, expected, atol=2e-5)
            k = S.shape[-1]
            np.testing.assert_allclose(U[..., :k] * S[..., None, :] @ Vh[..., :k, :], x, atol=2e-5)
        np.testing.assert_allclose(tt.linalg.svdvals(array).numpy(), expected, atol=2e-5)


def test_a_large_matrix_of_float32_that_is_not_positive_definite_is_named_with_its_minor():
    A = tt.eye(80)
    A[60, 60] = -1
    with pytest.raises(tt.errors.LinAlgError, match="leading minor of order 61"):
        tt.linalg.cholesky(A)
    factor, info = tt.linalg.cholesky_ex(A)
    assert info.item() == 61
    assert factor.shape == (80, 80)
