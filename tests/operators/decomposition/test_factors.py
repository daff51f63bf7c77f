"""Singular values and principal components of low rank, of dense and of sparse matrices, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import tt

LAYOUTS = {
    "strided": lambda x: x,
    "sparse_coo": lambda x: x.to_sparse(),
    "sparse_csr": lambda x: x.to_sparse_csr(),
    "sparse_csc": lambda x: x.to_sparse_csc(),
}


def drawn(shape, dtype):
    """Return a matrix of which about half of the elements are zero."""
    generator = np.random.default_rng(5)
    values = generator.normal(size=shape) + (
        1j * generator.normal(size=shape) if dtype == "complex128" else 0
    )
    return (values * (generator.random(shape) < 0.5)).astype(dtype)


def expect_factors(found, matrix, q):
    U, S, V = (part.numpy() for part in found)
    np.testing.assert_allclose(S, np.linalg.svd(matrix, compute_uv=False)[:q], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(matrix @ V, U * S, atol=1e-6)
    for columns in (U, V):
        np.testing.assert_allclose(columns.conj().T @ columns, np.eye(q), atol=1e-10)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", [(9, 4), (4, 9), (5, 5)])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_principal_components_are_those_of_the_centred_matrix(layout, center, shape, dtype):
    a = drawn(shape, dtype)
    q = min(shape)
    found = tt.pca_lowrank(LAYOUTS[layout](tt.tensor(a)), q, center, 3)
    expect_factors(found, a - a.mean(0) if center else a, q)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("rows", [1, 9])
def test_singular_values_are_those_of_the_difference(layout, rows):
    a, m = drawn((9, 4), "float64"), np.random.default_rng(6).normal(size=(rows, 4))
    found = tt.svd_lowrank(LAYOUTS[layout](tt.tensor(a)), 4, 3, tt.tensor(m))
    expect_factors(found, a - m, 4)
