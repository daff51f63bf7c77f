"""tt.utils._pytree: trees of containers, where PyTorch has them."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, TypeAlias

import tt
from tt.core.layers.pytree import (
    SUPPORTED_NODES,
    GetAttrKey,
    LeafSpec,
    MappingKey,
    NodeDef,
    SequenceKey,
    TreeSpec,
    children_of,
    deregister_pytree_node,
    keys_of,
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
from tt.errors import ArgumentError, ValueRangeError
from tt.library import warn_user

__all__ = [
    "SUPPORTED_NODES",
    "Context",
    "DumpableContext",
    "FlattenFn",
    "FromDumpableContextFn",
    "GetAttrKey",
    "LeafSpec",
    "MappingKey",
    "NodeDef",
    "PyTree",
    "PyTreeSpec",
    "SequenceKey",
    "ToDumpableContextFn",
    "TreeSpec",
    "UnflattenFn",
    "arg_tree_leaves",
    "is_constant_class",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "is_structseq",
    "is_structseq_class",
    "is_structseq_instance",
    "key_get",
    "keystr",
    "map_only",
    "register_constant",
    "register_dataclass",
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
        for key, item in zip(keys_of(tree), items, strict=True)
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
    others = [spec.flatten_up_to(rest) for rest in rests]
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


# --- classes as containers -------------------------------------------------------------------------------------------


def register_dataclass(
    cls: type,
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Let the objects of a dataclass be containers; fields that are None hold no items.

    Parameters
    ----------
    cls : type
        The class.  One that is no dataclass is made with its fields as keywords.
    field_names : list of str, optional
        Its fields; needed for a class that is no dataclass.
    drop_field_names : list of str, optional
        Fields of a dataclass that are left out, and get their defaults.
    serialized_type_name : str, optional
        As in `register_pytree_node`.

    Raises
    ------
    ValueError
        If the names are not the fields of the dataclass, or missing.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from tt.utils._pytree import register_dataclass, tree_map
    >>> @dataclass
    ... class Point:
    ...     x: int
    ...     y: int | None = None
    >>> register_dataclass(Point)
    >>> tree_map(lambda x: -x, Point(1))
    Point(x=-1, y=None)
    """
    names = field_names
    if is_dataclass(cls):
        own = [field.name for field in fields(cls) if field.init]
        names = own if names is None else names
        if set(own) - set(drop_field_names or ()) != set(names):
            raise ValueRangeError(
                f"register_dataclass(): {cls.__name__} has the fields {own}, but field_names are {names} and "
                f"drop_field_names {drop_field_names or []}; together they must name each field"
            )
    elif names is None:
        raise ValueRangeError(f"register_dataclass(): {cls.__name__} is no dataclass; give field_names")
    every = tuple(names)

    def flatten(obj: Any) -> tuple[list[Any], list[list[str]]]:
        present = [name for name in every if getattr(obj, name) is not None]
        return [getattr(obj, name) for name in present], [present, [n for n in every if n not in present]]

    def flatten_with_keys(obj: Any) -> tuple[list[tuple[Any, Any]], list[list[str]]]:
        items, context = flatten(obj)
        return list(zip(map(GetAttrKey, context[0]), items, strict=True)), context

    def unflatten(items: Iterable[Any], context: list[list[str]]) -> Any:
        present, absent = context
        return cls(**dict(zip(present, items, strict=True)), **dict.fromkeys(absent))

    register_pytree_node(
        cls,
        flatten,
        unflatten,
        serialized_type_name=serialized_type_name,
        flatten_with_keys_fn=flatten_with_keys,
    )


class ConstantNode:
    """The context of a constant: the object itself."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConstantNode) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return f"ConstantNode(value={self.value!r})"


def _flatten_constant(obj: Any) -> tuple[list[Any], ConstantNode]:
    return [], ConstantNode(obj)


def register_constant(cls: type) -> None:
    """Let the objects of a class be a part of structures: containers without items, equal where the objects are.

    Raises
    ------
    TypeError
        If the class has no `__eq__` or no `__hash__` of its own.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from tt.utils._pytree import register_constant, tree_leaves
    >>> @dataclass(frozen=True)
    ... class Norm:
    ...     name: str
    >>> register_constant(Norm)
    >>> tree_leaves([Norm("l2"), 1])
    [1]
    """
    for method in ("__eq__", "__hash__"):
        if getattr(cls, method) in (getattr(object, method), None):
            raise ArgumentError(
                "register_constant", f"expects `cls` to have a non-default `{method}` implementation"
            )
    register_pytree_node(
        cls, _flatten_constant, lambda items, context: context.value, flatten_with_keys_fn=_flatten_constant
    )


def is_constant_class(cls: type) -> bool:
    """Return whether `register_constant` was called for a class."""
    node = SUPPORTED_NODES.get(cls)
    return node is not None and node.flatten_fn is _flatten_constant


def map_only(kind: Any, /) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Return a decorator of functions: other objects than those of a class are returned as they are.

    Examples
    --------
    >>> from tt.utils._pytree import map_only
    >>> double = map_only(int)(lambda x: 2 * x)
    >>> double(3), double("a")
    (6, 'a')
    """
    chosen = selects(kind)
    return lambda func: lambda leaf: func(leaf) if chosen(leaf) else leaf


# --- names that PyTorch's libraries use --------------------------------------------------------------------------


def _register_pytree_node(cls: type, flatten_fn: Any, unflatten_fn: Any, **options: Any) -> None:
    """Register a class, as libraries for older versions of PyTorch do; a second time replaces the first."""
    warn_user("_pytree._register_pytree_node is deprecated\n  try: register_pytree_node", FutureWarning)
    if cls in SUPPORTED_NODES:
        deregister_pytree_node(cls)
    register_pytree_node(cls, flatten_fn, unflatten_fn, **options)


def _broadcast_to_and_flatten(tree: PyTree, treespec: TreeSpec, is_leaf: IsLeaf = None) -> list[Any] | None:
    """Return the leaves of a tree, each as often as the structure has leaves in its place; None if it does not fit."""
    whole = tree_unflatten([0] * treespec.num_leaves, treespec)
    result: list[Any] = []
    try:
        tree_map_(
            lambda leaf, part: result.extend([leaf] * len(tree_leaves(part, is_leaf))),
            tree,
            whole,
            is_leaf=is_leaf,
        )
    except ValueRangeError:
        return None
    return result


def _get_node_type(tree: Any) -> Any:
    """Return the key of `SUPPORTED_NODES` for an object, or its class."""
    return namedtuple if is_namedtuple_instance(tree) and type(tree) not in SUPPORTED_NODES else type(tree)


_deregister_pytree_node = deregister_pytree_node
_is_leaf = tree_is_leaf
_, _list_flatten, _list_unflatten, _list_flatten_with_keys = SUPPORTED_NODES[list]
_, _tuple_flatten, _tuple_unflatten, _tuple_flatten_with_keys = SUPPORTED_NODES[tuple]
_, _dict_flatten, _dict_unflatten, _dict_flatten_with_keys = SUPPORTED_NODES[dict]
