"""Batching rules of what looks at all elements to see whether they are allowed, which examples do together."""

from __future__ import annotations

from typing import Any

from tt.core.library import Operator, ops
from tt.plugins.autograd.transforms.batching.base import BatchingTable, NoRuleError, align, all_first, behind
from tt.plugins.autograd.transforms.levels import Level, batched, hidden_dim_first, unwrap

__all__ = ["table"]

table = BatchingTable()


@table.rule("quantile", "nanquantile")
def quantile(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Find the same quantiles of every example."""
    x, q, dim, keepdim, *rest = args
    inside, hidden = hidden_dim_first(x, level)
    if not hidden or unwrap(q, level)[1] is not None or not x.ndim:
        raise NoRuleError
    if dim is None:
        if keepdim:
            raise NoRuleError
        inside, dim = ops.reshape(inside, (level.size, x.shape.numel())), 0
        found = operator.overload().dispatch((inside, q, 1, False, *rest))
    else:
        found = operator.overload().dispatch((inside, q, behind(dim, x.ndim), keepdim, *rest))
    return batched(found, q.ndim, level)


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


@table.rule("one_hot")
def one_hot(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Put the classes behind all dims, where their number is given."""
    inside, _ = hidden_dim_first(args[0], level)
    if args[1] < 0:
        raise NoRuleError
    return batched(operator.overload().dispatch((inside, args[1])), 0, level)
