"""Samplers: their indices and lengths, the effect of generators, and their refusals."""

from __future__ import annotations

import pytest

import tt
from tt.utils.data import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)


def seeded(seed):
    return tt.Generator().manual_seed(seed)


def test_all_indices_in_turn():
    assert list(SequentialSampler(range(4))) == [0, 1, 2, 3]
    assert len(SequentialSampler("abc")) == 3
    with pytest.raises(NotImplementedError, match="Sampler should implement __iter__"):
        iter(Sampler())


@pytest.mark.parametrize("count", [4, 10, 25])
def test_without_replacement_whole_permutations_follow_each_other(count):
    drawn = list(RandomSampler(range(10), num_samples=count, generator=seeded(0)))
    assert len(drawn) == count
    for start in range(0, count, 10):
        part = drawn[start : start + 10]
        assert len(set(part)) == len(part)
        assert set(part) <= set(range(10))


def test_with_replacement_some_come_again():
    sampler = RandomSampler(range(10), replacement=True, num_samples=70, generator=seeded(0))
    drawn = list(sampler)
    assert len(drawn) == len(sampler) == 70
    assert set(drawn) <= set(range(10))


def test_each_pass_has_another_order_which_the_global_seed_decides():
    sampler = RandomSampler(range(50))
    tt.manual_seed(5)
    first, second = list(sampler), list(sampler)
    assert first != second
    tt.manual_seed(5)
    assert list(sampler) == first


@pytest.mark.parametrize(
    "make",
    [
        lambda g: RandomSampler(range(20), generator=g),
        lambda g: RandomSampler(range(20), replacement=True, generator=g),
        lambda g: SubsetRandomSampler(range(20), generator=g),
        lambda g: WeightedRandomSampler([1.0] * 20, 20, generator=g),
        lambda g: WeightedRandomSampler([1.0] * 20, 20, replacement=False, generator=g),
    ],
)
def test_a_generator_decides_the_order(make):
    assert list(make(seeded(3))) == list(make(seeded(3)))
    assert list(make(seeded(3))) != list(make(seeded(4)))


def test_weights_are_probabilities():
    drawn = list(WeightedRandomSampler([0, 3.0, 1.0], 400, generator=seeded(0)))
    assert 0 not in drawn
    assert 240 < drawn.count(1) < 360
    assert sorted(WeightedRandomSampler([0.1, 0.9, 0.4], 3, replacement=False)) == [0, 1, 2]


def test_some_indices_at_random():
    sampler = SubsetRandomSampler([7, 3, 5])
    assert sorted(sampler) == [3, 5, 7]
    assert len(sampler) == 3


@pytest.mark.parametrize(
    ("drop_last", "expected"), [(False, [[0, 1, 2], [3, 4, 5], [6]]), (True, [[0, 1, 2], [3, 4, 5]])]
)
def test_batches_of_indices(drop_last, expected):
    sampler = BatchSampler(SequentialSampler(range(7)), 3, drop_last)
    assert list(sampler) == expected
    assert len(sampler) == len(expected)
    assert list(BatchSampler(iter("ab"), 2, drop_last)) == [["a", "b"]]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: RandomSampler([1], replacement=1), TypeError, "replacement should be a boolean"),
        (lambda: RandomSampler([1], num_samples=0), ValueError, "num_samples should be a positive"),
        (lambda: RandomSampler([]), ValueError, "num_samples should be a positive"),
        (lambda: WeightedRandomSampler([1.0], True), ValueError, "num_samples should be a positive"),
        (lambda: WeightedRandomSampler([1.0], 1, 1), ValueError, "replacement should be a boolean"),
        (lambda: WeightedRandomSampler([[1.0]], 1), ValueError, "weights should be a 1d sequence"),
        (lambda: BatchSampler([1], 0, False), ValueError, "batch_size should be a positive"),
        (lambda: BatchSampler([1], True, False), ValueError, "batch_size should be a positive"),
        (lambda: BatchSampler([1], 1, 0), ValueError, "drop_last should be a boolean"),
    ],
)
def test_what_samplers_refuse(make, error, message):
    with pytest.raises(error, match=message):
        make()
