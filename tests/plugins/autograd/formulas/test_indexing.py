"""Gradients of reading by index, against torch."""

from __future__ import annotations

import pytest

import tt

CASES = {
    "rows": ((3, 4), 0, [[0, 1], [2, 2], [1, 0]]),
    "columns": ((3, 4), -1, [[0, 1], [2, 2]]),
    "a vector": ((5,), 0, [4, 4, 0]),
    "no elements": ((3, 2), 0, [[], []]),
    "three dimensions": ((2, 3, 2), 1, [[[0, 2]], [[1, 1]]]),
    "a number": ((), 0, 0),
}


def gradient(library, case, sparse):
    """Return the gradient of a sum of squares of elements that are read."""
    shape, dim, index = CASES[case]
    x = library.arange(24, dtype=library.float64)[: max(1, _product(shape))].reshape(shape) + 1
    x.requires_grad_()
    places = library.tensor(index, dtype=library.int64)
    read = library.gather(x, dim, places, sparse_grad=sparse)
    read.square().sum().backward()
    return read, x.grad


def _product(shape):
    total = 1
    for size in shape:
        total *= size
    return total


@pytest.mark.torch
@pytest.mark.parametrize("case", CASES)
def test_a_sparse_gradient_has_an_element_for_each_place_as_in_torch(case):
    torch = pytest.importorskip("torch")
    read, found = gradient(tt, case, True)
    theirs, expected = gradient(torch, case, True)
    assert read.tolist() == theirs.tolist()
    assert found.layout == tt.sparse_coo
    assert found.shape == tuple(expected.shape)
    assert found._indices().tolist() == expected._indices().tolist()
    assert found._values().tolist() == expected._values().tolist()


@pytest.mark.parametrize("case", CASES)
def test_a_sparse_gradient_is_the_dense_one(case):
    dense, sparse = gradient(tt, case, False)[1], gradient(tt, case, True)[1]
    assert sparse.to_dense().tolist() == dense.tolist()


def test_a_sparse_gradient_is_differentiated_again():
    x = tt.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=tt.float64, requires_grad=True)
    index = tt.tensor([[0, 0], [1, 0]])
    read = tt.gather(x, 1, index, sparse_grad=True)
    (first,) = tt.autograd.grad((read**3).sum(), x, create_graph=True)
    (second,) = tt.autograd.grad(first.to_dense().sum(), x)
    # 6 x for each time that an element is read.
    assert second.to_dense().tolist() == [[12.0, 0.0], [18.0, 24.0]]


def test_the_method_takes_sparse_grad():
    x = tt.zeros(3, requires_grad=True)
    x.gather(0, tt.tensor([1]), sparse_grad=True).sum().backward()
    assert x.grad.layout == tt.sparse_coo


@pytest.mark.parametrize("sparse", [False, True])
def test_an_index_without_dims_reads_one_element(sparse):
    x = tt.arange(4.0).requires_grad_()
    tt.gather(x, 0, tt.tensor(2), sparse_grad=sparse).backward(tt.tensor(3.0))
    assert x.grad.to_dense().tolist() == [0, 0, 3, 0]


def test_sparse_gradients_of_an_embedding_keep_their_rows():
    for make in (lambda i, w: tt.nn.functional.embedding(i, w, sparse=True),
                 lambda i, w: tt.nn.functional.embedding_bag(i.view(1, 2), w, mode="sum", sparse=True)):  # fmt: skip
        indices, weight = tt.tensor([1, 2]), tt.ones(9, 2, requires_grad=True)
        make(indices, weight).sum().backward()
        indices[0] = 8
        assert weight.grad.coalesce().indices().tolist() == [[1, 2]]
