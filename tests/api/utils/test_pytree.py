"""Structures of trees, and functions over leaves, where PyTorch has them."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from typing import Any

import pytest

import tt
from tt.utils import _pytree as pytree

TREE: Any = [1, (2, 3), {"b": 4, "a": [5]}, OrderedDict(c=6), ()]


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:`treespec.children_specs` is deprecated")
def test_a_structure_tells_what_pytorch_s_tells() -> None:
    pytest.importorskip("torch")
    from torch.utils import _pytree as theirs

    specs = [library.tree_structure(TREE) for library in (pytree, theirs)]
    for look in (
        repr, lambda s: s.num_leaves, lambda s: s.num_nodes, lambda s: s.num_children, lambda s: s.type,
        lambda s: s.child(2).context, lambda s: type(s.children()), lambda s: len(s.children_specs),
        lambda s: [child.is_leaf() for child in s.children()], lambda s: s.unflatten(range(6)),
    ):  # fmt: skip
        assert look(specs[0]) == look(specs[1])
    assert pytree.arg_tree_leaves(1, [2], a=(3,)) == theirs.arg_tree_leaves(1, [2], a=(3,)) == [1, 2, 3]


def test_a_structure_of_lists_is_that_of_a_tree() -> None:
    made = pytree.TreeSpec(list, None, [pytree.LeafSpec(), pytree.LeafSpec()])
    assert made == pytree.tree_structure([1, 2]) and hash(made) == hash(pytree.tree_structure([3, 4]))
    assert pytree.tree_structure({"a": 1}) != pytree.tree_structure({"b": 1})
    made.children_specs.clear()  # a copy
    assert made.num_children == 2


def test_leaves_are_chosen_by_classes_or_a_predicate() -> None:
    for kind in (int, (int, bool), int | None, lambda leaf: isinstance(leaf, int)):
        assert pytree.tree_map_only(kind, lambda x: -x, [1, "a"]) == [-1, "a"]
        assert pytree.tree_all_only(kind, lambda x: x > 0, [1, "a"])
        assert not pytree.tree_any_only(kind, lambda x: x < 0, [1, "a"])
    whole = pytree.tree_map_only(tuple, len, [(1, 2), 3], is_leaf=lambda node: isinstance(node, tuple))
    assert whole == [2, 3]


@pytest.mark.torch
@pytest.mark.parametrize("module", ["fft", "special", "linalg", "return_types", "nn.functional"])
def test_a_star_import_gives_pytorch_s_names(module: str) -> None:
    torch = pytest.importorskip("torch")
    found: dict[str, Any] = {}
    expected: dict[str, Any] = {}
    exec(f"from tt.{module} import *", found)
    exec(f"from torch.{module} import *", expected)
    home = tt
    for part in module.split("."):
        home = getattr(home, part)
    missing = [
        name
        for name in expected.keys() - found.keys()
        if hasattr(home, name) and getattr(expected[name], "__module__", "").startswith(f"torch.{module}")
    ]
    assert not missing and not any(name.startswith("_") for name in found.keys() - {"__builtins__"})
    assert len(found) > 15 and torch is not None


TREES = [
    ({"a": 1, "b": (2, 3)}, {"b": ([4, 5], 6), "a": {"x": 7}}),
    ({"a": 1, "b": 2}, OrderedDict(b=[3], a=4)),
    (defaultdict(list, a=1), {"a": (2, 3)}),
    ({"a": 1}, defaultdict(int, a=[5])),
    ([1, [2]], [[3], [4]]),
    (deque([1, 2], 5), deque([[3], 4])),
    (1, [2, 3]),
    ([1, 2], (1, 2)),
    ([1, 2], [1]),
    ({"a": 1}, {"b": 1}),
    ([1, [2]], [1, 2]),
]


@pytest.mark.torch
@pytest.mark.parametrize(("tree", "other"), TREES)
def test_a_structure_flattens_other_trees_up_to_its_leaves(tree: Any, other: Any) -> None:
    theirs = pytest.importorskip("torch.utils._pytree")
    spec, expected = pytree.tree_structure(tree), theirs.tree_structure(tree)
    try:
        parts = expected.flatten_up_to(other)
    except ValueError:
        with pytest.raises(ValueError, match=r"Node (type|arity|keys) mismatch"):
            spec.flatten_up_to(other)
    else:
        assert spec.flatten_up_to(other) == parts


def test_modules_are_found_where_programs_look_for_them() -> None:
    assert tt.nn.functional.grad is tt.nn.grad
    assert tt.utils.data.dataloader.get_worker_info is tt.utils.data.get_worker_info
