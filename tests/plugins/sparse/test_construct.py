"""Making tensors of the layout sparse_coo."""

from __future__ import annotations

import pytest

import tt
from tt.core.errors import (
    IndexValueError,
    ShapeError,
)

INDICES, VALUES, SIZE = [[0, 1, 1, 0], [2, 0, 2, 2]], [3.0, 4.0, 5.0, 6.0], (2, 3)


DENSE = [[0.0, 0.0, 9.0], [4.0, 0.0, 5.0]]


def test_a_sparse_tensor_shows_its_layout_shape_and_elements(sparse):
    assert (sparse.layout, sparse.shape, sparse.dtype, sparse.device.type) == (
        tt.sparse_coo,
        SIZE,
        tt.float32,
        "cpu",
    )
    assert (sparse.is_sparse, sparse._nnz(), sparse.sparse_dim(), sparse.dense_dim()) == (True, 4, 2, 0)
    assert sparse._indices().tolist() == INDICES
    assert sparse._values().tolist() == VALUES
    assert not sparse.is_coalesced()
    assert sparse.to_dense().tolist() == DENSE
    assert not tt.zeros(2).is_sparse


def test_the_size_is_inferred_from_the_largest_coordinates():
    assert tt.sparse_coo_tensor(INDICES, VALUES).shape == (2, 3)
    assert tt.sparse_coo_tensor([[4]], tt.ones(1, 6)).shape == (5, 6)


def test_dtype_and_dense_dimensions_are_as_asked_for():
    made = tt.sparse_coo_tensor([[0, 2]], [[1, 2], [3, 4]], (3, 2), dtype=tt.float64)
    assert (made.dtype, made.sparse_dim(), made.dense_dim()) == (tt.float64, 1, 1)
    assert made.to_dense().tolist() == [[1, 2], [0, 0], [3, 4]]


def test_a_sparse_tensor_without_elements_is_all_zeros():
    made = tt.sparse_coo_tensor(tt.zeros(2, 0, dtype=tt.int64), [], (2, 3))
    assert (made._nnz(), made.is_coalesced(), made.to_dense().tolist()) == (0, True, [[0.0] * 3] * 2)


def test_the_tensor_shares_the_memory_of_what_it_was_made_from():
    values = tt.tensor([1.0, 2.0])
    made = tt.sparse_coo_tensor([[0, 1]], values, (2,))
    values.mul_(10)
    assert made.to_dense().tolist() == [10.0, 20.0]
    made._values().mul_(10)
    assert made.to_dense().tolist() == [100.0, 200.0]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            ([[0, 3]], [1.0, 2.0], (3,)),
            IndexValueError,
            r"for dim 0, size is 3 but found index 3 at indices\[0, 1\]",
        ),
        (
            ([[0, -1]], [1.0, 2.0], (3,)),
            IndexValueError,
            r"found negative index -1 for dim 0 at indices\[0, 1\]",
        ),
        (([[0, 1]], [1.0], (3,)), ShapeError, "nnz from indices: 2, nnz from values: 1"),
        (([[0, 1]], [1.0, 2.0], (3, 3)), ShapeError, r"must be sparse_dim \(1\) \+ dense_dim \(0\)"),
        (
            ([[0]], [[1.0, 2.0]], (3, 3)),
            ShapeError,
            r"values has incorrect size, expected \[1, 3\], got \[1, 2\]",
        ),
        (([[[0]]], [1.0]), ShapeError, r"indices must have shape \(sparse dimensions, elements\)"),
    ],
)
def test_coordinates_values_and_size_that_do_not_fit_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        tt.sparse_coo_tensor(*arguments)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
def test_indices_of_other_dtypes_become_integers():
    torch = pytest.importorskip("torch")
    for dtype in ("float32", "bool", "uint8"):
        found = []
        for library in (tt, torch):
            places = library.tensor([[1, 0], [0, 1]], dtype=getattr(library, dtype)) * 1
            made = library.sparse_coo_tensor(places, library.tensor([1.0, 2.0]), (2, 2))
            found.append((made.to_dense().tolist(), str(made._indices().dtype).partition(".")[2]))
        assert found[0] == found[1]
