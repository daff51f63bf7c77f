"""Batching rules of what works along one dim and keeps it."""

from __future__ import annotations

from typing import Any

from tt.core.library import Operator
from tt.plugins.autograd.transforms.batching.base import BatchingTable, NoRuleError, along_dim
from tt.plugins.autograd.transforms.levels import Level

__all__ = ["table"]

table = BatchingTable()
table.rule(
    "softmax", "log_softmax", "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "sort", "argsort"
)(along_dim)


@table.rule("topk")
def topk(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Choose along a dim that the function sees."""
    if not args[0].ndim:
        raise NoRuleError
    return along_dim(level, operator, args)
