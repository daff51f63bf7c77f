"""Trees of lists, tuples, dicts and other values, with which handlers reach the tensors in arguments."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import UnionType
from typing import Any, NamedTuple

from tt.core.errors import ArgumentError, ValueRangeError
from tt.core.types.size import Size

__all__ = [
    "SAVED",
    "SUPPORTED_NODES",
    "GetAttrKey",
    "LeafSpec",
    "MappingKey",
    "NodeDef",
    "SavedForm",
    "SequenceKey",
    "TreeSpec",
    "children_of",
    "deregister_pytree_node",
    "keys_of",
    "register_pytree_node",
    "selects",
    "tree_any",
    "tree_flatten",
    "tree_leaves",
    "tree_map",
    "tree_map_only",
    "tree_unflatten",
]


# --- keys ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SequenceKey:
    """The place of an item in a list or tuple."""

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


# --- structures ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, init=False, eq=False)
class TreeSpec:
    """The structure of a tree: the type of the container, the data to rebuild it, and its content.

    Attributes
    ----------
    type : type or None
        list, tuple, a named tuple or dict; None for a leaf.
    context : object
        The keys of a dict.
    """

    type: Any
    context: Any
    _children: tuple[TreeSpec, ...]

    # The third parameter has PyTorch's name.
    def __init__(self, type: Any, context: Any, children_specs: Iterable[TreeSpec]) -> None:
        object.__setattr__(self, "type", type)
        object.__setattr__(self, "context", context)
        # A caller's list may change.
        children = children_specs if children_specs.__class__ is tuple else tuple(children_specs)
        object.__setattr__(self, "_children", children)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (self.type, self.context, self._children) == (other.type, other.context, other._children)

    def __hash__(self) -> int:  # the keys of a dict are a list
        return hash((self.type, self._children))

    def __repr__(self) -> str:
        return self._text(0)

    def _text(self, indent: int) -> str:
        """Return the structure as PyTorch writes it: each item after the first on a line of its own."""
        if self.type is None:
            return "*"
        indent += 2
        items = f",\n{' ' * indent}".join(child._text(indent) for child in self._children)
        return f"TreeSpec({self.type.__name__}, {self.context}, [{items}])"

    @property
    def children_specs(self) -> list[TreeSpec]:
        """The structures of the items, in order."""
        return list(self._children)

    def children(self) -> list[TreeSpec]:
        """Return the structures of the items, in order."""
        return list(self._children)

    def child(self, index: int) -> TreeSpec:
        """Return the structure of one item."""
        return self._children[index]

    def is_leaf(self) -> bool:
        """Return whether this is the structure of a leaf."""
        return self.type is None

    @property
    def num_children(self) -> int:
        """The number of items."""
        return len(self._children)

    @property
    def num_nodes(self) -> int:
        """The number of containers and leaves, this one among them."""
        return 1 + sum(child.num_nodes for child in self._children)

    @property
    def num_leaves(self) -> int:
        """The number of leaves."""
        return 1 if self.type is None else sum(child.num_leaves for child in self._children)

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Return the tree of this structure with other leaves; see `tree_unflatten`."""
        return tree_unflatten(list(leaves), self)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """Return the parts of a tree that stand where this structure has its leaves.

        Dicts of any class serve for each other, by their keys; `maxlen` of a deque does not count.

        Raises
        ------
        ValueRangeError
            If the tree has another container, or other items, where this structure has a container.

        Examples
        --------
        >>> from tt.core.layers.pytree import tree_flatten
        >>> tree_flatten({"a": 1, "b": (2, 3)})[1].flatten_up_to({"b": ([4, 5], 6), "a": {"x": 7}})
        [{'x': 7}, [4, 5], 6]
        """
        if self.type is None:
            return [tree]
        kind, children = type(tree), children_of(tree)
        dicts = kind in _DICTS and self.type in _DICTS
        # By the exact class: a subclass may need other data to be rebuilt.
        if children is None or (kind is not self.type and not dicts):
            raise ValueRangeError(
                f"flatten_up_to(): Node type mismatch; expected {self.type!r}, but got {kind!r}."
            )
        context, items = children
        if len(items) != self.num_children:
            raise ValueRangeError(
                f"flatten_up_to(): Node arity mismatch; expected {self.num_children}, but got {len(items)}."
            )
        if dicts:
            keys = self.context[1] if self.type is defaultdict else self.context
            if set(keys) != set(tree):
                raise ValueRangeError(
                    f"flatten_up_to(): Node keys mismatch; expected {list(keys)}, but got {list(tree)}."
                )
            items = [tree[key] for key in keys]
        # The context of a deque is its maximum length, in which trees may differ.
        elif kind is not deque and context != self.context:
            raise ValueRangeError(
                f"flatten_up_to(): Node context mismatch; expected {self.context!r}, but got {context!r}."
            )
        return [
            part
            for item, spec in zip(items, self._children, strict=True)
            for part in spec.flatten_up_to(item)
        ]


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    def __init__(self) -> None:
        super().__init__(None, None, ())


