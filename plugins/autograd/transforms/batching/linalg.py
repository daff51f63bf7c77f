"""Batching rules of products of matrices."""

from __future__ import annotations

from typing import Any

from tt.core.library import Operator, ops
from tt.plugins.autograd.transforms.batching.base import (
    BatchingTable,
    NoRuleError,
    align,
    of_one_matrix,
)
from tt.plugins.autograd.transforms.levels import Level, batched

__all__ = ["table"]

table = BatchingTable()
table.rule("linalg_matrix_exp")(of_one_matrix)


@table.rule("matmul", "mm", "bmm")
def matmul(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Multiply with the hidden dim as one more dim of the batch."""
    left, right = args
    ndim = {"mm": 2, "bmm": 3}.get(operator.name)
    # What computes below is matmul, which would broadcast where mm and bmm refuse.
    if ndim is not None and not (left.ndim == right.ndim == ndim and left.shape[:-2] == right.shape[:-2]):
        raise NoRuleError  # refused, in the words of the operator
    # As matrices, for matmul to take the hidden dim as a batch and not as rows.
    left_vector, right_vector = left.ndim == 1, right.ndim == 1
    if left_vector:
        left = ops.unsqueeze(left, 0)
    if right_vector:
        right = ops.unsqueeze(right, -1)
    product = ops.matmul(*align(level, (left, right)))
    if left_vector:
        product = ops.squeeze(product, -2)
    if right_vector:
        product = ops.squeeze(product, -1)
    return batched(product, 0, level)
