"""torch._guards: what a compiler knows of the current trace: there is none."""

from __future__ import annotations

from typing import Any

__all__ = ["active_fake_mode", "detect_fake_mode"]


def active_fake_mode() -> Any:
    """Return the fake mode that is active, or None."""
    from tt._compat.torch._subclasses.fake_tensor import FakeMode
    from tt.utils._python_dispatch import _get_current_dispatch_mode_stack

    modes = [mode for mode in _get_current_dispatch_mode_stack() if isinstance(mode, FakeMode)]
    return modes[-1] if modes else None


def detect_fake_mode(inputs: Any = None) -> Any:
    """Return the fake mode that is active, or None."""
    return active_fake_mode()
