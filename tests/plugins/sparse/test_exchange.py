"""Sparse tensors and the arrays of scipy.sparse."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import tt

FORMATS = ("coo", "csr", "csc", "bsr", "dia", "lil", "dok")
SAME = {"coo": "sparse_coo", "csr": "sparse_csr", "csc": "sparse_csc", "bsr": "sparse_bsr"}


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    shape=st.tuples(st.integers(1, 6), st.integers(1, 6)),
    density=st.sampled_from([0.0, 0.3, 1.0]),
    name=st.sampled_from(FORMATS),
)
def test_every_format_becomes_a_tensor_with_the_same_elements(seed, shape, density, name):
    rng = np.random.default_rng(seed)
    array = rng.integers(1, 9, shape) * (rng.random(shape) < density)
    matrix = scipy.sparse.coo_array(array).asformat(name)
    tensor = tt.sparse.from_scipy(matrix)
    assert tensor.layout.name == SAME.get(name, "sparse_coo")
    np.testing.assert_array_equal(tensor.to_dense().numpy(), array)
    back = tt.sparse.to_scipy(tensor)
    assert back.format == SAME.get(name, "sparse_coo").removeprefix("sparse_")
    np.testing.assert_array_equal(back.toarray(), array)
    np.testing.assert_array_equal((back @ back.T).toarray(), array @ array.T)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("name", ["csr", "csc", "bsr"])
def test_rows_columns_and_blocks_share_their_memory(name, index):
    matrix = scipy.sparse.random_array((6, 4), density=0.5, format=name, rng=np.random.default_rng(0))
    matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    tensor = tt.sparse.from_scipy(matrix)
    back = tt.sparse.to_scipy(tensor)
    for part in ("data", "indices", "indptr"):
        assert np.shares_memory(getattr(back, part), getattr(matrix, part))
        assert getattr(back, part).dtype == getattr(matrix, part).dtype
    matrix.data *= 2
    np.testing.assert_array_equal(tensor.to_dense().numpy(), matrix.toarray())


def test_coordinates_share_their_memory_on_the_way_out_and_back():
    tensor = tt.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [1.0, 2.0, 3.0], (2, 3))
    matrix = tt.sparse.to_scipy(tensor)
    again = tt.sparse.from_scipy(matrix)
    for first, second in ((tensor._values(), again._values()), (tensor._indices(), again._indices())):
        assert np.shares_memory(first.numpy(), second.numpy())
    foreign = scipy.sparse.coo_array(([1.0, 2.0], ([1, 0], [0, 1])), (2, 2))
    assert np.shares_memory(tt.sparse.from_scipy(foreign)._values().numpy(), foreign.data)


def test_matrices_and_arrays_of_other_dimensions_are_taken():
    assert tt.sparse.from_scipy(scipy.sparse.csr_matrix(np.eye(2))).layout is tt.sparse_csr
    line = scipy.sparse.coo_array(np.array([0, 3, 0, 4]))
    assert tt.sparse.from_scipy(line).to_dense().tolist() == [0, 3, 0, 4]


def test_indices_that_are_not_sorted_are_sorted_in_a_copy():
    matrix = scipy.sparse.csr_array(
        (np.array([1.0, 2.0, 3.0]), np.array([1, 0, 0]), np.array([0, 3])), (1, 2)
    )
    tensor = tt.sparse.from_scipy(matrix)
    assert (tensor.col_indices().tolist(), tensor.values().tolist()) == ([0, 1], [5.0, 1.0])
    assert matrix.indices.tolist() == [1, 0, 0]


def test_coordinates_of_scipy_are_coalesced_only_if_their_rows_ascend():
    matrix = scipy.sparse.coo_array(([1.0, 2.0], ([1, 0], [0, 1])), (2, 2))
    matrix.has_canonical_format = True  # sorted by columns, as some versions of SciPy do it
    made = tt.sparse.from_scipy(matrix)
    assert not made.is_coalesced()
    assert made.coalesce().indices().tolist() == [[0, 1], [1, 0]]


def test_wrong_indices_of_scipy_are_found():
    matrix = scipy.sparse.csr_array(np.eye(2))
    matrix.indices[1] = 7
    matrix.has_canonical_format = True
    with pytest.raises(tt.errors.IndexValueError, match=r"col_indices\[1\] is 7"):
        tt.sparse.from_scipy(matrix)
    assert tt.sparse.from_scipy(matrix, check_invariants=False).nnz() == 2


def test_gradients_are_asked_for_and_not_lost():
    tensor = tt.sparse.from_scipy(scipy.sparse.csr_array(np.eye(2)), requires_grad=True)
    assert tensor.requires_grad
    with pytest.raises(tt.errors.GradientError, match=r"use tensor\.detach\(\)"):
        tt.sparse.to_scipy(tensor)
    assert tt.sparse.to_scipy(tensor.detach()).nnz == 2


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: tt.eye(4).to_sparse_bsc((2, 2)),
            "LayoutError",
            r"no sparse arrays like the layout tt\.sparse_bsc",
        ),
        (lambda: tt.eye(2), "LayoutError", r"layout tt\.strided\n  try: x\.to_sparse\(\)"),
        (lambda: tt.ones(2, 2).to_sparse(1), "LayoutError", "no arrays with dense dimensions"),
        (lambda: tt.ones(2, 2, 2).to_sparse_csr(), "LayoutError", "no arrays with batch dimensions"),
        (lambda: tt.eye(2, dtype=tt.bfloat16).to_sparse(), "DtypeError", r"try: x\.to\(tt\.float32\)"),
        (lambda: tt.eye(2).to_sparse().to("meta"), "DeviceError", "cannot reach the memory of meta"),
    ],
)
def test_what_scipy_does_not_have_is_refused(make, error, message):
    with pytest.raises(getattr(tt.errors, error), match=message):
        tt.sparse.to_scipy(make())


def test_dense_arrays_are_refused_with_what_helps():
    with pytest.raises(
        TypeError, match=r"from_scipy\(\) takes an array of scipy.sparse, not ndarray\n  try: "
    ):
        tt.sparse.from_scipy(np.eye(2))
