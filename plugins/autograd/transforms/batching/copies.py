"""Batching rules of copies."""

from __future__ import annotations

from typing import Any

from tt.core.library import Operator, ops
from tt.plugins.autograd.transforms.batching.base import (
    BatchingTable,
    NoRuleError,
    align,
    all_first,
)
from tt.plugins.autograd.transforms.levels import Level, batched, hidden_dim_first

__all__ = ["table"]

table = BatchingTable()
rule = table.rule


@rule("copy")
def copy(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Expand the source to the examples of the target."""
    target, source, *rest = args
    (whole,) = all_first(level, [target])
    result = ops.copy(whole, align(level, (target, source))[1], *rest)
    return batched(result, 0, level)


@rule("clone", "_to_copy")
def copied(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Copy all examples; a memory format is one of the dims that the function sees."""
    inside, _ = hidden_dim_first(args[0], level)
    position = operator.positions["memory_format"]
    if str(args[position]).rpartition(".")[2] not in ("channels_last", "channels_last_3d"):
        return batched(operator.overload().dispatch((inside, *args[1:])), 0, level)
    if args[0].ndim < 4:
        raise NoRuleError
    # A memory format has no place for one more dim, so the examples join the batch.
    joined = ops.reshape(inside, (level.size * args[0].shape[0], *inside.shape[2:]))
    result = operator.overload().dispatch((joined, *args[1:]))
    return batched(ops.view(result, tuple(inside.shape)), 0, level)
