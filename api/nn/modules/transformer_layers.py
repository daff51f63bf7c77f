"""The layers of a Transformer: attention, a network for each place, residuals and normalisation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tt
import tt.nn.functional as F
from tt.library import warn_user
from tt.nn.modules.attention import MultiheadAttention
from tt.nn.modules.dropout import Dropout
from tt.nn.modules.linear import Linear
from tt.nn.modules.module import Module
from tt.nn.modules.normalization import LayerNorm
from tt.types import Device

__all__ = ["Activation", "TransformerDecoderLayer", "TransformerEncoderLayer"]

Activation = Callable[["tt.Tensor"], "tt.Tensor"]


def _get_activation_fn(activation: str | Activation) -> Activation:
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    function: Activation = getattr(F, activation)
    return function


class TransformerEncoderLayer(Module):
    """Attention of a sequence to itself, then a network of two linear layers for each place.

    Shapes: (S, N, d_model), with `batch_first` (N, S, d_model), without batch (S, d_model); the shape stays.  Source:
    Vaswani et al., Attention Is All You Need, 2017.

    Parameters
    ----------
    d_model, nhead : int
        Features of a place, and heads of the attention.
    dim_feedforward : int
        Features between the two linear layers.
    dropout : float
        The probability of zeros after attention and layers, in training.
    activation : str or callable
        "relu", "gelu", or a function of a tensor, between the linear layers.
    layer_norm_eps : float
        A number added to the variance in normalisations.
    batch_first : bool
        Whether the first dimension is that of the batch.
    norm_first : bool
        Whether to normalise before attention and network, or after the residuals.
    bias : bool
        Whether linear layers and normalisations have a bias.

    Examples
    --------
    >>> import tt
    >>> tt.nn.TransformerEncoderLayer(8, 2, dim_feedforward=16)(tt.zeros(5, 1, 8)).shape
    tt.Size([5, 1, 8])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Device = None,
        dtype: tt.dtype | None = None,
    ) -> None:
        super().__init__()
        factory: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, batch_first=batch_first, **factory
        )
        self.linear1 = Linear(d_model, dim_feedforward, **factory)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **factory)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, **factory)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, **factory)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation = _get_activation_fn(activation)

    # As in PyTorch, whose older pickles lack the activation.
    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("activation", F.relu)

    def forward(
        self,
        src: tt.Tensor,
        src_mask: tt.Tensor | None = None,
        src_key_padding_mask: tt.Tensor | None = None,
        is_causal: bool = False,
    ) -> tt.Tensor:
        """Return the encoded sequences.

        Parameters
        ----------
        src : Tensor
            The sequences.
        src_mask, src_key_padding_mask : Tensor, optional
            `attn_mask` and `key_padding_mask` of the attention.
        is_causal : bool
            A hint that `src_mask` hides what comes later.
        """
        mask, padding = _as_numbers(src_mask, src_key_padding_mask, src)
        if self.norm_first:
            src = src + self._sa_block(self.norm1(src), mask, padding, is_causal)
            return src + self._ff_block(self.norm2(src))
        src = self.norm1(src + self._sa_block(src, mask, padding, is_causal))
        normed: tt.Tensor = self.norm2(src + self._ff_block(src))
        return normed

    def _sa_block(
        self,
        x: tt.Tensor,
        attn_mask: tt.Tensor | None,
        key_padding_mask: tt.Tensor | None,
        is_causal: bool = False,
    ) -> tt.Tensor:
        attended, _ = self.self_attn(
            x,
            x,
            x,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            need_weights=False,
            is_causal=is_causal,
        )
        dropped: tt.Tensor = self.dropout1(attended)
        return dropped

    def _ff_block(self, x: tt.Tensor) -> tt.Tensor:
        result: tt.Tensor = self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))
        return result


