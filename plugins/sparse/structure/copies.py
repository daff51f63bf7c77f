"""Copies of sparse tensors, and sparse tensors like others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tt.core.library import (
    REGISTRY,
    Device,
    Generator,
    Scalar,
    Tensor,
    errors,
    get_default_device,
    get_default_dtype,
    handle_of,
    ops,
    register_layout,
    to_dtype,
)
from tt.core.library import dtype as Dtype
from tt.plugins.sparse.layouts import CooHandle
from tt.plugins.sparse.parts import as_tensor_of, component, is_compressed

__all__ = ["clone", "copy_", "factories_of", "fill_", "to_copy", "with_values", "zero_"]


def with_values(self: Tensor, values: Tensor) -> Tensor:
    """Return a tensor with the same pattern and other values."""
    return as_tensor_of(handle_of(self).with_values(handle_of(values)), values.device)


def clone(self: Tensor) -> Tensor:
    return as_tensor_of(self._spec.backend.clone(handle_of(self)), self.device)


def to_copy(self: Tensor, dtype: Dtype | None) -> Tensor:
    copied = self._spec.backend.clone(handle_of(self))
    values = component(copied.values, self.device)
    if dtype is not None:
        values = ops._to_copy(values, dtype=dtype)
    return as_tensor_of(copied.with_values(handle_of(values)), self.device)


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
    if is_compressed(self) and handle_of(self).nnz != handle_of(src).nnz:
        raise errors.LayoutError(
            "copy_(): only sparse compressed tensors with the same number of specified elements are supported, but "
            "self "
            f"has {handle_of(self).nnz} and src {handle_of(src).nnz}"
        )
    self._spec.backend.copy_into(handle_of(self), handle_of(src))
    return self


def fill_(self: Tensor, value: Scalar) -> Tensor:
    """Fill the stored elements, in a compressed layout."""
    ops.fill_(component(handle_of(self).values, self.device), value)
    return self


def zero_(self: Tensor) -> Tensor:
    # As in PyTorch, the elements are removed and do not become zeros.
    handle_of(self).assign(_without_elements(handle_of(self), self._spec.backend, self.dtype))
    return self


def _without_elements(handle: Any, backend: Any, dtype: Any) -> Any:
    """Return a handle like another that stores nothing."""
    arrays = backend.arrays

    def none_along(array: Any, axis: int, native: np.dtype[Any]) -> Any:
        shape = tuple(array.shape)
        return arrays.empty((*shape[:axis], 0, *shape[axis + 1 :]), native)

    index = arrays.native_dtype(to_dtype("int64"))
    if isinstance(handle, CooHandle):
        return CooHandle(
            none_along(handle.indices, 1, index),
            none_along(handle.values, 0, arrays.native_dtype(dtype)),
            handle.shape,
            coalesced=True,
        )
    at = handle.batch_ndim
    starts = arrays.from_numpy(np.zeros(tuple(handle.compressed.shape), np.int64))
    return type(handle)(
        arrays.cast(starts, arrays.dtype_of(handle.compressed)),
        none_along(handle.plain, at, arrays.dtype_of(handle.plain)),
        none_along(handle.values, at, arrays.native_dtype(dtype)),
        handle.shape,
    )


# --- factories -----------------------------------------------------------------------------------------------------


def factories_of(layout: str) -> dict[str, Callable[..., Any]]:
    """Return the factories of a layout: a tensor whose elements are not stored can only be one of zeros."""

    def zeros(size: Sequence[int], dtype: Dtype | None, device: Device | None) -> Tensor:
        target = get_default_device() if device is None else device
        backend = REGISTRY.backend(target.type, layout)
        kind = get_default_dtype() if dtype is None else dtype
        spec = backend.spec(kind, target)
        handle = backend.empty(tuple(size), backend.native_dtype(kind))
        result = as_tensor_of(handle, spec.device)
        return result

    def empty(
        size: Sequence[int], dtype: Dtype | None, device: Device | None, memory_format: str | None
    ) -> Tensor:
        return zeros(size, dtype, device)

    def full(
        size: Sequence[int], fill_value: Tensor | Scalar, dtype: Dtype | None, device: Device | None
    ) -> Tensor:
        if not isinstance(fill_value, Tensor) and fill_value == 0:
            return zeros(size, dtype, device)
        raise errors.LayoutError(
            f"full(): {fill_value} is not zero, and a tensor of the layout tt.{layout} does not store all elements\n"
            f"  try: tt.full(...).to_{'sparse' if layout == 'sparse_coo' else layout}()"
        )

    def zeros_like(self: Tensor, dtype: Dtype | None, device: Device | None) -> Tensor:
        target = self.device if device is None else device
        kind = self.dtype if dtype is None else dtype
        if self.layout.name != layout:
            return zeros(self.shape, kind, target)
        if target != self.device:
            self = self.to(target)
        return as_tensor_of(_without_elements(handle_of(self), self._spec.backend, kind), self.device)

    def empty_like(
        self: Tensor, dtype: Dtype | None, device: Device | None, memory_format: str | None
    ) -> Tensor:
        """Keep the pattern of a compressed tensor, as PyTorch does."""
        if self.layout.name != layout or not is_compressed(self):
            return zeros_like(self, dtype, device)
        values = ops.empty_like(component(handle_of(self).values, self.device), dtype=dtype)
        backend = self._spec.backend
        result = as_tensor_of(backend.clone(handle_of(self)).with_values(handle_of(values)), self.device)
        return result if device is None else result.to(device)

    def full_like(self: Tensor, fill_value: Scalar, dtype: Dtype | None, device: Device | None) -> Tensor:
        # A compressed tensor keeps its pattern, as in PyTorch; in the other layout all elements would have to
        # be stored.
        if self.layout.name != layout or (not is_compressed(self) and fill_value != 0):
            return full(self.shape, fill_value, dtype or self.dtype, device or self.device)
        if fill_value == 0:
            return zeros_like(self, dtype, device)
        return fill_(empty_like(self, dtype, device, None), fill_value)

    def new_zeros(self: Tensor, size: Sequence[int], dtype: Dtype | None, device: Device | None) -> Tensor:
        return zeros(size, dtype or self.dtype, device or self.device)

    def new_full(
        self: Tensor, size: Sequence[int], fill_value: Scalar, dtype: Dtype | None, device: Device | None
    ) -> Tensor:
        return full(size, fill_value, dtype or self.dtype, device or self.device)

    def drawn_like(
        op: str,
        self: Tensor,
        draw: Callable[..., Tensor],
        bounds: Sequence[int],
        generator: Generator | None,
        dtype: Dtype | None,
        device: Device | None,
    ) -> Tensor:
        """Draw the stored elements of a compressed tensor, at the same places."""
        if self.layout.name != layout or not is_compressed(self):
            raise errors.LayoutError(
                f"{op}(): a tensor of the layout tt.{layout} does not store all elements\n"
                f"  try: tt.{op}(x, layout=tt.strided).to_sparse(layout=tt.{layout})"
            )
        like = empty_like(self, dtype, device, None)
        values = component(handle_of(like).values, like.device)
        size = tuple(values.shape)
        ops.copy_(values, draw(*bounds, size, generator=generator, dtype=like.dtype, device=like.device))
        return like

    def rand_like(
        self: Tensor, generator: Generator | None, dtype: Dtype | None, device: Device | None
    ) -> Tensor:
        return drawn_like("rand_like", self, ops.rand, (), generator, dtype, device)

    def randn_like(
        self: Tensor, generator: Generator | None, dtype: Dtype | None, device: Device | None
    ) -> Tensor:
        return drawn_like("randn_like", self, ops.randn, (), generator, dtype, device)

    def randint_like(
        self: Tensor, high: int, generator: Generator | None, dtype: Dtype | None, device: Device | None
    ) -> Tensor:
        return drawn_like("randint_like", self, ops.randint.low, (0, high), generator, dtype, device)

    def randint_like_from(
        self: Tensor,
        low: int,
        high: int,
        generator: Generator | None,
        dtype: Dtype | None,
        device: Device | None,
    ) -> Tensor:
        return drawn_like("randint_like", self, ops.randint.low, (low, high), generator, dtype, device)

    register_layout(layout)
    return {
        "zeros": zeros, "empty": empty, "full": full, "zeros_like": zeros_like, "empty_like": empty_like,
        "ones_like": lambda self, dtype, device: full_like(self, 1, dtype, device), "full_like": full_like,
        "new_zeros": new_zeros, "new_empty": new_zeros, "new_full": new_full,
        "new_ones": lambda self, size, dtype, device: new_full(self, size, 1, dtype, device), "rand_like": rand_like,
        "randint_like": randint_like, "randint_like.low_dtype": randint_like_from, "randn_like": randn_like,
    }  # fmt: skip
