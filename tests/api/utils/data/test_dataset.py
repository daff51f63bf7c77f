"""Datasets: indexing, lengths, combinations, splits, and their refusals."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tt.utils.data import (
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)


class Stream(IterableDataset):
    def __init__(self, *items):
        self.items = items

    def __iter__(self):
        return iter(self.items)

    def __len__(self):
        return len(self.items)


class Several(list):
    """A list that is asked for several elements at once."""

    def __getitems__(self, indices):
        return [self[i] * 10 for i in indices]


def test_a_dataset_without_elements_says_what_is_missing():
    with pytest.raises(NotImplementedError, match="__getitem__"):
        Dataset()[0]


def test_a_stream_is_made_of_a_class_that_can_be_iterated():
    class Incomplete(IterableDataset):
        pass

    for stream in (IterableDataset, Incomplete):
        with pytest.raises(TypeError, match=r"abstract method '?__iter__"):
            stream()


def test_tensors_of_different_lengths_are_refused():
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        TensorDataset(tt.ones(3), tt.ones(4))


def test_rows_of_tensors():
    data = TensorDataset(tt.arange(6).reshape(3, 2), tt.arange(3))
    assert len(data) == 3
    row, label = data[-1]
    assert row.tolist() == [4, 5]
    assert label.item() == 2


def test_stacked_datasets_are_tuples_or_dicts():
    assert StackDataset([1, 2], "ab")[1] == (2, "b")
    stacked = StackDataset(x=Several([1, 2, 3]), y="abc")
    assert stacked[0] == {"x": 1, "y": "a"}
    assert stacked.__getitems__([2, 0]) == [{"x": 30, "y": "c"}, {"x": 10, "y": "a"}]
    assert StackDataset(Several([1, 2]), "ab").__getitems__([1]) == [(20, "b")]
    assert len(stacked) == 3


def test_what_cannot_be_stacked():
    with pytest.raises(ValueError, match="both types are given"):
        StackDataset([1], y=[1])
    with pytest.raises(ValueError, match="Size mismatch between datasets"):
        StackDataset([1], [1, 2])
    with pytest.raises(ValueError, match="At least one"):
        StackDataset()

    class Wrong(list):
        def __getitems__(self, indices):
            return [1]

    with pytest.raises(ValueError, match="Expected 2, got 1"):
        StackDataset(Wrong([1, 2])).__getitems__([0, 1])


def test_concatenated_datasets_count_on():
    both = ConcatDataset([[10, 11], [], [12]])
    assert [both[i] for i in range(3)] == [10, 11, 12]
    assert [both[i] for i in (-1, -3)] == [12, 10]
    assert both.cumulative_sizes == [2, 2, 3]
    with pytest.raises(IndexError, match="3"):
        both[3]
    with pytest.raises(ValueError, match="absolute value of index"):
        both[-4]
    with pytest.raises(AssertionError, match="empty iterable"):
        ConcatDataset([])
    with pytest.raises(AssertionError, match="does not support IterableDataset"):
        ConcatDataset([Stream(1)])


def test_sums_of_datasets():
    assert list(Stream(1) + Stream(2, 3)) == [1, 2, 3]
    assert len(ChainDataset([Stream(1), Stream(2, 3)])) == 3
    assert len(TensorDataset(tt.ones(2)) + TensorDataset(tt.ones(3))) == 5
    with pytest.raises(AssertionError, match="only supports IterableDataset"):
        list(ChainDataset([[1]]))


def test_a_subset_reads_through_the_whole():
    part = Subset(Several([1, 2, 3, 4]), [3, 0])
    assert [part[0], part[1], len(part)] == [4, 1, 2]
    assert part.__getitems__([1, 0]) == [10, 40]
    assert Subset(np.arange(5), np.array([4, 2]))[[0, 1]].tolist() == [4, 2]


def test_a_subset_whose_elements_change_has_to_change_batches_too():
    class Negated(Subset):
        def __getitem__(self, index):
            return -super().__getitem__(index)

    with pytest.raises(NotImplementedError, match="Negated overrides __getitem__ but not __getitems__"):
        Negated([1, 2], [0])

    class Whole(Negated):
        def __getitems__(self, indices):
            return [self[i] for i in indices]

    data = Whole(TensorDataset(tt.arange(3)).tensors[0], [2, 1])
    assert [x.tolist() for x in DataLoader(data, batch_size=2)] == [[-2, -1]]


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [([3, 7], [3, 7]), ([0.3, 0.7], [3, 7]), ([0.25, 0.25, 0.5], [3, 2, 5]), ([1 / 3] * 3, [4, 3, 3])],
)
def test_a_split_divides_all(lengths, expected):
    parts = random_split(range(10), lengths, generator=tt.Generator().manual_seed(0))
    assert [len(part) for part in parts] == expected
    assert sorted(x for part in parts for x in part) == list(range(10))


def test_a_split_follows_its_generator():
    first, second = (
        [list(p) for p in random_split(range(20), [5, 15], tt.Generator().manual_seed(1))] for _ in range(2)
    )
    assert first == second
    assert first[0] != sorted(first[0])


def test_splits_that_do_not_add_up():
    with pytest.raises(ValueError, match="does not equal the length"):
        random_split(range(4), [1, 2])
    with pytest.raises(ValueError, match="Fraction at index 0"):
        random_split(range(4), [1.5, -0.5])
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        random_split(range(1), [0.9, 0.1])
