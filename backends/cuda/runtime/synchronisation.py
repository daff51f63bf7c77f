"""Hidden synchronisation: the places where the host waits for the device, and who hears of them.

The backend calls `will_wait` before it waits.  Kernels whose result's shape depends on values wait inside CuPy, so
their adapters call it for them (`tt.backends.cuda.kernels`).
"""

from __future__ import annotations

from tt.core.library import errors, warn_user

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
        warn_user(text)
