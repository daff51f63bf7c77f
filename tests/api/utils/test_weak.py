"""Mappings whose keys are compared by identity and not kept alive."""

from __future__ import annotations

import copy
import gc
from typing import Any

import pytest

import tt
from tt.utils.weak import WeakIdKeyDictionary


@pytest.fixture
def keys() -> list[Any]:
    return [tt.ones(2), tt.ones(2), tt.ones(2)]


def test_unions_have_the_entries_of_both_and_the_right_side_wins(keys: list[Any]) -> None:
    a, b, c = keys
    first, second = WeakIdKeyDictionary({a: 1, b: 2}), WeakIdKeyDictionary({b: 3, c: 4})
    for union in (first | second, first | dict(second.items()), dict(first.items()) | second):
        assert isinstance(union, WeakIdKeyDictionary)
        assert [union[key] for key in keys] == [1, 3, 4]
    assert first[b] == 2 and c not in first
    first |= second
    assert first[c] == 4 and len(first) == 3
    with pytest.raises(TypeError):
        first | [1]


def test_copies_have_entries_of_their_own_and_deep_ones_values(keys: list[Any]) -> None:
    first: WeakIdKeyDictionary[list[int]] = WeakIdKeyDictionary({keys[0]: [1]})
    for made in (first.copy(), copy.copy(first), copy.deepcopy(first)):
        assert made == first and made is not first
        made[keys[1]] = []
        assert made != first and len(first) == 1
    assert copy.copy(first)[keys[0]] is first[keys[0]] is not copy.deepcopy(first)[keys[0]]


def test_copies_keep_no_key_alive(keys: list[Any]) -> None:
    made = copy.deepcopy(WeakIdKeyDictionary(dict.fromkeys(keys, 1)))
    assert made.popitem()[0] is keys[2]
    del keys[0]
    gc.collect()
    assert len(made) == 1 and keys[0] in made
