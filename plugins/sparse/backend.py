"""The backend of a sparse layout: its tensors consist of strided arrays of the same device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tt.core.library import (
    ComposedBackend,
    Device,
    Tensor,
    errors,
    from_numpy_dtype,
    handle_of,
    ops,
    wrap,
)
from tt.plugins.sparse.layouts import HANDLES, CompressedHandle, CooHandle, SparseHandle, stored

__all__ = ["SparseBackend"]


class SparseBackend(ComposedBackend):
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
        self.layout, self.handle_type = layout, HANDLES[layout]
        super().__init__(device_type)

    def is_composed(self, handle: object) -> bool:
        """Return whether a handle is sparse, of any layout: calls mix those, too."""
        return isinstance(handle, SparseHandle)

    # --- handles -------------------------------------------------------------------------------------------------

    def empty(self, shape: Sequence[int], native_dtype: np.dtype[Any]) -> Any:
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

    def to_strided(self, handle: SparseHandle) -> Any:
        """Return the content as a dense array."""
        return handle_of(ops.sparse.to_dense(wrap(handle, self.spec(self.dtype_of_array(handle.values)))))

    def copy_into(self, target: SparseHandle, source: SparseHandle) -> None:
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

    def parts(self, handle: SparseHandle) -> Mapping[str, Any]:
        """Return the components by name."""
        return handle.components

    def facts(self, handle: SparseHandle) -> Mapping[str, Any]:
        """Return whether the coordinates are unique and sorted, and whether the number of elements is known."""
        unknown = {} if handle.known else {"known": False}
        return {**unknown, "coalesced": handle.coalesced} if isinstance(handle, CooHandle) else unknown

    def assemble(self, parts: Mapping[str, Any], shape: Sequence[int], facts: Mapping[str, Any]) -> Any:
        """Return the handle with these components."""
        return self.handle_type(*parts.values(), shape, **facts)

    def filled(self, handle: Any) -> Any:
        """Return the same tensor with every element stored, zeros too."""
        sparse = wrap(handle, self.spec(self.dtype_of_array(handle.values)))
        dense = ops.sparse.to_dense(sparse)
        whole = ops.sparse.to_layout(
            ops.ones_like(dense),
            self.layout,
            handle.sparse_dim if isinstance(handle, CooHandle) else None,
            handle.blocksize if getattr(handle, "blocked", False) else None,
            None if isinstance(handle, CooHandle) else handle.dense_dim,
        )
        return handle_of(ops.sparse.with_values(whole, ops.sparse.values_at(dense, whole)))

    def values(self, tensor: Tensor) -> Any:
        """Return the values of a coalesced tensor, or of one of a compressed layout."""
        if self.layout == "sparse_coo" and not stored(tensor).coalesced:
            from tt.plugins.sparse.members import values  # it says what to do

            return values(tensor)
        return ops.sparse.values(tensor)

    def summary(self, handle: SparseHandle) -> Sequence[str]:
        """Return the number of stored elements in words."""
        return [f"nnz={handle.nnz}"]

    # --- memory --------------------------------------------------------------------------------------------------

    def strides(self, handle: SparseHandle) -> tuple[int, ...]:
        """Refuse: nothing is at regular distances."""
        raise errors.LayoutError(
            f"a tensor of the layout tt.{self.layout} has no strides\n  try: x.to_dense()"
        )

    def data_ptr(self, handle: SparseHandle) -> int:
        """Refuse, because a sparse tensor has several memories."""
        raise errors.LayoutError(
            f"a tensor of the layout tt.{self.layout} has no data pointer of its own, its components have\n"
            "  try: x.values().data_ptr()"
        )
