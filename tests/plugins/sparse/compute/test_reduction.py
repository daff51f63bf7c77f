"""Reductions of sparse tensors, compared with those of dense ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt
from tests.plugins.sparse.making import LAYOUTS, matrix, numpy_of, same, sparse_of
from tt.core.errors import LayoutError

PATTERNS = {
    "random": matrix(0),
    "empty": np.zeros((4, 6)),
    "full": matrix(1, density=1.1),
    "empty rows": matrix(2) * np.array([[1], [0], [0], [1]]),
}


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("layout", [*LAYOUTS, "hybrid"])
def test_reductions_to_a_number(layout: str, pattern: str) -> None:
    array = PATTERNS[pattern]
    made = sparse_of(layout, array)
    same(made.sum(), array.sum())
    same(tt.sparse.sum(made), array.sum())
    same(made.mean(), array.mean())
    for order in (2, 1, 3.5, float("inf"), 0):
        same(
            tt.linalg.vector_norm(made, order),
            numpy_of(tt.linalg.vector_norm(tt.tensor(array), order)),
            atol=1e-15,
        )
    same(made.norm(), np.linalg.norm(array))
    assert made.any().item() == array.any()
    assert made.all().item() == array.all()
    np.testing.assert_array_equal(made.nonzero().numpy(), np.argwhere(array))
    assert made.to(tt.int32).sum().dtype is tt.int64
    assert made.sum(dtype=tt.float32).dtype is tt.float32


@pytest.mark.parametrize("dim", [0, 1, -1, (0, 1), 2, (0, 2), (1, 2), (0, 1, 2), ()])
@pytest.mark.parametrize("sparse_dims", [1, 2, 3])
@pytest.mark.parametrize("keepdim", [False, True])
def test_sums_along_dimensions(dim: Any, sparse_dims: int, keepdim: bool) -> None:
    array = np.stack([matrix(14), matrix(15), np.zeros((4, 6))])
    made = tt.tensor(array).to_sparse(sparse_dims)
    found = made.sum(dim, keepdim=keepdim)
    dims = tuple(range(3)) if dim == () else dim
    same(found, array.sum(axis=dims, keepdims=keepdim))
    dims = {d % 3 for d in ((dims,) if isinstance(dims, int) else dims)}
    dense = all(d in dims for d in range(sparse_dims))
    assert (found.layout is tt.strided) == dense
    same(tt.sparse.sum(made, dims if isinstance(dims, int) else tuple(dims)), array.sum(axis=tuple(dims)))


def test_sums_of_rows_and_columns_of_compressed_matrices() -> None:
    array = matrix(16)
    made = tt.tensor(array).to_sparse_csr()
    for dim in (0, 1, (0, 1)):
        found = made.sum(dim, keepdim=True)
        assert found.layout is tt.sparse_csr
        same(found, array.sum(axis=dim, keepdims=True))
    with pytest.raises(LayoutError, match=r"keepdim=True\n  try: self.to_sparse\(\).sum\(dim\)"):
        made.sum(0)
    with pytest.raises(LayoutError, match=r"tt\.sparse_csc"):
        made.to_sparse_csc().sum(0, keepdim=True)
    with pytest.raises(LayoutError, match="dim cannot select some"):
        tt.linalg.vector_norm(made, dim=0)


@pytest.mark.parametrize("layout", [*LAYOUTS, "hybrid"])
@pytest.mark.parametrize("dim", [0, 1])
def test_softmax_takes_what_is_not_stored_for_minus_infinity(layout: str, dim: int) -> None:
    array = matrix(17)
    stored = array != 0 if layout not in ("bsr", "bsc", "hybrid") else np.ones_like(array, bool)
    if layout in ("bsr", "bsc"):
        blocks = (array != 0).reshape(2, 2, 3, 2).any(axis=(1, 3))
        stored = blocks.repeat(2, 0).repeat(2, 1)
    if layout == "hybrid":
        stored = np.broadcast_to((array != 0).any(1, keepdims=True), array.shape)
    powers = np.where(stored, np.exp(array), 0)
    total = powers.sum(axis=dim, keepdims=True)
    expected = np.where(stored, powers / np.where(total == 0, 1, total), 0)
    made = sparse_of(layout, array)
    found = tt.sparse.softmax(made, dim)
    assert found.layout is made.layout
    same(found, expected)
    logarithms = numpy_of(tt.sparse.log_softmax(made, dim - 2))
    np.testing.assert_allclose(logarithms[stored], np.log(expected[stored]))
    assert tt.sparse.softmax(made, dim, dtype=tt.float32).dtype is tt.float32
