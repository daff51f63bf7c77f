"""The loader in its own process: arguments and their refusals, lengths, order, streams."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest

import tt
from tt.utils.data import DataLoader, IterableDataset, SequentialSampler, TensorDataset


class Count(IterableDataset):
    def __init__(self, count, length=None):
        self.count, self.length = count, length

    def __iter__(self):
        return iter(range(self.count))

    def __len__(self):
        return self.count if self.length is None else self.length


def lists(loader):
    return [batch.tolist() for batch in loader]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"num_workers": -1}, ValueError, "num_workers option should be non-negative"),
        ({"timeout": -1}, ValueError, "timeout option should be non-negative"),
        ({"prefetch_factor": 2}, ValueError, "prefetch_factor option could only be specified"),
        ({"prefetch_factor": -1, "num_workers": 1}, ValueError, "prefetch_factor option should be"),
        ({"persistent_workers": True}, ValueError, "persistent_workers option needs num_workers > 0"),
        ({"sampler": [0], "shuffle": True}, ValueError, "sampler option is mutually exclusive"),
        ({"batch_sampler": [[0]], "shuffle": True}, ValueError, "batch_sampler option is mutually"),
        ({"batch_sampler": [[0]], "batch_size": 2}, ValueError, "batch_sampler option is mutually"),
        ({"batch_size": None, "drop_last": True}, ValueError, "batch_size=None option disables"),
        ({"batch_size": 0}, ValueError, "batch_size should be a positive integer value"),
        ({"multiprocessing_context": "fork"}, ValueError, "can only be used with multi-process"),
        ({"multiprocessing_context": "no", "num_workers": 1}, ValueError, "valid start method"),
        ({"multiprocessing_context": 3, "num_workers": 1}, TypeError, "valid context object"),
        ({"dataset": Count(1), "shuffle": True}, ValueError, "unspecified shuffle option, but got"),
        ({"dataset": Count(1), "sampler": [0]}, ValueError, "unspecified sampler option, but got"),
        ({"dataset": Count(1), "batch_sampler": [[0]]}, ValueError, "unspecified batch_sampler"),
    ],
)
def test_arguments_that_are_refused(arguments, error, message):
    with pytest.raises(error, match=message) as caught:
        DataLoader(**{"dataset": [1], **arguments})
    assert isinstance(caught.value, tt.errors.TTError)


@pytest.mark.torch
def test_the_arguments_are_those_of_torch():
    torch = pytest.importorskip("torch")
    ours, theirs = (
        [
            (p.name, p.default, p.kind)
            for p in inspect.signature(lib.utils.data.DataLoader).parameters.values()
        ]
        for lib in (tt, torch)
    )
    assert ours == theirs


def test_what_is_fixed_cannot_be_set():
    loader = DataLoader(range(4), batch_size=2)
    for name in ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"):
        with pytest.raises(ValueError, match=f"{name} attribute should not be set"):
            setattr(loader, name, None)
    loader.collate_fn = len
    assert list(loader) == [2, 2]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, [[0], [1], [2], [3], [4]]),
        ({"batch_size": 2}, [[0, 1], [2, 3], [4]]),
        ({"batch_size": 2, "drop_last": True}, [[0, 1], [2, 3]]),
        ({"batch_size": None}, [0, 1, 2, 3, 4]),
        ({"batch_size": None, "sampler": [4, 2]}, [4, 2]),
        ({"batch_size": 2, "sampler": [4, 2, 0]}, [[4, 2], [0]]),
        ({"batch_sampler": [[4, 2], [0]]}, [[4, 2], [0]]),
    ],
)
def test_batches_of_a_dataset(arguments, expected):
    loader = DataLoader(np.arange(5), **arguments)
    assert lists(loader) == expected
    assert len(loader) == len(iter(loader)) == len(expected)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"batch_size": 2}, [[0, 1], [2, 3], [4]]),
        ({"batch_size": 2, "drop_last": True}, [[0, 1], [2, 3]]),
        ({"batch_size": 2, "shuffle": False}, [[0, 1], [2, 3], [4]]),
        ({"batch_size": 5}, [[0, 1, 2, 3, 4]]),
    ],
)
def test_batches_of_a_stream(arguments, expected):
    loader = DataLoader(Count(5), **arguments)
    assert lists(loader) == expected
    assert len(loader) == len(expected)
    assert list(DataLoader(Count(3), batch_size=None)) == [0, 1, 2]


def test_a_stream_that_is_longer_than_it_says():
    loader = DataLoader(Count(2, length=1))
    assert len(loader) == 1
    with pytest.warns(UserWarning, match="was reported to be 1 .* but 2 samples have been fetched"):
        list(loader)


def test_an_iterator_is_its_own_and_cannot_be_pickled():
    iterator = iter(DataLoader(range(2)))
    assert iter(iterator) is iterator
    with pytest.raises(NotImplementedError, match="cannot be pickled"):
        pickle.dumps(iterator)


def test_two_passes_at_once_do_not_disturb_each_other():
    loader = DataLoader(range(3))
    assert [(a.item(), b.item()) for a, b in zip(loader, loader, strict=True)] == [(0, 0), (1, 1), (2, 2)]


def test_the_seed_decides_the_order_and_what_is_drawn_meanwhile_does_not():
    def order(between):
        loader = DataLoader(range(20), shuffle=True, generator=tt.Generator().manual_seed(4))
        found = []
        for batch in loader:
            between()
            found += batch.tolist()
        return found

    assert order(lambda: None) == order(lambda: tt.rand(3))
    assert order(lambda: None) != list(range(20))


def test_a_timeout_needs_workers():
    with pytest.raises(AssertionError, match="timeout= needs num_workers > 0"):
        iter(DataLoader([1], timeout=1))


def test_pinning_without_an_accelerator_is_a_warning():
    if tt.accelerator.is_available():
        pytest.skip("this machine has an accelerator")
    with pytest.warns(UserWarning, match="no accelerator is found"):
        assert lists(DataLoader([1, 2], pin_memory=True)) == [[1], [2]]
    with pytest.warns(UserWarning) as caught:
        list(DataLoader([1], pin_memory=True, pin_memory_device="cuda"))
    assert "pin_memory_device is deprecated" in str(caught[0].message)


def test_more_workers_than_processors_are_a_warning():
    with pytest.warns(UserWarning, match="will create 9999 worker processes"):
        DataLoader([1], num_workers=9999)


def test_a_memory_mapped_file_is_a_dataset(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(12.0).reshape(6, 2))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    expected = [[[0, 1], [2, 3], [4, 5], [6, 7]], [[8, 9], [10, 11]]]
    assert lists(DataLoader(mapped, batch_size=4)) == expected
    whole = TensorDataset(tt.from_numpy(mapped))
    assert [x.tolist() for (x,) in DataLoader(whole, batch_size=4)] == expected


def test_what_libraries_look_at():
    loader = DataLoader(range(3), batch_size=2)
    assert loader._index_sampler is loader.batch_sampler
    assert isinstance(loader.sampler, SequentialSampler)
    assert loader.batch_sampler.sampler is loader.sampler
    assert loader._auto_collation
    assert (loader.num_workers, loader.prefetch_factor, loader.in_order) == (0, None, True)
    assert DataLoader(range(3), num_workers=1).prefetch_factor == 2
