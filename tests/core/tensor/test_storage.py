"""Storages: shared by views, with one version."""

from __future__ import annotations

import gc
import pickle
import sys
import weakref

import tt


def test_views_share_a_storage_and_its_version():
    x = tt.arange(6.0).view(2, 3)
    row = x[1]
    assert row.untyped_storage() is x.untyped_storage()
    row.add_(1)
    assert (x._version, row._version) == (1, 1) and x.clone()._version == 0


def test_a_storage_knows_its_size_and_address():
    x = tt.zeros(2, 3, dtype=tt.float64)
    storage = x.untyped_storage()
    assert storage.nbytes() == storage.size() == len(storage) == 48
    assert storage.data_ptr() == x.data_ptr() == x[1].data_ptr() - 24
    assert repr(storage) == "<tt.UntypedStorage of 48 bytes on cpu>"


def test_the_size_of_a_storage_as_an_object_counts_its_memory():
    def size(m, n):
        return sys.getsizeof(m.zeros(n).untyped_storage())

    assert size(tt, 100) - size(tt, 0) == 400


def test_a_storage_takes_attributes_that_live_as_long_as_it_does():
    class Mark:
        pass

    storage, mark = tt.zeros(2).untyped_storage(), Mark()
    alive = weakref.ref(mark)
    storage.mark, storage.itself = mark, storage
    del mark
    assert storage.mark is alive()
    del storage
    gc.collect()
    assert alive() is None


def test_tensors_that_are_pickled_together_share_again():
    x = tt.zeros(3)
    first, second = pickle.loads(pickle.dumps((x, x[1:])))
    second.fill_(2)
    assert first.tolist() == [0, 2, 2]
