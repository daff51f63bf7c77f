from __future__ import annotations

import pickle
from datetime import timedelta

import pytest

import tt.distributed as dist


def test_two_stores_share_nothing_and_a_clone_everything_but_the_timeout():
    first, second = dist.HashStore(), dist.HashStore()
    first.set("k", "v")
    assert not second.check(["k"])
    clone = first.clone()
    clone.set("k", "w")
    clone.set_timeout(timedelta(seconds=1))
    assert first.get("k") == b"w"
    assert first.timeout == timedelta(seconds=300)


def test_a_store_of_a_process_does_not_travel_to_others():
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(dist.HashStore())
