"""One value for each leaf of a tree of containers."""

from __future__ import annotations

from typing import Any

from tt.core.library import TensorBase, children_of, errors

__all__ = ["maps_itself", "spread_like"]


def spread_like(value: Any, tree: Any, name: str) -> list[Any]:
    """Return one value for each leaf of a tree; a value that is not a container applies to all leaves below it.

    Raises
    ------
    ValueError
        When the containers do not match.
    """
    node = None if maps_itself(tree) else children_of(tree)
    value_node = children_of(value)
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


def maps_itself(value: object) -> bool:
    """Return whether an object is no tensor and hides the dim that `vmap` maps over itself, as a TensorDict does.

    Its class has `_add_batch_dim(*, in_dim, vmap_level)`, and `_remove_batch_dim(vmap_level, batch_size, out_dim)`
    shows the dim again; levels are counted from 1, the outermost.
    """
    return not isinstance(value, TensorBase) and hasattr(type(value), "_add_batch_dim")


def _mismatch(name: str, value: object) -> Exception:
    return errors.ValueRangeError(f"vmap: {name} does not have the structure of the arguments: {value!r}")
