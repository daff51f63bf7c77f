"""Causal masks that `scaled_dot_product_attention` takes without their elements being computed."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import tt
from tt.overrides import DisableTTFunction
from tt.types import Device

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(enum.IntEnum):
    """The corner of the scores at which the diagonal of a causal mask is.

    Examples
    --------
    >>> from tt.nn.attention.bias import CausalVariant
    >>> CausalVariant.LOWER_RIGHT
    <CausalVariant.LOWER_RIGHT: 2>
    """

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(tt.Tensor):
    """A mask that hides what comes later, for queries and keys of different lengths.

    Parameters
    ----------
    variant : CausalVariant
        Where the diagonal begins or ends.
    seq_len_q, seq_len_kv : int
        Lengths of the queries and of the keys.

    Examples
    --------
    >>> import tt
    >>> from tt.nn.attention.bias import CausalBias, CausalVariant
    >>> CausalBias(CausalVariant.UPPER_LEFT, 2, 3)
    tensor([[ True, False, False],
            [ True,  True, False]])
    """

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> CausalBias:
        """Make the mask; see the class."""
        if not isinstance(variant, CausalVariant):
            raise tt.errors.AssertedError(f"CausalBias: variant must be a CausalVariant, got {variant!r}")
        # One element that stands for all: the mask itself is computed where it is needed.
        new: CausalBias = tt.zeros(()).expand(1, seq_len_q, seq_len_kv).as_subclass(cls)
        new.variant, new.seq_len_q, new.seq_len_kv = variant, seq_len_q, seq_len_kv
        return new

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        """Take the arguments of `__new__`."""

    def _materialize(self, device: Device = None) -> tt.Tensor:
        """Return the mask as a tensor of bool (seq_len_q, seq_len_kv)."""
        lower_right = self.variant == CausalVariant.LOWER_RIGHT
        ones = tt.ones(self.seq_len_q, self.seq_len_kv, device=device, dtype=tt.bool)
        return tt.tril(ones, self.seq_len_kv - self.seq_len_q if lower_right else 0)

    @classmethod
    def __tt_function__(
        cls,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Give attention the cheapest form of the mask; other functions take the mask as a tensor."""
        kwargs = dict(kwargs or {})
        with DisableTTFunction():
            # Everything else sees the one zero that it stores, as in PyTorch.
            if getattr(func, "__name__", "") != "scaled_dot_product_attention":
                return func(*args, **kwargs)
            return _attend(func, *args, **kwargs)

    def __repr__(self, **kwargs: Any) -> str:
        return repr(self._materialize())


def _attend(
    func: Callable[..., Any],
    query: tt.Tensor,
    key: tt.Tensor,
    value: tt.Tensor,
    attn_mask: tt.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    **options: Any,
) -> Any:
    if not isinstance(attn_mask, CausalBias):
        raise tt.errors.ArgumentError(
            "scaled_dot_product_attention", "a CausalBias is an attn_mask, not a query, key or value"
        )
    if is_causal:
        raise ValueError("CausalBias should not be used with causal=True")
    square = attn_mask.seq_len_q == attn_mask.seq_len_kv
    # Kernels know the upper left form as `is_causal`, so no mask is made.
    if attn_mask.variant == CausalVariant.UPPER_LEFT or square:
        return func(query, key, value, None, dropout_p, True, **options)
    return func(query, key, value, attn_mask._materialize(query.device), dropout_p, **options)


def causal_upper_left(*size: int) -> CausalBias:
    """Return a mask whose diagonal begins at the first query and the first key: `is_causal` of attention.

    Parameters
    ----------
    *size : int
        The lengths of the queries and of the keys.

    Examples
    --------
    >>> from tt.nn.attention.bias import causal_upper_left
    >>> causal_upper_left(2, 3)
    tensor([[ True, False, False],
            [ True,  True, False]])
    """
    return CausalBias(CausalVariant.UPPER_LEFT, *_two("causal_upper_left", size))


def causal_lower_right(*size: int) -> CausalBias:
    """Return a mask whose diagonal ends at the last query and the last key, as for queries that continue the keys.

    Parameters
    ----------
    *size : int
        The lengths of the queries and of the keys.

    Examples
    --------
    >>> from tt.nn.attention.bias import causal_lower_right
    >>> causal_lower_right(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    return CausalBias(CausalVariant.LOWER_RIGHT, *_two("causal_lower_right", size))


def _two(name: str, size: tuple[int, ...]) -> tuple[int, int]:
    if len(size) != 2:
        raise tt.errors.AssertedError(f"{name}() takes the lengths of queries and keys, got {size}")
    return size[0], size[1]
