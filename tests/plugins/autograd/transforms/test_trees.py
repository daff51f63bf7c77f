"""Nested tuples, lists and dicts of tensors."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import NamedTuple

import pytest

from tt.errors import ValueRangeError
from tt.plugins.autograd.transforms.trees import spread_like


class Pair(NamedTuple):
    first: object
    second: object


TREE = {"a": [1, (2, 3)], "b": Pair(4, [])}


def test_a_value_counts_for_all_below_it():
    assert spread_like(0, TREE, "in_dims") == [0, 0, 0, 0]
    assert spread_like({"b": 1, "a": [0, (None, 2)]}, TREE, "in_dims") == [0, None, 2, 1]
    assert spread_like([0, {"b": 2, "a": 1}], deque([5, defaultdict(list, a=6, b=7)]), "in_dims") == [0, 1, 2]
    assert spread_like((1,), 5, "out_dims") == [1]


@pytest.mark.parametrize(
    "value", [[0, 1], {"a": 0}, {"a": 0, "c": 1}, {"a": [0], "b": 1}, {"a": [[0], 1], "b": 1}], ids=str
)
def test_another_structure_is_refused(value):
    with pytest.raises(ValueRangeError, match="vmap: in_dims does not have the structure"):
        spread_like(value, TREE, "in_dims")
