"""Structures of trees as text, in PyTorch's format, and in words."""

from __future__ import annotations

import json
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any, Final

from tt.core.by_name import object_named
from tt.core.errors import UnsupportedError, ValueRangeError
from tt.core.layers.pytree import SAVED, LeafSpec, TreeSpec, tree_unflatten

__all__ = ["treespec_dumps", "treespec_loads", "treespec_pprint"]

PROTOCOL: Final = 1

_NAMES: Final[dict[type, str]] = {
    list: "builtins.list",
    tuple: "builtins.tuple",
    dict: "builtins.dict",
    OrderedDict: "collections.OrderedDict",
    defaultdict: "collections.defaultdict",
    deque: "collections.deque",
}
_FACTORIES: Final = ("builtins", "collections")
"""The modules of the types that make a defaultdict's items, in texts."""
_KINDS: Final = {name: kind for kind, name in _NAMES.items()}


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """Return a structure as text, which `treespec_loads` and PyTorch read.

    Parameters
    ----------
    treespec : TreeSpec
        The structure.  Keys of dicts are what JSON has: texts, numbers, bools and None.
    protocol : int, optional
        Of the format: 1.

    Raises
    ------
    ValueError
        For another protocol.
    NotImplementedError
        For named tuples, keys that JSON has not, and classes that were registered without `serialized_type_name`.

    Examples
    --------
    >>> from tt.utils._pytree import tree_structure, treespec_dumps, treespec_loads
    >>> text = treespec_dumps(tree_structure((1, 2)))
    >>> treespec_loads(text) == tree_structure((3, 4))
    True
    """
    if protocol not in (None, PROTOCOL):
        raise ValueRangeError(f"unknown protocol {protocol} of structures; there is only {PROTOCOL}")
    return json.dumps([PROTOCOL, _written(treespec)])


def _written(spec: TreeSpec) -> dict[str, Any]:
    if spec.type is None:
        return {"type": None, "context": None, "children_spec": []}
    name, context = _named(spec.type, spec.context)
    return {"type": name, "context": context, "children_spec": [_written(child) for child in spec._children]}


def _named(kind: type, context: Any) -> tuple[str, Any]:
    """Return the name of a container's class, and what JSON takes of the context."""
    saved = SAVED.get(kind)
    if saved is not None:
        return saved.name, json.dumps(context) if saved.dump is None else saved.dump(context)
    name = _NAMES.get(kind)
    if name is None:
        raise UnsupportedError(
            f"a structure with {kind.__qualname__} has no text\n"
            "  try: register_pytree_node(..., serialized_type_name=...)"
        )
    if kind is defaultdict:
        factory, keys = context
        if not isinstance(factory, type) or factory.__module__ not in _FACTORIES:
            raise UnsupportedError(f"a defaultdict of {factory!r} has no text in structures")
        return name, {
            "default_factory_module": factory.__module__,
            "default_factory_name": factory.__qualname__,
            "dict_context": _keys(keys),
        }
    if issubclass(kind, dict):
        # PyTorch writes the context as JSON within JSON.
        return name, json.dumps(_keys(context))
    return name, json.dumps(context)


def _keys(keys: list[Any]) -> list[Any]:
    for key in keys:
        # JSON makes texts of all other keys, which would not read back.
        if not isinstance(key, str | int | float | None):
            raise UnsupportedError(
                f"a structure with the key {key!r} has no text: JSON lacks {type(key).__name__}"
            )
    return list(keys)


def treespec_loads(serialized: str) -> TreeSpec:
    """Return the structure that `treespec_dumps`, or PyTorch's, wrote.

    The text names classes; only containers, registered classes and factories of `builtins` are found by their names.

    Raises
    ------
    ValueError
        For text that is none of a structure, another protocol, and classes that were not registered.

    Examples
    --------
    >>> from tt.utils._pytree import tree_structure, treespec_dumps, treespec_loads, treespec_pprint
    >>> treespec_pprint(treespec_loads(treespec_dumps(tree_structure({"a": [1, 2]}))))
    "{'a': [*, *]}"
    """
    try:
        protocol, written = json.loads(serialized)
    except (TypeError, ValueError) as error:
        raise ValueRangeError(f"this is not the text of a structure: {error}") from error
    if protocol != PROTOCOL:
        raise ValueRangeError(f"unknown protocol {protocol} of structures; there is only {PROTOCOL}")
    try:
        return _read(written)
    except (AttributeError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueRangeError(f"this is not the text of a structure: {error}") from error


def _read(written: dict[str, Any]) -> TreeSpec:
    name, context = written["type"], written["context"]
    children = tuple(_read(child) for child in written["children_spec"])
    if name is None:
        return LeafSpec()
    for kind, saved in SAVED.items():
        if saved.name == name:
            restored = json.loads(context) if saved.load is None else saved.load(context)
            return TreeSpec(kind, restored, children)
    if name not in _KINDS:
        raise ValueRangeError(f"no container {name!r} is registered for structures")
    kind = _KINDS[name]
    if kind is defaultdict:
        return TreeSpec(kind, [_factory(context), list(context["dict_context"])], children)
    plain = json.loads(context)
    return TreeSpec(kind, plain, children)


def _factory(context: dict[str, str]) -> Callable[[], Any]:
    """Return the factory of a defaultdict; only types of Python's own, since a file must not choose the function."""
    module, name = context["default_factory_module"], context["default_factory_name"]
    if module not in _FACTORIES:
        raise ValueRangeError(
            f"the factory {module}.{name} of a defaultdict is not one of Python's containers"
        )
    factory: Any = object_named(f"{module}:{name}")
    if not isinstance(factory, type):
        raise ValueRangeError(f"the factory {module}.{name} of a defaultdict is not a type")
    return factory


class _Star:
    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """Return a structure as its tree looks, with a star for each leaf.

    Examples
    --------
    >>> from tt.utils._pytree import tree_structure, treespec_pprint
    >>> treespec_pprint(tree_structure([1, (2, None)]))
    '[*, (*, *)]'
    """
    return repr(tree_unflatten([_Star()] * treespec.num_leaves, treespec))
