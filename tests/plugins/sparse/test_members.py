"""The members of sparse tensors that a transform has wrapped."""

from __future__ import annotations

import pytest

import tt
from tt.func import grad, jacrev, vmap

ROWS = tt.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
INDICES = tt.tensor([[0, 0, 1]])


def coalesced(values: tt.Tensor) -> tt.Tensor:
    return tt.sparse_coo_tensor(INDICES, values, (2,)).coalesce()


def test_examples_are_coalesced():
    assert vmap(lambda v: coalesced(v).to_dense())(ROWS).tolist() == [[3.0, 3.0], [9.0, 6.0]]
    assert vmap(lambda v: coalesced(v).values())(ROWS).tolist() == [[3.0, 3.0], [9.0, 6.0]]
    assert vmap(lambda v: v.to_sparse().coalesce().indices())(ROWS).tolist() == [[[0, 1, 2]]] * 2
    assert vmap(lambda v: v * v.to_sparse().is_coalesced())(ROWS).tolist() == ROWS.tolist()


def test_what_is_coalesced_has_derivatives_under_transforms():
    assert jacrev(lambda v: coalesced(v).values())(ROWS[0]).tolist() == [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    gradient = vmap(grad(lambda v: (coalesced(v).values() ** 2).sum()))(ROWS)
    assert gradient.tolist() == [[6.0, 6.0, 6.0], [18.0, 18.0, 12.0]]


def test_values_of_examples_that_are_not_coalesced_are_refused():
    with pytest.raises(tt.errors.LayoutError, match="coalesce"):
        vmap(lambda v: tt.sparse_coo_tensor(INDICES, v, (2,)).values())(ROWS)


@pytest.mark.parametrize("member", ["_nnz", "sparse_dim", "dense_dim"])
def test_numbers_that_examples_do_not_share_are_refused(member):
    with pytest.raises(NotImplementedError, match=f"{member}.. of a tensor that a transform has wrapped"):
        vmap(lambda v: v * getattr(v.to_sparse(), member)())(ROWS)