_LEAF = LeafSpec()
_END = object()
_DICTS = (dict, OrderedDict, defaultdict)


# --- containers ----------------------------------------------------------------------------------------------------


class SavedForm(NamedTuple):
    """How structures with a registered class become text: the class's name, and conversions of the context."""

    name: str
    dump: Callable[[Any], Any] | None
    load: Callable[[Any], Any] | None


SAVED: dict[type, SavedForm] = {}
"""The registered classes whose structures become text."""


class NodeDef(NamedTuple):
    """How the objects of a class are taken apart and made, as PyTorch's table has it."""

    type: type[Any]
    flatten_fn: Callable[[Any], tuple[list[Any], Any]]
    unflatten_fn: Callable[[Any, Any], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None


def _sequence(kind: Any, context: Callable[[Any], Any], make: Callable[[Any, Any], Any]) -> NodeDef:
    return NodeDef(
        kind,
        lambda items: (list(items), context(items)),
        make,
        lambda items: ([(SequenceKey(i), item) for i, item in enumerate(items)], context(items)),
    )


def _mapping(kind: Any, context: Callable[[Any], Any], make: Callable[[Any, Any], Any]) -> NodeDef:
    return NodeDef(
        kind,
        lambda items: (list(items.values()), context(items)),
        make,
        lambda items: ([(MappingKey(key), item) for key, item in items.items()], context(items)),
    )


SUPPORTED_NODES: dict[Any, NodeDef] = {
    node.type: node
    for node in (
        _sequence(list, lambda items: None, lambda items, context: list(items)),
        _sequence(tuple, lambda items: None, lambda items, context: tuple(items)),
        _sequence(
            Size, lambda items: None, lambda items, context: tuple(items)
        ),  # its items may be no sizes then
        _sequence(deque, lambda items: items.maxlen, deque),
        _mapping(dict, list, lambda items, keys: dict(zip(keys, items, strict=True))),
        _mapping(OrderedDict, list, lambda items, keys: OrderedDict(zip(keys, items, strict=True))),
        _mapping(
            defaultdict,
            lambda items: [items.default_factory, list(items)],
            lambda items, context: defaultdict(context[0], zip(context[1], items, strict=True)),
        ),
        NodeDef(
            namedtuple,  # type: ignore[arg-type]  # a function, which stands for all classes that it makes
            lambda items: (list(items), type(items)),
            lambda items, kind: kind(*items),
            lambda items: ([(GetAttrKey(n), getattr(items, n)) for n in items._fields], type(items)),
        ),
    )
}
"""The classes of containers: Python's, and those that were registered."""
_BUILT_IN = frozenset(SUPPORTED_NODES)


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], Any],
    unflatten_fn: Callable[[Any, Any], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    flatten_with_keys_fn: Callable[[Any], Any] | None = None,
) -> None:
    """Let the objects of a class be containers in trees.

    Parameters
    ----------
    cls : type
        The class itself; subclasses of it are leaves.
    flatten_fn : callable
        Returns the items of an object, and what else is needed to make it.
    unflatten_fn : callable
        Makes an object from items and that.
    serialized_type_name : str, optional
        The name of the class in texts of structures; see `treespec_dumps`.
    to_dumpable_context, from_dumpable_context : callable, optional
        Convert the rest to what JSON takes, and back; both or none.
    flatten_with_keys_fn : callable, optional
        Returns pairs of a key and an item in place of the items, for the functions that give paths.

    Raises
    ------
    ValueError
        If the class is a container already, or only one of the conversions is given.

    Examples
    --------
    >>> from tt.core.layers.pytree import register_pytree_node, tree_map
    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda items, _: Pair(*items))
    >>> tree_map(lambda x: -x, Pair(1, 2)).b
    -2
    """
    # A second registration would change how trees that exist already are rebuilt.
    if cls in SUPPORTED_NODES:
        raise ValueRangeError(f"{cls.__name__} is a container of trees already")
    if (to_dumpable_context is None) is not (from_dumpable_context is None):
        raise ValueRangeError(
            f"register_pytree_node(): {cls.__name__} has one of to_dumpable_context and from_dumpable_context; "
            "give both or none"
        )
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    if serialized_type_name is not None:
        SAVED[cls] = SavedForm(serialized_type_name, to_dumpable_context, from_dumpable_context)


