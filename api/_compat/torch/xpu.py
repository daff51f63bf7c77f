"""torch.xpu: an Intel GPU, which no backend of tt serves."""

from __future__ import annotations

from tt._compat.no_device import names_of

_NAMES = names_of("torch.xpu", "an Intel GPU")

__all__ = list(_NAMES)

globals().update(_NAMES)
