"""CuPy without a GPU: devices, streams, memory, events, graphs and pinned memory as CuPy 14 has them, over NumPy.

Memory comes from a pool with CuPy's rules (512-byte rounding, an arena a stream) over a `Driver`, which plays CUDA's
runtime: it has devices of a limited size, counts every call, and can be told to fail.  The work of a stream is done
when it is given, as NumPy does it; `Driver.hold` lets it count as pending until it is waited for, so that code which
forgets to wait is found out.  A captured graph runs its work again.  `FakeCupy` has what tt uses of CuPy; numerical
functions are NumPy's, with their results in memory of the pool.
"""

from __future__ import annotations

import bisect
import contextlib
import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

__all__ = ["Driver", "FakeCupy"]

ROUND: Final = 512
NEEDS_LIBRARY: Final = frozenset({"matmul", "dot", "tensordot", "einsum", "vdot", "inner"})
"""Functions whose CuPy version calls cuBLAS, which refuses to be captured."""


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
        """Do what is left, and first what the stream waits for."""
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
        Functions of the runtime that fail: "malloc" says that there is no memory.
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
        self.holding = False
        self.lock = threading.RLock()
        self.local = threading.local()
        self._starts: list[int] = []
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
        if work.capture is None and not self.holding:
            piece()
        elif work.capture is None:
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


class _FunctionMemory(BaseMemory):
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
        size, device = rounded(size), self._cupy._driver.device
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
        return MemoryPointer(_PooledMemory(chunk, self), 0)

    def _grow(self, size: int, device: int) -> BaseMemory:
        limit = self._limits[device]
        if limit and self._total[device] + size > limit:
            raise OutOfMemoryError(size, self._total[device], limit)
        for attempt in range(3):  # as it is, without the free blocks, without what the collector finds
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
        return mem

    def _free(self, ptr: int, device: int) -> None:
        with self._lock:
            chunk = self._in_use.pop(ptr)
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


# --- arrays ------------------------------------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    if isinstance(value, ndarray):
        return value.view(np.ndarray)
    if isinstance(value, tuple | list):
        return type(value)(map(_plain, value))
    return {k: _plain(v) for k, v in value.items()} if isinstance(value, dict) else value


def _owner_of(value: Any) -> FakeCupy | None:
    if isinstance(value, ndarray):
        return value._cupy
    if isinstance(value, tuple | list):
        return next((found for item in value if (found := _owner_of(item)) is not None), None)
    return None


class ndarray(np.ndarray):  # type: ignore[type-arg]  # noqa: N801 - CuPy's name
    """An array of the fake; NumPy's functions, methods and operators on it give arrays in memory of the pool."""

    _cupy: Any = None
    _mem: Any = None

    def __array_finalize__(self, base: Any) -> None:
        if isinstance(base, ndarray):
            self._cupy, self._mem = base._cupy, base._mem

    @property
    def data(self) -> MemoryPointer:  # type: ignore[override]
        return MemoryPointer(self._mem, self.ctypes.data - self._mem.ptr if self.size else 0)

    @property
    def device(self) -> Any:
        return self._cupy.cuda.Device(self._mem.device_id)

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        found = next(f for a in (*args, *kwargs.get("out", ())) if (f := _owner_of(a)) is not None)
        return found._run(getattr(ufunc, method), ufunc.__name__, args, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return self._cupy._run(func, func.__name__, args, kwargs)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._cupy._run(lambda a, k, v: np.ndarray.__setitem__(a, k, v), "setitem", (self, key, value), {})

    def __getitem__(self, key: Any) -> Any:
        return self._cupy._run(lambda a, k: a[(..., *k) if isinstance(k, tuple) and Ellipsis not in k
                                              else (k, ...) if not isinstance(k, tuple) else k],
                               "getitem", (self, key), {})  # fmt: skip

    def item(self, *args: Any) -> Any:
        return self.get().item(*args)

    def get(self, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True) -> Any:
        """Copy to the host."""
        return self._cupy.asnumpy(self, stream=stream, order=order, out=out, blocking=blocking)

    def tolist(self) -> Any:
        return self.get().tolist()

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
    ) -> Any:
        self._cupy._driver.log.append(("dlpack", stream, max_version, dl_device, copy))
        return _Capsule(self)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self._mem.device_id

    def __bool__(self) -> bool:
        return bool(self.get())

    def __int__(self) -> int:
        return int(self.get())

    def __float__(self) -> float:
        return float(self.get())

    def __index__(self) -> int:
        return int(self.get().__index__())


def _method(name: str) -> Callable[..., Any]:
    def method(self: ndarray, *args: Any, **kwargs: Any) -> Any:
        return self._cupy._run(getattr(np.ndarray, name), name, (self, *args), kwargs)

    method.__name__ = name
    return method


