from __future__ import annotations

from datetime import timedelta

import pytest

from tt.distributed import DistStoreError, HashStore, PrefixStore


def test_prefixes_keep_users_apart():
    store = HashStore()
    first, second = PrefixStore("1", store), PrefixStore("2", PrefixStore("x", store))
    first.set("k", "a")
    second.set("k", "b")
    assert (first.get("k"), second.get("k"), store.get("x/2/k")) == (b"a", b"b", b"b")
    assert first.add("n", 3) == 3 and first.compare_set("c", "", "1") == b"1"
    assert first.check(["k", "n"]) and not second.check(["n"])
    assert first.delete_key("k") and not first.check(["k"])
    assert store.num_keys() == first.num_keys() and first.underlying_store is store


def test_waiting_has_a_timeout_of_its_own():
    store = PrefixStore("p", HashStore())
    with pytest.raises(DistStoreError, match="k"):
        store.wait(["k"], timedelta(seconds=0.05))
    store.set_timeout(timedelta(seconds=0.05))
    with pytest.raises(DistStoreError, match="k"):
        store.get("k")
