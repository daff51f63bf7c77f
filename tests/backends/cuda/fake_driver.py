"""The devices of the fake CuPy: what CUDA's runtime does with memory and streams, and CuPy's pool above it."""

from __future__ import annotations

import bisect
import contextlib
import itertools
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tests.backends.cuda.sanitizing import GAP, allow, forbid

if TYPE_CHECKING:
    from tests.backends.cuda.fake_cupy import FakeCupy

__all__ = [
    "BaseMemory",
    "CUDARuntimeError",
    "Driver",
    "FunctionMemory",
    "MemoryPointer",
    "MemoryPool",
    "OutOfMemoryError",
    "UnownedMemory",
    "Work",
]

ROUND: Final = 512


def rounded(size: int) -> int:
    """Return a size rounded up as CuPy's pool does."""
    return (size + ROUND - 1) // ROUND * ROUND


class CUDARuntimeError(RuntimeError):
    """An error of CUDA's runtime."""

    NAMES: Final = {
        1: "cudaErrorInvalidValue", 2: "cudaErrorMemoryAllocation", 17: "cudaErrorInvalidDevicePointer",
        101: "cudaErrorInvalidDevice", 704: "cudaErrorPeerAccessAlreadyEnabled",
        900: "cudaErrorStreamCaptureUnsupported", 901: "cudaErrorStreamCaptureInvalidated",
    }  # fmt: skip

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(f"{self.NAMES.get(status, status)}: the fake says so")


class OutOfMemoryError(MemoryError):
    """CuPy's error of a pool that cannot grow."""

    def __init__(self, size: int, total: int, limit: int = 0) -> None:
        limited = f", limit set to: {limit:,} bytes" if limit else ""
        super().__init__(
            f"Out of memory allocating {size:,} bytes (allocated so far: {total:,} bytes{limited})."
        )


# --- the runtime -------------------------------------------------------------------------------------------------


class Work:
    """The work of one stream: how much was submitted, how much is done, and the capture that goes on."""

    def __init__(self) -> None:
        self.submitted = self.done = 0
        self.capture: list[Callable[[], None]] | None = None
        self.invalid = False
        self.later: list[Callable[[], None]] = []
        self.waits: list[Work] = []

    def complete(self) -> None:
        """Do the rest, and first the work that the stream waits for."""
        waits, self.waits = self.waits, []
        for other in waits:
            other.complete()
        later, self.later = self.later, []
        for piece in later:
            piece()
        self.done = self.submitted


