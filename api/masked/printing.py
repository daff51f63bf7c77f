"""The text of a masked tensor: its elements, and dashes where the mask is False."""

from __future__ import annotations

from typing import Any

import tt

__all__ = ["masked_text"]

_WIDTH = 8
_MASKED = "--"
_THRESHOLD, _EDGE = 1000, 3


def _number(value: Any) -> str:
    return f"{value:8.4f}" if isinstance(value, float) else str(value)


def _vector(data: list[Any], mask: list[bool], short: bool) -> str:
    cut = short and len(data) > 2 * _EDGE
    if cut:
        data, mask = [*data[:_EDGE], *data[-_EDGE:]], [*mask[:_EDGE], *mask[-_EDGE:]]
    words = [_number(value) for value in data]
    width = max((len(word) if kept else _WIDTH for word, kept in zip(words, mask, strict=True)), default=0)
    shown = [word if kept else _MASKED.rjust(width) for word, kept in zip(words, mask, strict=True)]
    if cut:
        shown.insert(_EDGE, "...")
    return "[" + ", ".join(shown) + "]"


def _block(data: list[Any], mask: list[Any], ndim: int, short: bool) -> str:
    if ndim == 1:
        return _vector(data, mask, short)
    numbers = list(range(len(data)))
    cut = short and len(numbers) > 2 * _EDGE
    chosen = [*numbers[:_EDGE], *numbers[-_EDGE:]] if cut else numbers
    blocks = [_block(data[k], mask[k], ndim - 1, short) for k in chosen]
    if cut:
        blocks.insert(_EDGE, "...")
    inner = ",\n".join(blocks)
    return "[\n" + _indented(inner) + "\n]" if blocks else "[]"


def _indented(text: str) -> str:
    return "\n".join("  " + line for line in text.split("\n"))


def masked_text(data: tt.Tensor, mask: tt.Tensor) -> str:
    """Return what `repr` of a masked tensor shows.

    Examples
    --------
    >>> import tt
    >>> from tt.masked.printing import masked_text
    >>> print(masked_text(tt.tensor([1, 2]), tt.tensor([True, False])))
    MaskedTensor(
      [1,       --]
    )
    """
    plain, kept = data.detach().cpu().tolist(), mask.cpu().tolist()
    if not data.ndim:
        return f"MaskedTensor({_number(plain) if kept else _MASKED}, {kept})"
    text = _block(plain, kept, data.ndim, data.numel() > _THRESHOLD)
    return "MaskedTensor(\n" + _indented(text) + "\n)"
