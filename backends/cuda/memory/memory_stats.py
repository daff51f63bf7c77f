"""The account of a device's memory: what was allocated and freed, the largest numbers, and what lies where.

Independent of CuPy: the allocator reports events, and the ledger counts them.

Note [Updates that nothing interrupts]
--------------------------------------
Memory is freed when an object dies, which may happen in any thread and, in the garbage collector, in the midst of
another update of the same thread.  The lock is reentrant, so the second cannot wait for the first for ever; and the
updates consist of additions to slots, in which Python makes no object that could start the collector.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from types import FrameType
from typing import Any, Final, NamedTuple

from tt.core.library import fork_safe_lock

__all__ = ["Block", "History", "Ledger", "Statistic", "stack_frames"]


class Statistic:
    """A number that goes up and down.

    Attributes
    ----------
    current, peak, allocated, freed : int
        As it is, the largest so far, and the sums of what was added and taken away.
    """

    __slots__ = ("allocated", "current", "freed", "peak")

    def __init__(self) -> None:
        self.current = self.peak = self.allocated = self.freed = 0

    def add(self, amount: int) -> None:
        """Add to the number."""
        self.allocated += amount
        self.current += amount
        if self.current > self.peak:
            self.peak = self.current

    def take(self, amount: int) -> None:
        """Take from the number."""
        self.freed += amount
        self.current -= amount

    def numbers(self) -> Numbers:
        """Return the number, the largest, and the sums."""
        return self.current, self.peak, self.allocated, self.freed


class Block(NamedTuple):
    """Memory that is in use.

    Attributes
    ----------
    size, requested : int
        Bytes, as rounded by the pool and as requested.
    stream : int
        The stream on which it was allocated.
    frames : list of dict
        The call stack of the allocation, if it was recorded.
    """

    size: int
    requested: int
    stream: int
    frames: list[dict[str, Any]]


class History:
    """Memory events in order: an opt-in record.

    Parameters
    ----------
    max_entries : int
        How many of the latest events are kept.
    stacks : bool
        Whether the place in the program is noted.
    """

    def __init__(self, max_entries: int = sys.maxsize, stacks: bool = True) -> None:
        self.entries: deque[dict[str, Any]] = deque(maxlen=min(max_entries, sys.maxsize))
        self.stacks = stacks

    def note(self, action: str, addr: int, size: int, stream: int, frames: list[dict[str, Any]]) -> None:
        """Append an event."""
        self.entries.append(
            {
                "action": action, "addr": addr, "size": size, "stream": stream,
                "time_us": time.time_ns() // 1000, "frames": frames,
            }
        )  # fmt: skip


def stack_frames() -> list[dict[str, Any]]:
    """Return the calls that led here, the innermost first, without those of this package's allocator."""
    frames: list[dict[str, Any]] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not frame.f_globals.get("__name__", "").startswith("tt.backends.cuda."):
            frames.append({"filename": code.co_filename, "line": frame.f_lineno, "name": code.co_name})
        frame = frame.f_back
    return frames


_Facts = tuple[int, int, int, list[dict[str, Any]]]
"""The fields of a `Block`, which is created from them on demand."""

_UNRECORDED: Final[list[dict[str, Any]]] = []
"""The frames of what happens while nothing is recorded."""

Numbers = tuple[int, int, int, int]
"""A statistic: as it is, the largest so far, and the sums of what was added and taken away."""


