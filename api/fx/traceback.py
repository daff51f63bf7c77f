"""tt.fx.traceback: what is known of a node goes with it when its graph is run or made again."""

from __future__ import annotations

import copy
import traceback as _traceback
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from tt.fx.node import Node

__all__ = [
    "annotate",
    "format_stack",
    "get_current_meta",
    "has_preserved_node_meta",
    "preserve_node_meta",
    "set_current_meta",
    "set_stack_trace",
]

_META: Final[ContextVar[dict[str, Any] | None]] = ContextVar("fx_node_meta", default=None)
_PRESERVED: Final[ContextVar[bool]] = ContextVar("fx_preserved", default=False)


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
    preserved, meta = _PRESERVED.set(enable), _META.set({} if enable else _META.get())
    try:
        yield
    finally:
        _PRESERVED.reset(preserved)
        _META.reset(meta)


def has_preserved_node_meta() -> bool:
    """Return whether nodes have the `meta` of the one that is run."""
    return _PRESERVED.get()


@contextmanager
def set_current_meta(node: Node, pass_name: str = "") -> Iterator[None]:
    """Take the `meta` of a node as that of what is made in a block; nothing outside of `preserve_node_meta`."""
    if not _PRESERVED.get() or not node.meta:
        yield
        return
    token = _META.set(
        {**copy.copy(node.meta), "from_node": [*node.meta.get("from_node", []), (node.name, node.target)]}
    )
    try:
        yield
    finally:
        _META.reset(token)


def get_current_meta() -> dict[str, Any]:
    """Return the `meta` of the node that is run."""
    return _META.get() or {}


@contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """Add values to the `custom` entry of the `meta` of what is made in a block."""
    before = _META.get() or {}
    token = _META.set({**before, "custom": {**before.get("custom", {}), **annotation_dict}})
    try:
        yield
    finally:
        _META.reset(token)


def set_stack_trace(stack: list[str]) -> None:
    """Take lines as those of the program that makes what follows; nothing outside of `preserve_node_meta`."""
    if _PRESERVED.get() and stack:
        _META.set({**(_META.get() or {}), "stack_trace": "".join(stack)})


def format_stack() -> list[str]:
    """Return the lines of the program: those of the node that is run, or where Python stands."""
    if _PRESERVED.get():
        return [str(get_current_meta().get("stack_trace", ""))]
    return _traceback.format_list(_traceback.extract_stack()[:-1])
