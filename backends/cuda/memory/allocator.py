"""The allocator of CUDA memory: CuPy's pool, with an account of our own, and what makes freeing safe.

Note [One allocator for all]
----------------------------
CuPy's functions allocate their results themselves, so counting only tt's allocations would miss most of it.
This allocator therefore becomes CuPy's own (`cupy.cuda.set_allocator`) when CuPy is first used.  It has its own pool
over a function that allocates from the device, so both levels are counted: allocated memory, and memory that the pool
holds.  A program that gave CuPy another allocator before keeps that one, below ours.

Note [Memory that several streams use]
--------------------------------------
A freed block returns to the arena of the stream on which it was allocated, and the next allocation there may reuse it
at once: the stream's order makes that safe.  `record_stream` adds further streams.  When such a block is freed, an
event is recorded on each, and the block is kept until all are reached; allocations check the kept blocks, and an
allocation that finds no memory waits for them.
"""

from __future__ import annotations

import gc
import sys
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

from tt.backends.cuda.memory.memory_stats import Ledger
from tt.core.library import Carried, errors, fork_safe_lock

__all__ = ["Allocation", "Allocator"]


class Allocation:
    """Memory of a device that lives as long as this object.

    Attributes
    ----------
    ptr : int
        The address.
    size : int
        The requested bytes.
    device : int
        The index of the device.
    stream : int
        The stream in whose order it may be used.
    """

    __slots__ = ("__weakref__", "_allocator", "_pooled", "device", "ptr", "size", "stream", "streams")

    def __init__(
        self, allocator: Allocator, pooled: Any, ptr: int, size: int, device: int, stream: int
    ) -> None:
        self._allocator, self._pooled, self.size, self.stream = allocator, pooled, size, stream
        self.ptr, self.device = ptr, device
        self.streams: list[Any] | None = None

    def record_stream(self, stream: Any) -> None:
        """Note that a further stream of CuPy works with the memory: it is not used again before that is done."""
        if stream.ptr != self.stream:
            known = self.streams or []
            if all(stream.ptr != other.ptr for other in known):
                self.streams = [*known, stream]

    def __del__(self) -> None:
        # While Python ends, the driver frees everything itself.
        if self.ptr and not sys.is_finalizing():
            self._allocator.free(self)

    def __repr__(self) -> str:
        return f"<{self.size} bytes at {self.ptr:#x} of cuda:{self.device}>"


