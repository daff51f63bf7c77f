"""Sparse tensors as tensors of their components, and back: what kernels over tensors are written with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt.core.library import (
    REGISTRY,
    Device,
    MetaHandle,
    Tensor,
    dtype,
    errors,
    from_numpy_dtype,
    handle_of,
    wrap,
)
from tt.plugins.sparse.layouts import HANDLES, CompressedHandle, CooHandle, SparseHandle

__all__ = [
    "as_tensor_of",
    "component",
    "components",
    "compressed_tensor",
    "coo_tensor",
    "has_data",
    "is_compressed",
    "layout_of",
    "sparse_handle",
]


def layout_of(value: Tensor) -> str:
    """Return the name of the layout of a tensor."""
    return value.layout.name


def is_compressed(value: Tensor) -> bool:
    """Return whether a tensor has one of the compressed layouts."""
    return isinstance(handle_of(value), CompressedHandle)


def sparse_handle(tensor: Tensor) -> SparseHandle:
    """Return the handle of a tensor that must be sparse; in some calls only another argument is."""
    handle = handle_of(tensor)
    if not isinstance(handle, SparseHandle):
        raise errors.LayoutError(
            f"a tensor of the layout {tensor.layout} takes no sparse index\n  try: to_dense() of the index"
        )
    return handle


def has_data(tensor: Tensor) -> bool:
    """Return whether a tensor, strided or sparse, has elements to look at: meta and fake tensors have none."""
    return not isinstance(getattr(handle_of(tensor), "values", handle_of(tensor)), MetaHandle)


def _dtype_of(array: Any) -> dtype:
    native = array.dtype
    return native if isinstance(native, dtype) else from_numpy_dtype(native)


def component(array: Any, device: Device, dtype: dtype | None = None) -> Tensor:
    """Return a native array of a device as a strided tensor, of a dtype if it is known; both share the memory."""
    figures = _dtype_of(array) if dtype is None else dtype
    return wrap(array, REGISTRY.backend(device.type).spec(figures, device))


def components(tensor: Tensor) -> list[Tensor]:
    """Return the components of a sparse tensor as strided tensors, the indices first; they share the memory."""
    return [component(array, tensor.device) for array in handle_of(tensor).components.values()]


def as_tensor_of(handle: SparseHandle, device: Device) -> Tensor:
    """Return the tensor of a handle."""
    backend = REGISTRY.backend(device.type, handle.layout)
    return wrap(handle, backend.spec(_dtype_of(handle.values), device))


def coo_tensor(
    indices: Tensor, values: Tensor, shape: Sequence[int], coalesced: bool = False, known: bool = True
) -> Tensor:
    """Return the sparse_coo tensor of these components; nothing is checked or copied."""
    handle = CooHandle(handle_of(indices), handle_of(values), tuple(shape), coalesced, known)
    return as_tensor_of(handle, values.device)


def compressed_tensor(
    layout: str,
    compressed: Tensor,
    plain: Tensor,
    values: Tensor,
    shape: Sequence[int],
    known: bool = True,
) -> Tensor:
    """Return the tensor of a compressed layout of these components; nothing is checked or copied."""
    if layout not in HANDLES or layout == "sparse_coo":
        raise errors.LayoutError(f"a sparse compressed layout was expected, but got tt.{layout}")
    handle = HANDLES[layout](handle_of(compressed), handle_of(plain), handle_of(values), tuple(shape), known)
    return as_tensor_of(handle, values.device)
