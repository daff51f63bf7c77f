"""Trees of lists, tuples, dicts and what stands in them."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt.core.layers.pytree import tree_any, tree_flatten, tree_leaves, tree_map, tree_map_only, tree_unflatten
from tt.errors import ValueRangeError


class Pair(NamedTuple):
    first: object
    second: object


TREES = st.recursive(
    st.integers() | st.text() | st.none(),
    lambda below: (
        st.lists(below, max_size=3)
        | st.tuples(below, below)
        | st.builds(Pair, below, below)
        | st.dictionaries(st.text(), below, max_size=3)
    ),
)


@given(tree=TREES)
def test_a_tree_is_made_of_its_leaves_again(tree):
    leaves, spec = tree_flatten(tree)
    again = tree_unflatten(leaves, spec)
    assert again == tree and type(again) is type(tree) and spec.num_leaves == len(leaves)
    assert tree_leaves(tree_map(repr, tree)) == [repr(leaf) for leaf in leaves]


def test_leaves_of_several_trees_meet():
    assert tree_map(lambda a, b: a + b, {"x": [1, 2]}, {"x": [10, 20]}) == {"x": [11, 22]}
    assert tree_map_only((int, float), lambda x: -x, [1, "a", (2.5,)]) == [-1, "a", (-2.5,)]
    assert tree_any(lambda leaf: leaf == 3, Pair([1], {"a": 3})) and not tree_any(bool, [])


def test_too_few_or_too_many_leaves_are_refused():
    _, spec = tree_flatten((1, 2))
    for leaves in ([1], [1, 2, 3]):
        with pytest.raises(ValueRangeError, match=f"2 leaves, and {len(leaves)} were given"):
            tree_unflatten(leaves, spec)
