"""Batching rules of new tensors that are like another: each example gets its own, so that it can be written to."""

from __future__ import annotations

from typing import Any

from tt.core.library import Operator, ops
from tt.plugins.autograd.transforms.batching.base import BatchingTable, NoRuleError
from tt.plugins.autograd.transforms.levels import Level, batched, hidden_dim_first

__all__ = ["table"]

table = BatchingTable()
rule = table.rule


@rule("empty_like", "zeros_like", "ones_like", "full_like")
def like(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Return a tensor like all examples; a memory format is one of the dims that the function sees."""
    inside, _ = hidden_dim_first(args[0], level)
    position = operator.positions["memory_format"]
    rank = {"channels_last": 4, "channels_last_3d": 5}.get(str(args[position]).rpartition(".")[2])
    if rank is None:
        return batched(operator.overload().dispatch((inside, *args[1:])), 0, level)
    if inside.ndim != rank + 1:
        raise NoRuleError  # refused, in the words of the operator
    # Behind the hidden dim the channels are dim 2; moved last, a plain copy has the order of the format.
    rows = [*args[1:position], "contiguous_format", *args[position + 1 :]]
    result = operator.overload().dispatch((ops.movedim.int(inside, 2, -1), *rows))
    return batched(ops.movedim.int(result, -1, 2), 0, level)


@rule("new_empty", "new_zeros", "new_ones", "new_full")
def new(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Return a new tensor for each example."""
    inside, _ = hidden_dim_first(args[0], level)
    return batched(operator.overload().dispatch((inside, (level.size, *args[1]), *args[2:])), 0, level)


@rule("new_empty_strided")
def new_empty_strided(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Return a new tensor for each example, one behind the other in memory."""
    self, size, stride, *rest = args
    inside, _ = hidden_dim_first(self, level)
    if len(size) != len(stride):
        raise NoRuleError  # refused, in the words of the operator
    # What one example reaches is the step to the next one.
    extent = 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    result = operator.overload().dispatch((inside, (level.size, *size), (extent, *stride), *rest))
    return batched(result, 0, level)
