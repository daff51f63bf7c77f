"""Coalescing and converting tensors of the layout sparse_coo."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tt
from tests.plugins.sparse.making import random_pair
from tt.core.errors import (
    LayoutError,
)


def test_coalescing_sums_the_values_of_equal_coordinates_and_sorts(sparse):
    made = sparse.coalesce()
    assert made.is_coalesced()
    assert made.indices().tolist() == [[0, 1, 1], [2, 0, 2]]
    assert made.values().tolist() == [9.0, 4.0, 5.0]
    assert made.coalesce() is made


def test_indices_and_values_of_an_uncoalesced_tensor_are_refused(sparse):
    with pytest.raises(LayoutError, match="indices of a sparse tensor is defined once it is coalesced"):
        sparse.indices()
    with pytest.raises(LayoutError, match="values of a sparse tensor is defined once"):
        sparse.values()


def test_members_of_sparse_tensors_are_refused_on_dense_ones():
    for name in ("indices", "coalesce", "is_coalesced"):
        with pytest.raises(
            LayoutError,
            match=rf"{name}\(\) expected a tensor of the layout tt.sparse_coo, but got tt.strided",
        ):
            getattr(tt.zeros(2), name)()
    with pytest.raises(
        LayoutError, match=r"_nnz\(\) expected a tensor of a layout tt.sparse_coo or .*strided"
    ):
        tt.zeros(2)._nnz()
    with pytest.raises(LayoutError, match=r"values\(\) expected a .* that stores values, but got tt.strided"):
        tt.zeros(2).values()


@pytest.mark.parametrize("shape", [(), (4,), (3, 4), (2, 3, 4), (0, 3)])
@pytest.mark.parametrize("dtype", [tt.float32, tt.int64, tt.bool, tt.complex64, tt.bfloat16])
def test_dense_to_sparse_and_back_is_the_same(shape, dtype):
    dense = tt.tensor((np.arange(np.prod(shape, dtype=int)) % 3).reshape(shape)).to(dtype)
    made = dense.to_sparse()
    assert (made.layout, made.dtype, made.shape, made.is_coalesced()) == (
        tt.sparse_coo,
        dtype,
        dense.shape,
        True,
    )
    assert made._nnz() == np.count_nonzero(np.arange(np.prod(shape, dtype=int)) % 3)
    back = made.to_dense()
    assert (back.layout, back.dtype, back.tolist()) == (tt.strided, dtype, dense.tolist())
    assert made.to_sparse() is made
    assert dense.to_dense() is dense


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_coalescing_agrees_with_scipy(seed):
    ours, theirs = random_pair(seed)
    theirs.sum_duplicates()
    made = ours.coalesce()
    order = np.lexsort((theirs.coords[1], theirs.coords[0]))
    np.testing.assert_array_equal(made.indices().numpy(), np.stack(theirs.coords)[:, order])
    np.testing.assert_array_equal(made.values().numpy(), theirs.data[order])


def test_a_block_size_may_be_one_number():
    x = tt.arange(16.0).reshape(4, 4)
    for convert in (x.to_sparse_bsr, x.to_sparse_bsc):
        assert convert(2).values().equal(convert((2, 2)).values())
    assert x.to_sparse(layout=tt.sparse_bsr, blocksize=2).values().shape == (4, 2, 2)


def test_a_strided_tensor_is_its_own_form_in_the_strided_layout():
    x = tt.ones(2)
    assert x.to_sparse(layout=tt.strided) is x
    with pytest.raises(RuntimeError, match="not a sparse layout"):
        x.to_sparse().to_sparse(layout=tt.strided)
