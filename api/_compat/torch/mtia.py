"""torch.mtia: an accelerator of Meta, which no backend of tt serves."""

from __future__ import annotations

from tt._compat.no_device import names_of

__all__ = ["device_count", "is_available"]

globals().update(names_of("torch.mtia", "an accelerator of Meta"))
