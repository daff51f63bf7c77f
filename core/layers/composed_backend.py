"""ComposedBackend: the base of the backends of layouts whose tensors consist of strided arrays."""

from __future__ import annotations

from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.forks import fork_safe_properties
from tt.core.tensor.backend import Backend
from tt.core.types.device import Device
from tt.core.types.dtype import dtype, from_numpy_dtype

__all__ = ["ComposedBackend"]


@fork_safe_properties
class ComposedBackend(Backend):
    """The tensors of a layout on one device, whose handles consist of strided arrays of that device.

    Kernels get strided arrays, too, in calls that mix layouts: what concerns those, and the device, is left to the
    backend of the arrays.  By default a handle has the attribute `values`, an array in the dtype of the tensor, and
    the method `with_values`.

    Parameters
    ----------
    device_type : str
        For instance "cpu".
    """

    def __init__(self, device_type: str) -> None:
        self.device_type = device_type
        super().__init__()

    @cached_property
    def arrays(self) -> Backend:
        """The backend of the arrays."""
        return REGISTRY.backend(self.device_type)

    def is_composed(self, handle: Any) -> bool:
        """Return whether a handle consists of arrays, rather than being one."""
        return isinstance(handle, self.handle_type)

    def dtype_of_array(self, array: Any) -> dtype:
        """Return the dtype of an array: those of all devices have a NumPy dtype, or one of tt."""
        native = self.arrays.dtype_of(array)
        return native if isinstance(native, dtype) else from_numpy_dtype(np.dtype(native))

    # --- the device ----------------------------------------------------------------------------------------------

    def device_count(self) -> int:
        """Return how many devices of the type there are."""
        # The CPU and meta have one device, which can be said without loading their backends.
        return 1 if self.device_type in ("cpu", "meta") else self.arrays.device_count()

    def place(self, device: Device) -> Device:
        """Return the user's device as the arrays represent it."""
        return self.arrays.place(device)

    def require_available(self) -> None:
        """Raise unless the device can be used."""
        self.arrays.require_available()

    # --- handles -------------------------------------------------------------------------------------------------

    def native_dtype(self, dtype: dtype) -> Any:
        """Return the arrays' own object for a dtype."""
        return self.arrays.native_dtype(dtype)

    def dtype_of(self, handle: Any) -> Any:
        """Return the native dtype of the values."""
        return self.arrays.dtype_of(handle.values if self.is_composed(handle) else handle)

    def normalise(self, result: Any) -> Any:
        """Take results of mixed calls as they are, and numbers as arrays."""
        if self.is_composed(result) or isinstance(result, self.arrays.handle_type):
            return result
        return self.arrays.normalise(result)

    def cast(self, handle: Any, native_dtype: Any) -> Any:
        """Convert the values; in a mixed call other operands may be arrays."""
        if self.is_composed(handle):
            return handle.with_values(self.arrays.cast(handle.values, native_dtype))
        return self.arrays.cast(handle, native_dtype)

    def to_numpy(self, handle: Any) -> np.ndarray[Any, Any]:
        """Return the content as a dense array."""
        return self.arrays.to_numpy(self.to_strided(handle) if self.is_composed(handle) else handle)

    def clone(self, handle: Any) -> Any:
        """Return a copy of all components."""
        if not self.is_composed(handle):
            return self.arrays.clone(handle)
        parts = {name: self.arrays.clone(part) for name, part in self.parts(handle).items()}
        return self.assemble(parts, handle.shape, self.facts(handle))

    # --- memory --------------------------------------------------------------------------------------------------

    def storage_nbytes(self, owner: Any) -> int:
        """Return the size of all components in bytes."""
        if not self.is_composed(owner):
            return self.arrays.storage_nbytes(owner)
        return sum(
            prod(part.shape) * self.dtype_of_array(part).itemsize for part in self.parts(owner).values()
        )
