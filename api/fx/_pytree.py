"""tt.fx._pytree: containers taken apart by a structure that is known, as generated code does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tt.errors import ArgumentError
from tt.utils._pytree import PyTree, TreeSpec

__all__ = ["register_pytree_flatten_spec", "tree_flatten_spec"]

FlattenFuncSpec = Callable[[PyTree, TreeSpec], list[Any]]


def _by_index(pytree: PyTree, spec: TreeSpec) -> list[Any]:
    return [pytree[index] for index in range(len(spec.children()))]


def _by_key(pytree: PyTree, spec: TreeSpec) -> list[Any]:
    return [pytree[key] for key in spec.context]


# Looked up by the structure alone, so that a proxy can stand for the container when code is traced again.  Further
# containers come by `register_pytree_flatten_spec`.
SUPPORTED_NODES: Final[dict[Any, FlattenFuncSpec]] = {list: _by_index, tuple: _by_index, dict: _by_key}


def register_pytree_flatten_spec(
    cls: type,
    flatten_fn_spec: FlattenFuncSpec,
    flatten_fn_exact_match_spec: Callable[[PyTree, TreeSpec], bool] | None = None,
) -> None:
    """Say how a container is taken apart by a structure."""
    SUPPORTED_NODES[cls] = flatten_fn_spec


def tree_flatten_spec(pytree: PyTree, spec: TreeSpec) -> list[Any]:
    """Return the leaves of a tree that has a structure.

    Raises
    ------
    ArgumentError
        The tree has another one.

    Examples
    --------
    >>> from tt.utils import _pytree as pytree
    >>> from tt.fx._pytree import tree_flatten_spec
    >>> tree_flatten_spec({"a": 1, "b": (2, 3)}, pytree.tree_structure({"a": 0, "b": (0, 0)}))
    [1, 2, 3]
    """
    if spec.is_leaf():
        return [pytree]
    flatten = SUPPORTED_NODES.get(spec.type)
    if flatten is None and hasattr(spec.type, "_fields"):
        flatten = _by_index
    if flatten is None:
        return list(spec.flatten_up_to(pytree))
    children, parts = flatten(pytree, spec), spec.children()
    if len(children) != len(parts):
        raise ArgumentError("tree_flatten_spec", f"a {spec.type.__name__} of {len(parts)} was expected")
    return [
        leaf for child, part in zip(children, parts, strict=True) for leaf in tree_flatten_spec(child, part)
    ]
