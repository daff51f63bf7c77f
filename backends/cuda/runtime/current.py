"""The current device of a thread and its current streams, where a computation goes on in another thread."""

from __future__ import annotations

from typing import Any

from tt.backends.cuda.memory.memory import CupyMemory
from tt.core.library import Carried

__all__ = ["CurrentOfThread"]


class CurrentOfThread(Carried):
    """Takes from CUDA and CuPy, which keep them, what is current in a thread.

    Parameters
    ----------
    memory : CupyMemory
        Knows whether CuPy was used, and returns it.
    """

    def __init__(self, memory: CupyMemory) -> None:
        self._memory = memory

    def take(self) -> tuple[int, list[Any]] | None:
        """Return the device and the stream of each device; None where CUDA was not used."""
        if not self._memory.is_open:
            return None
        cuda = self._memory.library().cuda
        count = range(int(cuda.runtime.getDeviceCount()))
        return int(cuda.runtime.getDevice()), [cuda.get_current_stream(index) for index in count]

    def put(self, state: tuple[int, list[Any]] | None) -> None:
        """Make them the current ones of this thread."""
        if state is None:
            return
        cuda = self._memory.library().cuda
        for index, stream in enumerate(state[1]):
            # Making a stream current needs its device to be current, which costs a call of CUDA.
            if stream != cuda.get_current_stream(index):
                cuda.Device(index).use()
                stream.use()
        cuda.Device(state[0]).use()
