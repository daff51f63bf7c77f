"""Batching rules of products and decompositions of matrices, and of Fourier transforms."""

from __future__ import annotations

from typing import Any

from tt.core.library import Operator, ops
from tt.plugins.autograd.transforms.batching.base import (
    BatchingTable,
    NoRuleError,
    align,
    all_first,
    behind,
    rewrapped,
)
from tt.plugins.autograd.transforms.levels import Level, batched, hidden_dim_first

__all__ = ["table"]

table = BatchingTable()


@table.rule("matmul", "mm", "bmm")
def matmul(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Multiply with the hidden dim as one more dim of the batch."""
    left, right = args
    ndim = {"mm": 2, "bmm": 3}.get(operator.name)
    if ndim is not None and not (left.ndim == right.ndim == ndim and left.shape[:-2] == right.shape[:-2]):
        raise NoRuleError  # refused, in the words of the operator
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


@table.rule(
    "linalg_inv", "linalg_cholesky", "linalg_cholesky_ex", "linalg_qr", "linalg_eigh", "linalg_eig", "linalg_svd",
    "linalg_matrix_exp",
)  # fmt: skip
def of_one_matrix(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Take the hidden dim for one more dim of the batch."""
    if args[0].ndim < 2:
        raise NoRuleError  # refused, in the words of the operator
    inside, _ = hidden_dim_first(args[0], level)
    result = operator.overload().dispatch((inside, *args[1:]))
    if operator.name == "linalg_qr" and args[1] == "r":
        result = operator.return_type([ops.expand(result[0], (level.size, 0)), result[1]])  # no Q at all
    return rewrapped(level, operator, result)


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
    found = batched(operator.overload().dispatch((*align(level, (left, right)), side)), 0, level)
    return ops.squeeze(found, -1) if vector else found


@table.rule("_fft_c2c", "_fft_r2c", "_fft_c2r")
def of_dims(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Transform the dims that the function sees."""
    x, dims, *rest = args
    inside, _ = hidden_dim_first(x, level)
    shifted = [behind(dim, x.ndim) for dim in dims]
    return batched(operator.overload().dispatch((inside, shifted, *rest)), 0, level)
