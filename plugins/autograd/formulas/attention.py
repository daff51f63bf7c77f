"""Formulas of attention.  g is the gradient of the result.

The gradients are one operator, which recomputes the weights from the logarithms of their sums; the graph keeps
these besides the inputs and the result.  Second derivatives go through its composite.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from tt.core.library import Tensor, ops
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()


def to_added(
    g: Tensor, to_sums: Tensor | None, query: Tensor, key: Tensor, value: Tensor, mask: Any, output: Tensor,
    logsumexp: Tensor, is_causal: bool, scale: float,
) -> Tensor:  # fmt: skip
    """Return the gradient of a mask of numbers, which has a number for each pair: by the matrix of all weights."""
    g, query, key, value, output = (t.to(logsumexp.dtype) for t in (g, query, key, value, output))
    scores = ops.matmul(query * scale, ops.transpose(key, -2, -1)) + mask
    total = ops.unsqueeze(logsumexp, -1)
    # A row in which all is masked has the sum -inf: against +inf its weights are 0, not NaN.
    weights = ops.exp(scores - ops.where.default(ops.ne(total, -inf), total, inf))
    slopes = ops.matmul(g, ops.transpose(value, -2, -1)) - ops.sum.dim(g * output, (-1,), True)
    slopes = weights * (slopes if to_sums is None else slopes + ops.unsqueeze(to_sums, -1))
    return ops.tril(slopes) if is_causal else slopes


def attention(
    gs: Sequence[Tensor | None], query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None,
    mask_requires_grad: bool | None, output: Tensor, logsumexp: Tensor, is_causal: bool, scale: float,
) -> tuple[Any, ...]:  # fmt: skip
    """Through the softmax: g less its mean by the weights."""
    g, to_sums = gs
    if g is None:
        g = ops.zeros_like(output)
    to_mask = None
    if mask_requires_grad:
        to_mask = to_added(g, to_sums, query, key, value, mask, output, logsumexp, is_causal, scale)
    if to_sums is None:
        return (
            *ops._attention_backward(g, query, key, value, mask, output, logsumexp, is_causal, scale), to_mask,
        )  # fmt: skip
    # The sum changes by the weights, as the result would in a column in which all values are one, but for its mean.
    column = ops.unsqueeze(to_sums, -1).to(g.dtype)
    ones = ops.new_ones(value, (*value.shape[:-1], 1))
    *grads, to_value = ops._attention_backward(
        ops.cat((g, column), -1), query, key, ops.cat((value, ones), -1), mask,
        ops.cat((output, ops.zeros_like(column)), -1), logsumexp, is_causal, scale,
    )  # fmt: skip
    return *grads, ops.narrow(to_value, -1, 0, value.shape[-1]), to_mask


d.joint("_attention", attention)
