"""torch._dynamo: what programs say to a compiler; there is none, so functions stay as they are."""

from __future__ import annotations

from typing import Any

from tt._compat.torch._dynamo import config
from tt._compat.torch._dynamo.eval_frame import OptimizedModule, is_dynamo_supported
from tt.compiler import (
    allow_in_graph,
    assume_constant_result,
    disable,
    is_compiling,
    list_backends,
    reset,
)

__all__ = [
    "OptimizedModule", "allow_in_graph", "assume_constant_result", "config", "disable", "disallow_in_graph",
    "forbid_in_graph", "graph_break", "is_compiling", "is_dynamo_supported", "list_backends", "mark_dynamic",
    "mark_static", "mark_static_address", "maybe_mark_dynamic", "nonstrict_trace", "reset", "substitute_in_graph",
]  # fmt: skip


def disallow_in_graph(fn: Any) -> Any:
    """Return the function, or the functions, as they are."""
    return fn


forbid_in_graph = disallow_in_graph
nonstrict_trace = disallow_in_graph


def substitute_in_graph(original_fn: Any, **options: Any) -> Any:
    """Return a decorator that changes nothing: both functions run as Python."""
    return lambda function: function


def graph_break(msg: str = "") -> None:
    """Do nothing: there are no graphs."""


def mark_dynamic(t: Any, index: Any = None, **options: Any) -> None:
    """Do nothing: shapes are not compiled in."""


maybe_mark_dynamic = mark_dynamic
mark_static = mark_dynamic


def mark_static_address(t: Any, guard: bool = True) -> None:
    """Do nothing: addresses are not compiled in."""