class Allocator:
    """Hands out memory of CUDA devices and keeps account of it.

    Parameters
    ----------
    cupy : module
        CuPy.
    source : object, optional
        The allocator of `change_current_allocator`: `alloc(size, device, stream)` and
        `free(ptr, size, device, stream)` are called for every allocation, without a pool.
    """

    def __init__(self, cupy: Any, source: Any = None) -> None:
        self.cupy, self.source = cupy, source
        self.ledgers: defaultdict[int, Ledger] = defaultdict(Ledger)
        self.pool: Any = None
        self._waiting: deque[tuple[list[Any], Any, Ledger, int]] = deque()
        self._after_capture: deque[tuple[list[Any], Any, Ledger, int]] = deque()
        self._collecting = fork_safe_lock(reentrant=False)
        self._private = Carried()
        self._captures = 0
        self._stream: Callable[[], Any] = cupy.cuda.get_current_stream
        self._malloc = self._choose()
        cupy.cuda.set_allocator(self.malloc)

    def _choose(self) -> Callable[[int], Any]:
        """Return what memory comes from: the chosen allocator, one that CuPy was given before, or a pool."""
        cuda = self.cupy.cuda
        if self.source is not None:
            plugged: Callable[[int], Any] = cuda.PythonFunctionAllocator(
                self._alloc_plugged, self._free_plugged
            ).malloc
            return plugged
        before = cuda.get_allocator()
        if getattr(before, "__self__", None) is not self.cupy.get_default_memory_pool():
            earlier: Callable[[int], Any] = before
            return earlier
        self.pool = self.new_pool()
        malloc: Callable[[int], Any] = self.pool.malloc
        return malloc

    def new_pool(self, private: bool = False) -> Any:
        """Return a pool of CuPy over the device; a private one never frees memory that a graph may still use."""
        grow = self._grow_privately if private else self._grow
        return self.cupy.cuda.MemoryPool(self.cupy.cuda.PythonFunctionAllocator(grow, self._shrink).malloc)

    # --- memory of the pool from the device ---------------------------------------------------------------------

    def _grow(self, size: int, device: int) -> int:
        ptr = int(self.cupy.cuda.runtime.malloc(size))
        self.ledgers[device].grown(ptr, size, self._stream().ptr)
        return ptr

    def _grow_privately(self, size: int, device: int) -> int:
        # CuPy would free the blocks of the pool when the device has no memory, and the graph would write to them.
        try:
            return self._grow(size, device)
        except self.cupy.cuda.runtime.CUDARuntimeError as error:
            if error.status != NO_MEMORY:
                raise
            if self.pool is not None:
                self.pool.free_all_blocks()
            try:
                return self._grow(size, device)
            except self.cupy.cuda.runtime.CUDARuntimeError as again:
                raise self._out_of_memory(size) from again

    def _shrink(self, ptr: int, device: int) -> None:
        if not sys.is_finalizing():
            self.ledgers[device].shrunk(ptr)
            self.cupy.cuda.runtime.free(ptr)

    def _alloc_plugged(self, size: int, device: int) -> int:
        ptr = int(self.source.alloc(size, device, self._stream().ptr))
        if not ptr:
            raise MemoryError(f"the pluggable allocator returned no memory for {size} bytes")
        self._sizes[ptr] = size, self._stream().ptr
        return ptr

    def _free_plugged(self, ptr: int, device: int) -> None:
        size, stream = self._sizes.pop(ptr)
        self.source.free(ptr, size, device, stream)

    @property
    def _sizes(self) -> dict[int, tuple[int, int]]:
        sizes: dict[int, tuple[int, int]] = self.__dict__.setdefault("_plugged", {})
        return sizes

    # --- handing out ---------------------------------------------------------------------------------------------

    def allocate(self, nbytes: int) -> Allocation:
        """Return new memory of the current device, in the order of the current stream.

        Raises
        ------
        OutOfMemoryError
            When there is not as much, also after all that is not in use was given back.
        """
        # The pool has no blocks of nothing; the address 0 also tells `__del__` that there is nothing to
        # free.
        if not nbytes:
            return Allocation(self, None, 0, 0, self.cupy.cuda.get_device_id(), 0)
        if self._waiting:
            self.collect()
        malloc = self._malloc
        # The thread's own attribute is looked up only while some thread captures.
        if self._captures:
            malloc = getattr(self._private, "malloc", malloc)
        try:
            pointer = malloc(nbytes)
        except MemoryError as error:
            pointer = self._again(malloc, nbytes, error)
        ptr, memory, stream = pointer.ptr, pointer.mem, self._stream().ptr
        device = memory.device_id
        self.ledgers[device].allocated(ptr, memory.size, nbytes, stream)
        return Allocation(self, memory, ptr, nbytes, device, stream)

    def malloc(self, size: int) -> Any:
        """Return new memory as CuPy wants it: a `MemoryPointer` that keeps an `Allocation` alive."""
        allocation = self.allocate(size)
        cuda = self.cupy.cuda
        return cuda.MemoryPointer(cuda.UnownedMemory(allocation.ptr, size, allocation, allocation.device), 0)

    def _again(self, malloc: Callable[[int], Any], nbytes: int, error: MemoryError) -> Any:
        """Try once more after everything that is not in use was given back."""
        if isinstance(error, errors.OutOfMemoryError):
            raise error
        ledger = self.ledgers[self.cupy.cuda.get_device_id()]
        ledger.alloc_retries += 1
        # Waiting for an event would break the capture.
        if not self._captures:
            self.collect(wait=True)
        # Tensors in reference cycles hold memory until the collector runs.
        gc.collect()
        self.empty_cache()
        try:
            return malloc(nbytes)
        except MemoryError as again:
            raise self._out_of_memory(nbytes) from again

    def _out_of_memory(self, nbytes: int) -> errors.OutOfMemoryError:
        device = self.cupy.cuda.get_device_id()
        ledger = self.ledgers[device]
        free, total = (int(n) for n in self.cupy.cuda.runtime.memGetInfo())
        ledger.failed(nbytes, free, self._stream().ptr)
        limit = 0 if self.pool is None else int(self.pool.get_limit())
        return errors.OutOfMemoryError(
            f"cuda:{device}",
            asked=nbytes,
            allocated=ledger.bytes,
            reserved=ledger.reserved.current,
            free=free,
            total=total,
            limit=limit or None,
        )

    # --- taking back ---------------------------------------------------------------------------------------------

    def free(self, allocation: Allocation) -> None:
        """Take memory back, now or when the streams that were named are done with it."""
        ledger, streams = self.ledgers[allocation.device], allocation.streams
        ledger.freed(allocation.ptr, waits=streams is not None)
        if streams is None:
            return  # the pool has it back when `_pooled` dies with the allocation
        kept = (allocation._pooled, ledger, allocation.ptr)
        # An event that is recorded now would become part of the graph, so it is recorded after the capture.
        if self._captures:
            self._after_capture.append((streams, *kept))
        else:
            self._waiting.append((self._events(streams, allocation.device), *kept))

    def _events(self, streams: list[Any], device: int) -> list[Any]:
        events = []
        with self.cupy.cuda.Device(device):
            for stream in streams:
                event = self.cupy.cuda.Event(disable_timing=True)
                event.record(stream)
                events.append(event)
        return events

    def collect(self, wait: bool = False) -> None:
        """Give back what streams are done with; `wait`: let the host wait for all of them."""
        # Not reentrant: the collector can run a second call within the first, in the same thread.
        if not self._collecting.acquire(blocking=False):
            return  # another thread is at it
        try:
            # As many turns as there are entries at first: those that are not done go to the end again.
            for _ in range(len(self._waiting)):
                events, pooled, ledger, ptr = self._waiting.popleft()
                if wait:
                    ledger.stream_waits += 1
                    for event in events:
                        event.synchronize()
                elif not all(event.done for event in events):
                    self._waiting.append((events, pooled, ledger, ptr))
                    continue
                ledger.released(ptr)
                # The last reference: the block is the pool's again before the next turn.
                del pooled
        finally:
            self._collecting.release()

    def empty_cache(self) -> None:
        """Return the pool's unused memory to the devices."""
        if self._waiting:
            self.collect()
        if self.pool is not None:
            self.pool.free_all_blocks()

    # --- graphs --------------------------------------------------------------------------------------------------

    def begin_private(self, pool: Any) -> None:
        """Let this thread take its memory from the private pool of a graph."""
        self._private.malloc = pool.malloc
        self._captures += 1

    def end_private(self) -> None:
        """Let this thread take its memory from where it always does."""
        del self._private.malloc
        self._captures -= 1
        while self._after_capture and not self._captures:
            streams, pooled, ledger, ptr = self._after_capture.popleft()
            self._waiting.append((self._events(streams, pooled.device_id), pooled, ledger, ptr))


NO_MEMORY = 2
"""`cudaErrorMemoryAllocation`."""
