"""Embeddings: rows of a table, and means of them."""

from __future__ import annotations

import pytest

import tt
from tt import nn

TABLE = tt.tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])


def test_rows_by_number():
    table = nn.Embedding.from_pretrained(TABLE)
    assert table(tt.tensor([[2, 0]])).tolist() == [[[4, 5], [0, 1]]] and not table.weight.requires_grad


def test_padding_has_no_gradient_and_begins_with_zeros():
    table = nn.Embedding(3, 2, padding_idx=-1)
    assert table.padding_idx == 2 and table.weight[2].tolist() == [0, 0]
    table(tt.tensor([2, 0, 0])).sum().backward()
    assert table.weight.grad.tolist() == [[2, 2], [0, 0], [0, 0]]


def test_rows_longer_than_the_norm_are_shortened():
    table = nn.Embedding.from_pretrained(TABLE.clone(), max_norm=1.0)
    rows = table(tt.tensor([0, 2]))
    tt.testing.assert_close(rows.norm(dim=1), tt.ones(2))
    assert table.weight[1].tolist() == [2, 3]


def test_gradients_are_divided_by_how_often_a_row_occurs():
    table = nn.Embedding(3, 1, scale_grad_by_freq=True)
    table(tt.tensor([1, 1, 2])).sum().backward()
    assert table.weight.grad.flatten().tolist() == [0, 1, 1]


def test_gradients_can_be_sparse():
    table = nn.Embedding(3, 2, sparse=True)
    table(tt.tensor([1])).sum().backward()
    assert table.weight.grad.is_sparse and table.weight.grad.to_dense()[1].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("mode", "expected"), [("sum", [[6, 8], [2, 3]]), ("mean", [[3, 4], [2, 3]]), ("max", [[4, 5], [2, 3]])]
)
def test_bags_of_rows(mode, expected):
    bag = nn.EmbeddingBag.from_pretrained(TABLE, mode=mode)
    assert bag(tt.tensor([1, 2, 1]), tt.tensor([0, 2])).tolist() == expected
    assert bag(tt.tensor([[1, 2]])).tolist() == expected[:1]


def test_rows_of_a_bag_have_weights():
    bag = nn.EmbeddingBag.from_pretrained(TABLE, mode="sum")
    assert bag(tt.tensor([[1, 2]]), per_sample_weights=tt.tensor([[0.5, 2.0]])).tolist() == [[9, 11.5]]


def test_wrong_arguments_are_refused():
    with pytest.raises(AssertionError, match="adding_idx"):
        nn.Embedding(3, 2, padding_idx=3)
    with pytest.raises(AssertionError):
        nn.Embedding.from_pretrained(tt.zeros(3))
    with pytest.raises(IndexError):
        nn.Embedding(3, 2)(tt.tensor([3]))
    assert (
        repr(nn.Embedding(3, 2, padding_idx=0, max_norm=1.0))
        == "Embedding(3, 2, padding_idx=0, max_norm=1.0)"
    )
    assert repr(nn.EmbeddingBag(3, 2, padding_idx=0)) == "EmbeddingBag(3, 2, mode='mean', padding_idx=0)"
