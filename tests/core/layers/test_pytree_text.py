"""Structures of trees become text that PyTorch reads, and come back."""

from __future__ import annotations

import json
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

from tt.core.layers import pytree
from tt.core.layers.pytree import register_pytree_node
from tt.core.layers.pytree_text import treespec_dumps, treespec_loads, treespec_pprint
from tt.utils._pytree import tree_structure

TREES = [
    1,
    [1, (2, {"b": 3, "a": {}}), None],
    OrderedDict(x=1, y=[2]),
    defaultdict(list, {"k": 1, 2: (3,)}),
    [deque([1, 2], maxlen=3), deque()],
    {2: 2, "a": 3, True: 4, None: 5, 0.5: 6},
]


@pytest.fixture
def pair(monkeypatch):
    monkeypatch.setattr(pytree, "SUPPORTED_NODES", dict(pytree.SUPPORTED_NODES))
    for name in list(pytree.SAVED):
        monkeypatch.delitem(pytree.SAVED, name)

    class Pair:
        def __init__(self, items, tag):
            self.items, self.tag = items, tag

    yield Pair
    pytree.SAVED.pop(Pair, None)


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_structures_come_back(tree):
    spec = tree_structure(tree)
    assert treespec_loads(treespec_dumps(spec)) == spec


@pytest.mark.torch
@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_the_text_is_that_of_torch(tree):
    theirs = pytest.importorskip("torch.utils._pytree")
    spec, mine = theirs.tree_structure(tree), tree_structure(tree)
    text = theirs.treespec_dumps(spec)
    assert json.loads(treespec_dumps(mine)) == json.loads(text)
    assert treespec_loads(text) == mine and theirs.treespec_loads(treespec_dumps(mine)) == spec
    assert treespec_pprint(mine) == theirs.treespec_pprint(spec)


def test_registered_classes_have_a_name_and_convert_the_rest(pair):
    register_pytree_node(
        pair, lambda p: (p.items, p.tag), pair, serialized_type_name="my.Pair",
        to_dumpable_context=lambda tag: [tag], from_dumpable_context=lambda saved: saved[0],
    )  # fmt: skip
    spec = tree_structure(pair([1, [2]], "tag"))
    text = treespec_dumps(spec)
    assert json.loads(text)[1]["type"] == "my.Pair" and json.loads(text)[1]["context"] == ["tag"]
    assert treespec_loads(text) == spec
    del pytree.SAVED[pair]
    with pytest.raises(ValueError, match=r"no container 'my\.Pair' is registered"):
        treespec_loads(text)


def test_one_conversion_without_the_other_is_refused(pair):
    with pytest.raises(ValueError, match="give both or none"):
        register_pytree_node(pair, lambda p: (p.items, None), pair, to_dumpable_context=str)


@pytest.mark.parametrize("tree", [
    namedtuple("Named", "a b")(1, 2), {(1, 2): 3}, {b"x": 1}, defaultdict(lambda: 0, a=1), defaultdict(None, a=1),
], ids=["a named tuple", "a tuple as key", "bytes as key", "a function", "nothing"])  # fmt: skip
def test_what_has_no_text_is_refused(tree):
    with pytest.raises(NotImplementedError, match="has no text"):
        treespec_dumps(tree_structure(tree))


@pytest.mark.parametrize("text", [
    "{}", "[1]", "nothing", '[2, {"type": null, "context": null, "children_spec": []}]', "[1, 3]",
    '[1, {"type": "os.system", "context": "null", "children_spec": []}]',
    '[1, {"type": "collections.defaultdict", "context": {"default_factory_module": "os", '
    '"default_factory_name": "system", "dict_context": []}, "children_spec": []}]',
    '[1, {"type": "collections.defaultdict", "context": {"default_factory_module": "builtins", '
    '"default_factory_name": "exec", "dict_context": []}, "children_spec": []}]',
])  # fmt: skip
def test_other_text_is_refused(text):
    with pytest.raises(ValueError, match=r"structure|protocol|defaultdict"):
        treespec_loads(text)


def test_an_unknown_protocol_is_refused():
    with pytest.raises(ValueError, match="unknown protocol 5"):
        treespec_dumps(tree_structure([]), protocol=5)
