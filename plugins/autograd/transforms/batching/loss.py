"""Batching rules of losses."""

from __future__ import annotations

from typing import Any

from tt.core.library import Operator, ops
from tt.plugins.autograd.transforms.batching.base import BatchingTable, NoRuleError, align, all_first
from tt.plugins.autograd.transforms.levels import Level, batched

__all__ = ["table"]

table = BatchingTable()


@table.rule("binary_cross_entropy")
def binary_cross_entropy(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Compute the loss of each element, and reduce the visible dims."""
    reduction = args[operator.positions["reduction"]]
    named = dict(zip((a.name for a in operator.arguments), args, strict=True))
    if reduction not in ("none", "mean", "sum") or not (named["size_average"] is named["reduce"] is None):
        raise NoRuleError
    if named["input"].shape != named["target"].shape:
        raise NoRuleError
    x, target, weight, *rest = args
    weight = None if weight is None else align(level, (x, weight))[1]
    rest[operator.positions["reduction"] - 3] = "none"
    each = batched(operator.overload().dispatch((*all_first(level, [x, target]), weight, *rest)), 0, level)
    return each if reduction == "none" else getattr(ops, reduction)(each)
