"""Kernels that rearrange: views of NumPy arrays, and joining."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tt.backends.array_api.shaping import expanded_shape
from tt.backends.cpu.backend import Array
from tt.core.library import KernelTable, errors

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

# --- the same elements in another shape ------------------------------------------------------------------------


@cpu.kernel("view")
def view(self: Array, size: Sequence[int]) -> Array:
    if min(size, default=0) < -1:
        raise ValueError("negative size")  # NumPy takes any; the shape rule says it in the operator's words
    return self.reshape(tuple(size), copy=False)  # raises where a copy would be needed


@cpu.kernel("view.dtype")
def view_dtype(self: Array, dtype: Any) -> Array:
    if not self.ndim and dtype.itemsize != self.itemsize:
        raise errors.ShapeError("self.dim() cannot be 0 to view as a dtype of another size")
    return self.view(dtype)


@cpu.kernel("permute")
def permute(self: Array, dims: Sequence[int]) -> Array:
    return self.transpose(tuple(dims))


@cpu.kernel("t")
def t(self: Array) -> Array:
    if self.ndim > 2:
        raise ValueError("t() takes at most two dimensions")
    return self.T


@cpu.kernel("expand")
def expand(self: Array, size: Sequence[int]) -> Array:
    shape = expanded_shape(self.shape, size)
    expanded = np.broadcast_to(self, shape)
    # NumPy protects the result, in which elements may coincide; a tensor may be written where they do not.
    if self.flags.writeable:
        expanded.flags.writeable = True
    return expanded


@cpu.kernel("as_strided")
def as_strided(self: Array, size: Sequence[int], stride: Sequence[int], storage_offset: int | None) -> Array:
    owner = owner_of(self)
    start = _distance(self, owner) if storage_offset is None else storage_offset * self.itemsize
    if len(size) != len(stride) or any(n < 0 for n in size) or any(step < 0 for step in stride) or start < 0:
        raise ValueError("as_strided() of other sizes and strides")
    last = start + sum((n - 1) * step for n, step in zip(size, stride, strict=True)) * self.itemsize
    if 0 not in size and last + self.itemsize > owner.nbytes:
        raise errors.ShapeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {start // self.itemsize}, and "
            f"itemsize {self.itemsize} requiring a storage size of {last + self.itemsize} are out of bounds for "
            f"storage of size {owner.nbytes}"
        )
    strides = tuple(step * self.itemsize for step in stride)
    flat = _row_major(owner)
    if owner.nbytes and flat.flags.c_contiguous:
        return np.ndarray(tuple(size), self.dtype, flat, start, strides)
    # Memory of another library in which there are gaps.
    first = np.lib.stride_tricks.as_strided(owner, (owner.nbytes // owner.itemsize,), (owner.itemsize,))
    return np.lib.stride_tricks.as_strided(first[start // self.itemsize :], tuple(size), strides)


def _row_major(owner: Array) -> Array:
    """Return an owner with its dimensions in the order in which they lie in memory."""
    if owner.flags.c_contiguous:
        return owner
    return owner.transpose(sorted(range(owner.ndim), key=lambda d: -owner.strides[d]))


def owner_of(array: Array) -> Array:
    """Return the array that owns the memory."""
    while type(array.base) is np.ndarray:
        array = array.base
    return array


def _distance(array: Array, owner: Array) -> int:
    """Return the bytes from the start of the owner to the first element."""
    first: int = array.__array_interface__["data"][0]
    start: int = owner.__array_interface__["data"][0]
    return first - start


@cpu.kernel("unsqueeze")
def unsqueeze(self: Array, dim: int) -> Array:
    if not -self.ndim - 1 <= dim <= self.ndim:
        raise IndexError("unsqueeze() at a dimension that is not there")
    axis = dim % (self.ndim + 1)
    shape = (*self.shape[:axis], 1, *self.shape[axis:])
    if self.flags.c_contiguous:
        return self.reshape(shape)
    # NumPy would give the new dimension a stride of zero.
    strides = [stride // self.itemsize for stride in self.strides]
    step = self.shape[axis] * strides[axis] if axis < self.ndim else 1
    return as_strided(self, shape, (*strides[:axis], step, *strides[axis:]), None)


# --- parts -----------------------------------------------------------------------------------------------------


@cpu.kernel("select")
def select(self: Array, dim: int, index: int) -> Array:
    if not -self.ndim <= dim < self.ndim:
        raise IndexError("select() along a dimension that is not there")
    found: Array = self[(slice(None),) * (dim % self.ndim) + (index, ...)]
    return found


# --- joining and rearranged copies -----------------------------------------------------------------------------


@cpu.kernel("cat", half="native")
def cat(tensors: Sequence[Array], dim: int) -> Array:
    # A vector without elements joins anything, for compatibility.
    kept = [t for t in tensors if t.shape != (0,)]
    return np.ascontiguousarray(np.concatenate(kept or list(tensors[:1]), axis=dim))


@cpu.kernel("tril", half="native")
def tril(self: Array, diagonal: int) -> Array:
    if self.ndim < 2:
        raise ValueError("tril() takes matrices")
    return np.ascontiguousarray(np.tril(self, diagonal))


@cpu.kernel("triu", half="native")
def triu(self: Array, diagonal: int) -> Array:
    if self.ndim < 2:
        raise ValueError("triu() takes matrices")
    return np.ascontiguousarray(np.triu(self, diagonal))


@cpu.kernel("empty_strided")
def empty_strided(size: Sequence[int], stride: Sequence[int], dtype: Any) -> Array:
    if len(size) != len(stride) or any(n < 0 for n in (*size, *stride)):
        raise ValueError("empty_strided() of other sizes and strides")
    extent = 0 if 0 in size else 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    return as_strided(np.empty(extent, dtype), size, stride, 0)
