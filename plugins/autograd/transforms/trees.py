"""One value for each leaf of a tree of containers."""

from __future__ import annotations

from typing import Any

from tt.core.library import children_of, errors

__all__ = ["spread_like"]


def spread_like(value: Any, tree: Any, name: str) -> list[Any]:
    """Return one value for each leaf of a tree; a value that is not a container applies to all leaves below it.

    Raises
    ------
    ValueError
        When the containers do not match.
    """
    node, value_node = children_of(tree), children_of(value)
    if node is None:
        if value_node is None:
            return [value]
        # PyTorch takes a tuple of one for a single result.
        if name == "out_dims" and len(value_node[1]) == 1:
            return value_node[1]
        raise _mismatch(name, value)
    items = node[1]
    if value_node is None:
        values = [value] * len(items)
    elif isinstance(tree, dict) and isinstance(value, dict):
        # The keys decide, in whatever order they are.
        if set(value) != set(tree):
            raise _mismatch(name, value)
        values = [value[key] for key in tree]
    else:
        values = value_node[1]
        if len(values) != len(items) or isinstance(tree, dict) or isinstance(value, dict):
            raise _mismatch(name, value)
    return [leaf for each, item in zip(values, items, strict=True) for leaf in spread_like(each, item, name)]


def _mismatch(name: str, value: object) -> Exception:
    return errors.ValueRangeError(f"vmap: {name} does not have the structure of the arguments: {value!r}")
