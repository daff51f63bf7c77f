"""Attention of several heads."""

from __future__ import annotations

from typing import Any

import tt
import tt.nn.functional as F
from tt.nn import init
from tt.nn.modules.linear import NonDynamicallyQuantizableLinear
from tt.nn.modules.module import Module
from tt.nn.parameter import Parameter
from tt.types import Device

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Attention of several heads, which each see a part of projected queries, keys and values.

    Shapes: query (L, N, embed_dim), key (S, N, kdim), value (S, N, vdim) to (L, N, embed_dim) and weights (N, L, S);
    with `batch_first` N comes first; without a batch it is missing.  Source: Vaswani et al., Attention Is All You Need,
    2017.

    Parameters
    ----------
    embed_dim, num_heads : int
        The features of a query, which divide evenly among the heads, and the number of heads.
    dropout : float
        The probability with which an attention weight is zeroed in training.
    bias : bool
        Add a learned bias to the projections.
    add_bias_kv, add_zero_attn : bool
        Add a learned key and value, or those of zeros, to each sequence.
    kdim, vdim : int, optional
        Features of keys and of values; `embed_dim` by default.
    batch_first : bool
        Whether the first dimension is that of the batch.

    Examples
    --------
    >>> import tt
    >>> x = tt.zeros(5, 2, 8)
    >>> result, weights = tt.nn.MultiheadAttention(8, 2)(x, x, x)
    >>> result.shape, weights.shape
    (tt.Size([5, 2, 8]), tt.Size([2, 5, 5]))
    """

    in_proj_weight: Parameter | None
    in_proj_bias: Parameter | None
    q_proj_weight: Parameter | None
    k_proj_weight: Parameter | None
    v_proj_weight: Parameter | None
    bias_k: Parameter | None
    bias_v: Parameter | None
    out_proj: NonDynamicallyQuantizableLinear

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Device = None,
        dtype: tt.dtype | None = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and "
                f"num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError(
                f"embed_dim must be divisible by num_heads, got embed_dim={embed_dim} and num_heads={num_heads}"
            )
        together = self._qkv_same_embed_dim
        shapes: dict[str, tuple[int, ...] | None] = {
            "q_proj_weight": None if together else (embed_dim, embed_dim),
            "k_proj_weight": None if together else (embed_dim, self.kdim),
            "v_proj_weight": None if together else (embed_dim, self.vdim),
            "in_proj_weight": (3 * embed_dim, embed_dim) if together else None,
            "in_proj_bias": (3 * embed_dim,) if bias else None,
        }
        if together:  # the order of PyTorch's state dicts
            shapes = {"in_proj_weight": shapes.pop("in_proj_weight"), **shapes}
        for name, shape in shapes.items():
            parameter = None if shape is None else Parameter(tt.empty(shape, device=device, dtype=dtype))
            self.register_parameter(name, parameter)
        self.out_proj = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias=bias, device=device, dtype=dtype
        )
        for name in ("bias_k", "bias_v"):
            parameter = (
                Parameter(tt.empty((1, 1, embed_dim), device=device, dtype=dtype)) if add_bias_kv else None
            )
            self.register_parameter(name, parameter)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
        if self.out_proj.bias is not None:
            init.zeros_(self.out_proj.bias)
        for extra in (self.bias_k, self.bias_v):
            if extra is not None:
                init.xavier_normal_(extra)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Pickles of older versions of PyTorch lack it.
        state.setdefault("_qkv_same_embed_dim", True)
        super().__setstate__(state)

    def forward(
        self,
        query: tt.Tensor,
        key: tt.Tensor,
        value: tt.Tensor,
        key_padding_mask: tt.Tensor | None = None,
        need_weights: bool = True,
        attn_mask: tt.Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[tt.Tensor, tt.Tensor | None]:
        """Return the attention's result and, with `need_weights`, its weights.

        Jagged tensors (N, rows, features) attend row by row, without masks; weights are then dense.

        Parameters
        ----------
        query, key, value : Tensor
            The queries, the keys in which they are looked up, and the values of these keys.
        key_padding_mask : Tensor, optional
            (N, S): True, or a number added to the weights, at keys that do not count.
        need_weights : bool
            Return the weights; without them a faster operator serves.
        attn_mask : Tensor, optional
            (L, S) or (N * num_heads, L, S): True, or a number added to the weights, at pairs that do not count.
        average_attn_weights : bool
            Return the mean weights of the heads; otherwise (N, num_heads, L, S).
        is_causal : bool
            A hint that `attn_mask` hides what comes later; the mask has to be given, too.
        """
        if query.is_nested or (key is not query and key.is_nested) or (value is not key and value.is_nested):
            from tt.nn.modules.jagged_attention import (
                jagged_attention,
            )  # start-up: few programs have jagged tensors

            return jagged_attention(
                self, query, key, value, need_weights, average_attn_weights,
                key_padding_mask=key_padding_mask, attn_mask=attn_mask, is_causal=is_causal,
            )  # fmt: skip
        # Plain self-attention, as in an encoder without masks: the heads are views, and no batch is turned.
        if (
            not need_weights and key is query and value is query and attn_mask is None and key_padding_mask is None
            and not is_causal and self.batch_first and query.ndim == 3 and self.in_proj_weight is not None
            and self._is_plain(query)
        ):  # fmt: skip
            return self._attend(query, self.in_proj_weight), None
        turned = self.batch_first and query.dim() == 3
        if turned:
            # Identity must survive the transposes: one product then serves all three projections.
            same_key, same_value = key is query, value is key
            query = query.transpose(1, 0)
            key = query if same_key else key.transpose(1, 0)
            value = key if same_value else value.transpose(1, 0)
        result, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias,
            self.bias_k, self.bias_v, self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias,
            training=self.training, key_padding_mask=key_padding_mask, need_weights=need_weights,
            attn_mask=attn_mask, use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight, k_proj_weight=self.k_proj_weight, v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights, is_causal=is_causal,
        )  # fmt: skip
        return (result.transpose(1, 0) if turned else result), weights

    def _is_plain(self, query: tt.Tensor) -> bool:
        """Return whether nothing but projections, attention and a projection is to be computed."""
        return (
            self.bias_k is None and not self.add_zero_attn
            and query.shape[2] == self.embed_dim and self.embed_dim % self.num_heads == 0
        )  # fmt: skip

    def _attend(self, x: tt.Tensor, weight: tt.Tensor) -> tt.Tensor:
        """Return the attention of a batch to itself; the heads are views of one product, so that none is copied."""
        batch, length, features = x.shape
        parts = F.linear(x, weight, self.in_proj_bias)
        parts = parts.view(batch, length, 3, self.num_heads, features // self.num_heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        dropout = self.dropout if self.training else 0.0
        attended = F.scaled_dot_product_attention(query, key, value, dropout_p=dropout)
        attended = attended.transpose(1, 2).reshape(batch, length, features)
        return F.linear(attended, self.out_proj.weight, self.out_proj.bias)

    def merge_masks(
        self, attn_mask: tt.Tensor | None, key_padding_mask: tt.Tensor | None, query: tt.Tensor
    ) -> tuple[tt.Tensor | None, int | None]:
        """Return one mask for both, and its kind: 0 for pairs alone, 1 for keys alone, 2 for both, None for none."""
        mask, kind = key_padding_mask, None if key_padding_mask is None else 1
        if attn_mask is not None:
            batch, length = query.shape[0], query.shape[1]
            if attn_mask.dim() == 3:
                wide = attn_mask.view(batch, -1, length, attn_mask.shape[-1])
            else:
                wide = attn_mask.view(1, 1, length, -1).expand(batch, self.num_heads, -1, -1)
            mask, kind = wide, 2
            if key_padding_mask is not None:
                mask = wide + key_padding_mask.view(batch, 1, 1, -1).expand(-1, self.num_heads, -1, -1)
        return mask, kind