class TransformerDecoderLayer(Module):
    """Attention of a sequence to itself and to an encoder's result, then a network for each place.

    Shapes: (T, N, d_model) and (S, N, d_model) to (T, N, d_model), with `batch_first` N first.  Source: Vaswani et al.,
    Attention Is All You Need, 2017.

    Parameters
    ----------
    d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias
        As of `TransformerEncoderLayer`.

    Examples
    --------
    >>> import tt
    >>> layer = tt.nn.TransformerDecoderLayer(8, 2, dim_feedforward=16)
    >>> layer(tt.zeros(3, 1, 8), tt.zeros(5, 1, 8)).shape
    tt.Size([3, 1, 8])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Device = None,
        dtype: tt.dtype | None = None,
    ) -> None:
        super().__init__()
        factory: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, batch_first=batch_first, **factory
        )
        self.multihead_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, batch_first=batch_first, **factory
        )
        self.linear1 = Linear(d_model, dim_feedforward, **factory)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **factory)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, **factory)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, **factory)
        self.norm3 = LayerNorm(d_model, eps=layer_norm_eps, **factory)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        self.activation = _get_activation_fn(activation)

    # As in PyTorch, whose older pickles lack the activation.
    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("activation", F.relu)

    def forward(
        self,
        tgt: tt.Tensor,
        memory: tt.Tensor,
        tgt_mask: tt.Tensor | None = None,
        memory_mask: tt.Tensor | None = None,
        tgt_key_padding_mask: tt.Tensor | None = None,
        memory_key_padding_mask: tt.Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> tt.Tensor:
        """Return the decoded sequences.

        Parameters
        ----------
        tgt, memory : Tensor
            The sequences, and the output of the encoder.
        tgt_mask, tgt_key_padding_mask, memory_mask, memory_key_padding_mask : Tensor, optional
            `attn_mask` and `key_padding_mask` of the two attentions.
        tgt_is_causal, memory_is_causal : bool
            Hints that the masks hide what comes later.
        """
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory_mask, memory_key_padding_mask, memory_is_causal)
        x = tgt
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *own)
            x = x + self._mha_block(self.norm2(x), memory, *other)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, *own))
        x = self.norm2(x + self._mha_block(x, memory, *other))
        normed: tt.Tensor = self.norm3(x + self._ff_block(x))
        return normed

    def _sa_block(
        self,
        x: tt.Tensor,
        attn_mask: tt.Tensor | None,
        key_padding_mask: tt.Tensor | None,
        is_causal: bool = False,
    ) -> tt.Tensor:
        attended, _ = self.self_attn(
            x,
            x,
            x,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            is_causal=is_causal,
            need_weights=False,
        )
        dropped: tt.Tensor = self.dropout1(attended)
        return dropped

    def _mha_block(
        self,
        x: tt.Tensor,
        mem: tt.Tensor,
        attn_mask: tt.Tensor | None,
        key_padding_mask: tt.Tensor | None,
        is_causal: bool = False,
    ) -> tt.Tensor:
        attended, _ = self.multihead_attn(
            x, mem, mem, attn_mask=attn_mask, key_padding_mask=key_padding_mask, is_causal=is_causal,
            need_weights=False,
        )  # fmt: skip
        dropped: tt.Tensor = self.dropout2(attended)
        return dropped

    def _ff_block(self, x: tt.Tensor) -> tt.Tensor:
        result: tt.Tensor = self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))
        return result


def _as_numbers(
    mask: tt.Tensor | None, padding: tt.Tensor | None, source: tt.Tensor
) -> tuple[tt.Tensor | None, tt.Tensor | None]:
    """Return two masks of one kind: if one is of numbers, the other has -inf where it was True."""
    if mask is None or padding is None or (mask.dtype == padding.dtype):
        return mask, padding
    warn_user(
        f"TransformerEncoderLayer: src_key_padding_mask is {padding.dtype} and src_mask {mask.dtype}, which is "
        "deprecated\n  try: masks of one dtype"
    )

    def numbers(given: tt.Tensor) -> tt.Tensor:
        if given.is_floating_point():
            return given
        return source.new_zeros(given.shape).masked_fill_(given, float("-inf"))

    return numbers(mask), numbers(padding)
