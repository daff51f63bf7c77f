"""The batching rule of quantiles."""

from __future__ import annotations

from typing import Any

from tt.core.library import Operator, ops
from tt.plugins.autograd.transforms.batching.base import BatchingTable, NoRuleError, behind
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
        result = operator.overload().dispatch((inside, q, 1, False, *rest))
    else:
        result = operator.overload().dispatch((inside, q, behind(dim, x.ndim), keepdim, *rest))
    # The dims of q come first in the result, and the examples behind them.
    return batched(result, q.ndim, level)
