"""CUDA memory that other processes use.

Note [Memory of another process]
--------------------------------
CUDA shares whole segments, as `cudaMalloc` returned them, so a tensor is sent as the handle of its segment and its
offset there.  The sender keeps the memory of sent tensors until the receiver releases it, which the receiver records in
a shared number on the host.  The sender checks these numbers whenever it sends, and in `tt.cuda.ipc_collect()`.  Memory
of a killed receiver is kept until the sender ends.  Before a tensor is sent, the sender waits for the work on its
device.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from itertools import count
from typing import Any

from tt.backends.cuda.handle import StridedHandle
from tt.core.library import Device, errors, fork_safe_lock, ops

__all__ = ["SentMemory"]


class _Mapping:
    """A segment of another process, which is closed when this object dies."""

    def __init__(self, runtime: Any, handle: bytes) -> None:
        self._runtime = runtime
        self.base = int(runtime.ipcOpenMemHandle(handle))

    def __del__(self) -> None:
        # Opening may have failed, and `__del__` is called then, too.
        if hasattr(self, "base"):
            self._runtime.ipcCloseMemHandle(self.base)


class _Opened:
    """An open segment of another process.

    There are weak references to it, so it has no `__del__`: Python calls that before it clears them, and another thread
    could find a segment that is closed already.
    """

    def __init__(self, runtime: Any, handle: bytes) -> None:
        self._mapping = _Mapping(runtime, handle)
        self.base = self._mapping.base


class _Received:
    """Keeps a segment open, and reports when nothing uses this part of it any more."""

    def __init__(self, opened: Any, report: Any) -> None:
        self._opened, self._report, self._flag = opened, report, report.numpy()
        # While Python ends, modules may be emptied before this object dies.
        self._pid, self._getpid = os.getpid(), os.getpid

    def __del__(self) -> None:
        if self._getpid() == self._pid:  # not in a child that was forked, which gives up copies of objects
            self._flag[0] = 1


class SentMemory:
    """The memory that this process has sent to others, and received.

    Parameters
    ----------
    memory : Memory
        The memory of the handles.
    """

    def __init__(self, memory: Any) -> None:
        self._memory = memory
        self._lock = fork_safe_lock()
        self._numbers = count()
        self._sent: dict[int, tuple[Any, Any]] = {}
        self._opened: weakref.WeakValueDictionary[tuple[int, bytes], _Opened] = weakref.WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._sent)

    def collect(self) -> None:
        """Give up the memory that no other process uses any more."""
        with self._lock:
            done = [number for number, (_, report) in self._sent.items() if report.numpy()[0]]
            given_up = [self._sent.pop(number) for number in done]
        del given_up  # frees memory, outside of the lock

    def send(self, handle: StridedHandle) -> Any:
        """Return what `receive` takes in another process, or None for memory that CUDA does not hand over."""
        self.collect()
        owner = handle.owner
        device = getattr(owner, "device", None)
        if not handle.dtype.itemsize or not self._memory.nbytes(owner) or not isinstance(device, int):
            return None
        address, nbytes = self._memory.address(owner), self._memory.nbytes(owner)
        segments = self._memory.allocator.ledgers[device].segments
        base = next((ptr for ptr, (size, _) in list(segments.items()) if ptr <= address < ptr + size), None)
        if base is None:
            return None
        cuda = self._memory.library().cuda
        try:
            with cuda.Device(device):
                cuda.runtime.deviceSynchronize()
                segment = bytes(cuda.runtime.ipcGetMemHandle(base))
        except cuda.runtime.CUDARuntimeError:
            return None
        report = ops.zeros([1], dtype="int64", device="cpu")
        number = next(self._numbers)
        with self._lock:
            self._sent[number] = owner, report
        layout = (handle.shape, handle.strides, handle.offset, handle.dtype.name)
        return os.getpid(), number, segment, address - base, nbytes, layout, report

    def receive(self, handed_over: Any, device: Device, make_dtype: Callable[[str], Any]) -> StridedHandle:
        """Return a handle over memory of another process.

        Raises
        ------
        DeviceError
            If the memory is gone.
        """
        pid, number, segment, offset, nbytes, layout, report = handed_over
        shape, strides, start, dtype = layout
        # CUDA does not open memory in the process that it belongs to.
        if pid == os.getpid():
            owner = self._sent[number][0]
            report[0] = 1
        else:
            owner = self._foreign(pid, segment, offset, nbytes, report, device)
        return StridedHandle(self._memory, owner, shape, strides, start, make_dtype(dtype))

    def _foreign(
        self, pid: int, segment: bytes, offset: int, nbytes: int, report: Any, device: Device
    ) -> Any:
        cuda = self._memory.library().cuda
        index = device.index or 0
        try:
            # Under the lock, because CUDA opens a segment once in a process.
            with self._lock, cuda.Device(index):
                opened = self._opened.get((pid, segment))
                if opened is None:
                    opened = self._opened[pid, segment] = _Opened(cuda.runtime, segment)
        except cuda.runtime.CUDARuntimeError as error:
            raise errors.DeviceError(
                f"{nbytes} bytes of CUDA memory of the process {pid} cannot be opened: {error}\n"
                "  try: start processes with 'spawn', and let the sender run until the tensor was received"
            ) from error
        return cuda.UnownedMemory(opened.base + offset, nbytes, _Received(opened, report), index)
