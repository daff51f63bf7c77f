"""torch.mtia: an accelerator of Meta, which no backend of tt serves."""

from __future__ import annotations

from tt._compat.no_device import names_of

_NAMES = names_of("torch.mtia", "an accelerator of Meta")

__all__ = list(_NAMES)

globals().update(_NAMES)
