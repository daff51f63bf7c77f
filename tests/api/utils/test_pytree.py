"""Structures of trees, and functions over leaves, where PyTorch has them."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass
from importlib import import_module
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


def _outcome(call: Any) -> Any:
    """Return the result of a call, or the error of PyTorch's that it is."""
    try:
        return call()
    except (ValueError, TypeError) as error:
        return ValueError if isinstance(error, ValueError) else TypeError


PAIRS = [
    (1, [5]),
    (None, [5]),
    ([1, 2], [[5], (6,)]),
    ([1, 2], (5, 6)),
    ([1, 2], [5]),
    ({"a": 1, "b": 2}, {"b": 5, "a": {"x": 1}}),
    ({"a": 1}, OrderedDict(a=[1])),
    ({"a": 1}, {"b": 1}),
    ([1, [2, 3]], [1, 2]),
    ([1, (2, 3)], [1, {}]),
]


@pytest.mark.torch
@pytest.mark.parametrize(("tree", "rest"), PAIRS)
@pytest.mark.parametrize("is_leaf", [None, lambda node: isinstance(node, tuple)])
def test_what_further_trees_have_in_a_leaf_s_place_is_passed_whole(
    tree: Any, rest: Any, is_leaf: Any
) -> None:
    theirs = pytest.importorskip("torch.utils._pytree")

    def results(library: Any) -> list[Any]:
        def with_path(path: Any, *values: Any) -> Any:
            return library.keystr(path), values

        return [
            _outcome(lambda: library.tree_map(lambda *values: values, tree, rest, is_leaf=is_leaf)),
            _outcome(lambda: library.tree_map_with_path(with_path, tree, rest, is_leaf=is_leaf)),
            _outcome(lambda: library.tree_map_(lambda *values: values, tree, rest, is_leaf=is_leaf)),
        ]

    assert results(pytree) == results(theirs)


def _registrations(library: Any) -> list[Any]:
    """Return what a program sees of the table of containers."""

    class Pair:
        def __init__(self, a: Any, b: Any) -> None:
            self.a, self.b = a, b

    @dataclass
    class Point:
        x: Any
        y: Any = None
        z: Any = 3

    @dataclass(frozen=True)
    class Norm:
        name: str

    class Plain:
        pass

    table = library.SUPPORTED_NODES
    seen: list[Any] = [kind in table for kind in (dict, list, deque, OrderedDict, defaultdict, Pair, int)]
    nested = defaultdict(list, a=[1])
    seen += [
        table[kind].flatten_fn(value)
        for kind, value in ((list, [1]), (dict, {"a": 2}), (defaultdict, nested))
    ]
    seen += [table[dict].unflatten_fn([3], ["a"]), table[tuple].unflatten_fn([3], None), len(table[list])]
    library.register_pytree_node(
        Pair,
        lambda pair: ([pair.a, pair.b], None),
        lambda items, _: Pair(*items),
        flatten_with_keys_fn=lambda pair: (
            [(library.GetAttrKey("a"), pair.a), (library.GetAttrKey("b"), pair.b)],
            None,
        ),
    )
    library.register_dataclass(Point, drop_field_names=["z"], field_names=["x", "y"])
    library.register_constant(Norm)
    paths = library.tree_leaves_with_path([Pair(1, [2]), Point(3), Norm("l2")])
    seen += [[(library.keystr(path), leaf) for path, leaf in paths]]
    seen += [[library.key_get(Pair(1, [2]), path) for path, _ in library.tree_leaves_with_path(Pair(1, [2]))]]
    seen += [vars(library.tree_map(lambda x: -x, Point(1, z=5))), library.is_constant_class(Norm)]
    seen += [library.tree_structure(Norm("a")) == library.tree_structure(Norm(name)) for name in "ab"]
    seen += [
        _outcome(lambda: library.register_constant(Plain)),
        _outcome(lambda: library.register_dataclass(Plain)),
    ]
    seen += [_outcome(lambda: library.register_dataclass(Point, field_names=["x"]))]
    with pytest.warns(FutureWarning):
        library._register_pytree_node(Plain, lambda plain: ([1], None), lambda items, _: items[0])
    seen += [library.tree_leaves(Plain()), _outcome(lambda: library.tree_leaves_with_path(Plain()))]
    for kind in (Pair, Point, Norm, Plain):
        del table[kind]
    seen += [Pair in table, len(library.tree_leaves(Pair(1, 2)))]
    spec = library.tree_structure([1, [2, 3]])
    seen += [library._broadcast_to_and_flatten(tree, spec) for tree in (0, [0, 1], [0, (1, 2)])]
    seen += [
        library.map_only(int)(str)(1),
        library.map_only((int, str))(len)(2.5),
        library._get_node_type({}),
    ]
    seen += [
        isinstance(spec.children_specs[0], library.LeafSpec),
        spec.num_nodes,
        spec.num_leaves,
        spec.num_children,
    ]
    seen += [library.TreeSpec(list, None, children_specs=[library.LeafSpec()]) == library.tree_structure([1])]
    return [*seen, _outcome(lambda: library.tree_unflatten([1], 3))]


@pytest.mark.torch
@pytest.mark.filterwarnings(r"ignore:`(treespec|isinstance).* is deprecated:FutureWarning")
def test_the_table_of_containers_is_pytorch_s() -> None:
    theirs = pytest.importorskip("torch.utils._pytree")
    assert _registrations(pytree) == _registrations(theirs)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:`treespec.children_specs` is deprecated")
def test_sizes_are_containers_as_in_pytorch() -> None:
    torch = pytest.importorskip("torch")
    for library in (tt, torch):
        tree = import_module(f"{library.__name__}.utils._pytree")
        leaves, spec = tree.tree_flatten([library.Size([2, 3]), 4])
        assert leaves == [2, 3, 4]
        assert spec.children_specs[0].type is library.Size
        mapped = tree.tree_map(lambda x: f"{x}!", library.Size([2, 3]))
        assert type(mapped) is tuple
        assert mapped == ("2!", "3!")
        assert [tree.keystr(path) for path, _ in tree.tree_flatten_with_path(library.Size([2, 3]))[0]] == [
            "[0]",
            "[1]",
        ]
