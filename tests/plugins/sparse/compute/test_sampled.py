"""Products of dense matrices at some places, and other sums."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tests.plugins.sparse.compute.test_products import PATTERNS
from tests.plugins.sparse.making import LAYOUTS, matrix, numpy_of, sparse_of
from tests.plugins.sparse.making import same_sums as same
from tt.core.errors import LayoutError, LinAlgError, ShapeError, ValueRangeError


@pytest.mark.parametrize("layout", LAYOUTS)
def test_sampled_products(layout: str) -> None:
    array, a, b = matrix(19), matrix(20, 4, 3, 1.1), matrix(21, 3, 6, 1.1)
    made = sparse_of(layout, array)
    mask = numpy_of(made) != 0
    if layout in ("bsr", "bsc"):
        mask = mask.reshape(2, 2, 3, 2).any(axis=(1, 3)).repeat(2, 0).repeat(2, 1)
    found = tt.sparse.sampled_addmm(made, tt.tensor(a), tt.tensor(b), beta=2.0, alpha=3.0)
    assert found.layout is made.layout
    same(found, 2 * array + 3 * (a @ b) * mask)
    with pytest.raises(ShapeError, match="does not have the size"):
        tt.sparse.sampled_addmm(made, tt.tensor(b), tt.tensor(a))
    with pytest.raises(LayoutError, match=r"Expected input to have a sparse layout(.|\n)*to_sparse_csr"):
        tt.sparse.sampled_addmm(tt.tensor(array), tt.tensor(a), tt.tensor(b))


def test_sampled_products_and_other_sums_without_data() -> None:
    made, a, b = (
        tt.tensor(matrix(22)).to_sparse_csr().to("meta"),
        tt.ones(4, 3, device="meta"),
        tt.ones(3, 6, device="meta"),
    )
    found = tt.sparse.sampled_addmm(made.to(tt.float32), a, b, beta=2.0)
    assert (found.layout, found.shape, found.dtype, found.device.type) == (
        tt.sparse_csr,
        (4, 6),
        tt.float32,
        "meta",
    )
    for reduce in ("sum", "amax"):
        assert tt.sparse.mm(made.to(tt.float32), b.t(), reduce).shape == (4, 3)
    assert (made @ made.transpose(0, 1)).layout is tt.sparse_csr


def test_sampled_products_of_batches() -> None:
    array = np.stack([matrix(22), matrix(22) * 2])
    a, b = np.stack([matrix(23, 4, 3)] * 2), np.stack([matrix(24, 3, 6), matrix(25, 3, 6)])
    for layout in ("coo", "csr"):
        found = tt.sparse.sampled_addmm(sparse_of(layout, array), tt.tensor(a), tt.tensor(b), beta=0.0)
        same(found, (a @ b) * (array != 0))


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin"])
def test_other_sums_of_products(reduce: str) -> None:
    a, b = PATTERNS["empty rows"], matrix(26, 6, 3, 1.1)
    expected = np.zeros((4, 3))
    for row in range(4):
        stored = a[row] != 0
        products = a[row, stored, None] * b[stored]
        if stored.any():
            expected[row] = getattr(np, reduce)(products, axis=0)
    same(tt.sparse.mm(tt.tensor(a).to_sparse_csr(), tt.tensor(b), reduce), expected)


def test_other_sums_are_for_csr_and_have_names() -> None:
    made = tt.tensor(matrix(27))
    with pytest.raises(LayoutError, match=r"tt.sparse_csr and a dense one(.|\n)*mat1.to_sparse_csr"):
        tt.sparse.mm(made.to_sparse(), tt.ones(6, 1, dtype=tt.float64), "amax")
    with pytest.raises(ValueRangeError, match="reduce must be one of sum, mean, amax, amin, not 'prod'"):
        tt.sparse.mm(made.to_sparse_csr(), tt.ones(6, 1, dtype=tt.float64), "prod")


def test_products_with_a_sparse_result() -> None:
    a, b = matrix(28), matrix(29, 6, 4)
    made = tt.tensor(a).to_sparse()
    same(tt.smm(made, tt.tensor(b)), a @ b)
    found = tt.hspmm(made, tt.tensor(b))
    assert (found.sparse_dim(), found.dense_dim()) == (1, 1)
    same(found, a @ b)
    added = tt.sspaddmm(tt.tensor(matrix(30, 4, 4)).to_sparse(), made, tt.tensor(b), beta=2, alpha=3)
    assert added.layout is tt.sparse_coo
    same(added, 2 * matrix(30, 4, 4) + 3 * (a @ b))
    with pytest.raises(LayoutError, match="expected a sparse and a dense matrix"):
        tt.smm(tt.tensor(b), tt.tensor(b))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_systems_of_equations(layout: str) -> None:
    array, right = matrix(31, 4, 4) + 3 * np.eye(4), matrix(32, 4, 2, 1.1)
    made = sparse_of(layout, array)
    same(tt.sparse.spsolve(made, tt.tensor(right[:, 0])), np.linalg.solve(array, right[:, 0]))
    same(tt.sparse.spsolve(made, tt.tensor(right)), np.linalg.solve(array, right))
    same(tt.sparse.spsolve(made, tt.tensor(right.T.copy()), left=False), np.linalg.solve(array.T, right).T)
    assert tt.sparse.spsolve(made.to(tt.float32), tt.tensor(right).float()).dtype is tt.float32


def test_systems_without_a_solution_are_refused() -> None:
    singular = tt.tensor([[1.0, 2.0], [2.0, 4.0]]).to_sparse_csr()
    with pytest.raises(LinAlgError, match="the matrix A is singular"):
        tt.sparse.spsolve(singular, tt.ones(2))
    with pytest.raises(ShapeError, match="must be square"):
        tt.sparse.spsolve(tt.ones(2, 3).to_sparse_csr(), tt.ones(2))
    with pytest.raises(ShapeError, match="as many rows as A"):
        tt.sparse.spsolve(tt.eye(2).to_sparse_csr(), tt.ones(3))