def deregister_pytree_node(cls: type) -> None:
    """Let the objects of a registered class be leaves again.

    Raises
    ------
    ValueRangeError
        If the class was not registered.
    """
    if cls not in SUPPORTED_NODES or cls in _BUILT_IN:
        raise ValueRangeError(f"{cls.__name__} is no registered container of trees")
    del SUPPORTED_NODES[cls]
    SAVED.pop(cls, None)


def children_of(tree: Any) -> tuple[Any, list[Any]] | None:
    """Return the context and the items of a container; None for a leaf."""
    kind = type(tree)
    # The classes that most nodes have first.
    if kind is tuple or kind is list:
        return None, list(tree)
    # No subclasses, as in PyTorch: what their constructors take is not known.
    node = SUPPORTED_NODES.get(kind)
    if node is not None:
        items, context = node.flatten_fn(tree)
        return context, list(items)
    # A named tuple has `_make`.
    return (None, list(tree)) if isinstance(tree, tuple) and hasattr(kind, "_make") else None


def keys_of(tree: Any) -> list[Any]:
    """Return the keys of the items of a container.

    Raises
    ------
    ValueRangeError
        If its class was registered without `flatten_with_keys_fn`.
    """
    kind = type(tree)
    node = SUPPORTED_NODES.get(kind)
    if node is None:
        return [*map(GetAttrKey, kind._fields)]
    if node.flatten_with_keys_fn is None:
        raise ValueRangeError(
            f"Did not find a flatten_with_keys_fn for type: {kind}\n"
            "  try: register_pytree_node(..., flatten_with_keys_fn=...)"
        )
    return [key for key, _ in node.flatten_with_keys_fn(tree)[0]]


def _make(kind: Any, context: Any, items: list[Any]) -> Any:
    if kind is list:
        return items
    node = SUPPORTED_NODES.get(kind)
    if node is not None:
        return node.unflatten_fn(items, context)
    return getattr(kind, "_make", kind)(items)


