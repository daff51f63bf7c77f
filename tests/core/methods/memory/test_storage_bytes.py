"""The bytes of storages: read, written, copied, described."""

from __future__ import annotations

import copy

import pytest

import tt


def storage_of(*numbers: int) -> object:
    """Return the storage of numbers of 16 bits."""
    return tt.tensor(numbers, dtype=tt.int16).untyped_storage()


def test_bytes_are_numbers():
    storage = storage_of(1, 258)
    assert storage.tolist() == list(storage) == [1, 0, 2, 1] and storage[0] == 1 and storage[-1] == 1
    assert storage[2:].tolist() == [2, 1] and 2 in storage
    for wrong in (4, -5):
        with pytest.raises(IndexError, match="out of range for a storage of 4 bytes"):
            storage[wrong]
    with pytest.raises(TypeError, match="an index is an integer or a slice, not str"):
        storage["a"]
    with pytest.raises(RuntimeError, match="no step"):
        storage[::2]
    with pytest.raises(RuntimeError, match="no step"):
        storage[::2] = 1


def test_what_is_written_is_seen_by_tensors():
    x = tt.tensor([1, 2], dtype=tt.uint8)
    storage, version = x.untyped_storage(), x._version
    storage[0] = 7
    assert x.tolist() == [7, 2] and x._version > version
    storage[:] = 3
    assert x.tolist() == [3, 3]
    assert storage.fill_(4) is storage and x.tolist() == [4, 4]
    assert storage.copy_(tt.tensor([5, 6], dtype=tt.uint8).untyped_storage()) is storage and x.tolist() == [
        5,
        6,
    ]
    with pytest.raises(TypeError, match="the sizes differ: 2 and 1 bytes"):
        storage.copy_(tt.UntypedStorage(1))
    with pytest.raises(TypeError, match="copies a storage, not list"):
        storage.copy_([1, 2])


def test_copies_have_memory_of_their_own():
    storage = storage_of(1)
    for other in (storage.clone(), copy.deepcopy(storage)):
        other[0] = 9
        assert storage.tolist() == [1, 0] and other.tolist() == [9, 0]
    assert storage.cpu() is storage and storage.to("cpu") is storage and storage.untyped() is storage
    assert len(storage.new()) == 0


def test_a_storage_says_where_it_is():
    storage = storage_of(1)
    assert storage.device == tt.device("cpu") and storage.get_device() == -1 and not storage.is_cuda
    assert storage.element_size() == 1 and storage.filename is None and not storage.is_pinned()
    assert not storage.is_sparse and not storage.is_sparse_csr and not storage.resizable()
    assert {"device", "tolist", "nbytes"} <= {*dir(storage)}
    with pytest.raises(AttributeError, match="'UntypedStorage' object has no attribute 'nothing'"):
        storage.nothing  # noqa: B018


def test_the_size_of_a_storage_stays():
    storage = storage_of(1)
    assert storage.resize_(2) is storage
    with pytest.raises(RuntimeError, match="the tensors in it keep their memory"):
        storage.resize_(0)
