"""The Transformer: layers of attention and of a network for each place, in encoders and decoders."""

from __future__ import annotations

import copy
from typing import Any

import tt
from tt.nn import init
from tt.nn.modules.container import ModuleList
from tt.nn.modules.module import Module
from tt.nn.modules.normalization import LayerNorm
from tt.nn.modules.transformer_layers import Activation, TransformerDecoderLayer, TransformerEncoderLayer
from tt.nn.modules.transformer_layers import _get_activation_fn as _get_activation_fn
from tt.types import Device

__all__ = [
    "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer",
]  # fmt: skip


class TransformerEncoder(Module):
    """Copies of an encoder layer, one after another: (S, N, d_model), which stays.

    Parameters
    ----------
    encoder_layer : TransformerEncoderLayer
        The layer that is copied.
    num_layers : int
        How many copies.
    norm : Module, optional
        A normalisation at the end.
    enable_nested_tensor, mask_check : bool
        As PyTorch has them; padded places are computed like others.

    Examples
    --------
    >>> import tt
    >>> layer = tt.nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, dropout=0.0)
    >>> tt.nn.TransformerEncoder(layer, 2)(tt.zeros(5, 1, 8)).shape
    tt.Size([5, 1, 8])
    """

    layers: ModuleList

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        # Kept for programs that read it; sequences stay padded.
        self.use_nested_tensor = False
        self.mask_check = mask_check

    def forward(
        self,
        src: tt.Tensor,
        mask: tt.Tensor | None = None,
        src_key_padding_mask: tt.Tensor | None = None,
        is_causal: bool | None = None,
    ) -> tt.Tensor:
        """Return the encoded sequences.

        Parameters
        ----------
        src : Tensor
            (S, N, d_model), or with `batch_first` (N, S, d_model), or (S, d_model).
        mask, src_key_padding_mask : Tensor, optional
            The masks of the layers.
        is_causal : bool, optional
            Whether `mask` hides what comes later; found out by default.
        """
        # Once for all layers: the answer may wait for the device.
        causal = _is_causal(mask, is_causal, _length(src, self.layers))
        for layer in self.layers:
            src = layer(src, src_mask=mask, is_causal=causal, src_key_padding_mask=src_key_padding_mask)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """Copies of a decoder layer, one after another: (T, N, d_model), which stays.

    Parameters
    ----------
    decoder_layer : TransformerDecoderLayer
        The layer that is copied.
    num_layers : int
        How many copies.
    norm : Module, optional
        A normalisation at the end.

    Examples
    --------
    >>> import tt
    >>> layer = tt.nn.TransformerDecoderLayer(8, 2, dim_feedforward=16, dropout=0.0)
    >>> tt.nn.TransformerDecoder(layer, 2)(tt.zeros(3, 1, 8), tt.zeros(5, 1, 8)).shape
    tt.Size([3, 1, 8])
    """

    layers: ModuleList

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: tt.Tensor,
        memory: tt.Tensor,
        tgt_mask: tt.Tensor | None = None,
        memory_mask: tt.Tensor | None = None,
        tgt_key_padding_mask: tt.Tensor | None = None,
        memory_key_padding_mask: tt.Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> tt.Tensor:
        """Return the decoded sequences.

        Parameters
        ----------
        tgt : Tensor
            (T, N, d_model), or with `batch_first` (N, T, d_model), or (T, d_model).
        memory : Tensor
            The output of the encoder.
        tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask : Tensor, optional
            The masks of the layers.
        tgt_is_causal : bool, optional
            Whether `tgt_mask` hides what comes later; found out by default.
        memory_is_causal : bool
            The same of `memory_mask`.
        """
        causal = _is_causal(tgt_mask, tgt_is_causal, _length(tgt, self.layers))
        for layer in self.layers:
            tgt = layer(
                tgt,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder and a decoder: (S, N, d_model) and (T, N, d_model) to (T, N, d_model).

    Source: Vaswani et al., Attention Is All You Need, 2017.

    Parameters
    ----------
    d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias
        As of `TransformerEncoderLayer`.
    num_encoder_layers, num_decoder_layers : int
        How many layers each of them has.
    custom_encoder, custom_decoder : Module, optional
        Modules in their place.

    Examples
    --------
    >>> import tt
    >>> model = tt.nn.Transformer(8, 2, 1, 1, dim_feedforward=16, dropout=0.0)
    >>> model(tt.zeros(5, 1, 8), tt.zeros(3, 1, 8)).shape
    tt.Size([3, 1, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = "relu",
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Device = None,
        dtype: tt.dtype | None = None,
    ) -> None:
        super().__init__()
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        arguments = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias,
        )  # fmt: skip
        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory)
            self.encoder = TransformerEncoder(
                TransformerEncoderLayer(*arguments, **factory), num_encoder_layers, norm
            )
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory)
            self.decoder = TransformerDecoder(
                TransformerDecoderLayer(*arguments, **factory), num_decoder_layers, norm
            )
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self,
        src: tt.Tensor,
        tgt: tt.Tensor,
        src_mask: tt.Tensor | None = None,
        tgt_mask: tt.Tensor | None = None,
        memory_mask: tt.Tensor | None = None,
        src_key_padding_mask: tt.Tensor | None = None,
        tgt_key_padding_mask: tt.Tensor | None = None,
        memory_key_padding_mask: tt.Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> tt.Tensor:
        """Return the decoded target sequences; masks are those of encoder and decoder."""
        batched = src.dim() == 3
        if batched and src.shape[0 if self.batch_first else 1] != tgt.shape[0 if self.batch_first else 1]:
            raise RuntimeError(
                f"the batch number of src and tgt must be equal: {tuple(src.shape)} and {tuple(tgt.shape)}"
            )
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError(
                f"the feature number of src and tgt must be equal to d_model ({self.d_model}), got {src.shape[-1]} "
                f"and {tgt.shape[-1]}"
            )
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        result: tt.Tensor = self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )
        return result

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: Device = None, dtype: tt.dtype | None = None
    ) -> tt.Tensor:
        """Return (sz, sz) with -inf above the diagonal and 0 elsewhere: a mask that hides what comes later."""
        return _later(sz, device, dtype)

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            # Biases and norms have one dimension and keep their own start.
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)


def _get_clones(module: Module, N: int) -> ModuleList:  # noqa: N803
    # As in PyTorch, all copies begin with the same values; `Transformer` draws them anew, a plain encoder
    # does not.
    return ModuleList([copy.deepcopy(module) for _ in range(N)])


def _later(size: int, device: Device = None, dtype: tt.dtype | None = None) -> tt.Tensor:
    return tt.triu(tt.full((size, size), float("-inf"), device=device, dtype=dtype), diagonal=1)


def _length(source: tt.Tensor, layers: ModuleList) -> int:
    """Return the length of sequences of (S, N, E), (N, S, E) or (S, E)."""
    first = len(layers) > 0 and bool(getattr(getattr(layers[0], "self_attn", None), "batch_first", False))
    return int(source.shape[1 if source.dim() == 3 and first else 0])


def _is_causal(mask: tt.Tensor | None, is_causal: bool | None, size: int) -> bool:
    """Return whether a mask hides what comes later: as the caller says, else by looking at it."""
    if is_causal is not None or mask is None:
        return bool(is_causal)
    if tuple(mask.shape) != (size, size) or mask.dtype is tt.bool:
        return False
    # The answer waits for the device; a caller who passes is_causal avoids that.
    return bool((mask == _later(size, mask.device, mask.dtype)).all())