class Ledger:
    """The account of one device.

    Examples
    --------
    >>> from tt.backends.cuda.memory.memory_stats import Ledger
    >>> ledger = Ledger()
    >>> ledger.allocated(ptr=4096, size=512, requested=100, stream=0)
    >>> ledger.freed(ptr=4096)
    >>> stats = ledger.stats()
    >>> stats["allocated_bytes.all.current"], stats["allocated_bytes.all.peak"], stats["requested_bytes.all.freed"]
    (0, 512, 100)
    """

    def __init__(self) -> None:
        self.lock = fork_safe_lock()
        # Allocations: the number of blocks, their bytes as rounded by the pool, and as requested.  Plain numbers, since
        # this is counted at every allocation; freed memory is the difference between the sum and the current number.
        self.count = self.count_peak = self.count_sum = 0
        self.bytes = self.bytes_peak = self.bytes_sum = 0
        self.requested = self.requested_peak = self.requested_sum = 0
        # What streams still use after it was freed is active, too.
        self.waiting: dict[int, _Facts] = {}
        self.waiting_bytes = self.active_peak = self.active_bytes_peak = 0
        self.segment, self.reserved = Statistic(), Statistic()
        self.alloc_retries = self.ooms = self.device_allocs = self.device_frees = self.stream_waits = 0
        self.blocks: dict[int, _Facts] = {}
        self.segments: dict[int, tuple[int, int]] = {}
        self.history: History | None = None
        self._forgotten: dict[str, Numbers] = {}

    # --- what happens ------------------------------------------------------------------------------------------

    def allocated(self, ptr: int, size: int, requested: int, stream: int) -> None:
        """Note that memory was handed out."""
        history = self.history
        frames = stack_frames() if history is not None and history.stacks else _UNRECORDED
        block = size, requested, stream, frames
        with self.lock:
            self.blocks[ptr] = block
            self.count_sum += 1
            self.bytes_sum += size
            self.requested_sum += requested
            self.count = count = self.count + 1
            self.bytes = total = self.bytes + size
            self.requested = asked = self.requested + requested
            if count > self.count_peak:
                self.count_peak = count
            if total > self.bytes_peak:
                self.bytes_peak = total
            if asked > self.requested_peak:
                self.requested_peak = asked
            # The peaks of active memory differ from these only while blocks wait.
            if self.waiting_bytes:
                self.active_peak = max(self.active_peak, count + len(self.waiting))
                self.active_bytes_peak = max(self.active_bytes_peak, total + self.waiting_bytes)
        if history is not None:
            history.note("alloc", ptr, size, stream, frames)

    def freed(self, ptr: int, waits: bool = False) -> None:
        """Note that memory is not needed any more; `waits`: other streams still work with it."""
        with self.lock:
            block = self.blocks.pop(ptr)
            size = block[0]
            self.count -= 1
            self.bytes -= size
            self.requested -= block[1]
            if waits:
                self.waiting[ptr] = block
                self.waiting_bytes += size
        history = self.history
        if history is not None:
            frames = stack_frames() if history.stacks else _UNRECORDED
            history.note("free_requested", ptr, size, block[2], frames)
            if not waits:
                history.note("free_completed", ptr, size, block[2], frames)

    def released(self, ptr: int) -> None:
        """Note that no stream works any more with memory that was freed."""
        with self.lock:
            block = self.waiting.pop(ptr)
            self.waiting_bytes -= block[0]
        if self.history is not None:
            self.history.note("free_completed", ptr, block[0], block[2], _UNRECORDED)

    def grown(self, ptr: int, size: int, stream: int) -> None:
        """Note that the pool got memory from the device."""
        with self.lock:
            self.segments[ptr] = (size, stream)
            self.segment.add(1)
            self.reserved.add(size)
            self.device_allocs += 1
        if self.history is not None:
            self.history.note("segment_alloc", ptr, size, stream, _UNRECORDED)

    def shrunk(self, ptr: int) -> None:
        """Note that the pool gave memory back to the device."""
        with self.lock:
            size, stream = self.segments.pop(ptr)
            self.segment.take(1)
            self.reserved.take(size)
            self.device_frees += 1
        if self.history is not None:
            self.history.note("segment_free", ptr, size, stream, _UNRECORDED)

    def failed(self, size: int, free: int, stream: int) -> None:
        """Note that memory could not be had."""
        self.ooms += 1
        if self.history is not None:
            self.history.note(
                "oom", free, size, stream, stack_frames() if self.history.stacks else _UNRECORDED
            )

    # --- queries -----------------------------------------------------------------------------------------

    def _numbers(self) -> dict[str, Numbers]:
        """Return the statistics since the beginning."""
        active, active_bytes = self.count + len(self.waiting), self.bytes + self.waiting_bytes
        active_peak, active_bytes_peak = (
            max(self.active_peak, self.count_peak),
            max(self.active_bytes_peak, self.bytes_peak),
        )
        asked = self.requested
        return {
            "allocation": (self.count, self.count_peak, self.count_sum, self.count_sum - self.count),
            "allocated_bytes": (self.bytes, self.bytes_peak, self.bytes_sum, self.bytes_sum - self.bytes),
            "requested_bytes": (asked, self.requested_peak, self.requested_sum, self.requested_sum - asked),
            "active": (active, active_peak, self.count_sum, self.count_sum - active),
            "active_bytes": (active_bytes, active_bytes_peak, self.bytes_sum, self.bytes_sum - active_bytes),
            "segment": self.segment.numbers(),
            "reserved_bytes": self.reserved.numbers(),
        }

    def stats(self) -> dict[str, int]:
        """Return the statistics under PyTorch's names; CuPy's pool keeps large and small blocks together ("all")."""
        with self.lock:
            numbers = self._numbers()
        stats: dict[str, int] = {}
        for name, (current, peak, added, taken) in numbers.items():
            _, _, added_before, taken_before = self._forgotten.get(name, (0, 0, 0, 0))
            stats |= {
                f"{name}.all.current": current, f"{name}.all.peak": peak,
                f"{name}.all.allocated": added - added_before, f"{name}.all.freed": taken - taken_before,
            }  # fmt: skip
        return stats | {
            "num_alloc_retries": self.alloc_retries, "num_ooms": self.ooms,
            "num_device_alloc": self.device_allocs, "num_device_free": self.device_frees,
            "num_sync_all_streams": self.stream_waits, "max_split_size": -1,
        }  # fmt: skip

    def reset_peaks(self) -> None:
        """Reset the peaks to the current values."""
        with self.lock:
            self.count_peak, self.bytes_peak, self.requested_peak = self.count, self.bytes, self.requested
            self.active_peak = self.count + len(self.waiting)
            self.active_bytes_peak = self.bytes + self.waiting_bytes
            self.segment.peak, self.reserved.peak = self.segment.current, self.reserved.current

    def reset_sums(self) -> None:
        """Let the sums and the counts of failures begin with nothing."""
        with self.lock:
            # Subtracted from later sums: counters at each allocation stay plain additions.
            self._forgotten = self._numbers()
            self.alloc_retries = self.ooms = self.device_allocs = self.device_frees = self.stream_waits = 0

    def snapshot(self, device: int) -> list[dict[str, Any]]:
        """Return the segments with their blocks, as PyTorch's `memory_snapshot` has them."""
        with self.lock:
            blocks = [(ptr, Block(*facts), "active_allocated") for ptr, facts in self.blocks.items()]
            blocks += [(ptr, Block(*facts), "active_awaiting_free") for ptr, facts in self.waiting.items()]
            segments = dict(self.segments)
        blocks.sort(key=lambda block: block[0])
        for ptr, block, _ in blocks:  # memory of an allocator that has no segments
            if not any(start <= ptr < start + size for start, (size, _) in segments.items()):
                segments[ptr] = (block.size, block.stream)
        described = []
        for start, (size, stream) in sorted(segments.items()):
            inside = [item for item in blocks if start <= item[0] < start + size]
            described.append(_described(device, start, size, stream, inside))
        return described


def _described(
    device: int, start: int, size: int, stream: int, inside: list[tuple[int, Block, str]]
) -> dict[str, Any]:
    """Return one segment; the gaps between its blocks are free."""
    shown, end = [], start
    # The empty block at the end closes the last gap.
    for ptr, block, state in [*inside, (start + size, Block(0, 0, 0, []), "")]:
        if ptr > end:
            shown.append(
                {"address": end, "size": ptr - end, "requested_size": 0, "state": "inactive", "frames": []}
            )
        if state:
            shown.append(
                {
                    "address": ptr, "size": block.size, "requested_size": block.requested, "state": state,
                    "frames": block.frames,
                }
            )  # fmt: skip
        end = ptr + block.size
    allocated = [block for _, block, state in inside if state == "active_allocated"]
    return {
        "device": device, "address": start, "total_size": size, "stream": stream,
        "allocated_size": sum(block.size for block in allocated),
        "active_size": sum(block.size for _, block, _ in inside),
        "requested_size": sum(block.requested for block in allocated),
        "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False, "frames": [], "blocks": shown,
    }  # fmt: skip
