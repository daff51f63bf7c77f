"""torch.xpu: an Intel GPU, which no backend of tt serves."""

from __future__ import annotations

from tt._compat.no_device import names_of

__all__ = ["device_count", "is_available"]

globals().update(names_of("torch.xpu", "an Intel GPU"))
