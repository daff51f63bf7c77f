"""Batching rules of decompositions and solutions of equations."""

from __future__ import annotations

from typing import Any

from tt.core.library import Operator, ops
from tt.plugins.autograd.transforms.batching.base import (
    BatchingTable,
    NoRuleError,
    align,
    all_first,
    of_one_matrix,
)
from tt.plugins.autograd.transforms.levels import Level, batched

__all__ = ["table"]

table = BatchingTable()
table.rule(
    "linalg_inv",
    "linalg_cholesky",
    "linalg_cholesky_ex",
    "linalg_qr",
    "linalg_eigh",
    "linalg_eig",
    "linalg_svd",
)(of_one_matrix)


@table.rule("linalg_solve")
def linalg_solve(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Solve with the hidden dim as one more dim of the batch; vectors become matrices of one column."""
    left, right, side = args
    if left.ndim < 2:
        raise NoRuleError
    shape = tuple(left.shape)
    vector = right.ndim == 1 or tuple(right.shape) == shape[:-1]
    if vector and not side:
        raise NoRuleError
    right = ops.unsqueeze(right, -1) if vector else right
    # With a dim for the examples it is not one vector per matrix, whatever its size.
    right = batched(all_first(level, [right])[0], 0, level)
    solution = batched(operator.overload().dispatch((*align(level, (left, right)), side)), 0, level)
    return ops.squeeze(solution, -1) if vector else solution