for _name in (
    "all", "any", "argmax", "argmin", "argsort", "astype", "clip", "conj", "copy", "cumprod", "cumsum", "diagonal",
    "dot", "fill", "flatten", "max", "mean", "min", "nonzero", "prod", "ravel", "repeat", "reshape", "round", "sort",
    "squeeze", "std", "sum", "swapaxes", "take", "trace", "transpose", "var",
):  # fmt: skip
    setattr(ndarray, _name, _method(_name))


# --- the module --------------------------------------------------------------------------------------------------


class _Capsule:
    """What stands for a DLPack capsule: NumPy's cannot say that memory is on a GPU."""

    def __init__(self, array: ndarray) -> None:
        self.array = array


class FakeCupy:
    """What tt uses of the module `cupy`, over a `Driver`.

    Parameters
    ----------
    driver : Driver, optional
        By default a new one with two devices.
    """

    float16, float32, float64 = np.float16, np.float32, np.float64

    def __init__(self, driver: Driver | None = None) -> None:
        self._driver = Driver() if driver is None else driver
        self._streams = threading.local()
        fake = self

        def new(
            cls: Any,
            shape: Any,
            dtype: Any = float,
            memptr: Any = None,
            strides: Any = None,
            order: str = "C",
        ):  # type: ignore[no-untyped-def]
            shape = (shape,) if isinstance(shape, int) else tuple(shape)
            dtype = np.dtype(dtype)
            if memptr is None:
                memptr = fake.cuda.alloc(int(np.prod(shape, dtype=int)) * dtype.itemsize)
            if 0 in shape or not memptr.ptr:
                made = np.ndarray.__new__(cls, shape, dtype, order=order)
            else:
                start, space, _ = fake._driver.segment(memptr.ptr)
                made = np.ndarray.__new__(cls, shape, dtype, space, memptr.ptr - start, strides, order)
            made._cupy, made._mem = fake, memptr.mem
            return made

        self.ndarray: Any = type("ndarray", (ndarray,), {"__new__": new, "_cupy": self})
        self.cuda = self._make_cuda()
        self._pool = MemoryPool(self)
        self._allocator: Any = self._pool.malloc
        self.linalg = _Library(self, np.linalg)
        self.fft = _Library(self, np.fft, refuses=False)

    def get_default_memory_pool(self) -> MemoryPool:
        return self._pool

    # --- functions ---------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        if isinstance(found, type) or not callable(found):
            return found

        def function(*args: Any, **kwargs: Any) -> Any:
            return self._run(found, name, args, kwargs)

        function.__name__ = name
        setattr(self, name, function)
        return function

    def _refuse_host_arrays(self, value: Any) -> None:
        if isinstance(value, np.ndarray) and not isinstance(value, ndarray) and value.dtype != object:
            raise TypeError(f"Unsupported type {np.ndarray}")
        if isinstance(value, tuple | list):
            for item in value:
                self._refuse_host_arrays(item)

    def _current(self, device: int | None = None) -> Any:
        device = self._driver.device if device is None or device < 0 else device
        return self._streams.__dict__.setdefault(device, self.cuda.Stream.null)

    def _run(self, func: Any, name: str, args: Any, kwargs: Any, library: bool = False) -> Any:
        """Run a function of NumPy as a kernel of the current stream."""
        if name not in ("asarray", "array"):
            self._refuse_host_arrays(args)
        driver, device = self._driver, self._driver.device
        work = driver.work(self._current().ptr)
        if work.capture is not None and (library or name in NEEDS_LIBRARY):
            raise RuntimeError("calling cuBLAS API during stream capture is currently unsupported")
        plain_args, plain_kwargs = _plain(args), _plain(kwargs)
        result = func(*plain_args, **plain_kwargs)
        made: list[tuple[Any, Any]] = []
        out = kwargs.get("out")
        out = out[0] if isinstance(out, tuple) else out
        adopted = out if out is not None else self._adopt(result, args, made)

        def again() -> None:
            fresh: list[Any] = []
            self._flatten(func(*plain_args, **plain_kwargs), fresh)
            for position, target in made:
                np.copyto(target, fresh[position])

        driver.submit(self._current().ptr, device, again)
        return adopted

    def _flatten(self, value: Any, into: list[Any]) -> None:
        if isinstance(value, tuple | list):
            for item in value:
                self._flatten(item, into)
        else:
            into.append(value)

    def _adopt(
        self, value: Any, args: Any, made: list[tuple[Any, Any]], count: list[int] | None = None
    ) -> Any:
        """Return a result in memory of the pool: a view of an argument, or a copy of what NumPy made."""
        count = [0] if count is None else count
        if isinstance(value, tuple | list):
            items = [self._adopt(item, args, made, count) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        position, count[0] = count[0], count[0] + 1
        if not isinstance(value, np.ndarray | np.generic):
            return value
        value = np.asarray(value)
        address = value.__array_interface__["data"][0]
        for source in self._arrays(args):
            start = source._mem.ptr
            if value.size and start <= address < start + source._mem.size:
                return self.ndarray(
                    value.shape, value.dtype, MemoryPointer(source._mem, address - start), value.strides
                )
        order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
        new = self.ndarray(value.shape, value.dtype, order=order)
        np.copyto(new.view(np.ndarray), value)
        made.append((position, new.view(np.ndarray)))
        return new

    def _arrays(self, value: Any) -> Iterator[Any]:
        if isinstance(value, ndarray):
            yield value
        elif isinstance(value, tuple | list):
            for item in value:
                yield from self._arrays(item)

    # --- to and from the host ----------------------------------------------------------------------------------

    def asarray(self, a: Any, dtype: Any = None, order: Any = None, *, blocking: bool = False) -> Any:
        if isinstance(a, ndarray):
            return a if dtype is None or a.dtype == dtype else a.astype(dtype)
        interface = getattr(a, "__cuda_array_interface__", None)
        if interface is None:
            return self.array(a, dtype, blocking=blocking)
        if interface.get("stream") is not None:
            self._driver.wait(0 if interface["stream"] == 1 else interface["stream"])
        start = self._driver.segment(interface["data"][0])
        device = start[2] if start else self._driver.device
        dtype, shape = np.dtype(interface["typestr"]), interface["shape"]
        size = int(np.prod(shape, dtype=int)) * dtype.itemsize
        memory = UnownedMemory(interface["data"][0], size, a, device)
        return self.ndarray(shape, dtype, MemoryPointer(memory, 0), interface.get("strides"))

    def array(self, obj: Any, dtype: Any = None, copy: bool = True, order: str = "K", subok: bool = False,
              ndmin: int = 0, *, blocking: bool = False) -> Any:  # fmt: skip
        self._driver.log.append(("host to device", self._driver.device, self._current().ptr, blocking))
        found = self._run(np.array, "array", (obj,), {"dtype": dtype, "copy": True, "ndmin": ndmin})
        if blocking:
            self._driver.wait(self._current().ptr)
        return found

    def asnumpy(
        self, a: Any, stream: Any = None, order: str = "C", out: Any = None, *, blocking: bool = True
    ) -> Any:
        used = self._current(a._mem.device_id if a._mem.ptr else None) if stream is None else stream
        driver = self._driver
        driver.log.append(("device to host", a._mem.device_id, used.ptr, blocking))
        driver.refuse_capture(driver.work(used.ptr, a._mem.device_id))
        found = np.empty(a.shape, a.dtype) if out is None else out
        source = a.view(np.ndarray)
        driver.copy(used.ptr, a._mem.device_id, lambda: np.copyto(found, source))
        if blocking:
            driver.wait(used.ptr, a._mem.device_id)
        return found

    def from_dlpack(self, source: Any) -> Any:
        capsule = source.__dlpack__(stream=self._current().ptr or 1)
        return capsule.array

    # --- cupy.cuda ---------------------------------------------------------------------------------------------

    def _malloc(self, size: int) -> MemoryPointer:
        driver = self._driver
        return MemoryPointer(
            _FunctionMemory(size, driver.device, driver.malloc, lambda ptr, device: driver.free(ptr)), 0
        )

    def _make_cuda(self) -> Any:
        fake, driver = self, self._driver

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
                if event._work is not None and event._work is not self._work() and not event.done:
                    self._work().waits.append(event._work)

            def launch_host_func(self, callback: Any, arg: Any) -> None:
                driver.copy(self.ptr, self._device(), lambda: callback(arg))

            def begin_capture(self, mode: int | None = None) -> None:
                if not self.ptr:
                    raise CUDARuntimeError(900)
                driver.log.append(("begin capture", self.ptr, 2 if mode is None else mode))
                self._work().capture, self._work().invalid = [], False

            def end_capture(self) -> Graph:
                work = self._work()
                steps, work.capture = work.capture, None
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
                return MemoryPointer(_FunctionMemory(size, driver.device, *self._functions), 0)

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


class _Library:
    """A submodule whose functions call a library of NVIDIA's."""

    def __init__(self, cupy: FakeCupy, module: Any, refuses: bool = True) -> None:
        self._cupy, self._module, self._refuses = cupy, module, refuses

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if isinstance(found, type):
            return found
        return lambda *args, **kwargs: self._cupy._run(found, name, args, kwargs, library=self._refuses)


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
