"""The backend of CUDA devices: strided handles over CuPy's memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tt.backends.cuda.availability import find_driver, reason
from tt.backends.cuda.engine import CupyEngine, Engine
from tt.backends.cuda.failures import Failures
from tt.backends.cuda.handle import Memory, StridedHandle
from tt.backends.cuda.memory import CupyMemory, cupy
from tt.backends.cuda.namespace import LazyNamespace
from tt.backends.cuda.streams import CudaEvent, CudaStream
from tt.core.library import Backend, Device, DeviceProperties

__all__ = ["CudaBackend"]


class CudaBackend(Backend):
    """Describes CUDA tensors to the core; imports CuPy when the first one is made.

    Parameters
    ----------
    memory : Memory, optional
        How memory is allocated; CuPy's by default.
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
        self.engine: Engine = CupyEngine(library) if engine is None else engine
        self.memory: Memory = CupyMemory() if memory is None else memory
        self.library = library
        self.namespace = LazyNamespace(library)
        self.failures = Failures(self)

    # --- the devices -------------------------------------------------------------------------------------------

    def available(self) -> str | None:
        """Return why CUDA cannot be used here, or None."""
        return reason()

    def device_count(self) -> int:
        """Return the number of devices, as the driver tells it; 0 where CUDA cannot be used."""
        return 0 if self.available() else find_driver().devices

    def current_device(self) -> int:
        """Return the index of this thread's current device; 0 where CUDA cannot be used."""
        # Of one device there is nothing to ask.
        return 0 if self.available() or self.device_count() < 2 else int(cupy().cuda.Device().id)

    def set_device(self, index: int) -> None:
        """Make a device the current one of this thread."""
        cupy().cuda.Device(index).use()

    def properties(self, device: Device | None = None) -> DeviceProperties:
        """Return what CUDA says of a device."""
        place = self.default_device() if device is None else self.place(device)
        found = cupy().cuda.runtime.getDeviceProperties(place.index or 0)
        details = {
            "major": int(found["major"]),
            "minor": int(found["minor"]),
            "multi_processor_count": int(found["multiProcessorCount"]),
        }
        return DeviceProperties(found["name"].decode(), place, int(found["totalGlobalMem"]), details)

    # --- the order of work -------------------------------------------------------------------------------------

    def synchronize(self, device: Device | None = None) -> None:
        """Wait until the device has done what it was given."""
        index = self.current_device() if device is None or device.index is None else device.index
        cupy().cuda.Device(index).synchronize()
        self.failures.raise_first()

    def new_stream(self, device: Device, priority: int = 0) -> CudaStream:
        """Return a new stream of CuPy, which does not wait for the default one."""
        with cupy().cuda.Device(device.index or 0):
            return CudaStream(cupy().cuda.Stream(non_blocking=True, priority=priority))

    def current_stream(self, device: Device) -> CudaStream:
        """Return this thread's current stream on a device."""
        return CudaStream(cupy().cuda.get_current_stream(device.index or 0))

    def set_stream(self, stream: CudaStream, device: Device) -> None:
        """Make a stream the current one of this thread on a device."""
        with cupy().cuda.Device(device.index or 0):
            stream.native.use()

    def new_event(self, device: Device, timing: bool = False) -> CudaEvent:
        """Return a new event of CuPy."""
        with cupy().cuda.Device(device.index or 0):
            return CudaEvent(cupy().cuda.Event(disable_timing=not timing))

    # --- memory of the device ----------------------------------------------------------------------------------

    def memory_stats(self, device: Device) -> dict[str, int]:
        """Return how much of CuPy's pool is used and held on a device; CuPy keeps no largest numbers."""
        with cupy().cuda.Device(device.index or 0):
            pool = cupy().get_default_memory_pool()
            return {
                "allocated_bytes.all.current": int(pool.used_bytes()),
                "reserved_bytes.all.current": int(pool.total_bytes()),
            }

    def empty_cache(self) -> None:
        """Give the memory back that CuPy's pool holds and nobody uses."""
        cupy().get_default_memory_pool().free_all_blocks()

    def memory_info(self, device: Device) -> tuple[int, int]:
        """Return the free and the total memory of a device in bytes."""
        with cupy().cuda.Device(device.index or 0):
            free, total = cupy().cuda.runtime.memGetInfo()
        return int(free), int(total)

    # --- extensions (tt.utils.cpp_extension) -------------------------------------------------------------------------

    def compile_elementwise(self, source: Any, instance: Any) -> Callable[..., Any]:
        """Return a kernel for a function over numbers in CUDA source."""
        from tt.backends.cuda.inline import compile_elementwise

        return compile_elementwise(self, source, instance)

    def compile_launched(self, source: Any, function: Any) -> Callable[..., None]:
        """Return what launches a `__global__` function."""
        from tt.backends.cuda.inline import compile_launched

        return compile_launched(self, source, function)

    # --- handles -----------------------------------------------------------------------------------------------

    def normalise(self, result: Any) -> StridedHandle:
        """Return a handle over the memory of a CuPy array."""
        return StridedHandle.from_array(self.memory, result)

    def cast(self, handle: StridedHandle, native_dtype: Any) -> StridedHandle:
        """Return the elements in another dtype."""
        return self.normalise(handle.array.astype(native_dtype))

    def empty(self, shape: Sequence[int], native_dtype: Any) -> StridedHandle:
        """Return a contiguous handle over new memory."""
        return StridedHandle.empty(self.memory, shape, native_dtype)

    def from_numpy(self, array: np.ndarray[Any, Any], device: Device | None = None) -> StridedHandle:
        """Copy an array from the host."""
        module = cupy()
        index = self.current_device() if device is None or device.index is None else device.index
        with module.cuda.Device(index):
            return self.normalise(module.asarray(np.ascontiguousarray(array).reshape(array.shape)))

    def to_numpy(self, handle: StridedHandle) -> np.ndarray[Any, Any]:
        """Copy the elements to the host."""
        found: np.ndarray[Any, Any] = cupy().asnumpy(handle.array)
        self.failures.raise_first()
        return found

    def copy_into(self, target: StridedHandle, source: StridedHandle) -> None:
        """Write the source, cast and broadcast, into the target."""
        target.array[...] = source.array

    def clone(self, handle: StridedHandle) -> StridedHandle:
        """Return a copy in memory of its own."""
        return self.normalise(handle.array.copy())

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

    def storage_owner(self, handle: StridedHandle) -> Any:
        """Return what owns the memory."""
        return handle.owner

    def storage_nbytes(self, owner: Any) -> int:
        """Return the size of the memory in bytes."""
        return self.memory.nbytes(owner)

    def storage_data_ptr(self, owner: Any) -> int:
        """Return the device address of the memory."""
        return self.memory.address(owner)