# --- trees ---------------------------------------------------------------------------------------------------------


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """Return the leaves of a tree, and its structure.

    Parameters
    ----------
    tree : object
        Lists, tuples, sizes, named tuples, dicts, ordered and default ones, deques and registered classes, in each
        other; everything else is a leaf, instances of their subclasses, too.
    is_leaf : callable, optional
        Says of a container whether it is a leaf, too.

    Examples
    --------
    >>> from tt.core.layers.pytree import tree_flatten, tree_unflatten
    >>> leaves, spec = tree_flatten({"a": [1, 2], "b": 3})
    >>> leaves, tree_unflatten([x * 10 for x in leaves], spec)
    ([1, 2, 3], {'a': [10, 20], 'b': 30})
    """
    leaves: list[Any] = []

    def structure(tree: Any) -> TreeSpec:
        # `is_leaf` is asked before the containers, so that it can keep a list whole.
        node = None if is_leaf is not None and is_leaf(tree) else children_of(tree)
        if node is None:
            leaves.append(tree)
            return _LEAF
        context, items = node
        return TreeSpec(type(tree), context, tuple([structure(item) for item in items]))

    return leaves, structure(tree)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """Return the tree of a structure with other leaves.

    Raises
    ------
    ValueRangeError
        When there are not as many leaves as the structure has.
    ArgumentError
        When `treespec` is no structure.
    """
    if not isinstance(treespec, TreeSpec):
        raise ArgumentError(
            "tree_unflatten",
            f"argument 'treespec' must be an instance of TreeSpec, not {type(treespec).__name__}",
        )
    leaves = list(leaves)
    rest = iter(leaves)

    def build(spec: TreeSpec) -> Any:
        if spec.type is None:
            return next(rest)
        return _make(spec.type, spec.context, [build(child) for child in spec._children])

    try:
        tree = build(treespec)
    except StopIteration:
        complete = False
    else:
        complete = next(rest, _END) is _END
    if not complete:
        raise ValueRangeError(
            f"tree_unflatten(): the structure has {treespec.num_leaves} leaves, and {len(leaves)} were given"
        )
    return tree


def tree_map(
    func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """Return a tree with a function applied to each leaf.

    Parameters
    ----------
    func : callable
        Gets a leaf, and of each further tree what is in the leaf's place: perhaps a container.
    tree : object
        Whose leaves they are.
    *rests : object
        Trees with the same containers above the leaves of `tree`; see `TreeSpec.flatten_up_to`.
    is_leaf : callable, optional
        Says of a container of `tree` whether it is a leaf, too.

    Raises
    ------
    ValueRangeError
        If a further tree has other containers.

    Examples
    --------
    >>> from tt.core.layers.pytree import tree_map
    >>> tree_map(lambda x: -x, (1, [2, {"a": 3}]))
    (-1, [-2, {'a': -3}])
    >>> tree_map(lambda x, y: (x, y), [1, 2], ["a", ["b", "c"]])
    [(1, 'a'), (2, ['b', 'c'])]
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    return tree_unflatten([func(*values) for values in zip(leaves, *others, strict=True)], spec)


def selects(kind: Any) -> Callable[[Any], bool]:
    """Return the predicate that a class, several in a tuple or a union, or a predicate stands for."""
    # Classes are callable too, and mean an instance check, as in PyTorch.
    if isinstance(kind, type | tuple | UnionType) or not callable(kind):
        return lambda leaf: isinstance(leaf, kind)
    chosen: Callable[[Any], bool] = kind
    return chosen


def tree_map_only(
    kind: Any, func: Callable[[Any], Any], tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """Do as `tree_map` for the leaves of a class (or of several, in a tuple) or of a predicate; the others stay.

    Examples
    --------
    >>> from tt.core.layers.pytree import tree_map_only
    >>> tree_map_only(int, lambda x: -x, [1, "a"])
    [-1, 'a']
    """
    chosen = selects(kind)
    return tree_map(lambda leaf: func(leaf) if chosen(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """Return the leaves of a tree."""
    return tree_flatten(tree, is_leaf)[0]


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Return whether a predicate holds for any leaf."""
    return any(pred(leaf) for leaf in tree_leaves(tree, is_leaf))
