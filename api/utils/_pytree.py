"""tt.utils._pytree: trees of containers, where PyTorch has them."""

from __future__ import annotations

from tt.core.layers.pytree import (
    TreeSpec,
    tree_any,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_map_only,
    tree_unflatten,
)

__all__ = [
    "TreeSpec",
    "tree_any",
    "tree_flatten",
    "tree_leaves",
    "tree_map",
    "tree_map_only",
    "tree_unflatten",
]
