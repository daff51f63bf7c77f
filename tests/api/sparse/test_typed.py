"""`tt.sparse.FloatTensor` and similar types."""

from __future__ import annotations

import pytest

import tt


def test_a_type_makes_a_sparse_tensor_of_indices_values_and_a_size():
    indices, values = tt.tensor([[0, 1, 1], [2, 0, 2]]), tt.tensor([3.0, 4.0, 5.0])
    with pytest.warns(UserWarning, match="use tt.sparse_coo_tensor"):
        found = tt.sparse.FloatTensor(indices, values, tt.Size([2, 3]))
    assert found.to_dense().tolist() == [[0.0, 0.0, 3.0], [4.0, 0.0, 5.0]] and found.dtype == tt.float32
    with pytest.warns(UserWarning):
        assert tt.sparse.LongTensor(indices, tt.tensor([1, 2, 3])).shape == (2, 3)


@pytest.mark.parametrize("size", [((2, 3),), (2, 3), (tt.Size([2, 3]),)])
def test_a_size_alone_makes_an_empty_one(size):
    with pytest.warns(UserWarning):
        found = tt.sparse.DoubleTensor(*size)
    assert found.shape == (2, 3) and found.dtype == tt.float64 and found._nnz() == 0


def test_a_type_tests_for_dtype_and_layout():
    sparse = tt.eye(2).to_sparse()
    assert isinstance(sparse, tt.sparse.FloatTensor) and not isinstance(sparse, tt.sparse.IntTensor)
    assert not isinstance(tt.eye(2), tt.sparse.FloatTensor) and not isinstance(3, tt.sparse.FloatTensor)
    assert str(tt.sparse.FloatTensor) == "tt.sparse.FloatTensor"


def test_wrong_arguments_are_refused():
    with pytest.warns(UserWarning), pytest.raises(TypeError, match="takes indices, values and a size"):
        tt.sparse.FloatTensor([[0], [1]], [1.0])
    with pytest.raises(AttributeError):
        tt.sparse.BoolTensor  # noqa: B018
