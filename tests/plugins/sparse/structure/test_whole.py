"""Comparing sparse tensors, masks and diagonals."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tests.plugins.sparse.pairs import LAYOUTS, ours, same, theirs, torch
from tests.plugins.sparse.structure.test_structure import dense_of
from tt.errors import LayoutError

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("layout", LAYOUTS)
def test_equal_elements_are_equal_however_they_are_stored(layout):
    tensor = ours(layout)
    assert tt.equal(tensor, ours(layout))
    assert tt.equal(tensor, ours("sparse_coo"))
    assert not tt.equal(tensor, tensor * 2)
    assert not tt.equal(tensor, ours(layout, np.zeros((2, 2), np.float32).tolist()))
    assert tt.allclose(tensor, tensor * (1 + 1e-7))
    assert not tt.allclose(tensor, tensor * 1.1)
    assert not tt.allclose(tensor, ours(layout, np.zeros((4, 4), np.float32).tolist()))
    zeros = tt.sparse_coo_tensor([[0], [0]], [0.0], (4, 4))
    assert tt.equal(zeros, tt.zeros(4, 4, layout=tt.sparse_coo)), "a stored zero is zero"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_mask_takes_the_elements_where_it_stores_some(layout):
    array = np.arange(16, dtype=np.float32).reshape(4, 4)
    same(tt.tensor(array).sparse_mask(ours(layout)), torch.tensor(array).sparse_mask(theirs(layout)))
    found = ours("sparse_coo", array.tolist()).sparse_mask(ours(layout))
    assert found.layout.name == layout
    np.testing.assert_array_equal(dense_of(found), dense_of(tt.tensor(array).sparse_mask(ours(layout))))
    with pytest.raises(LayoutError, match=r"expected a mask of a sparse layout, but got tt\.strided"):
        tt.tensor(array).sparse_mask(tt.tensor(array))


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (2, 2), (5, 5)])
@pytest.mark.parametrize("offsets", [[0, -1, 2], [1, 0, -2]])
@pytest.mark.parametrize("layout", [None, "sparse_coo", "sparse_csr", "sparse_csc"])
def test_diagonals_lie_as_in_pytorch(shape, offsets, layout):
    if min(offsets) <= -shape[0] or max(offsets) >= shape[1]:
        pytest.skip("a diagonal outside of the matrix, see below")
    rows = np.arange(9).reshape(3, 3)
    found = tt.sparse.spdiags(tt.tensor(rows), tt.tensor(offsets), shape, layout)
    same(
        found,
        torch.sparse.spdiags(
            torch.tensor(rows), torch.tensor(offsets), shape, layout and getattr(torch, layout)
        ),
    )


@pytest.mark.parametrize(
    ("offsets", "shape", "error", "message"),
    [
        ([0, 0, 2], (4, 3), "ValueRangeError", "duplicate values: 0"),
        ([0, 9, 2], (4, 3), "ValueRangeError", "offset 9 lies outside of a matrix of 4 rows and 3 columns"),
        ([0, 1], (4, 3), "ShapeError", r"diagonals \(3\) does not match the number of offsets \(2\)"),
        ([0, 1, 2], (4, 3, 2), "ShapeError", "Output shape must be 2d"),
        ([0.0, 1.0, 2.0], (4, 3), "DtypeError", "Offset Tensor must have dtype Long"),
    ],
)
def test_diagonals_that_do_not_fit_are_refused(offsets, shape, error, message):
    with pytest.raises(getattr(tt.errors, error), match=message):
        tt.sparse.spdiags(tt.ones(3, 3), tt.tensor(offsets), shape)
