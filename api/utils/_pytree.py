"""tt.utils._pytree: trees of containers, where PyTorch has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import tt
from tt.core.layers.pytree import (
    TreeSpec,
    children_of,
    register_pytree_node,
    selects,
    tree_any,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_map_only,
    tree_unflatten,
)
from tt.core.layers.pytree_text import treespec_dumps, treespec_loads, treespec_pprint

__all__ = [
    "Context",
    "DumpableContext",
    "FlattenFn",
    "FromDumpableContextFn",
    "GetAttrKey",
    "LeafSpec",
    "MappingKey",
    "PyTree",
    "PyTreeSpec",
    "SequenceKey",
    "ToDumpableContextFn",
    "TreeSpec",
    "UnflattenFn",
    "arg_tree_leaves",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "is_structseq",
    "is_structseq_class",
    "is_structseq_instance",
    "key_get",
    "keystr",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
    "treespec_dumps",
    "treespec_loads",
    "treespec_pprint",
]

PyTree: TypeAlias = Any
Context: TypeAlias = Any
DumpableContext: TypeAlias = Any
FlattenFn: TypeAlias = Callable[[PyTree], tuple[list[Any], Context]]
UnflattenFn: TypeAlias = Callable[[Iterable[Any], Context], PyTree]
ToDumpableContextFn: TypeAlias = Callable[[Context], DumpableContext]
FromDumpableContextFn: TypeAlias = Callable[[DumpableContext], Context]
PyTreeSpec = TreeSpec
IsLeaf: TypeAlias = Callable[[Any], bool] | None


def LeafSpec() -> TreeSpec:  # noqa: N802 - PyTorch's name
    """Return the structure of a leaf."""
    return TreeSpec(None, None, ())


# --- all leaves --------------------------------------------------------------------------------------------------


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    """Return the structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """Return the leaves of all arguments.

    Examples
    --------
    >>> from tt.utils._pytree import arg_tree_leaves
    >>> arg_tree_leaves(1, [2, (3,)], last=4)
    [1, 2, 3, 4]
    """
    return [leaf for tree in (*args, *kwargs.values()) for leaf in tree_leaves(tree)]


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """Return an iterator over the leaves of a tree."""
    return iter(tree_leaves(tree, is_leaf))


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Return whether an object is a leaf."""
    return (is_leaf is not None and is_leaf(tree)) or children_of(tree) is None


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Return whether a predicate holds for all leaves."""
    return all(pred(leaf) for leaf in tree_leaves(tree, is_leaf))


def tree_all_only(
    kind: type | tuple[type, ...], pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None
) -> bool:
    """Return whether a predicate holds for all leaves of a class."""
    chosen = selects(kind)
    return all(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if chosen(leaf))


def tree_any_only(
    kind: type | tuple[type, ...], pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None
) -> bool:
    """Return whether a predicate holds for any leaf of a class."""
    chosen = selects(kind)
    return any(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if chosen(leaf))


def tree_map_(func: Callable[..., Any], tree: PyTree, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """Call a function for each leaf, and return the tree itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_only_(
    kind: type | tuple[type, ...], func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None
) -> Any:
    """Call a function for each leaf of a class, and return the tree itself."""
    tree_map_only(kind, func, tree, is_leaf)
    return tree


# --- places ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SequenceKey:
    """The place of an item in a list, tuple or registered class."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """Return the item."""
        return sequence[self.idx]


@dataclass(frozen=True)
class MappingKey:
    """The place of an item in a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """Return the item."""
        return mapping[self.key]


@dataclass(frozen=True)
class GetAttrKey:
    """The place of an item in a named tuple."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: object) -> Any:
        """Return the item."""
        return getattr(obj, self.name)


def _keys(tree: PyTree, count: int) -> list[Any]:
    if isinstance(tree, dict):
        return [MappingKey(key) for key in tree]
    if is_namedtuple_instance(tree):
        return [GetAttrKey(name) for name in type(tree)._fields]
    return [SequenceKey(index) for index in range(count)]


def tree_leaves_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> list[tuple[tuple[Any, ...], Any]]:
    """Return the leaves of a tree, each with the keys that lead to it.

    Examples
    --------
    >>> from tt.utils._pytree import keystr, tree_leaves_with_path
    >>> [(keystr(path), leaf) for path, leaf in tree_leaves_with_path({"a": [1, 2]})]
    [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    children = None if is_leaf is not None and is_leaf(tree) else children_of(tree)
    if children is None:
        return [((), tree)]
    items = children[1]
    return [
        ((key, *path), leaf)
        for key, item in zip(_keys(tree, len(items)), items, strict=True)
        for path, leaf in tree_leaves_with_path(item, is_leaf)
    ]


def tree_flatten_with_path(
    tree: PyTree, is_leaf: IsLeaf = None
) -> tuple[list[tuple[tuple[Any, ...], Any]], TreeSpec]:
    """Return the leaves of a tree, each with the keys that lead to it, and its structure."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func: Callable[..., Any], tree: PyTree, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """Return a tree with a function applied to each leaf, which gets the keys that lead to it first."""
    leaves, spec = tree_flatten_with_path(tree, is_leaf)
    others = [tree_leaves(rest, is_leaf) for rest in rests]
    rows = zip(leaves, *others, strict=True)
    return tree_unflatten([func(path, leaf, *more) for (path, leaf), *more in rows], spec)


def keystr(kp: Iterable[Any]) -> str:
    """Return keys as they are written in a program."""
    return "".join(map(str, kp))


def key_get(obj: object, kp: Iterable[Any]) -> Any:
    """Return what keys lead to."""
    for key in kp:
        obj = key.get(obj)
    return obj


# --- named tuples --------------------------------------------------------------------------------------------------


def is_namedtuple_class(cls: object) -> bool:
    """Return whether a class is one of named tuples."""
    # Named tuples have no base class of their own, so they are known by their members.
    fields = getattr(cls, "_fields", None)
    named = isinstance(fields, tuple) and all(isinstance(field, str) for field in fields)
    return isinstance(cls, type) and issubclass(cls, tuple) and named and hasattr(cls, "_make")


def is_namedtuple_instance(obj: object) -> bool:
    """Return whether an object is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: object) -> bool:
    """Return whether an object is a named tuple, or a class of them."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


# --- results with names --------------------------------------------------------------------------------------------


def is_structseq_class(cls: object) -> bool:
    """Return whether a class is one of `tt.return_types`, or of the same kind in C, such as `time.struct_time`."""
    if not isinstance(cls, type) or not issubclass(cls, tuple):
        return False
    counts = (getattr(cls, name, None) for name in ("n_fields", "n_sequence_fields", "n_unnamed_fields"))
    # Results in C have these counts; those of tt are named tuples in Python.
    return all(isinstance(count, int) for count in counts) or cls in tt.return_types.all_return_types


def is_structseq_instance(obj: object) -> bool:
    """Return whether an object is a result with names."""
    return is_structseq_class(type(obj))


def is_structseq(obj: object) -> bool:
    """Return whether an object is a result with names, or a class of them.

    Examples
    --------
    >>> import tt
    >>> from tt.utils._pytree import is_structseq
    >>> is_structseq(tt.max(tt.ones(2), 0)), is_structseq((1, 2))
    (True, False)
    """
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))
