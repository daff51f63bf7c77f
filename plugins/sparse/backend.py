"""The backend of a sparse layout: its tensors consist of strided arrays of the same device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from tt.core.library import (
    REGISTRY,
    Backend,
    Device,
    dtype,
    errors,
    fork_safe_properties,
    from_numpy_dtype,
    handle_of,
    ops,
    wrap,
)
from tt.plugins.sparse.layouts import HANDLES, CompressedHandle, CooHandle, SparseHandle, stored

__all__ = ["SparseBackend", "dtype_of_array"]


def dtype_of_array(array: Any) -> dtype:
    """Return the dtype of a native array: arrays of all devices have a NumPy dtype, or one of tt."""
    kind = array.dtype
    return kind if isinstance(kind, dtype) else from_numpy_dtype(kind)


@fork_safe_properties
class SparseBackend(Backend):
    """The tensors of one sparse layout on one device.

    Parameters
    ----------
    device_type : str
        For instance "cpu".
    layout : str
        For instance "sparse_csr".

    Examples
    --------
    >>> from tt.plugins.sparse.backend import SparseBackend
    >>> SparseBackend("cpu", "sparse_csr").handle_type.__name__
    'CsrHandle'
    """

    hints: Mapping[str, str] = {"*": "{self}.to_dense()"}
    strided_fallback = True

    def __init__(self, device_type: str, layout: str) -> None:
        self.device_type, self.layout = device_type, layout
        self.handle_type = HANDLES[layout]
        super().__init__()

    @cached_property
    def arrays(self) -> Backend:
        """The backend of the components."""
        return REGISTRY.backend(self.device_type)

    # --- the device ----------------------------------------------------------------------------------------------

    def device_count(self) -> int:
        """Return how many devices of the type there are."""
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
        return self.arrays.dtype_of(handle.values if isinstance(handle, SparseHandle) else handle)

    def normalise(self, result: Any) -> Any:
        """Take results of mixed calls as they are, and numbers as arrays."""
        if isinstance(result, SparseHandle | self.arrays.handle_type):
            return result
        return self.arrays.normalise(result)

    def cast(self, handle: Any, native_dtype: Any) -> Any:
        """Convert the values; in a mixed call other operands may be arrays."""
        if isinstance(handle, SparseHandle):
            return handle.with_values(self.arrays.cast(handle.values, native_dtype))
        return self.arrays.cast(handle, native_dtype)

    def empty(self, shape: Sequence[int], native_dtype: Any) -> Any:
        """Return a tensor of zeros: an element that is not stored cannot have any other content."""
        shape = tuple(shape)
        kind: Any = self.handle_type
        if kind is CooHandle:
            return CooHandle(
                self._zeros((len(shape), 0)), self.arrays.empty((0,), native_dtype), shape, coalesced=True
            )
        if kind.blocked:
            raise errors.LayoutError(
                f"a tensor of zeros of the layout tt.{self.layout} needs a blocksize\n"
                f"  try: tt.zeros(size).to_{self.layout}(blocksize)"
            )
        if len(shape) < 2:
            raise errors.LayoutError(
                f"only batched sparse compressed (non-block) tensors are supported, but got size {list(shape)}\n"
                "  try: layout=tt.sparse_coo"
            )
        batch, major = shape[:-2], shape[-2 if kind.rows else -1]
        return kind(
            self._zeros((*batch, major + 1)),
            self._zeros((*batch, 0)),
            self.arrays.empty((*batch, 0), native_dtype),
            shape,
        )

    def _zeros(self, shape: tuple[int, ...]) -> Any:
        return self.arrays.from_numpy(np.zeros(shape, np.int64))

    def from_numpy(self, array: np.ndarray[Any, Any], device: Device | None = None) -> Any:
        """Return the elements of an array that are not zero; blocks are of two rows and columns, if these are even."""
        dense = wrap(self.arrays.from_numpy(array, device), self.arrays.spec(from_numpy_dtype(array.dtype)))
        blocked = issubclass(self.handle_type, CompressedHandle) and self.handle_type.blocked
        blocks = [2 - n % 2 for n in array.shape[-2:]] if blocked and array.ndim > 1 else None
        return handle_of(ops.sparse.to_layout(dense, self.layout, None, blocks))

    def to_numpy(self, handle: Any) -> np.ndarray[Any, Any]:
        """Return the content as a dense array."""
        return self.arrays.to_numpy(self.to_strided(handle) if isinstance(handle, SparseHandle) else handle)

    def to_strided(self, handle: Any) -> Any:
        """Return the content as a dense array."""
        return handle_of(ops.sparse.to_dense(wrap(handle, self.spec(dtype_of_array(handle.values)))))

    def item(self, handle: Any) -> bool | int | float | complex:
        """Return the only element."""
        result: bool | int | float | complex = self.to_numpy(handle).item()
        return result

    def clone(self, handle: Any) -> Any:
        """Return a copy of all components."""
        if not isinstance(handle, SparseHandle):
            return self.arrays.clone(handle)
        parts = {name: self.arrays.clone(part) for name, part in handle.components.items()}
        return self.assemble(parts, handle.shape, self.facts(handle))

    def copy_into(self, target: Any, source: Any) -> None:
        """Give the target copies of the components of the source, in its own dtype."""
        if not isinstance(source, type(target)):
            where = getattr(source, "layout", "strided")
            raise errors.InplaceError(
                f"a result of the layout tt.{where} cannot be stored in a tensor of the layout tt.{self.layout}\n"
                f"  try: {'self.to_dense()' if where == 'strided' else f'a conversion to tt.{self.layout}'}"
            )
        copied = self.clone(source)
        target.assign(copied.with_values(self.arrays.cast(copied.values, self.dtype_of(target))))

    # --- components -----------------------------------------------------------------------------------

    def parts(self, handle: Any) -> Mapping[str, Any]:
        """Return the components by name."""
        components: Mapping[str, Any] = handle.components
        return components

    def facts(self, handle: Any) -> Mapping[str, Any]:
        """Return whether the coordinates are unique and sorted, and whether the number of elements is known."""
        unknown = {} if handle.known else {"known": False}
        return {**unknown, "coalesced": handle.coalesced} if isinstance(handle, CooHandle) else unknown

    def assemble(self, parts: Mapping[str, Any], shape: Sequence[int], facts: Mapping[str, Any]) -> Any:
        """Return the handle with these components."""
        return self.handle_type(*parts.values(), shape, **facts)

    def filled(self, handle: Any) -> Any:
        """Return the same tensor with every element stored, zeros too."""
        sparse = wrap(handle, self.spec(dtype_of_array(handle.values)))
        dense = ops.sparse.to_dense(sparse)
        whole = ops.sparse.to_layout(
            ops.ones_like(dense),
            self.layout,
            handle.sparse_dim if isinstance(handle, CooHandle) else None,
            handle.blocksize if getattr(handle, "blocked", False) else None,
            None if isinstance(handle, CooHandle) else handle.dense_dim,
        )
        return handle_of(ops.sparse.with_values(whole, ops.sparse.values_at(dense, whole)))

    def values(self, tensor: Any) -> Any:
        """Return the values of a coalesced tensor, or of one of a compressed layout."""
        if self.layout == "sparse_coo" and not stored(tensor).coalesced:
            from tt.plugins.sparse.members import values  # it says what to do

            return values(tensor)
        return ops.sparse.values(tensor)

    def summary(self, handle: Any) -> Sequence[str]:
        """Return the number of stored elements in words."""
        return [f"nnz={handle.nnz}"]

    # --- memory --------------------------------------------------------------------------------------------------

    def strides(self, handle: Any) -> tuple[int, ...]:
        """Refuse: nothing is at regular distances."""
        raise errors.LayoutError(
            f"a tensor of the layout tt.{self.layout} has no strides\n  try: x.to_dense()"
        )

    def data_ptr(self, handle: Any) -> int:
        """Refuse, because a sparse tensor has several memories."""
        raise errors.LayoutError(
            f"a tensor of the layout tt.{self.layout} has no data pointer of its own, its components have\n"
            "  try: x.values().data_ptr()"
        )

    def storage_nbytes(self, owner: Any) -> int:
        """Return the size of all components in bytes."""
        if isinstance(owner, CompressedHandle | CooHandle):
            arrays = owner.components.values()
            return sum(prod(a.shape) * dtype_of_array(a).itemsize for a in arrays)
        return self.arrays.storage_nbytes(owner)
