"""Attention of several heads for jagged tensors: each row attends on its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tt
import tt.nn.functional as F
from tt.errors import AssertedError, ShapeError

if TYPE_CHECKING:
    from tt.nn.modules.attention import MultiheadAttention

__all__ = ["jagged_attention"]


def jagged_attention(
    module: MultiheadAttention,
    query: tt.Tensor,
    key: tt.Tensor,
    value: tt.Tensor,
    need_weights: bool,
    average_attn_weights: bool,
    **masks: Any,
) -> tuple[tt.Tensor, tt.Tensor | None]:
    """Return the attention of a module for jagged tensors of shape (N, rows, features), and its weights.

    Parameters
    ----------
    module : MultiheadAttention
        The module.
    query, key, value : Tensor
        As of the module; their rows may have other lengths than those of the query.
    need_weights, average_attn_weights : bool
        As of the module; the weights are dense, of the lengths of the longest rows, with zeros behind shorter ones.
    **masks
        What has to be None or false: PyTorch refuses it, too.

    Raises
    ------
    AssertedError
        For masks, dense tensors among jagged ones, and options of the module that have no meaning for rows.
    ShapeError
        For tensors of another number of dimensions.
    """
    _check(module, (query, key, value), masks)
    dropout = module.dropout if module.training else 0.0
    projected = _projected(module, query, key, value)
    query, key, value = (
        x.unflatten(-1, (module.num_heads, module.head_dim)).transpose(1, 2) for x in projected
    )
    # The weights are a padded tensor in any case, so the products are computed in padded form, too.
    if need_weights:
        output, weights = _with_weights(query, key, value, dropout)
        weights = weights.mean(1) if average_attn_weights else weights
    else:
        output, weights = F.scaled_dot_product_attention(query, key, value, dropout_p=dropout), None
    result: tt.Tensor = module.out_proj(output.transpose(1, 2).flatten(-2))
    return result, weights


def _check(module: MultiheadAttention, given: tuple[tt.Tensor, ...], masks: dict[str, Any]) -> None:
    def refused(why: str, instead: str) -> AssertedError:
        return AssertedError(
            f"MultiheadAttention(): {why}, for tensors of the layout tt.jagged\n  try: {instead}"
        )

    for name, mask in masks.items():
        if mask is not None and mask is not False:
            raise refused(f"{name} is not possible", "x.to_padded_tensor(0.0) and masks")
    if module.bias_k is not None or module.add_zero_attn:
        raise refused("add_bias_kv and add_zero_attn are not possible", "a module without them")
    if not module.batch_first:
        raise refused("the first dimension is that of the batch", "MultiheadAttention(..., batch_first=True)")
    for name, tensor in zip(("query", "key", "value"), given, strict=True):
        if not tensor.is_nested:
            raise refused(f"{name} has to be jagged, too", "tt.nested.as_nested_tensor(x)")
        if tensor.ndim != 3:
            raise ShapeError(
                f"MultiheadAttention(): a jagged {name} has the dimensions batch, row and features, got {tensor.ndim} "
                "dimensions"
            )


def _projected(module: MultiheadAttention, *given: tt.Tensor) -> list[tt.Tensor]:
    query, key, value = given
    weight, bias = module.in_proj_weight, module.in_proj_bias
    # One product instead of three, for which all inputs have to be one tensor.
    if weight is not None and key is query and value is query:
        return list(F.linear(query, weight, bias).chunk(3, -1))
    apart: Any = (
        weight.chunk(3) if weight is not None
        else (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)
    )  # fmt: skip
    biases: Any = (None, None, None) if bias is None else bias.chunk(3)
    return [F.linear(x, w, b) for x, w, b in zip(given, apart, biases, strict=True)]


def _with_weights(
    query: tt.Tensor, key: tt.Tensor, value: tt.Tensor, dropout: float
) -> tuple[tt.Tensor, tt.Tensor]:
    """Return the attention of tensors (N, heads, rows, width), and the weights, by way of padded tensors."""
    lengths, sources = _lengths(query), _lengths(key)
    one, two, three = (x.transpose(1, 2).to_padded_tensor(0.0).transpose(1, 2) for x in (query, key, value))
    rows = tt.arange(one.shape[2], device=one.device) < lengths.unsqueeze(1)
    columns = tt.arange(two.shape[2], device=two.device) < sources.unsqueeze(1)
    scores = (one * one.shape[3] ** -0.5) @ two.mT
    # Not -inf, which would give a row without keys NaN as weights, and as gradients of all others.
    scores = scores.masked_fill(~columns[:, None, None, :], tt.finfo(scores.dtype).min)
    # Rows that only pad get weights of 0, in place of an even share.
    pairs = rows[:, None, :, None] & columns[:, None, None, :]
    weights = F.dropout(scores.softmax(-1).masked_fill(~pairs, 0.0), dropout)
    dense = (weights @ three).transpose(1, 2)
    starts = tt.zeros_like(lengths)
    output = tt.nested.narrow(dense, 1, starts, lengths, layout=tt.jagged).contiguous()
    return output.transpose(1, 2), weights


def _lengths(x: tt.Tensor) -> tt.Tensor:
    lengths: tt.Tensor | None = x.lengths()
    return x.offsets().diff() if lengths is None else lengths
