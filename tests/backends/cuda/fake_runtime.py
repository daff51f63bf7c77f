"""The module `cupy.cuda` of the fake CuPy: devices, streams, events, graphs, the runtime and NVTX."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.backends.cuda.fake_driver import (
    BaseMemory,
    CUDARuntimeError,
    Driver,
    FunctionMemory,
    MemoryPointer,
    MemoryPool,
    OutOfMemoryError,
    UnownedMemory,
    Work,
)

if TYPE_CHECKING:
    from tests.backends.cuda.fake_cupy import FakeCupy

__all__ = ["make_cuda"]


def make_cuda(fake: FakeCupy) -> Any:
    """Return the module `cupy.cuda` of a fake."""
    driver = fake._driver

    class Device:
        def __init__(self, device: int | None = None) -> None:
            self.id = driver.device if device is None else int(device)
            self._before: list[int] = []

        def __int__(self) -> int:
            return self.id

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Device) and self.id == other.id

        __hash__ = None  # type: ignore[assignment]

        def __enter__(self) -> Device:
            self._before.append(driver.device)
            if driver.device != self.id:
                driver.device = self.id
            return self

        def __exit__(self, *error: object) -> None:
            if driver.device != self._before[-1]:
                driver.device = self._before[-1]
            self._before.pop()

        def use(self) -> None:
            driver.device = self.id

        def synchronize(self) -> None:
            driver.calls["deviceSynchronize"] += 1
            driver.refuse_capture()
            for (device, _), work in list(driver.works.items()):
                if device == self.id:
                    work.complete()

        @property
        def compute_capability(self) -> str:
            return "90"

        @property
        def pci_bus_id(self) -> str:
            return f"0000:{self.id:02X}:00.0"

    class BaseStream:
        ptr, device_id = 0, -1

        def _device(self) -> int:
            return driver.device if self.device_id < 0 else self.device_id

        def _work(self) -> Work:
            return driver.work(self.ptr, self._device())

        def __eq__(self, other: object) -> bool:
            return isinstance(other, BaseStream) and self.ptr == other.ptr

        def __hash__(self) -> int:
            return hash(self.ptr)

        def use(self) -> BaseStream:
            if self.device_id not in (-1, driver.device):
                raise RuntimeError(
                    f"This stream was not created on the current device ({self.device_id} != {driver.device})"
                )
            fake._streams.__dict__[driver.device] = self
            return self

        def __enter__(self) -> BaseStream:
            self.__dict__.setdefault("_before", []).append(fake._current())
            return self.use()

        def __exit__(self, *error: object) -> None:
            fake._streams.__dict__[driver.device] = self.__dict__["_before"].pop()

        @property
        def done(self) -> bool:
            work = self._work()
            return work.done >= work.submitted

        @property
        def is_non_blocking(self) -> bool:
            return bool(getattr(self, "_non_blocking", False))

        @property
        def priority(self) -> int:
            return int(getattr(self, "_priority", None) or 0)

        def synchronize(self) -> None:
            driver.wait(self.ptr, self._device())

        def record(self, event: Any = None) -> Any:
            event = Event() if event is None else event
            event.record(self)
            return event

        def wait_event(self, event: Any) -> None:
            driver.log.append(("wait", self._device(), self.ptr, event.ptr))
            event = driver.events[event.ptr]
            if event._work is not None and event._work is not self._work() and not event.done:
                self._work().waits.append(event._work)

        def launch_host_func(self, callback: Any, arg: Any) -> None:
            driver.copy(self.ptr, self._device(), lambda: callback(arg))

        def begin_capture(self, mode: int | None = None) -> None:
            if not self.ptr:
                raise CUDARuntimeError(900)
            driver.log.append(("begin capture", self.ptr, 2 if mode is None else mode))
            driver.begin_capture(self._work())

        def end_capture(self) -> Graph:
            work = self._work()
            steps = driver.end_capture(work)
            if steps is None:
                raise CUDARuntimeError(1)
            if work.invalid:
                raise CUDARuntimeError(901)
            return Graph(steps)

        def is_capturing(self) -> bool:
            return self._work().capture is not None

    class Stream(BaseStream):
        null: Any = None
        ptds: Any = None

        def __init__(
            self,
            null: bool = False,
            non_blocking: bool = False,
            ptds: bool = False,
            priority: int | None = None,
        ) -> None:
            self._non_blocking, self._priority = non_blocking, priority
            if null or ptds:
                self.ptr = 0 if null else 2
            else:
                self.ptr, self.device_id = next(driver._numbers), driver.device

        @classmethod
        def from_external(cls, obj: Any) -> Any:
            stream = BaseStream()
            stream.ptr = obj.__cuda_stream__()[1]
            return stream

    Stream.null, Stream.ptds = Stream(null=True), Stream(ptds=True)

    class Event:
        def __init__(
            self, block: bool = False, disable_timing: bool = False, interprocess: bool = False
        ) -> None:
            self.ptr = next(driver._numbers)
            driver.events[self.ptr] = self
            self.flags = (block, disable_timing, interprocess)
            self._work: Work | None = None
            self._position, self._time = 0, 0.0

        def record(self, stream: Any = None) -> None:
            stream = fake._current() if stream is None else stream
            self._work = stream._work()
            self._position, self._time = self._work.submitted, time.perf_counter()

        @property
        def done(self) -> bool:
            return self._work is None or self._work.done >= self._position

        def synchronize(self) -> None:
            if self._work is not None:
                driver.refuse_capture(self._work)
                driver.calls["eventSynchronize"] += 1
                self._work.complete()

    class Graph:
        def __init__(self, steps: list[Callable[[], None]]) -> None:
            self._steps, self.graph, self.graphExec = steps, next(driver._numbers), next(driver._numbers)

        def launch(self, stream: Any = None) -> None:
            stream = fake._current() if stream is None else stream
            driver.log.append(("launch graph", stream.ptr, len(self._steps)))
            for step in self._steps:
                step()
            driver.submit(stream.ptr)

        def upload(self, stream: Any = None) -> None:
            pass

        def debug_dot_str(self, flags: int = 0) -> str:
            return f"digraph dot {{ {len(self._steps)} nodes }}"

    class PythonFunctionAllocator:
        def __init__(self, malloc_func: Any, free_func: Any) -> None:
            self._functions = malloc_func, free_func

        def malloc(self, size: int) -> MemoryPointer:
            return MemoryPointer(FunctionMemory(size, driver.device, *self._functions), 0)

    def elapsed(start: Event, end: Event) -> float:
        if start.flags[1] or end.flags[1]:
            raise CUDARuntimeError(1)
        return (end._time - start._time) * 1e3

    def set_allocator(allocator: Any = None) -> None:
        fake._allocator = fake._malloc if allocator is None else allocator

    def alloc_pinned_memory(size: int) -> Any:
        space = np.full(max(size, 1), 0xCD, np.uint8).view(_Pinned)
        driver.calls["hostAlloc"] += 1
        driver.pinned[space.ctypes.data] = space
        return space

    return SimpleNamespace(
        Device=Device, Stream=Stream, Event=Event, Graph=Graph,
        BaseMemory=BaseMemory, UnownedMemory=UnownedMemory, MemoryPointer=MemoryPointer,
        MemoryPool=lambda allocator=None: MemoryPool(fake, allocator),
        PythonFunctionAllocator=PythonFunctionAllocator,
        alloc=lambda size: fake._allocator(size), set_allocator=set_allocator,
        get_allocator=lambda: fake._allocator, alloc_pinned_memory=alloc_pinned_memory,
        get_current_stream=lambda device_id=-1: fake._current(device_id), get_elapsed_time=elapsed,
        get_device_id=lambda: driver.device, memory=SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
        runtime=_runtime(driver), nvtx=_nvtx(driver), is_available=lambda: driver.devices > 0,
    )  # fmt: skip


class _Pinned(np.ndarray):  # type: ignore[type-arg]
    """Page-locked memory of the host."""

    @property
    def ptr(self) -> int:
        return int(self.ctypes.data)


class _At:
    """A stream by its address."""

    def __init__(self, driver: Driver, pointer: int) -> None:
        self._driver, self._pointer = driver, pointer

    def _work(self) -> Work:
        return self._driver.work(self._pointer)


def _runtime(driver: Driver) -> Any:
    """Return the module `cupy.cuda.runtime`."""

    def space(address: int, size: int) -> np.ndarray[Any, Any]:
        import ctypes

        try:
            return driver.bytes_at(address, size)
        except CUDARuntimeError:
            return np.frombuffer((ctypes.c_uint8 * size).from_address(address), np.uint8)

    def copy(dst: int, src: int, size: int) -> Callable[[], None]:
        if not size:
            return lambda: None
        target, source = space(dst, size), space(src, size)
        return lambda: np.copyto(target, source)

    def memcpy_async(dst: int, src: int, size: int, kind: int, stream: int) -> None:
        driver.log.append(("memcpyAsync", kind, size, stream))
        driver.copy(stream, None, copy(dst, src, size))

    def memcpy_peer_async(
        dst: int, dst_device: int, src: int, src_device: int, size: int, stream: int
    ) -> None:
        driver.log.append(("memcpyPeerAsync", dst_device, src_device, size, stream))
        driver.copy(stream, None, copy(dst, src, size))

    def memcpy(dst: int, src: int, size: int, kind: int) -> None:
        driver.refuse_capture()
        driver.finish()
        driver.log.append(("memcpy", kind, size))
        copy(dst, src, size)()

    def pointer_attributes(address: int) -> Any:
        found = driver.segment(address)
        if found is not None:
            return SimpleNamespace(type=2, device=found[2], devicePointer=address, hostPointer=0)
        for start, pinned in driver.pinned.items():
            if start <= address < start + len(pinned):
                return SimpleNamespace(type=1, device=0, devicePointer=address, hostPointer=address)
        return SimpleNamespace(type=0, device=-2, devicePointer=0, hostPointer=address)

    def event_handle(event: int) -> bytes:
        if not driver.events[event].flags[2]:
            raise CUDARuntimeError(1)
        return event.to_bytes(64, "little")

    def memory_handle(address: int) -> bytes:
        if address not in driver.segments:
            raise CUDARuntimeError(1)  # only whole segments are handed over
        return address.to_bytes(64, "little")

    def open_memory(handle: bytes) -> int:
        address = int.from_bytes(handle, "little")
        if len(handle) != 64 or address not in driver.segments:
            raise CUDARuntimeError(1)
        driver.log.append(("open memory", address))
        return address

    def open_event(handle: bytes) -> int:
        number = int.from_bytes(handle, "little")
        if len(handle) != 64 or number not in driver.events:
            raise CUDARuntimeError(1)
        opened = next(driver._numbers)
        driver.events[opened] = driver.events[number]
        return opened

    def enable_peer(device: int) -> None:
        if (driver.device, device) in driver.peers:
            raise CUDARuntimeError(704)
        driver.peers.add((driver.device, device))

    def set_device(device: int) -> None:
        driver.device = device

    def properties(device: int) -> dict[str, Any]:
        if not 0 <= device < driver.devices:
            raise CUDARuntimeError(101)
        return {
            "name": f"Fake GPU {device}".encode(), "totalGlobalMem": driver.memory, "major": 9, "minor": 0,
            "multiProcessorCount": 132, "warpSize": 32, "maxThreadsPerMultiProcessor": 2048, "regsPerMultiprocessor":
            65536, "sharedMemPerBlock": 49152, "sharedMemPerBlockOptin": 232448, "sharedMemPerMultiprocessor": 233472,
            "l2CacheSize": 52428800, "maxThreadsPerBlock": 1024, "integrated": 0, "isMultiGpuBoard": 0,
            "pciBusID": device, "pciDeviceID": 0, "pciDomainID": 0, "uuid": bytes(15) + bytes([device]),
            "clockRate": 1980000, "memoryClockRate": 2619000, "memoryBusWidth": 5120,
        }  # fmt: skip

    return SimpleNamespace(
        CUDARuntimeError=CUDARuntimeError, is_hip=False,
        getDeviceCount=lambda: driver.devices, getDevice=lambda: driver.device, setDevice=set_device,
        getDeviceProperties=properties, deviceSynchronize=lambda: driver.finish(),
        memGetInfo=lambda: (driver.memory - driver.used[driver.device], driver.memory),
        malloc=driver.malloc, free=driver.free, memcpyAsync=memcpy_async, memcpyPeerAsync=memcpy_peer_async,
        memcpy=memcpy, memcpyHostToHost=0, memcpyHostToDevice=1, memcpyDeviceToHost=2, memcpyDeviceToDevice=3,
        memcpyDefault=4, memoryTypeUnregistered=0, memoryTypeHost=1, memoryTypeDevice=2, memoryTypeManaged=3,
        pointerGetAttributes=pointer_attributes, deviceCanAccessPeer=lambda device, peer: int(device != peer),
        deviceEnablePeerAccess=enable_peer, runtimeGetVersion=lambda: 12090,
        driverGetVersion=lambda: 12090, streamIsCapturing=lambda stream: driver.work(stream).capture is not None,
        streamCaptureModeGlobal=0, streamCaptureModeThreadLocal=1, streamCaptureModeRelaxed=2,
        ipcGetMemHandle=memory_handle, ipcOpenMemHandle=open_memory,
        ipcCloseMemHandle=lambda address: driver.log.append(("close memory", address)),
        ipcGetEventHandle=event_handle, ipcOpenEventHandle=open_event,
        eventQuery=lambda event: 0 if driver.events[event].done else 600,
        eventSynchronize=lambda event: driver.events[event].synchronize(),
        eventRecord=lambda event, stream: driver.events[event].record(_At(driver, stream)),
        eventDestroy=lambda event: driver.events.pop(event, None),
        profilerStart=lambda: driver.log.append(("profiler start",)),
        profilerStop=lambda: driver.log.append(("profiler stop",)),
    )  # fmt: skip


def _nvtx(driver: Driver) -> Any:
    """Return the module `cupy.cuda.nvtx`."""

    def start(message: str, id_color: int = -1) -> int:
        driver.log.append(("range start", message))
        return len(driver.log)

    return SimpleNamespace(
        available=True,
        RangePush=lambda message, id_color=-1: driver.log.append(("push", message)),
        RangePop=lambda: driver.log.append(("pop",)),
        Mark=lambda message, id_color=-1: driver.log.append(("mark", message)),
        RangeStart=start,
        RangeEnd=lambda number: driver.log.append(("range end", number)),
    )
