"""Nested tuples, lists and dicts of tensors."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tt.errors import ValueRangeError
from tt.plugins.autograd.transforms.trees import flatten, spread_like, unflatten


class Pair(NamedTuple):
    first: object
    second: object


TREE = {"a": [1, (2, 3)], "b": Pair(4, [])}


def test_leaves_go_back_to_their_places():
    leaves, shape = flatten(TREE)
    assert leaves == [1, 2, 3, 4]
    again = unflatten(shape, [10, 20, 30, 40])
    assert again == {"a": [10, (20, 30)], "b": Pair(40, [])} and type(again["b"]) is Pair


def test_a_value_counts_for_all_below_it():
    assert spread_like(0, TREE, "in_dims") == [0, 0, 0, 0]
    assert spread_like({"b": 1, "a": [0, (None, 2)]}, TREE, "in_dims") == [0, None, 2, 1]


@pytest.mark.parametrize(
    "value", [{"a": 0}, {"a": 0, "c": 1}, {"a": [0], "b": 1}, {"a": [[0], 1], "b": 1}], ids=str
)
def test_another_structure_is_refused(value):
    with pytest.raises(ValueRangeError, match="vmap: in_dims does not have the structure"):
        spread_like(value, TREE, "in_dims")
