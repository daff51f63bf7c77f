"""Batching rules of sorting and searching."""

from __future__ import annotations

from typing import Any

from tt.core.library import Operator, ops
from tt.plugins.autograd.transforms.batching.base import BatchingTable, NoRuleError, along_dim
from tt.plugins.autograd.transforms.levels import Level, batched, hidden_dim_first

__all__ = ["table"]

table = BatchingTable()
table.rule("sort", "argsort")(along_dim)


@table.rule("_searchsorted")
def searchsorted(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Search the sequence of each example, or one sequence for all of them."""
    sequence, values, right = args
    inside, hidden = hidden_dim_first(sequence, level)
    searched, differ = hidden_dim_first(values, level)
    # One vector serves values of any shape, those of all examples included.
    if not hidden and sequence.ndim == 1:
        return batched(operator.overload().dispatch((inside, searched, right)), 0, level)
    if sequence.ndim > 1 and (
        sequence.ndim != values.ndim or tuple(sequence.shape[:-1]) != tuple(values.shape[:-1])
    ):
        raise NoRuleError  # refused, in the words of the operator
    if not sequence.ndim:
        raise NoRuleError
    if not hidden:
        inside = ops.expand(inside, (level.size, *sequence.shape))
    if not differ:
        searched = ops.expand(searched, (level.size, *values.shape))
    # Sequences in rows are searched by rows, so the values of an example become one.
    if sequence.ndim == 1:
        searched = ops.reshape(searched, (level.size, values.shape.numel()))
    result = operator.overload().dispatch((inside, searched, right))
    return batched(ops.reshape(result, (level.size, *values.shape)), 0, level)


@table.rule("topk")
def topk(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Choose along a dim that the function sees."""
    if not args[0].ndim:
        raise NoRuleError
    return along_dim(level, operator, args)
