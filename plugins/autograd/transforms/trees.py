"""Nested tuples, lists and dicts of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt.core.library import errors

__all__ = ["flatten", "spread_like", "unflatten"]

_LEAF = object()


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """Return the leaves of a tree, and its shape for `unflatten`."""
    leaves: list[Any] = []

    def walk(node: Any) -> Any:
        if isinstance(node, dict):
            return type(node), {key: walk(value) for key, value in node.items()}
        if isinstance(node, list | tuple):
            return type(node), [walk(value) for value in node]
        leaves.append(node)
        return _LEAF

    shape = walk(tree)
    return leaves, shape


def unflatten(shape: Any, leaves: Sequence[Any]) -> Any:
    """Return a tree of the given shape with other leaves."""
    remaining = iter(leaves)

    def build(node: Any) -> Any:
        if node is _LEAF:
            return next(remaining)
        kind, children = node
        if isinstance(children, dict):
            return kind((key, build(child)) for key, child in children.items())
        built = [build(child) for child in children]
        # A named tuple takes its fields one by one.
        return kind._make(built) if hasattr(kind, "_make") else kind(built)

    return build(shape)


def spread_like(value: Any, tree: Any, name: str) -> list[Any]:
    """Return one value for each leaf of a tree; a value that is not a container applies to all leaves below it.

    Raises
    ------
    ValueError
        When the containers do not match.
    """
    if isinstance(tree, dict | list | tuple):
        children = list(tree.values()) if isinstance(tree, dict) else list(tree)
        if isinstance(value, dict | list | tuple):
            if len(value) != len(tree) or (isinstance(value, dict) and set(value) != set(tree)):
                raise errors.ValueRangeError(
                    f"vmap: {name} does not have the structure of the arguments: {value!r}"
                )
            values = [value[key] for key in tree] if isinstance(tree, dict) else list(value)
        else:
            values = [value] * len(children)
        return [
            leaf for v, child in zip(values, children, strict=True) for leaf in spread_like(v, child, name)
        ]
    if isinstance(value, dict | list | tuple):
        # PyTorch takes a tuple of one for a single result.
        if name == "out_dims" and len(value) == 1:
            return list(value)
        raise errors.ValueRangeError(f"vmap: {name} does not have the structure of the arguments: {value!r}")
    return [value]
