"""Attention whose scores and mask are functions, computed with the matrix of all scores."""
# ruff: noqa: N803 - PyTorch's names

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import tt
from tt.errors import ShapeError, UnsupportedError, ValueRangeError
from tt.library import warn_user
from tt.types import Device

__all__ = [
    "AuxOutput", "AuxRequest", "BlockMask", "and_masks", "create_block_mask", "create_mask", "flex_attention",
    "noop_mask", "or_masks",
]  # fmt: skip

_DEFAULT_SPARSE_BLOCK_SIZE: Final = 128

MaskMod = Callable[[Any, Any, Any, Any], Any]
ScoreMod = Callable[[Any, Any, Any, Any, Any], Any]


class AuxRequest(NamedTuple):
    """The further results that `flex_attention` is to return.

    Attributes
    ----------
    lse : bool
        The logarithm of the sum of the scores' exponentials.
    max_scores : bool
        The largest score.
    """

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """The further results of `flex_attention`, each None unless it was requested.

    Attributes
    ----------
    lse, max_scores : Tensor or None
        Of shape (B, Hq, L), in float32 for half precision.
    """

    lse: tt.Tensor | None = None
    max_scores: tt.Tensor | None = None


def noop_mask(batch: tt.Tensor, head: tt.Tensor, token_q: tt.Tensor, token_kv: tt.Tensor) -> Any:
    """Return True everywhere: a mask that hides nothing.

    Examples
    --------
    >>> import tt
    >>> from tt.nn.attention.flex_attention import noop_mask
    >>> index = tt.tensor(0)
    >>> noop_mask(index, index, index, index)
    tensor(True)
    """
    return batch.new_ones((), dtype=tt.bool)


