from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from tt.distributed import DistStoreError, HashStore


def test_keys_values_and_counters():
    store = HashStore()
    store.set("a", "text")
    assert store.get("a") == b"text" and store.num_keys() == 1
    assert [store.add("n", 2), store.add("n", -1)] == [2, 1] and store.get("n") == b"1"
    assert store.check(["a", "n"]) and not store.check(["a", "b"])
    assert store.delete_key("a") and not store.delete_key("a")


def test_a_key_is_set_if_it_is_as_expected():
    store = HashStore()
    assert store.compare_set("k", "", "1") == b"1"
    assert store.compare_set("k", "2", "3") == b"1"
    assert store.compare_set("k", "1", "3") == b"3"
    assert store.compare_set("new", "old", "3") == b"old" and not store.check(["new"])


def test_get_waits_for_another_thread():
    store = HashStore()
    timer = threading.Timer(0.05, store.set, ("k", b"v"))
    timer.start()
    assert store.get("k") == b"v"
    timer.join()


def test_a_key_that_does_not_appear_is_named():
    store = HashStore()
    store.set_timeout(timedelta(seconds=0.05))
    with pytest.raises(DistStoreError, match="missing"):
        store.get("missing")
