"""torch._guards: what a compiler knows of the current trace: there is none."""

from __future__ import annotations

from typing import Any

from tt.core.dispatch.intercept.modes import active_modes
from tt.core.layers.fake import FakeMode

__all__ = ["active_fake_mode", "detect_fake_mode"]


def active_fake_mode() -> Any:
    """Return the fake mode that is active, or None."""
    modes = [mode for mode in active_modes() if isinstance(mode, FakeMode)]
    return modes[-1] if modes else None


def detect_fake_mode(inputs: Any = None) -> Any:
    """Return the fake mode that is active, or None."""
    return active_fake_mode()
