"""tt.return_types: the classes of results with names, such as `tt.return_types.max` of `tt.max(x, 0)`."""

from __future__ import annotations

from functools import cache
from typing import Any

from tt.core.dispatch.call.results import return_type
from tt.core.dispatch.registry.registry import REGISTRY


@cache
def _classes() -> dict[str, Any]:
    """Return the classes by their names; those of `out=` forms are the same classes."""
    classes = {}
    for name in REGISTRY.names():
        definition = None if "::" in name else REGISTRY.definition(name)
        if definition is None:
            continue
        fields = tuple(str(r.name) for r in definition.signature.returns if r.name is not None)
        if 1 < len(fields) == len(definition.signature.returns):
            short = definition.signature.name
            classes[short] = return_type(short, fields)
            classes[f"{short}_out"] = classes[short]
    return classes


def pytree_register_structseq(cls: type) -> None:
    """Let the objects of a class of results in C, such as `time.struct_time`, be containers in trees.

    Raises
    ------
    ValueError
        If they are already, as those of this module.

    Examples
    --------
    >>> import time, tt
    >>> from tt.utils._pytree import tree_leaves
    >>> tt.return_types.pytree_register_structseq(time.struct_time)
    >>> len(tree_leaves(time.gmtime(0)))
    9
    """
    from tt.utils._pytree import is_namedtuple_class, register_pytree_node

    if is_namedtuple_class(cls):
        raise ValueError(f"{cls.__name__} is a container of trees already")
    register_pytree_node(cls, lambda found: (list(found), None), lambda items, _: cls(items))


def __getattr__(name: str) -> Any:
    if name == "all_return_types":
        return list(dict.fromkeys(_classes().values()))
    if name == "__all__":
        return [name for name in __dir__() if not name.startswith("_")]
    try:
        return _classes()[name]
    except KeyError:
        raise AttributeError(f"module 'tt.return_types' has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted({"all_return_types", "pytree_register_structseq", *_classes()})
