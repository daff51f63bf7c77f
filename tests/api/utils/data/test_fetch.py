"""Fetching: whole batches of tensors at once, `__getitems__`, and when elements are read one by one."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tt.utils.data import DataLoader, Dataset, Subset, TensorDataset
from tt.utils.data.fetch import whole_batches


def values(loader):
    return [[x.tolist() for x in batch] for batch in loader]


class Watched(TensorDataset):
    """Counts how often an element is read."""

    reads = 0

    def __getitem__(self, index):
        self.reads += 1
        return super().__getitem__(index)


def test_batches_of_tensors_are_those_of_their_elements():
    tensors = tt.arange(12.0).reshape(6, 2), tt.arange(6)
    order = [[5, 0], [3, 3], [-1, 2], [2, 3, 4], [5], [0, 1, 2, 3, 4, 5]]
    fast, slow = TensorDataset(*tensors), Watched(*tensors)
    assert whole_batches(fast) is not None
    assert whole_batches(slow) is None
    assert values(DataLoader(fast, batch_sampler=order)) == values(DataLoader(slow, batch_sampler=order))
    assert slow.reads == sum(map(len, order))
    assert list(DataLoader(TensorDataset(tt.ones(0)), batch_size=2)) == []


@pytest.mark.parametrize("make", [tuple, np.array, tt.tensor, lambda batch: [tt.tensor(i) for i in batch]])
def test_indices_need_not_be_a_list(make):
    data = TensorDataset(tt.arange(6) * 10)
    loader = DataLoader(data, batch_sampler=[make([3, 1]), make([2, 3]), make([4])])
    assert values(loader) == [[[30, 10]], [[20, 30]], [[40]]]


def test_a_subset_of_tensors_is_read_at_once_too():
    data = TensorDataset(tt.arange(10))
    part = Subset(Subset(data, range(9, -1, -1)), [0, 2, 4])
    assert whole_batches(part) is not None
    assert values(DataLoader(part, batch_size=2)) == [[[9, 7]], [[5]]]


def test_a_subclass_that_changes_elements_is_read_by_element():
    class Doubled(TensorDataset):
        def __getitem__(self, index):
            return super().__getitem__(index)[0] * 2

    loader = DataLoader(Doubled(tt.arange(3)), batch_size=3)
    assert [x.tolist() for x in loader] == [[0, 2, 4]]


@pytest.mark.parametrize("tensor", [tt.arange(3.0), tt.ones(3, 2).to_sparse()])
def test_a_collate_fn_is_given_elements(tensor):
    loader = DataLoader(TensorDataset(tensor), batch_size=3, collate_fn=len)
    assert list(loader) == [3]


def test_an_index_out_of_range_is_the_error_of_the_element():
    data = TensorDataset(tt.arange(3), tt.arange(3))
    with pytest.raises(IndexError, match="3"):
        list(DataLoader(data, batch_sampler=[[0, 3]]))


def test_a_batch_is_a_copy_and_keeps_gradients():
    source = tt.zeros(3, requires_grad=True)
    (batch,) = next(iter(DataLoader(TensorDataset(source), batch_size=3)))
    batch.sum().backward()
    assert source.grad.tolist() == [1.0, 1.0, 1.0]
    source = tt.zeros(3)
    (batch,) = next(iter(DataLoader(TensorDataset(source), batch_size=3)))
    batch.add_(1)
    assert source.tolist() == [0.0, 0.0, 0.0]


def test_several_elements_are_asked_for_at_once():
    class Calls(Dataset):
        def __init__(self):
            self.asked = []

        def __getitems__(self, indices):
            self.asked.append(indices)
            return [{"i": i} for i in indices]

    data = Calls()
    assert [batch["i"].tolist() for batch in DataLoader(data, batch_sampler=[[1, 2], [3]])] == [[1, 2], [3]]
    assert data.asked == [[1, 2], [3]]
