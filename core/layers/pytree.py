"""Trees of lists, tuples, dicts and other values, with which handlers reach the tensors in arguments."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import UnionType
from typing import Any, NamedTuple

from tt.core.errors import ValueRangeError

__all__ = [
    "SAVED",
    "SavedForm",
    "TreeSpec",
    "children_of",
    "register_pytree_node",
    "selects",
    "tree_any",
    "tree_flatten",
    "tree_leaves",
    "tree_map",
    "tree_map_only",
    "tree_unflatten",
]


@dataclass(frozen=True)
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

    def __post_init__(self) -> None:
        if type(self._children) is not tuple:
            object.__setattr__(self, "_children", tuple(self._children))  # a caller's list may change

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
            keys = self.context[0] if self.type is defaultdict else self.context
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


_LEAF = TreeSpec(None, None, ())
_END = object()
_DICTS = (dict, OrderedDict, defaultdict)


class SavedForm(NamedTuple):
    """How structures with a registered class become text: the class's name, and conversions of the context."""

    name: str
    dump: Callable[[Any], Any] | None
    load: Callable[[Any], Any] | None


SAVED: dict[type, SavedForm] = {}
"""The registered classes whose structures become text."""
_REGISTERED: dict[type, tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]] = {}


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], Any],
    unflatten_fn: Callable[[Any, Any], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    flatten_with_keys_fn: Any = None,
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
    flatten_with_keys_fn
        PyTorch's names of the items in paths; accepted and not used.

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
    if cls in _REGISTERED or cls in (list, tuple, deque, *_DICTS):
        raise ValueRangeError(f"{cls.__name__} is a container of trees already")
    if (to_dumpable_context is None) is not (from_dumpable_context is None):
        raise ValueRangeError(
            f"register_pytree_node(): {cls.__name__} has one of to_dumpable_context and from_dumpable_context; "
            "give both or none"
        )
    _REGISTERED[cls] = (flatten_fn, unflatten_fn)
    if serialized_type_name is not None:
        SAVED[cls] = SavedForm(serialized_type_name, to_dumpable_context, from_dumpable_context)


def children_of(tree: Any) -> tuple[Any, list[Any]] | None:
    """Return the context and the items of a container; None for a leaf."""
    kind = type(tree)
    # The classes that most nodes have first.
    if kind is tuple or kind is list:
        return None, list(tree)
    if kind in _REGISTERED:
        items, context = _REGISTERED[kind][0](tree)
        return context, list(items)
    # No subclasses, as in PyTorch: what their constructors take is not known.
    if kind in _DICTS:
        keys = list(tree)
        return (keys, tree.default_factory) if kind is defaultdict else keys, list(tree.values())
    # A named tuple has `_make`.
    if isinstance(tree, tuple) and hasattr(kind, "_make"):
        return None, list(tree)
    return (tree.maxlen, list(tree)) if kind is deque else None


def _make(kind: Any, context: Any, items: list[Any]) -> Any:
    if kind is list:
        return items
    if kind in _REGISTERED:
        return _REGISTERED[kind][1](items, context)
    if kind is defaultdict:
        # Keys and values are zipped in the order of the structure, which is the order of the leaves.
        return kind(context[1], zip(context[0], items, strict=True))
    if kind in _DICTS:
        return kind(zip(context, items, strict=True))
    return deque(items, context) if kind is deque else getattr(kind, "_make", kind)(items)


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """Return the leaves of a tree, and its structure.

    Parameters
    ----------
    tree : object
        Lists, tuples, named tuples, dicts, ordered and default ones, deques and registered classes, in each other;
        everything else is a leaf, instances of their subclasses, too.
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


def tree_unflatten(leaves: list[Any], treespec: TreeSpec) -> Any:
    """Return the tree of a structure with other leaves.

    Raises
    ------
    ValueRangeError
        When there are not as many leaves as the structure has.
    """
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
    """Return a tree with a function applied to each leaf (and to the leaves of further trees).

    Examples
    --------
    >>> from tt.core.layers.pytree import tree_map
    >>> tree_map(lambda x: -x, (1, [2, {"a": 3}]))
    (-1, [-2, {'a': -3}])
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [tree_leaves(rest, is_leaf) for rest in rests]
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
