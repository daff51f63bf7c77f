"""Hidden synchronisation: the places where the host waits for the device, and who hears of them.

The backend calls `will_wait` before it waits.  Kernels whose result's shape depends on values wait inside CuPy, so
their adapters call it for them (`tt.backends.cuda.kernels`).
"""

from __future__ import annotations

import sys
import warnings
from types import FrameType

from tt.core.library import errors

__all__ = ["MODES", "SyncDebug"]

MODES = ("default", "warn", "error")
"""The arguments of `set_sync_debug_mode`, besides 0, 1 and 2."""


class SyncDebug:
    """The effect of operations that make the host wait.

    Attributes
    ----------
    mode : int
        0: nothing, 1: a warning, 2: an error.
    """

    __slots__ = ("mode",)

    def __init__(self) -> None:
        self.mode = 0

    def tell(self, what: str) -> None:
        """Warn of a wait, or refuse it.

        Raises
        ------
        DeviceError
            In mode 2.
        """
        text = f"called a synchronizing CUDA operation: {what} waits for the device"
        if self.mode == 2:
            raise errors.DeviceError(f"{text}\n  see: tt.cuda.set_sync_debug_mode")
        warnings.warn(text, UserWarning, stacklevel=_outside())


def _outside() -> int:
    """Return how many frames up the first caller outside tt is."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame):
        level, frame = level + 1, frame.f_back
    return level


def _is_ours(frame: FrameType) -> bool:
    """Return whether a frame is tt's, or one of the functions that it writes."""
    return frame.f_globals.get("__name__", "").startswith("tt.") or frame.f_code.co_filename.startswith("<")
