from __future__ import annotations

from datetime import timedelta

import pytest

import tt.distributed as dist


def test_prefixes_nest_and_name_what_they_are_part_of():
    whole = dist.HashStore()
    outer = dist.PrefixStore("a", whole)
    inner = dist.PrefixStore("b", outer)
    inner.set("k", "v")
    assert whole.list_keys() == ["a/b/k"]
    assert inner.list_keys() == ["k"]
    assert inner.underlying_store is outer
    assert inner._underlying_non_prefix_store is whole


def test_the_timeout_is_that_of_the_underlying_store():
    whole = dist.HashStore()
    dist.PrefixStore("a", whole).set_timeout(timedelta(seconds=7))
    assert whole.timeout == timedelta(seconds=7)


def test_only_a_store_has_parts():
    with pytest.raises(TypeError, match="needs a Store, not dict"):
        dist.PrefixStore("a", {})
