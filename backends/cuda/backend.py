"""The backend of CUDA devices: strided handles over CuPy's memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tt.backends.cuda.availability import find_driver, reason
from tt.backends.cuda.handle import Memory, StridedHandle
from tt.backends.cuda.memory import CupyMemory, cupy
from tt.backends.cuda.namespace import LazyNamespace
from tt.core.library import Backend, Device, errors

__all__ = ["CudaBackend"]


class CudaBackend(Backend):
    """Describes CUDA tensors to the core; imports CuPy when the first one is made.

    Parameters
    ----------
    memory : Memory, optional
        How memory is allocated; CuPy's by default.
    library : callable, optional
        Returns the array library; CuPy by default.
    """

    device_type = "cuda"
    handle_type = StridedHandle
    silence_numpy = False

    def __init__(self, memory: Memory | None = None, library: Callable[[], Any] = cupy) -> None:
        super().__init__()
        self.memory: Memory = CupyMemory() if memory is None else memory
        self.namespace = LazyNamespace(library)

    # --- the devices -------------------------------------------------------------------------------------------

    def default_device(self) -> Device:
        """Return the first CUDA device."""
        return Device("cuda", 0)

    def place(self, device: Device) -> Device:
        """Return the device with its index, the first one where none is given."""
        if device.index is None:
            return self.default_device()
        count = self.device_count()
        if device.index and device.index >= count:
            raise errors.DeviceError(f"invalid device ordinal: {device}; there are {count} CUDA devices")
        return device

    def available(self) -> str | None:
        """Return why CUDA cannot be used here, or None."""
        return reason()

    def device_count(self) -> int:
        """Return the number of devices, as the driver tells it; 0 where CUDA cannot be used."""
        return 0 if self.available() else find_driver().devices

    def synchronize(self, device: Device | None = None) -> None:
        """Wait until the device has done what it was given."""
        cupy().cuda.Device(0 if device is None or device.index is None else device.index).synchronize()

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
        with module.cuda.Device(0 if device is None or device.index is None else device.index):
            return self.normalise(module.asarray(np.ascontiguousarray(array).reshape(array.shape)))

    def to_numpy(self, handle: StridedHandle) -> np.ndarray[Any, Any]:
        """Copy the elements to the host."""
        found: np.ndarray[Any, Any] = cupy().asnumpy(handle.array)
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