class BlockMask:
    """A mask as a function of indices, and which of its blocks hide everything; `create_block_mask` makes it.

    Attributes
    ----------
    shape : tuple of int
        (B, H, Q_LEN, KV_LEN).
    seq_lengths, BLOCK_SIZE : tuple of int
        Lengths of queries and keys, all together and of a block.
    mask_mod : callable
        Returns whether a query sees a key, for numbers of batch, head, query and key.

    Examples
    --------
    >>> from tt.nn.attention.flex_attention import create_block_mask
    >>> mask = create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 256, 256)
    >>> mask.shape, mask.to_dense().tolist()
    ((1, 1, 256, 256), [[[[1, 0], [1, 1]]]])
    """

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        blocks: tt.Tensor,
        BLOCK_SIZE: tuple[int, int] = (_DEFAULT_SPARSE_BLOCK_SIZE, _DEFAULT_SPARSE_BLOCK_SIZE),
        mask_mod: MaskMod = noop_mask,
    ) -> None:
        self.seq_lengths = seq_lengths
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod
        self._blocks = blocks

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the mask."""
        return (*self._blocks.shape[:2], *self.seq_lengths)

    def to_dense(self) -> tt.Tensor:
        """Return 1 for each block in which some query sees some key, (B, H, blocks of queries, blocks of keys)."""
        return self._blocks.to(tt.int32)

    def numel(self) -> int:
        """Return the number of elements of the mask."""
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """Return how many percent of the blocks hide everything."""
        return 100 * (1 - float(self._blocks.to(tt.float32).mean()))

    def to(self, device: Device) -> BlockMask:
        """Return the mask with its blocks on a device."""
        return BlockMask(self.seq_lengths, self._blocks.to(device), self.BLOCK_SIZE, self.mask_mod)

    def __repr__(self) -> str:
        return f"BlockMask(shape={self.shape}, BLOCK_SIZE={self.BLOCK_SIZE}, sparsity={self.sparsity():.2f}%)"


def _combined(masks: tuple[MaskMod, ...], how: Callable[[Any, Any], Any], name: str) -> MaskMod:
    if not all(callable(mask) for mask in masks):
        raise RuntimeError(f"All inputs should be callable mask_mods: {masks}")

    def combined(b: tt.Tensor, h: tt.Tensor, q_idx: tt.Tensor, kv_idx: tt.Tensor) -> Any:
        return functools.reduce(how, [mask(b, h, q_idx, kv_idx) for mask in masks])

    combined.__name__ = name
    return combined


def and_masks(*mask_mods: MaskMod) -> MaskMod:
    """Return the mask of what all masks show.

    Examples
    --------
    >>> from tt.nn.attention.flex_attention import and_masks, create_mask
    >>> near = and_masks(lambda b, h, q, kv: q >= kv, lambda b, h, q, kv: q - kv < 2)
    >>> create_mask(near, 1, 1, 3, 3).sum()
    tensor(5)
    """
    return _combined(mask_mods, operator.and_, "and_mask")


def or_masks(*mask_mods: MaskMod) -> MaskMod:
    """Return the mask of what any of the masks shows.

    Examples
    --------
    >>> from tt.nn.attention.flex_attention import create_mask, or_masks
    >>> either = or_masks(lambda b, h, q, kv: q == kv, lambda b, h, q, kv: kv == 0)
    >>> create_mask(either, 1, 1, 3, 3).sum()
    tensor(5)
    """
    return _combined(mask_mods, operator.or_, "or_mask")


def _indices(sizes: tuple[int, int, int, int], device: Device) -> list[tt.Tensor]:
    """Return the numbers of batch, head, query and key, each along a dimension of its own."""
    return [
        tt.arange(size, device=device).reshape([-1 if i == dim else 1 for i in range(4)])
        for dim, size in enumerate(sizes)
    ]


def create_mask(
    mod_fn: MaskMod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Device = None
) -> tt.Tensor:
    """Return the mask that a function describes.

    Parameters
    ----------
    mod_fn : callable
        Returns whether a query sees a key, for tensors with the numbers of batch, head, query and key, which broadcast.
    B, H : int or None
        Batches and heads; 1 where None.
    Q_LEN, KV_LEN : int
        Lengths of queries and keys.
    device : device, optional
        That of the result.

    Returns
    -------
    Tensor
        Of bool, (B, H, Q_LEN, KV_LEN).

    Examples
    --------
    >>> from tt.nn.attention.flex_attention import create_mask
    >>> create_mask(lambda b, h, q, kv: q >= kv, None, None, 2, 2)
    tensor([[[[ True, False],
              [ True,  True]]]])
    """
    sizes = (B or 1, H or 1, Q_LEN, KV_LEN)
    shown: tt.Tensor = mod_fn(*_indices(sizes, device))
    return shown.to(tt.bool).expand(sizes).contiguous()


def create_block_mask(
    mask_mod: MaskMod,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Device = None,
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
    _compile: bool = False,
) -> BlockMask:
    """Return the mask that a function describes, for `flex_attention`.

    Parameters
    ----------
    mask_mod, B, H, Q_LEN, KV_LEN, device
        As of `create_mask`.
    BLOCK_SIZE : int or tuple of int
        Queries and keys of a block.

    Examples
    --------
    >>> from tt.nn.attention.flex_attention import create_block_mask
    >>> create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 512, 512).sparsity()
    37.5
    """
    if _compile:
        warn_user("create_block_mask(): _compile is deprecated and has no effect", DeprecationWarning)
    high, wide = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    # Padding is hidden (False), so it never makes a block visible.
    padded = tt.nn.functional.pad(mask, (0, -KV_LEN % wide, 0, -Q_LEN % high))
    rows, columns = padded.shape[2] // high, padded.shape[3] // wide
    blocks = padded.reshape(*padded.shape[:2], rows, high, columns, wide).any(5).any(3)
    return BlockMask((Q_LEN, KV_LEN), blocks, (high, wide), mask_mod)


def flex_attention(
    query: tt.Tensor,
    key: tt.Tensor,
    value: tt.Tensor,
    score_mod: ScoreMod | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: dict[str, Any] | None = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """Return attention whose scores a function changes, and of which another hides some.

    Shapes: query (B, Hq, L, E), key (B, Hkv, S, E), value (B, Hkv, S, Ev) to (B, Hq, L, Ev).  The functions are called
    once, with tensors for all indices, which broadcast.  Source: Dong et al., Flex Attention, 2024.

    Parameters
    ----------
    query, key, value : Tensor
        The inputs.
    score_mod : callable, optional
        Returns new scores for scores and the numbers of batch, head, query and key.
    block_mask : BlockMask, optional
        The keys that a query sees; one that sees nothing gets zeros.
    scale : float, optional
        The factor of the scores, 1 / sqrt(E) by default.
    enable_gqa : bool
        Whether several heads of queries share one of keys and values.
    return_lse : bool
        Whether the logarithm of the sum of the scores' exponentials, (B, Hq, L), is returned too.
    kernel_options : dict, optional
        PyTorch's options of its kernels, without effect.
    return_aux : AuxRequest, optional
        What else is returned, as an `AuxOutput`; instead of `return_lse`.

    Raises
    ------
    UnsupportedError
        For inputs without batch or heads.
    ValueRangeError, ShapeError
        For heads that do not correspond, a mask for other lengths, and both `return_lse` and `return_aux`.

    Examples
    --------
    >>> import tt
    >>> from tt.nn.attention.flex_attention import flex_attention
    >>> q = tt.ones(1, 1, 2, 1)
    >>> v = tt.tensor([[[[0.0], [1.0]]]])
    >>> flex_attention(q, q, v, score_mod=lambda score, b, h, q, kv: score.masked_fill(kv > q, -1e9))
    tensor([[[[0.0000],
              [0.5000]]]])
    """
    if return_lse and return_aux is not None:
        raise ValueRangeError(
            "flex_attention(): give return_aux=AuxRequest(lse=True) instead of return_lse, not both"
        )
    if return_lse:
        warn_user(
            "flex_attention(): return_lse is deprecated: use return_aux=AuxRequest(lse=True)", FutureWarning
        )
    if query.ndim != 4 or key.ndim != 4 or value.ndim != 4:
        raise UnsupportedError(
            "flex_attention(): query, key and value have four dimensions: batch, head, place, feature"
        )
    heads, shared = query.shape[1], key.shape[1]
    if heads != shared:
        if not enable_gqa:
            raise ValueError(
                f"flex_attention(): query has {heads} heads, and key and value have {shared}: try enable_gqa=True"
            )
        if heads % shared:
            raise ValueError(f"flex_attention(): {shared} heads of keys do not divide {heads} of queries")
        key, value = (t.repeat_interleave(heads // shared, 1) for t in (key, value))
    half = query.dtype in (tt.float16, tt.bfloat16)  # as attention does: the scores are float32
    q, k, v = (t.float() if half else t for t in (query, key, value))
    output, scores, lse = _attend(q, k, v, score_mod, block_mask, scale)
    output = output.to(query.dtype)
    if return_aux is not None:
        largest = scores.amax(-1) if return_aux.max_scores else None
        return output, AuxOutput(lse if return_aux.lse else None, largest)
    return (output, lse) if return_lse else output


def _attend(
    query: tt.Tensor,
    key: tt.Tensor,
    value: tt.Tensor,
    score_mod: ScoreMod | None,
    block_mask: BlockMask | None,
    scale: float | None,
) -> tuple[tt.Tensor, tt.Tensor, tt.Tensor]:
    """Return the result, the scores, and the logarithm of the sum of their exponentials."""
    scores = query @ key.transpose(-2, -1) * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    sizes = tuple(scores.shape)
    indices = _indices((sizes[0], sizes[1], sizes[2], sizes[3]), query.device)
    if score_mod is not None:
        # The function may promote, for instance with a bias of another dtype.
        scores = score_mod(scores, *indices).to(query.dtype)
    if block_mask is not None:
        if block_mask.seq_lengths != sizes[2:]:
            raise ShapeError(
                f"flex_attention(): block_mask is for the lengths {block_mask.seq_lengths} of queries and keys, which "
                f"have {sizes[2:]}"
            )
        shown = block_mask.mask_mod(*indices)
        scores = tt.where(shown, scores, scores.new_full((), -math.inf))
    lse = scores.logsumexp(-1)
    # -inf - -inf would be NaN; less 0, the weights of such a query are 0.
    nothing = lse == -math.inf  # a query that sees nothing
    weights = (scores - tt.where(nothing, tt.zeros_like(lse), lse).unsqueeze(-1)).exp()
    return weights @ value, scores, lse
