"""The account of a device's memory: what was allocated and freed, the largest numbers, and what lies where.

Nothing here knows CuPy: the allocator says what happens, and the ledger counts.

Note [Updates that nothing interrupts]
--------------------------------------
Memory is freed when an object dies, which may happen in any thread and, in the garbage collector, in the midst of
another update of the same thread.  The lock is reentrant, so the second cannot wait for the first for ever; and the
updates consist of additions to slots, in which Python makes no object that could start the collector.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from dataclasses import dataclass
from types import FrameType
from typing import Any

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


@dataclass(frozen=True, slots=True)
class Block:
    """Memory that is in use.

    Attributes
    ----------
    size, requested : int
        Bytes, as the pool rounds them and as they were asked for.
    stream : int
        The stream on which it was allocated.
    frames : list of dict
        Where the program asked for it, if that is recorded.
    """

    size: int
    requested: int
    stream: int
    frames: list[dict[str, Any]]


class History:
    """What happened to memory, in order: an opt-in record.

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


NAMES = (
    "allocation",
    "allocated_bytes",
    "requested_bytes",
    "active",
    "active_bytes",
    "segment",
    "reserved_bytes",
)
"""The statistics, as PyTorch calls them."""


class Ledger:
    """The account of one device.

    Examples
    --------
    >>> from tt.backends.cuda.ledger import Ledger
    >>> ledger = Ledger()
    >>> ledger.allocated(ptr=4096, size=512, requested=100, stream=0)
    >>> ledger.freed(ptr=4096)
    >>> stats = ledger.stats()
    >>> stats["allocated_bytes.all.current"], stats["allocated_bytes.all.peak"], stats["requested_bytes.all.freed"]
    (0, 512, 100)
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.allocation, self.allocated_bytes, self.requested_bytes = Statistic(), Statistic(), Statistic()
        self.active, self.active_bytes = Statistic(), Statistic()
        self.segment, self.reserved_bytes = Statistic(), Statistic()
        self.alloc_retries = self.ooms = self.device_allocs = self.device_frees = self.stream_waits = 0
        self.blocks: dict[int, Block] = {}
        self.waiting: dict[int, Block] = {}
        self.segments: dict[int, tuple[int, int]] = {}
        self.history: History | None = None

    # --- what happens ------------------------------------------------------------------------------------------

    def allocated(self, ptr: int, size: int, requested: int, stream: int) -> None:
        """Note that memory was handed out."""
        history, frames = self.history, []
        if history is not None:
            frames = stack_frames() if history.stacks else []
        block = Block(size, requested, stream, frames)
        with self.lock:
            self.blocks[ptr] = block
            self.allocation.add(1)
            self.allocated_bytes.add(size)
            self.requested_bytes.add(requested)
            self.active.add(1)
            self.active_bytes.add(size)
        if history is not None:
            history.note("alloc", ptr, size, stream, frames)

    def freed(self, ptr: int, waits: bool = False) -> None:
        """Note that memory is not needed any more; `waits`: other streams still work with it."""
        with self.lock:
            block = self.blocks.pop(ptr)
            size = block.size
            self.allocation.take(1)
            self.allocated_bytes.take(size)
            self.requested_bytes.take(block.requested)
            if waits:
                self.waiting[ptr] = block
            else:
                self.active.take(1)
                self.active_bytes.take(size)
        history = self.history
        if history is not None:
            frames = stack_frames() if history.stacks else []
            history.note("free_requested", ptr, size, block.stream, frames)
            if not waits:
                history.note("free_completed", ptr, size, block.stream, frames)

    def released(self, ptr: int) -> None:
        """Note that no stream works any more with memory that was freed."""
        with self.lock:
            block = self.waiting.pop(ptr)
            self.active.take(1)
            self.active_bytes.take(block.size)
        if self.history is not None:
            self.history.note("free_completed", ptr, block.size, block.stream, [])

    def grown(self, ptr: int, size: int, stream: int) -> None:
        """Note that the pool got memory from the device."""
        with self.lock:
            self.segments[ptr] = (size, stream)
            self.segment.add(1)
            self.reserved_bytes.add(size)
            self.device_allocs += 1
        if self.history is not None:
            self.history.note("segment_alloc", ptr, size, stream, [])

    def shrunk(self, ptr: int) -> None:
        """Note that the pool gave memory back to the device."""
        with self.lock:
            size, stream = self.segments.pop(ptr)
            self.segment.take(1)
            self.reserved_bytes.take(size)
            self.device_frees += 1
        if self.history is not None:
            self.history.note("segment_free", ptr, size, stream, [])

    def failed(self, size: int, free: int, stream: int) -> None:
        """Note that memory could not be had."""
        self.ooms += 1
        if self.history is not None:
            self.history.note("oom", free, size, stream, stack_frames() if self.history.stacks else [])

    # --- what is asked -----------------------------------------------------------------------------------------

    def _statistics(self) -> list[tuple[str, Statistic]]:
        return [(name, getattr(self, name)) for name in NAMES]

    def stats(self) -> dict[str, int]:
        """Return the statistics under PyTorch's names; CuPy's pool keeps large and small blocks together ("all")."""
        with self.lock:
            found = {
                f"{name}.all.{part}": int(getattr(statistic, part))
                for name, statistic in self._statistics()
                for part in ("current", "peak", "allocated", "freed")
            }
            found |= {
                "num_alloc_retries": self.alloc_retries, "num_ooms": self.ooms,
                "num_device_alloc": self.device_allocs, "num_device_free": self.device_frees,
                "num_sync_all_streams": self.stream_waits, "max_split_size": -1,
            }  # fmt: skip
        return found

    def reset_peaks(self) -> None:
        """Let the largest numbers begin with what is there now."""
        with self.lock:
            for _, statistic in self._statistics():
                statistic.peak = statistic.current

    def reset_sums(self) -> None:
        """Let the sums and the counts of failures begin with nothing."""
        with self.lock:
            for _, statistic in self._statistics():
                statistic.allocated = statistic.freed = 0
            self.alloc_retries = self.ooms = self.device_allocs = self.device_frees = self.stream_waits = 0

    def snapshot(self, device: int) -> list[dict[str, Any]]:
        """Return the segments with their blocks, as PyTorch's `memory_snapshot` has them."""
        with self.lock:
            blocks = [(ptr, block, "active_allocated") for ptr, block in self.blocks.items()]
            blocks += [(ptr, block, "active_awaiting_free") for ptr, block in self.waiting.items()]
            segments = dict(self.segments)
        blocks.sort(key=lambda found: found[0])
        for ptr, block, _ in blocks:  # memory of an allocator that has no segments
            if not any(start <= ptr < start + size for start, (size, _) in segments.items()):
                segments[ptr] = (block.size, block.stream)
        found = []
        for start, (size, stream) in sorted(segments.items()):
            inside = [item for item in blocks if start <= item[0] < start + size]
            found.append(_described(device, start, size, stream, inside))
        return found


def _described(
    device: int, start: int, size: int, stream: int, inside: list[tuple[int, Block, str]]
) -> dict[str, Any]:
    """Return one segment; what lies between its blocks is free."""
    shown, end = [], start
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