class Driver:
    """What CUDA's runtime does, without a device.

    Parameters
    ----------
    devices : int
        How many there are.
    memory : int
        Bytes of each.

    Attributes
    ----------
    calls : Counter
        How often each function of the runtime was called.
    log : list of tuple
        Copies and waits in order.
    fail : set of str
        Functions of the runtime that fail: "malloc" reports that memory is exhausted.
    """

    def __init__(self, devices: int = 2, memory: int = 1 << 26) -> None:
        self.devices, self.memory = devices, memory
        self.calls: Counter[str] = Counter()
        self.log: list[tuple[Any, ...]] = []
        self.fail: set[str] = set()
        self.used = [0] * devices
        self.segments: dict[int, tuple[np.ndarray[Any, Any], int, int]] = {}
        self.pinned: dict[int, np.ndarray[Any, Any]] = {}
        self.peers: set[tuple[int, int]] = set()
        self.works: dict[tuple[int, int], Work] = {}
        self.events: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self.holding = False
        self.lock = threading.RLock()
        self.local = threading.local()
        self._starts: list[int] = []
        self._before: dict[int, np.ndarray[Any, Any]] = {}
        self._numbers = itertools.count(0x1000, 0x10)

    # --- devices -----------------------------------------------------------------------------------------------

    @property
    def device(self) -> int:
        """The current device of this thread."""
        return int(getattr(self.local, "device", 0))

    @device.setter
    def device(self, index: int) -> None:
        self.calls["setDevice"] += 1
        if not 0 <= index < self.devices:
            raise CUDARuntimeError(101)
        self.local.device = index

    # --- memory ------------------------------------------------------------------------------------------------

    def malloc(self, size: int, device: int | None = None) -> int:
        """Return the address of new memory of a device; it is filled with rubbish."""
        device = self.device if device is None else device
        with self.lock:
            self.calls["malloc"] += 1
            if "malloc" in self.fail or self.used[device] + size > self.memory:
                raise CUDARuntimeError(2)
            space = np.full(size + ROUND, 0xCD, np.uint8)
            address = -(-space.ctypes.data // ROUND) * ROUND
            offset = address - space.ctypes.data
            self.segments[address] = space[offset : offset + size], device, size
            bisect.insort(self._starts, address)
            self.used[device] += size
            return address

    def free(self, address: int) -> None:
        """Give memory back; what still reads it finds other rubbish."""
        with self.lock:
            self.calls["free"] += 1
            if address not in self.segments:
                raise CUDARuntimeError(17)
            space, device, size = self.segments.pop(address)
            self._starts.remove(address)
            allow(address, size)
            space[:] = 0xDD
            self.used[device] -= size

    def segment(self, address: int) -> tuple[int, np.ndarray[Any, Any], int] | None:
        """Return (start, bytes, device) of the segment that holds an address."""
        with self.lock:
            place = bisect.bisect_right(self._starts, address) - 1
            if place < 0:
                return None
            start = self._starts[place]
            space, device, size = self.segments[start]
            return (start, space, device) if address < start + size else None

    def bytes_at(self, address: int, size: int) -> np.ndarray[Any, Any]:
        """Return the bytes at a device address."""
        found = self.segment(address)
        if found is None or address - found[0] + size > len(found[1]):
            raise CUDARuntimeError(17)
        return found[1][address - found[0] : address - found[0] + size]

    # --- streams -----------------------------------------------------------------------------------------------

    def work(self, pointer: int, device: int | None = None) -> Work:
        """Return the work of a stream; the null stream of each device is one of its own."""
        return self.works.setdefault((self.device if device is None else device, pointer), Work())

    def submit(
        self, pointer: int, device: int | None = None, again: Callable[[], None] | None = None
    ) -> None:
        """Count a piece of work of a stream that is done already; a capture notes how to do it again."""
        work = self.work(pointer, device)
        if work.capture is not None:
            if again is not None:
                work.capture.append(again)
            return
        work.submitted += 1
        if not self.holding:
            work.complete()

    def copy(self, pointer: int, device: int | None, piece: Callable[[], None]) -> None:
        """Do a piece of work of a stream when it is given, or when something waits for it, if the driver holds it."""
        work = self.work(pointer, device)
        if work.capture is not None or not self.holding:
            piece()  # of a capture, it is undone in the end
        else:
            work.later.append(piece)
        self.submit(pointer, device, piece)

    def wait(self, pointer: int, device: int | None = None) -> None:
        """Wait for a stream, which a capture does not allow."""
        work = self.work(pointer, device)
        self.refuse_capture(work)
        self.calls["streamSynchronize"] += 1
        work.complete()

    def refuse_capture(self, work: Work | None = None) -> None:
        """Raise what CUDA raises for a call that a capture does not allow."""
        capturing = [w for w in ([work] if work else list(self.works.values())) if w.capture is not None]
        for found in capturing:
            found.invalid = True
            raise CUDARuntimeError(900)

    def begin_capture(self, work: Work) -> None:
        """Begin to note the work of a stream; remember what memory holds."""
        work.capture, work.invalid = [], False
        with self.lock:
            self._before = {start: space.copy() for start, (space, _, _) in self.segments.items()}
            self._before |= {start: np.array(space) for start, space in self.pinned.items()}

    def end_capture(self, work: Work) -> list[Callable[[], None]] | None:
        """Return the work that was noted, and undo it: during a capture nothing runs."""
        steps, work.capture = work.capture, None
        with self.lock:
            before, self._before = self._before, {}
            spaces = {start: space for start, (space, _, _) in self.segments.items()}
            for start, space in spaces.items():
                if start in before and len(before[start]) == len(space):
                    space[:] = before[start]
                else:
                    space[:] = 0xCD
            for start, space in self.pinned.items():
                if start in before:
                    space[:] = before[start]
        return steps

    def finish(self) -> None:
        """Let all pending work be done."""
        for work in list(self.works.values()):
            work.complete()

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Let work that is submitted inside count as pending until something waits for it."""
        self.holding = True
        try:
            yield
        finally:
            self.holding = False


# --- memory ------------------------------------------------------------------------------------------------------


class BaseMemory:
    """Memory on a device."""

    ptr, size, device_id = 0, 0, 0

    def __int__(self) -> int:
        return self.ptr


class UnownedMemory(BaseMemory):
    """Memory that somebody else owns, who is kept alive."""

    def __init__(self, ptr: int, size: int, owner: Any, device_id: int = -1) -> None:
        self.ptr, self.size, self._owner, self.device_id = ptr, size, owner, device_id


class MemoryPointer:
    """An address in memory."""

    def __init__(self, mem: BaseMemory, offset: int) -> None:
        self.mem, self.ptr = mem, mem.ptr + offset

    @property
    def device_id(self) -> int:
        return self.mem.device_id

    def __int__(self) -> int:
        return self.ptr


class FunctionMemory(BaseMemory):
    def __init__(self, size: int, device: int, malloc: Any, free: Any) -> None:
        self.size, self.device_id, self._free = size, device, free
        if size:
            self.ptr = malloc(size, device)

    def __del__(self) -> None:
        if self.ptr:
            self._free(self.ptr, self.device_id)


class _Chunk:
    def __init__(self, mem: BaseMemory, offset: int, size: int, stream: int) -> None:
        self.mem, self.offset, self.size, self.stream = mem, offset, size, stream
        self.prev: _Chunk | None = None
        self.next: _Chunk | None = None

    @property
    def ptr(self) -> int:
        return self.mem.ptr + self.offset


class _PooledMemory(BaseMemory):
    def __init__(self, chunk: _Chunk, pool: MemoryPool) -> None:
        self.ptr, self.size, self.device_id = chunk.ptr, chunk.size, chunk.mem.device_id
        self._pool, self._freed = pool, False

    def free(self) -> None:
        if not self._freed and self.ptr:
            self._freed = True
            self._pool._free(self.ptr, self.device_id)

    __del__ = free


class MemoryPool:
    """CuPy's pool: best fit by size within the arena of the current stream; big chunks are split, neighbours joined."""

    def __init__(self, cupy: FakeCupy, allocator: Any = None) -> None:
        self._cupy, self._allocator = cupy, allocator or cupy._malloc
        self._lock = threading.RLock()
        self._in_use: dict[int, _Chunk] = {}
        self._arenas: dict[tuple[int, int], list[_Chunk]] = {}
        self._total: Counter[int] = Counter()
        self._limits: Counter[int] = Counter()

    def malloc(self, size: int) -> MemoryPointer:
        asked, device = size, self._cupy._driver.device
        size = rounded(size) + GAP if asked else 0
        if not size:
            return MemoryPointer(BaseMemory(), 0)
        stream = self._cupy._current(device).ptr
        with self._lock:
            arena = self._arenas.setdefault((device, stream), [])
            fitting = [chunk for chunk in arena if chunk.size >= size]
            if fitting:
                chunk = min(fitting, key=lambda c: c.size)
                arena.remove(chunk)
                if chunk.size > size:
                    rest = _Chunk(chunk.mem, chunk.offset + size, chunk.size - size, stream)
                    rest.prev, rest.next, chunk.size = chunk, chunk.next, size
                    if chunk.next is not None:
                        chunk.next.prev = rest
                    chunk.next = rest
                    arena.append(rest)
            else:
                chunk = _Chunk(self._grow(size, device), 0, size, stream)
            self._in_use[chunk.ptr] = chunk
            allow(chunk.ptr, asked)
            forbid(chunk.ptr + asked, size - asked)
        return MemoryPointer(_PooledMemory(chunk, self), 0)

    def _grow(self, size: int, device: int) -> BaseMemory:
        limit = self._limits[device]
        if limit and self._total[device] + size > limit:
            raise OutOfMemoryError(size, self._total[device], limit)
        for attempt in range(3):  # as it is, without the free blocks, without garbage
            try:
                mem: BaseMemory = self._allocator(size).mem
            except CUDARuntimeError as error:
                if error.status != 2:
                    raise
                if attempt == 2:
                    raise OutOfMemoryError(size, self._total[device], limit) from error
                self.free_all_blocks()
            else:
                break
        self._total[device] += size
        forbid(mem.ptr, size)
        return mem

    def _free(self, ptr: int, device: int) -> None:
        with self._lock:
            chunk = self._in_use.pop(ptr)
            forbid(chunk.ptr, chunk.size)
            arena = self._arenas.setdefault((device, chunk.stream), [])
            for first, second in ((chunk, chunk.next), (chunk.prev, chunk)):
                if first is not None and second is not None and (first in arena or second in arena):
                    first.size += second.size
                    first.next = second.next
                    if second.next is not None:
                        second.next.prev = first
                    for old in (first, second):
                        if old in arena:
                            arena.remove(old)
                    chunk = first
            arena.append(chunk)

    def free_all_blocks(self, stream: Any = None) -> None:
        with self._lock:
            for (device, pointer), arena in self._arenas.items():
                if stream is not None and stream.ptr != pointer:
                    continue
                for chunk in [c for c in arena if c.prev is None and c.next is None]:
                    arena.remove(chunk)
                    self._total[device] -= chunk.size

    def used_bytes(self) -> int:
        device = self._cupy._driver.device
        return sum(c.size for c in self._in_use.values() if c.mem.device_id == device)

    def free_bytes(self) -> int:
        return self.total_bytes() - self.used_bytes()

    def total_bytes(self) -> int:
        return self._total[self._cupy._driver.device]

    def n_free_blocks(self) -> int:
        return sum(len(a) for (d, _), a in self._arenas.items() if d == self._cupy._driver.device)

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        device = self._cupy._driver.device
        self._limits[device] = int(fraction * self._cupy._driver.memory) if fraction else size or 0

    def get_limit(self) -> int:
        return self._limits[self._cupy._driver.device]
