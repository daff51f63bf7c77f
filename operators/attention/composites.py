"""Composites of attention."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import DtypeError, ShapeError, UnsupportedError, ValueRangeError
from tt.core.shapes.geometry import broadcast
from tt.core.types.attention_choice import ATTENTION
from tt.core.types.dtype import bool_
from tt.operators.attention.shapes import attention as check_attention
from tt.operators.helpers import as_type, check_shapes, number, widened

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

composites: Final = CompositeTable()
composite = composites.composite


def _shared_heads(tensor: Tensor, heads: int) -> Any:
    """Return the heads of keys or values, each repeated for the queries that share it."""
    *batch, own, length, width = tensor.shape
    times = heads // own
    wide = ops.expand(ops.unsqueeze(tensor, -3), (*batch, own, times, length, width))
    return ops.reshape(wide, (*batch, heads, length, width))


def _check_group(query: Any, key: Any, value: Any) -> None:
    if min(query.ndim, key.ndim, value.ndim) < 3:
        raise ShapeError("scaled_dot_product_attention(): enable_gqa expects a dimension of heads")
    for name, tensor in (("key", key), ("value", value)):
        if not tensor.shape[-3] or query.shape[-3] % tensor.shape[-3]:
            raise ShapeError(
                f"scaled_dot_product_attention(): the number of heads in {name} ({tensor.shape[-3]}) does not divide "
                f"that in query ({query.shape[-3]})"
            )


@composite("scaled_dot_product_attention")
def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> Tensor:
    if not query.dtype is key.dtype is value.dtype:
        raise DtypeError(
            f"scaled_dot_product_attention(): Expected query, key, and value to have the same dtype, but got "
            f"{query.dtype}, {key.dtype} and {value.dtype}"
        )
    if is_causal and attn_mask is not None:
        raise ValueRangeError(
            "scaled_dot_product_attention(): Explicit attn_mask should not be set when is_causal=True"
        )
    if attn_mask is not None and attn_mask.dtype.name != "bool" and attn_mask.dtype is not query.dtype:
        raise DtypeError(
            f"scaled_dot_product_attention(): Expected attn_mask dtype to be bool or to match query dtype, but got "
            f"{attn_mask.dtype} and {query.dtype}"
        )
    if enable_gqa:
        _check_group(query, key, value)
        key, value = _shared_heads(key, query.shape[-3]), _shared_heads(value, query.shape[-3])
    check_attention(query, key, value, attn_mask, op="scaled_dot_product_attention")
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None and query.shape[-1] else scale
    scale = 1.0 if scale is None else scale
    if not _fused(query, dropout_p):
        weights = _weights(widened(query), widened(key), attn_mask, is_causal, scale)
        if dropout_p:
            weights = ops.dropout(weights, dropout_p, True)
        return as_type(ops.matmul(weights, widened(value)), query.dtype)
    # The fused kernel takes operands of one batch shape.
    batches = {query.shape[:-2], key.shape[:-2], value.shape[:-2]}
    if attn_mask is not None:
        batches.add(attn_mask.shape[:-2])
    if len(batches) > 1:
        batch = broadcast("scaled_dot_product_attention", *batches)
        query, key, value = (ops.expand(t, (*batch, *t.shape[-2:])) for t in (query, key, value))
    if attn_mask is not None:
        attn_mask = ops.expand(attn_mask, (*query.shape[:-1], key.shape[-2]))
    return ops._attention(query, key, value, attn_mask, is_causal, scale)[0]


def _fused(query: Tensor, dropout_p: float) -> bool:
    """Return whether the kernel that never holds all weights serves a call, or products and a softmax."""
    enabled = ATTENTION.fused(query.device.type)
    if enabled and not dropout_p:
        return True
    if ATTENTION.math:
        return False
    hint = "enable another one: tt.nn.attention.sdpa_kernel([..., SDPBackend.MATH])"
    if enabled:
        raise UnsupportedError(
            f"scaled_dot_product_attention(): No available kernel: no enabled one supports dropout\n  try: {hint}"
        )
    raise UnsupportedError(
        f"scaled_dot_product_attention(): No viable backend was found for {query.device.type}: math and "
        f"the fused kernels that it has are disabled\n  try: {hint}"
    )


@composite("_attention")
def attention(
    query: Any, key: Any, value: Any, mask: Tensor | None, is_causal: bool, scale: float
) -> tuple[Any, Any]:
    check_shapes("_attention", query, key, value, mask, is_causal, scale)
    scores, masked = _scores(widened(query), widened(key), mask, is_causal, scale)
    if scores.shape[-1]:
        weights, logsumexp = _softened(scores, masked)
    else:  # no keys: a sum of nothing
        weights, logsumexp = (
            scores,
            ops.full(scores.shape[:-1], -math.inf, dtype=scores.dtype, device=scores.device),
        )
    return as_type(ops.matmul(weights, widened(value)), query.dtype), logsumexp


@composite("_attention_backward")
def attention_backward(
    grad: Tensor, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, output: Tensor, logsumexp: Tensor,
    is_causal: bool, scale: float,
) -> tuple[Any, ...]:  # fmt: skip
    check_shapes("_attention_backward", grad, query, key, value, mask, output, logsumexp, is_causal, scale)
    g, q, k, v, out = (widened(t) for t in (grad, query, key, value, output))
    scores, masked = _scores(q, k, mask, is_causal, scale)
    total = ops.unsqueeze(logsumexp, -1)
    if masked:  # the scores of rows without any key are all -inf, and so is their sum: their weights are 0
        total = ops.where(ops.eq(total, -math.inf), number(math.inf, total), total)
    weights = ops.exp(ops.sub(scores, total))
    # The mean of the slopes under the weights equals g . output, which needs no second pass over the keys.
    mean = ops.sum.dim(ops.mul(g, out), (-1,), True)
    slopes = ops.sub(ops.matmul(g, ops.transpose(v, -2, -1)), mean)
    slopes = ops.mul(ops.mul(weights, slopes), scale)
    grads = (
        ops.matmul(slopes, k),
        ops.matmul(ops.transpose(slopes, -2, -1), q),
        ops.matmul(ops.transpose(weights, -2, -1), g),
    )
    return tuple(as_type(t, query.dtype) for t in grads)


def _scores(q: Tensor, k: Tensor, mask: Tensor | None, is_causal: bool, scale: float) -> tuple[Any, bool]:
    """Return the scaled products of queries and keys, -inf where a pair takes no part, and whether any may not.

    A mask of bools selects the pairs that take part; one of numbers is added, and may hold infinities.
    """
    # The queries are scaled, not the scores, of which there are many more.
    scores = ops.matmul(ops.mul(q, scale), ops.transpose(k, -2, -1))
    added = mask is not None and mask.dtype is not bool_
    if added:
        scores, mask = ops.add(scores, widened(mask)), None
    if is_causal:
        rows, columns = scores.shape[-2:]
        lower = ops.tril(ops.ones((rows, columns), dtype=bool_, device=q.device))
        mask = lower if mask is None else ops.logical_and(mask, lower)
    if mask is None:
        return scores, added
    return ops.where(mask, scores, number(-math.inf, scores)), True


def _softened(scores: Tensor, masked: bool) -> tuple[Any, Any]:
    """Return the softmax of scores, zeros for rows without any, and the logarithms of the sums of exponentials."""
    greatest = ops.amax(ops.detach(scores), -1, True)
    empty, zero = ops.eq(greatest, -math.inf), number(0, scores)
    # Zeros take part instead of infinities, so that gradients stay finite.
    greatest = ops.where(empty, zero, greatest) if masked else greatest
    weights = ops.exp(ops.sub(scores, greatest))
    total = ops.sum.dim(weights, (-1,), True)
    total = ops.where(empty, number(1, scores), total) if masked else total
    logsumexp = ops.add(ops.log(total), greatest)
    logsumexp = ops.where(empty, number(-math.inf, scores), logsumexp) if masked else logsumexp
    return ops.div(weights, total), ops.squeeze.dim(logsumexp, -1)


def _weights(q: Any, k: Any, mask: Any, is_causal: bool, scale: float) -> Any:
    """Return the share of each key in the result of each query."""
    scores, masked = _scores(q, k, mask, is_causal, scale)
    return _masked_softmax(scores) if masked else ops.softmax.default(scores, -1)


def _masked_softmax(scores: Any) -> Any:
    """Return the softmax of scores of which some are -inf; rows without any other get zeros."""
    if not scores.shape.numel():
        return ops.softmax.default(scores, -1)
    empty = ops.eq(ops.amax(ops.detach(scores), -1, True), -math.inf)
    zero = number(0, scores)
    # Zeros take part instead of infinities, so that gradients stay finite.
    return ops.where(empty, zero, ops.softmax.default(ops.where(empty, zero, scores), -1))
