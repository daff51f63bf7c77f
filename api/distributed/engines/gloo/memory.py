"""Memory: segments that all ranks of one machine have mapped, and the steps in which they use them."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from tt.multiprocessing.segments import Segment, new_file

__all__ = ["SHARES_MEMORY", "SLOT", "Memory", "new_segment"]

# Note [Steps in shared memory]
# -----------------------------
# Each rank has a segment that all map: a counter, and two slots.  Only its rank writes it.  A collective is a number of
# steps, the same on all ranks, and step k is: write into slot k % 2; set the counter to k; wait until all counters are
# at least k; read the slots k % 2 of the others.  That is all there is to synchronise.  A rank that writes slot k % 2
# again does so in step k + 2, after it has seen all counters at k + 1, and a rank sets k + 1 only after it has read
# what it needs of step k.  So no second counter says what has been read, nobody writes what another reads, and a rank
# may be one step ahead.  Large tensors are cut into chunks, so that slots stay in the cache.
#
# The counters are aligned 64-bit numbers, each in a cache line of its own, and are read and written at once.  What a
# rank has written must be seen before its counter, and the counters of others read before their slots.  x86 keeps both
# orders (total store order).  Other processors need a fence there: two cycles of a lock, since the release of the first
# comes after all earlier writes, and the acquisition of the second before all later ones.
#
# A tensor is only touched by the rank that has it, within `test`.  So an operation that was cancelled, or a rank that
# was killed, leaves no memory behind that others write to.  Segments have no names: whatever is killed when, the system
# frees them with the last process.  (Rejected: files in /dev/shm, whose names outlive a killed job; reading the memory
# of other processes directly, which containers forbid; semaphores, which a killed rank would leave locked.)
SLOT: Final = 1 << 20
"""Bytes of a slot: those of a few ranks stay in the last-level cache, and each step costs a rank its turn."""
_PAGE: Final = 4096
SIZE: Final = _PAGE + 2 * SLOT
SHARES_MEMORY: Final = hasattr(os, "memfd_create")
"""Whether this system has files without a name that others can map."""

_TRIES: Final = 200
"""How often a counter is read (some 50 ns each) before this rank lets others run."""
_NAP: Final = 5e-5
"""Seconds of a sleep where the system cannot wake this rank."""

# Note [Sleeping in shared memory]
# --------------------------------
# A rank that waits for a counter sleeps on it: Linux wakes it when the other rank has written (futex(2), by ctypes,
# which lets other threads run meanwhile).  On a machine with more ranks than processors a rank that looks again and
# again, even one that yields, keeps the processor from the rank that it waits for.
_NUMBERS: Final = {"x86_64": 202, "amd64": 202, "aarch64": 98, "arm64": 98, "riscv64": 98}
_NUMBER: Final = ctypes.c_long(_NUMBERS.get(platform.machine().lower(), 0))
_WAIT, _WAKE, _ALL = 0, 1, 1 << 30
_LOW: Final = 0 if sys.byteorder == "little" else 4
"""Where the 32 bits of a counter are that the system compares."""
_FUTEX: Final = ctypes.CDLL(None).syscall if sys.platform == "linux" and _NUMBER.value else None


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


_ORDERED: Final = platform.machine().lower() in ("x86_64", "amd64", "i386", "i686", "x86")


def new_segment() -> tuple[Segment, int]:
    """Return a new segment of this rank and its open file, which the caller closes.

    Raises
    ------
    OSError
        There is no memory for it.
    """
    fd = new_file(SIZE)
    try:
        # All of it now: where memory is short, this is an error, and a write later on would be a signal.
        os.posix_fallocate(fd, 0, SIZE)
        return Segment(0, SIZE, fd), fd
    except BaseException:
        os.close(fd)
        raise


class Memory:
    """The segments of all ranks of a group.

    Parameters
    ----------
    rank : int
        This rank.
    segments : sequence of Segment
        Those of all ranks, in their order.
    """

    def __init__(self, rank: int, segments: Sequence[Segment]) -> None:
        self.rank, self.size = rank, len(segments)
        arrays = [segment.lend() for segment in segments]
        self.counters = [array[:8].data.cast("q") for array in arrays]
        self.slots: list[tuple[Any, Any]] = [
            (array[_PAGE : _PAGE + SLOT], array[_PAGE + SLOT : _PAGE + 2 * SLOT]) for array in arrays
        ]
        """Of each rank: the bytes of its two slots."""
        self.views = [tuple(slot.data for slot in pair) for pair in self.slots]
        self._addresses = [ctypes.c_void_p(segment.address + _LOW) for segment in segments]
        self.step = 0
        self.others = [(rank, counter) for rank, counter in enumerate(self.counters) if rank != self.rank]

    def begin(self) -> int:
        """Begin a step; return which slots it uses."""
        self.step += 1
        return self.step & 1

    def publish(self) -> None:
        """Let the other ranks read what was written in this step."""
        if not _ORDERED:
            _fence()
        self.counters[self.rank][0] = self.step
        if _FUTEX is not None:
            _FUTEX(_NUMBER, self._addresses[self.rank], _WAKE, _ALL, None, None, 0)

    def linger(self, seconds: float) -> None:
        """Sleep until a rank that is behind publishes, at most for some seconds."""
        step = self.step
        for rank, counter in self.others:
            seen = counter[0]
            if seen < step:
                if _FUTEX is None:
                    time.sleep(min(seconds, _NAP))
                else:
                    limit = _Timespec(0, int(seconds * 1e9))
                    _FUTEX(
                        _NUMBER, self._addresses[rank], _WAIT, seen & 0xFFFFFFFF, ctypes.byref(limit), None, 0
                    )
                return

    def meet(self) -> Iterator[bool]:
        """Publish, and yield False until all ranks have published this step."""
        self.publish()
        step = self.step
        for _, counter in self.others:
            tries = _TRIES
            while counter[0] < step:
                if tries:
                    tries -= 1
                else:
                    yield False
        self.enter()

    def enter(self) -> None:
        """Read after all counters were seen at this step."""
        if not _ORDERED:
            _fence()

    def behind(self) -> list[int]:
        """Return the ranks that have not published this step."""
        return [rank for rank, counter in self.others if counter[0] < self.step]


_LOCK: Final = threading.Lock()


def _fence() -> None:
    """Order all memory accesses before it and all after it; see Note [Steps in shared memory]."""
    for _ in range(2):
        with _LOCK:
            pass


def numbers(slot: Any, start: int, count: int, dtype: Any) -> Any:
    """Return a part of a slot as numbers of some dtype; ``start`` is in bytes."""
    return np.ndarray((count,), dtype, slot, start)
