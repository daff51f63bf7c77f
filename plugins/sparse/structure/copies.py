"""Copies of sparse tensors, and sparse tensors like others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tt.core.library import (
    REGISTRY,
    Tensor,
    errors,
    get_default_device,
    get_default_dtype,
    ops,
    register_layout,
)
from tt.plugins.sparse.layouts import HANDLES
from tt.plugins.sparse.parts import as_tensor_of, component, is_compressed

__all__ = ["clone", "copy_", "factories_of", "fill_", "to_copy", "with_values", "zero_"]


def with_values(self: Tensor, values: Tensor) -> Tensor:
    """Return a tensor with the same pattern and other values."""
    return as_tensor_of(self.handle.with_values(values.handle), values.device)


def clone(self: Tensor) -> Tensor:
    return as_tensor_of(self.spec.backend.clone(self.handle), self.device)


def to_copy(self: Tensor, dtype: Any) -> Tensor:
    copied = self.spec.backend.clone(self.handle)
    values = component(copied.values, self.device)
    if dtype is not None:
        values = ops._to_copy(values, dtype=dtype)
    return as_tensor_of(copied.with_values(values.handle), self.device)


def copy_(self: Tensor, src: Tensor) -> Tensor:
    if self.layout is not src.layout:
        raise errors.LayoutError(
            f"copy_() between tensors of different layouts is not implemented: self is {self.layout}, src "
            f"{src.layout}\n"
            f"  try: src.to_{'dense()' if self.layout.name == 'strided' else self.layout.name + '()'}"
        )
    if tuple(self.shape) != tuple(src.shape):
        raise errors.ShapeError(
            f"copy_(): the size {list(src.shape)} of src is not the size {list(self.shape)} of the sparse tensor; "
            "sparse "
            "tensors are not broadcast"
        )
    if is_compressed(self) and self.handle.nnz != src.handle.nnz:
        raise errors.LayoutError(
            "copy_(): only sparse compressed tensors with the same number of specified elements are supported, but "
            "self "
            f"has {self.handle.nnz} and src {src.handle.nnz}"
        )
    self.spec.backend.copy_into(self.handle, src.handle)
    return self


def fill_(self: Tensor, value: Any) -> Tensor:
    """Fill what is stored, in a compressed layout."""
    ops.fill_(component(self.handle.values, self.device), value)
    return self


def zero_(self: Tensor) -> Tensor:
    backend = self.spec.backend
    handle = self.handle
    if is_compressed(self) and HANDLES[handle.layout].blocked:
        ops.zero_(component(handle.values, self.device))
        return self
    dense = handle.values.shape[len(handle.values.shape) - handle.dense_dim :]
    handle.assign(_without_elements(backend, handle, tuple(handle.shape), tuple(dense)))
    return self


def _without_elements(backend: Any, handle: Any, shape: tuple[int, ...], dense: tuple[int, ...]) -> Any:
    """Return a handle like another that stores nothing, of another size."""
    whole = shape[: len(shape) - len(dense)]
    made = backend.empty(whole, backend.dtype_of(handle))
    values = backend.arrays.empty((*made.values.shape, *dense), backend.dtype_of(handle))
    return made.with_values(values)


# --- factories -----------------------------------------------------------------------------------------------------


def factories_of(layout: str) -> dict[str, Callable[..., Any]]:
    """Return the factories of a layout: a tensor whose elements are not stored can only be one of zeros."""
    kind = HANDLES[layout]

    def zeros(size: Sequence[int], dtype: Any, device: Any) -> Tensor:
        place = get_default_device() if device is None else device
        backend = REGISTRY.backend(place.type, layout)
        found = get_default_dtype() if dtype is None else dtype
        spec = backend.spec(found, place)
        handle = backend.empty(tuple(size), backend.native_dtype(found))
        made = as_tensor_of(handle, spec.device)
        return made

    def empty(size: Sequence[int], dtype: Any, device: Any, memory_format: Any) -> Tensor:
        return zeros(size, dtype, device)

    def full(size: Sequence[int], fill_value: Any, dtype: Any, device: Any) -> Tensor:
        if not isinstance(fill_value, Tensor) and fill_value == 0:
            return zeros(size, dtype, device)
        raise errors.LayoutError(
            f"full(): {fill_value} is not zero, and a tensor of the layout tt.{layout} does not store all elements\n"
            f"  try: tt.full(...).to_{'sparse' if layout == 'sparse_coo' else layout}()"
        )

    def zeros_like(self: Tensor, dtype: Any, device: Any) -> Tensor:
        place = self.device if device is None else device
        found = self.dtype if dtype is None else dtype
        if self.layout.name != layout:
            return zeros(self.shape, found, place)
        backend: Any = REGISTRY.backend(place.type, layout)
        handle = self.handle
        if is_compressed(self) and kind.blocked:
            values = ops.zeros_like(component(handle.values, self.device), dtype=found)
            return as_tensor_of(handle.with_values(values.handle), self.device).to(place)
        dense = tuple(self.shape)[self.ndim - handle.dense_dim :]
        made = backend.empty(tuple(self.shape)[: self.ndim - len(dense)], backend.native_dtype(found))
        values = backend.arrays.empty((*made.values.shape, *dense), backend.native_dtype(found))
        return as_tensor_of(made.with_values(values), place)

    def empty_like(self: Tensor, dtype: Any, device: Any, memory_format: Any) -> Tensor:
        """Keep the pattern of a compressed tensor, as PyTorch does."""
        if self.layout.name != layout or not is_compressed(self):
            return zeros_like(self, dtype, device)
        values = ops.empty_like(component(self.handle.values, self.device), dtype=dtype)
        backend = self.spec.backend
        made = as_tensor_of(backend.clone(self.handle).with_values(values.handle), self.device)
        return made if device is None else made.to(device)

    def full_like(self: Tensor, fill_value: Any, dtype: Any, device: Any) -> Tensor:
        if self.layout.name != layout or (not is_compressed(self) and fill_value != 0):
            return full(self.shape, fill_value, dtype or self.dtype, device or self.device)
        if fill_value == 0:
            return zeros_like(self, dtype, device)
        return fill_(empty_like(self, dtype, device, None), fill_value)

    def new_zeros(self: Tensor, size: Sequence[int], dtype: Any, device: Any) -> Tensor:
        return zeros(size, dtype or self.dtype, device or self.device)

    def new_full(self: Tensor, size: Sequence[int], fill_value: Any, dtype: Any, device: Any) -> Tensor:
        return full(size, fill_value, dtype or self.dtype, device or self.device)

    register_layout(layout)
    return {
        "zeros": zeros, "empty": empty, "full": full, "zeros_like": zeros_like, "empty_like": empty_like,
        "ones_like": lambda self, dtype, device: full_like(self, 1, dtype, device), "full_like": full_like,
        "new_zeros": new_zeros, "new_empty": new_zeros, "new_full": new_full,
        "new_ones": lambda self, size, dtype, device: new_full(self, size, 1, dtype, device),
    }  # fmt: skip
