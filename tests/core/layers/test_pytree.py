"""Trees of lists, tuples, dicts and what stands in them."""

from __future__ import annotations

import os
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tt
from tt.core.layers.pytree import (
    SUPPORTED_NODES,
    tree_any,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_map_only,
    tree_unflatten,
)
from tt.errors import ValueRangeError
from tt.utils import _pytree as pytree
from tt.utils._pytree import is_structseq, is_structseq_class, is_structseq_instance


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


# --- further containers, paths, PyTorch's names ---------------------------------------------------------------------


def test_deques_and_dicts_with_defaults_keep_what_they_are():
    found = pytree.tree_map(lambda x: x + 1, defaultdict(list, a=deque([1], maxlen=3)))
    assert found["a"] == deque([2]) and found["a"].maxlen == 3 and found["new"] == []
    ordered = pytree.tree_map(str, OrderedDict(b=1, a=2))
    assert isinstance(ordered, OrderedDict) and list(ordered.items()) == [("b", "1"), ("a", "2")]


@pytest.mark.parametrize(
    "cls",
    [Counter, *(type("Own", (kind,), {}) for kind in (dict, defaultdict, OrderedDict, list, tuple, deque))],
)
def test_instances_of_other_classes_are_leaves_as_in_pytorch(cls):
    tree = cls()
    assert tree_leaves([tree, (1,)]) == [tree, 1] and tree_leaves([tree])[0] is tree
    assert pytree.tree_map(lambda leaf: leaf, [tree])[0] is tree


def test_registered_classes_are_containers_once():
    class Both:
        def __init__(self, a, b):
            self.a, self.b = a, b

    assert len(pytree.tree_leaves(Both(1, [2]))) == 1
    pytree.register_pytree_node(Both, lambda p: ([p.a, p.b], "context"), lambda items, context: Both(*items))
    assert pytree.tree_leaves(Both(1, [2])) == [1, 2]
    assert pytree.tree_map(lambda x: -x, Both(1, [2])).b == [-2]
    for cls in (Both, dict, list, tuple, deque, defaultdict, OrderedDict):
        with pytest.raises(ValueError, match="container"):
            pytree.register_pytree_node(cls, list, list)


def test_leaves_are_chosen_by_a_predicate():
    tree = {"a": [1, 2], "b": (3,)}
    is_list = lambda x: isinstance(x, list)  # noqa: E731
    assert pytree.tree_leaves(tree, is_list) == [[1, 2], 3]
    assert pytree.tree_map(lambda x: 0, tree, is_leaf=is_list) == {"a": 0, "b": (0,)}
    assert pytree.tree_structure(tree).num_leaves == 3 and list(pytree.tree_iter(tree)) == [1, 2, 3]
    assert pytree.tree_is_leaf([1], is_list) and not pytree.tree_is_leaf([1]) and pytree.tree_is_leaf(1)
    assert pytree.LeafSpec() == pytree.tree_structure(1)


def test_predicates_hold_for_all_or_any_leaf_of_a_class():
    tree = [1, "a", [2]]
    assert pytree.tree_all_only(int, lambda x: x > 0, tree) and not pytree.tree_all(lambda x: x == 1, tree)
    assert pytree.tree_any_only(str, str.islower, tree) and not pytree.tree_any(lambda x: x == 9, tree)
    seen = []
    assert pytree.tree_map_(seen.append, tree) is tree and seen == [1, "a", 2]
    assert pytree.tree_map_only_(str, seen.append, tree) is tree and seen[-1] == "a"


def test_paths_lead_to_leaves():
    point = namedtuple("point", "x y")
    tree = {"a": [1, point(2, 3)]}
    found, spec = pytree.tree_flatten_with_path(tree)
    assert [pytree.keystr(path) for path, _ in found] == ["['a'][0]", "['a'][1].x", "['a'][1].y"]
    assert all(pytree.key_get(tree, path) == leaf for path, leaf in found) and spec.num_leaves == 3
    named = pytree.tree_map_with_path(lambda path, x, y: f"{pytree.keystr(path)}={x + y}", tree, tree)
    assert named == {"a": ["['a'][0]=2", point("['a'][1].x=4", "['a'][1].y=6")]}
    assert pytree.is_namedtuple_class(point) and pytree.is_namedtuple(point(1, 2))
    assert not pytree.is_namedtuple_instance((1, 2)) and not pytree.is_namedtuple(3)


@pytest.mark.torch
def test_paths_are_written_as_pytorch_writes_them():
    from torch.utils import _pytree as theirs

    tree = {"a": [1, (2, {3: 4})], "b": OrderedDict(c=5)}
    ours = [(pytree.keystr(path), leaf) for path, leaf in pytree.tree_leaves_with_path(tree)]
    assert ours == [(theirs.keystr(path), leaf) for path, leaf in theirs.tree_leaves_with_path(tree)]


def test_results_with_names_are_known_and_those_in_c_can_be_containers():
    size = os.terminal_size((80, 24))
    for found in (tt.max(tt.ones(2), 0), size):
        assert is_structseq(found) and is_structseq_class(type(found)) and is_structseq_instance(found)
    assert not is_structseq_instance(type(size)) and not is_structseq((80, 24)) and not is_structseq(tuple)
    with pytest.raises(ValueError, match="container of trees already"):
        tt.return_types.pytree_register_structseq(tt.return_types.max)
    assert tree_leaves(size) == [size]
    tt.return_types.pytree_register_structseq(os.terminal_size)
    try:
        assert tree_map(lambda n: 2 * n, size) == os.terminal_size((160, 48))
    finally:
        del SUPPORTED_NODES[os.terminal_size]
