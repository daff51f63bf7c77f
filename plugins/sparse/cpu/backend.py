"""The backend of sparse_coo tensors on the CPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tt.core.library import Backend, Device, errors
from tt.plugins.sparse.layouts import Array, CooHandle

__all__ = ["CooBackend"]


class CooBackend(Backend):
    """NumPy arrays of coordinates and values."""

    device_type = "cpu"
    layout = "sparse_coo"
    handle_type = CooHandle
    hints: Mapping[str, str] = {"*": "{self}.to_dense()"}

    def cast(self, handle: Any, native_dtype: Any) -> Any:
        """Convert the values; in a mixed call the other operand is an array."""
        if isinstance(handle, CooHandle):
            return handle.with_values(handle.values.astype(native_dtype))
        return handle.astype(native_dtype)

    def empty(self, shape: Sequence[int], native_dtype: Any) -> CooHandle:
        """Return a tensor of zeros: an element that is not stored cannot have any other content."""
        return CooHandle.empty(shape, native_dtype)

    def from_numpy(self, array: Array, device: Device | None = None) -> CooHandle:
        """Return the elements that are not zero."""
        return CooHandle.from_dense(array)

    def to_numpy(self, handle: CooHandle) -> Array:
        """Return the content as a dense array."""
        return handle.to_dense()

    def copy_into(self, target: CooHandle, source: CooHandle) -> None:
        """Give the target the coordinates and values of the source, in its own dtype."""
        if not isinstance(source, CooHandle):
            raise errors.InplaceError(
                "a dense result cannot be stored in a sparse tensor\n  try: self.to_dense()"
            )
        target.indices, target.coalesced = source.indices.copy(), source.coalesced
        target.values = source.values.astype(target.dtype)

    def clone(self, handle: CooHandle) -> CooHandle:
        """Return a copy of coordinates and values."""
        return CooHandle(handle.indices.copy(), handle.values.copy(), handle.shape, handle.coalesced)

    def normalise(self, result: Any) -> Any:
        """Take a NumPy scalar of a mixed call as an array."""
        return np.asarray(result)
