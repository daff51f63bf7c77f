"""The backend of CUDA devices: strided handles over CuPy's memory."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tt.backends.cuda import copies
from tt.backends.cuda.handle import Memory, StridedHandle
from tt.backends.cuda.launch.engine import CupyEngine, Engine
from tt.backends.cuda.libraries.namespace import LazyNamespace
from tt.backends.cuda.memory.interprocess import SentMemory
from tt.backends.cuda.memory.memory import CupyMemory, cupy
from tt.backends.cuda.memory.transfers import Transfers
from tt.backends.cuda.runtime.availability import find_driver, reason
from tt.backends.cuda.runtime.current import CurrentOfThread
from tt.backends.cuda.runtime.device_asserts import Failures
from tt.backends.cuda.runtime.graph_random import CapturedNumbers
from tt.backends.cuda.runtime.streams import CudaEvent, CudaStream, ForeignStream, OpenedEvent
from tt.backends.cuda.runtime.synchronisation import SyncDebug
from tt.core.library import (
    STORED,
    Backend,
    Device,
    DeviceProperties,
    dtype,
    errors,
    from_numpy_dtype,
    to_dtype,
)

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = ["CudaBackend"]


class CudaBackend(Backend):
    """Describes CUDA tensors to the core; imports CuPy when the first one is made.

    Parameters
    ----------
    memory : Memory, optional
        How memory is allocated; by tt's allocator over CuPy's pool by default.
    library : callable, optional
        Returns the array library; CuPy by default.
    engine : Engine, optional
        What compiles and launches kernels of programs; CuPy's modules by default.
    """

    device_type = "cuda"
    handle_type = StridedHandle
    numbered = True
    module = "tt.cuda"
    silence_numpy = False

    def __init__(
        self,
        memory: Memory | None = None,
        library: Callable[[], Any] = cupy,
        engine: Engine | None = None,
    ) -> None:
        super().__init__()
        self.memory: Memory = CupyMemory(library) if memory is None else memory
        # The library is looked up at every call; the first one makes the allocator CuPy's own.
        self.library = self.memory.library if isinstance(self.memory, CupyMemory) else library
        self.engine: Engine = CupyEngine(self.library) if engine is None else engine
        self.namespace = LazyNamespace(self.library)
        self.transfers = Transfers(self)
        self.sync_debug = SyncDebug()
        self.fractions: dict[int, float] = {}
        self.lent: dict[int, Any] = {}
        self._devices: int | None = None
        self.failures = Failures(self)
        self.captured_numbers: CapturedNumbers | None = None
        self.current = CurrentOfThread(self.memory) if isinstance(self.memory, CupyMemory) else None

    def native_dtype(self, dtype: dtype) -> Any:
        """Return the NumPy dtype; kernels of CUDA have no dtypes of eight bits and no complex32."""
        if dtype in STORED or dtype.name == "complex32":
            raise errors.DtypeError(
                f"the cuda backend does not have {dtype} yet\n  try: x.float() on the CPU"
            )
        return dtype.numpy

    # --- the devices -------------------------------------------------------------------------------------------

    def available(self) -> str | None:
        """Return why CUDA cannot be used here, or None."""
        return None if self._devices else reason()

    def device_count(self) -> int:
        """Return the driver's number of devices; 0 where CUDA cannot be used."""
        if self._devices is None:
            # Before the first use only the driver is asked, which makes no context on a device.
            count = 0 if self.available() else find_driver().devices
            if not (count and self.is_initialized()):
                return count
            self._devices = count  # what CUDA said when it was first used holds for the process
        return self._devices

    def is_initialized(self) -> bool:
        """Return whether CUDA was used in this process."""
        return not isinstance(self.memory, CupyMemory) or self.memory.is_open

    def current_device(self) -> int:
        """Return the index of this thread's current device; 0 where CUDA cannot be used."""
        # With one device no query is needed.
        return 0 if self.device_count() < 2 or self.available() else int(self.library().cuda.get_device_id())

    def set_device(self, index: int) -> None:
        """Make a device the current one of this thread."""
        self.library().cuda.Device(index).use()

    def on(self, index: int) -> contextlib.AbstractContextManager[Any]:
        """Return a context manager in which the device of an index is the current one."""
        guard: contextlib.AbstractContextManager[Any] = self.library().cuda.Device(index)
        return guard

    def index_of(self, handle: StridedHandle) -> int:
        """Return the index of the device of a handle."""
        owner = handle.owner
        device = getattr(owner, "device", None)
        return int(device if isinstance(device, int) else owner.device_id)

    def _index(self, device: Device | None) -> int:
        return self.current_device() if device is None or device.index is None else device.index

    def device_of(self, handle: StridedHandle) -> Device:
        """Return the device of a handle."""
        return Device("cuda", self.index_of(handle))

    def properties(self, device: Device | None = None) -> DeviceProperties:
        """Return CUDA's description of a device."""
        resolved = self.default_device() if device is None else self.place(device)
        properties = self.library().cuda.runtime.getDeviceProperties(resolved.index or 0)
        details = {name: int(properties[word]) for name, word in PROPERTIES.items() if word in properties}
        details |= {"is_integrated": bool(properties.get("integrated", 0))}
        return DeviceProperties(
            properties["name"].decode(), resolved, int(properties["totalGlobalMem"]), details
        )

    def can_access_peer(self, device: Device, peer: Device) -> bool:
        """Return whether a device can read the memory of another one directly."""
        return bool(self.library().cuda.runtime.deviceCanAccessPeer(device.index or 0, peer.index or 0))

    # --- the order of work -------------------------------------------------------------------------------------

    def will_wait(self, what: str) -> None:
        """Report that the host is going to wait for the device; `tt.cuda.set_sync_debug_mode` sets the effect."""
        if self.sync_debug.mode:
            self.sync_debug.tell(what)

    def synchronize(self, device: Device | None = None) -> None:
        """Wait until the device has finished its work.

        Raises
        ------
        DeviceError
            While a stream of the device is captured.
        """
        cuda = self.library().cuda
        try:
            cuda.Device(self._index(device)).synchronize()
        except cuda.runtime.CUDARuntimeError as error:
            if error.status != CAPTURING:
                raise
            raise errors.DeviceError(f"synchronize(): not while a CUDA graph is captured: {error}") from error
        self.failures.raise_first()

    def _stream(self, native: Any) -> CudaStream:
        return CudaStream(native, self.failures.raise_first)

    def new_stream(self, device: Device, priority: int = 0) -> CudaStream:
        """Return a new stream of CuPy, which does not wait for the default one."""
        with self.on(device.index or 0):
            # Non-blocking, or work on the default stream would wait for this one, and it for that.
            return self._stream(self.library().cuda.Stream(non_blocking=True, priority=priority))

    def external_stream(self, pointer: int, device: Device) -> CudaStream:
        """Return a stream that another library made."""
        cuda = self.library().cuda
        with self.on(device.index or 0):
            if hasattr(cuda.Stream, "from_external"):
                return self._stream(cuda.Stream.from_external(ForeignStream(pointer)))
            return self._stream(cuda.ExternalStream(pointer, device.index or 0))  # CuPy 13

    def default_stream(self, device: Device) -> CudaStream:
        """Return the stream that is the current one where none was chosen."""
        return self._stream(self.library().cuda.Stream.null)

    def current_stream(self, device: Device) -> CudaStream:
        """Return this thread's current stream on a device."""
        return self._stream(self.library().cuda.get_current_stream(device.index or 0))

    def set_stream(self, stream: CudaStream, device: Device) -> None:
        """Make a stream the current one of this thread on a device."""
        with self.on(device.index or 0):
            stream.native.use()

    def new_event(self, device: Device, timing: bool = False, blocking: bool = False) -> CudaEvent:
        """Return a new event of CuPy."""
        with self.on(device.index or 0):
            # Events that record no time are cheaper to record and to wait for.
            native = self.library().cuda.Event(block=blocking, disable_timing=not timing)
            return CudaEvent(self.library, native, self.failures.raise_first)

    def shared_event(self, device: Device, blocking: bool = False, handle: bytes | None = None) -> CudaEvent:
        """Return a new event that other processes can open, or one of theirs.

        Raises
        ------
        DeviceError
            When the handle is none of an event of the device.
        """
        cuda = self.library().cuda
        with self.on(device.index or 0):
            if handle is None:
                native = cuda.Event(block=blocking, disable_timing=True, interprocess=True)
            else:
                try:
                    native = OpenedEvent(cuda.runtime, handle)
                except (cuda.runtime.CUDARuntimeError, ValueError) as error:
                    raise errors.DeviceError(
                        f"from_ipc_handle(): the handle is none of an event of another process: {error}"
                    ) from error
            return CudaEvent(self.library, native, self.failures.raise_first)

    def record_stream(self, handle: StridedHandle, stream: CudaStream) -> None:
        """Keep the memory of a handle, when it is freed, until a stream has finished its work."""
        # Only the pool's blocks can be noted; memory of another library frees itself.
        note = getattr(handle.owner, "record_stream", None)
        if note is not None:
            note(stream.native)

    # --- memory of the device ----------------------------------------------------------------------------------

    def _allocator(self) -> Any:
        """Return the allocator, or None where CUDA was not used or its memory is not ours."""
        memory = self.memory
        return memory.allocator if isinstance(memory, CupyMemory) and memory.is_open else None

    def memory_stats(self, device: Device) -> dict[str, int]:
        """Return the account of a device's memory."""
        allocator = self._allocator()
        return {} if allocator is None else dict(allocator.ledgers[device.index or 0].stats())

    def reset_peak_memory_stats(self, device: Device) -> None:
        """Reset the peak values."""
        allocator = self._allocator()
        if allocator is not None:
            allocator.ledgers[device.index or 0].reset_peaks()

    def reset_accumulated_memory_stats(self, device: Device) -> None:
        """Reset the sums."""
        allocator = self._allocator()
        if allocator is not None:
            allocator.ledgers[device.index or 0].reset_sums()

    def memory_snapshot(self, device: Device) -> list[dict[str, Any]]:
        """Return what lies where in the memory of a device."""
        allocator = self._allocator()
        return (
            []
            if allocator is None
            else list(allocator.ledgers[device.index or 0].snapshot(device.index or 0))
        )

    def empty_cache(self) -> None:
        """Return the pool's unused memory to the device."""
        allocator = self._allocator()
        if allocator is not None:
            allocator.empty_cache()

    def memory_info(self, device: Device) -> tuple[int, int]:
        """Return the free and the total memory of a device in bytes."""
        with self.on(device.index or 0):
            free, total = self.library().cuda.runtime.memGetInfo()
        return int(free), int(total)

    def set_memory_fraction(self, fraction: float, device: Device) -> None:
        """Let the pool take no more than a fraction of a device's memory."""
        self.library()
        allocator = self._allocator()
        if allocator is None or allocator.pool is None:
            raise errors.DeviceError("the allocator of CUDA memory that was chosen has no pool to be limited")
        total = self.memory_info(device)[1]
        with self.on(device.index or 0):
            # CuPy takes 0 for no limit at all.
            allocator.pool.set_limit(size=max(int(total * fraction), 1))
        self.fractions[device.index or 0] = fraction

    def memory_fraction(self, device: Device) -> float:
        """Return the fraction of a device's memory that the pool may take."""
        return self.fractions.get(device.index or 0, 1.0)

    # --- extensions (tt.utils.cpp_extension) -------------------------------------------------------------------------

    def compile_elementwise(self, source: Any, instance: Any) -> Callable[..., Any]:
        """Return a kernel for a function over numbers in CUDA source."""
        from tt.backends.cuda.compile.inline import compile_elementwise

        return compile_elementwise(self, source, instance)

    def compile_launched(self, source: Any, function: Any) -> Callable[..., None]:
        """Return what launches a `__global__` function."""
        from tt.backends.cuda.compile.inline import compile_launched

        return compile_launched(self, source, function)

    # --- handles -----------------------------------------------------------------------------------------------

    def normalise(self, result: Any) -> StridedHandle:
        """Return a handle over the memory of a CuPy array."""
        return StridedHandle.from_array(self.memory, result)

    def cast(self, handle: StridedHandle, native_dtype: np.dtype[Any]) -> StridedHandle:
        """Return the elements in another dtype."""
        return copies.cast(self, handle, np.dtype(native_dtype))

    def empty(self, shape: Sequence[int], native_dtype: DTypeLike) -> StridedHandle:
        """Return a contiguous handle over new memory."""
        return StridedHandle.empty(self.memory, shape, native_dtype)

    def copy_into(self, target: StridedHandle, source: StridedHandle) -> None:
        """Write the source, cast and broadcast, into the target."""
        copies.copy_into(self, target, source)

    def clone(self, handle: StridedHandle) -> StridedHandle:
        """Return a copy in its own memory, in row-major order."""
        return copies.in_rows(self, handle)

    # --- to and from the host and other devices ------------------------------------------------------------------

    def from_numpy(self, array: np.ndarray[Any, Any], device: Device | None = None) -> StridedHandle:
        """Copy an array from the host."""
        return self.transfers.upload(array, self._index(device))

    def from_host(
        self, array: np.ndarray[Any, Any], device: Device, non_blocking: bool = False
    ) -> StridedHandle:
        """Copy an array from the host; page-locked memory is read while the call returns, if it may be."""
        return self.transfers.upload_as_laid_out(array, self._index(device), non_blocking)

    def to_numpy(self, handle: StridedHandle) -> np.ndarray[Any, Any]:
        """Copy the elements to the host."""
        return self.transfers.download(handle)

    def to_host(self, handle: StridedHandle, non_blocking: bool = False) -> np.ndarray[Any, Any]:
        """Copy the elements to the host; into page-locked memory while the call returns, if it may be."""
        return self.transfers.download(handle, non_blocking)

    def copy_from_host(
        self, target: StridedHandle, array: np.ndarray[Any, Any], non_blocking: bool = False
    ) -> bool:
        """Copy an array of the host straight into a handle, if both are alike."""
        if target.dtype != array.dtype or target.shape != array.shape or not target.is_contiguous:
            # False lets the caller convert on the host first; a copy of bytes cannot.
            return False
        with self.on(self.index_of(target)):
            self.transfers.write(target, array, non_blocking)
        return True

    def copy_to_host(
        self, source: StridedHandle, array: np.ndarray[Any, Any], non_blocking: bool = False
    ) -> bool:
        """Copy a handle straight into an array of the host, if both are alike."""
        if source.dtype != array.dtype or source.shape != array.shape or not array.flags.c_contiguous:
            return False
        self.transfers.read(source, array, non_blocking)
        return True

    def copy_to(self, handle: StridedHandle, device: Device, *, non_blocking: bool = False) -> StridedHandle:
        """Return a copy on another device of CUDA, which the host never waits for."""
        index = self._index(device)
        if index == self.index_of(handle):
            with self.on(index):
                return self.clone(handle)
        return self.transfers.peer(handle, index)

    def pinned_memory(self, shape: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """Return page-locked memory of the host as an array."""
        return self.transfers.pinned(tuple(shape), dtype)

    def is_pinned(self, address: int) -> bool:
        """Return whether an address of the host is in page-locked memory."""
        # Asked of any memory of the host, so it must not start CUDA; without it none is pinned.
        return self.is_initialized() and not self.available() and self.transfers.is_pinned(address)

    def to_dlpack(self, handle: StridedHandle, **options: Any) -> Any:
        """Return a DLPack capsule; CuPy lets the consumer's stream wait for the current one."""
        if handle.dtype.name == "bfloat16":  # the core writes the type into the capsule
            handle = StridedHandle(
                self.memory, handle.owner, handle.shape, handle.strides, handle.offset, np.uint16
            )
        with self.on(self.index_of(handle)):
            return handle.array.__dlpack__(**options)

    def from_dlpack(self, source: Any, device: Device) -> tuple[StridedHandle, Any]:
        """Return a handle over the memory of another library's array; its work is waited for by the stream."""
        library = self.library()
        with self.on(device.index or 0):
            array = library.from_dlpack(source) if hasattr(source, "__dlpack__") else library.asarray(source)
        return self.normalise(array), from_numpy_dtype(array.dtype)

    # --- memory ------------------------------------------------------------------------------------------------

    def strides(self, handle: StridedHandle) -> tuple[int, ...]:
        """Return the strides in elements."""
        return handle.strides

    def offset(self, handle: StridedHandle) -> int:
        """Return the position of the first element in its memory."""
        return handle.offset

    def data_ptr(self, handle: StridedHandle) -> int:
        """Return the device address of the first element."""
        return handle.data_ptr

    @cached_property
    def sent(self) -> SentMemory:
        """The memory of this process that others use."""
        return SentMemory(self.memory)

    def share(self, handle: StridedHandle) -> Any:
        """Return what another process needs to use the memory of a handle."""
        return self.sent.send(handle)

    def rebuild_shared(self, handed_over: Any, device: Device) -> StridedHandle:
        """Return a handle over memory of another process."""
        return self.sent.receive(handed_over, device, lambda name: to_dtype(name).numpy)

    def storage_owner(self, handle: StridedHandle) -> Any:
        """Return what owns the memory."""
        return handle.owner

    def moved(self, handle: StridedHandle, origin: Any, owner: Any) -> StridedHandle:
        """Return a handle at the same place of other memory."""
        return StridedHandle(self.memory, owner, handle.shape, handle.strides, handle.offset, handle.dtype)

    def storage_nbytes(self, owner: Any) -> int:
        """Return the size of the memory in bytes."""
        return self.memory.nbytes(owner)

    def storage_data_ptr(self, owner: Any) -> int:
        """Return the device address of the memory."""
        return self.memory.address(owner)


CAPTURING = 900
"""`cudaErrorStreamCaptureUnsupported`."""

PROPERTIES: Mapping[str, str] = {
    "major": "major", "minor": "minor", "multi_processor_count": "multiProcessorCount", "warp_size": "warpSize",
    "max_threads_per_multi_processor": "maxThreadsPerMultiProcessor", "L2_cache_size": "l2CacheSize",
    "regs_per_multiprocessor": "regsPerMultiprocessor", "shared_memory_per_block": "sharedMemPerBlock",
    "shared_memory_per_block_optin": "sharedMemPerBlockOptin", "max_threads_per_block": "maxThreadsPerBlock",
    "shared_memory_per_multiprocessor": "sharedMemPerMultiprocessor", "clock_rate": "clockRate",
    "memory_clock_rate": "memoryClockRate", "memory_bus_width": "memoryBusWidth", "pci_bus_id": "pciBusID",
    "pci_device_id": "pciDeviceID", "pci_domain_id": "pciDomainID",
}  # fmt: skip
"""The details of a device under PyTorch's names, and the words of CUDA's runtime."""
