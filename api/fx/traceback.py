"""tt.fx.traceback: what is known of a node goes with it when its graph is run or made again."""

from __future__ import annotations

import copy
import traceback as _traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from tt.fx.node import Node
from tt.library import Carried

__all__ = [
    "annotate",
    "format_stack",
    "get_current_meta",
    "has_preserved_node_meta",
    "preserve_node_meta",
    "set_current_meta",
    "set_stack_trace",
]


class _Current(Carried):
    """What is known of the node that this thread runs, and whether nodes that it makes get it."""

    meta: dict[str, Any] | None = None
    preserved = False


_CURRENT: Final = _Current()


@contextmanager
def _with_meta(meta: dict[str, Any] | None) -> Iterator[None]:
    before, _CURRENT.meta = _CURRENT.meta, meta
    try:
        yield
    finally:
        _CURRENT.meta = before


@contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """Let nodes that are made in a block have the `meta` of the one that is run.

    Examples
    --------
    >>> from tt.fx import traceback
    >>> with traceback.preserve_node_meta():
    ...     traceback.has_preserved_node_meta()
    True
    """
    before, _CURRENT.preserved = _CURRENT.preserved, enable
    try:
        with _with_meta({} if enable else _CURRENT.meta):
            yield
    finally:
        _CURRENT.preserved = before


def has_preserved_node_meta() -> bool:
    """Return whether nodes have the `meta` of the one that is run."""
    return _CURRENT.preserved


@contextmanager
def set_current_meta(node: Node, pass_name: str = "") -> Iterator[None]:
    """Take the `meta` of a node as that of what is made in a block; nothing outside of `preserve_node_meta`."""
    if not _CURRENT.preserved or not node.meta:
        yield
        return
    came_from = [*node.meta.get("from_node", []), (node.name, node.target)]
    with _with_meta({**copy.copy(node.meta), "from_node": came_from}):
        yield


def get_current_meta() -> dict[str, Any]:
    """Return the `meta` of the node that is run."""
    return _CURRENT.meta or {}


@contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """Add values to the `custom` entry of the `meta` of what is made in a block."""
    before = _CURRENT.meta or {}
    with _with_meta({**before, "custom": {**before.get("custom", {}), **annotation_dict}}):
        yield


def set_stack_trace(stack: list[str]) -> None:
    """Take lines as those of the program that makes what follows; nothing outside of `preserve_node_meta`."""
    if _CURRENT.preserved and stack:
        _CURRENT.meta = {**(_CURRENT.meta or {}), "stack_trace": "".join(stack)}


def format_stack() -> list[str]:
    """Return the lines of the program: those of the node that is run, or where Python stands."""
    if _CURRENT.preserved:
        return [str(get_current_meta().get("stack_trace", ""))]
    return _traceback.format_list(_traceback.extract_stack()[:-1])
