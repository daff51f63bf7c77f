"""Kernels that copy, fill and make tensors like others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tt.backends.array_api.copies import expect_one_element
from tt.backends.array_api.kernel_builder import ORDERS
from tt.backends.cpu.backend import (
    Array,
    cast,
    duplicate,
    extent,
    new_array,
    new_ones,
    owner_of,
    python_number,
)
from tt.backends.cpu.shaping import as_strided, distance, row_major
from tt.core.library import KernelTable, contiguous_strides, errors, fitted_number, from_numpy_dtype

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu", by="NumPy")

# --- copies ----------------------------------------------------------------------------------------------------


def laid_out(shape: Sequence[int], dtype: Any, memory_format: Any, like: Any = None) -> Array:
    """Return a new array in a memory format; by default its dimensions have the order of another array's."""
    if memory_format is None and type(like) is np.ndarray and like.flags.c_contiguous:
        return new_array(tuple(shape), np.dtype(dtype))
    name = str(memory_format).rpartition(".")[2]
    order = ORDERS.get(name)
    if order is not None:
        if len(shape) != len(order):
            raise errors.ShapeError(
                f"required rank {len(order)} tensor to use {name} format, got {len(shape)}"
            )
        inverse = [order.index(d) for d in range(len(order))]
        return new_array([shape[d] for d in order], np.dtype(dtype)).transpose(inverse)
    packed = not isinstance(like, np.ndarray) or like.flags.c_contiguous or 0 in like.strides
    if name == "contiguous_format" or packed:
        return new_array(tuple(shape), np.dtype(dtype))
    return np.empty_like(like, dtype=dtype)


@cpu.kernel("clone", half="native")
def clone(self: Array) -> Array:
    return duplicate(self)


@cpu.kernel("clone", half="native")
def clone_in_format(self: Array, memory_format: Any) -> Array:
    new = laid_out(self.shape, self.dtype, memory_format, self)
    new[...] = self
    return new


@cpu.kernel("_to_copy")
def to_copy(self: Array, dtype: Any) -> Array:
    return duplicate(self) if dtype == self.dtype else cast(self, dtype)


@cpu.kernel("_to_copy")
def to_copy_in_format(self: Array, dtype: Any, memory_format: Any) -> Array:
    return clone_in_format(to_copy(self, dtype), memory_format)


@cpu.kernel("copy", form="inplace")
def copy(self: Array, src: Array) -> None:
    self[...] = src if src.dtype == self.dtype else cast(src, self.dtype)


@cpu.kernel("item")
def item(self: Array) -> Any:
    if self.size != 1:
        expect_one_element(self)
    return python_number(self)


@cpu.kernel("fill", form="inplace")
def fill(self: Array, value: Any) -> None:
    if isinstance(value, np.ndarray):
        if value.ndim:
            raise errors.ShapeError(
                f"fill_(): the value is a number or a tensor without dimensions, not one with {value.ndim}"
            )
        value = value if value.dtype == self.dtype else cast(value, self.dtype)
    else:
        value = fitted_number(value, from_numpy_dtype(self.dtype))
    self[...] = value


@cpu.kernel("zero", form="inplace")
def zero(self: Array) -> None:
    fill(self, 0)


@cpu.kernel("resize")
def resize(self: Array, size: Sequence[int]) -> Array:
    """Return the elements that lie in the memory from the first one on, in another shape."""
    shape = tuple(size)
    return self if shape == self.shape else _resized(self, shape, contiguous_strides(shape))


@cpu.kernel("resize")
def resize_in_format(self: Array, size: Sequence[int], memory_format: Any) -> Array:
    name = str(memory_format).rpartition(".")[2]
    if name == "preserve_format":
        raise errors.UnsupportedError("resize_(): unsupported memory format preserve_format")
    order = ORDERS.get(name, range(len(size)))
    if len(size) != len(order):
        raise errors.ShapeError(f"required rank {len(order)} tensor to use {name} format, got {len(size)}")
    dense = contiguous_strides([size[d] for d in order])
    return _resized(self, tuple(size), tuple(dense[order.index(d)] for d in range(len(size))))


def _resized(self: Array, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """Return dense elements from the first one of an array on, in new memory where there is too little behind it.

    The new memory has the contents of the old from its beginning on, so that other tensors there can move to it.
    """
    if min(shape, default=0) < 0:
        raise ValueError("a negative size")  # the shape rule explains it
    owner = owner_of(self)
    start, room = distance(self, owner), extent(owner)
    needed = start + math.prod(shape) * self.itemsize if 0 not in shape else 0
    if needed <= room:
        return as_strided(self, shape, strides, None)
    flat = row_major(owner)
    if not getattr(owner.base, "resizable", True) or not flat.flags.c_contiguous:
        raise errors.InplaceError(
            f"resize_(): memory that others share cannot grow, from {room} to {needed} bytes\n"
            "  try: x.clone().resize_(...); of shared memory, share_memory_() afterwards"
        )
    new = new_array((-(-needed // self.itemsize),), self.dtype)
    if room:
        new.view(np.uint8)[:room] = np.ndarray((room,), np.uint8, flat)
    return np.ndarray(shape, self.dtype, new, start, tuple(step * self.itemsize for step in strides))


# --- like another tensor ---------------------------------------------------------------------------------------


@cpu.kernel("empty_like")
def empty_like(self: Any, dtype: Any, memory_format: Any) -> Array:
    return laid_out(self.shape, dtype, memory_format, self)


@cpu.kernel("zeros_like")
def zeros_like(self: Any, dtype: Any) -> Array:
    # np.zeros gets zeroed pages from the system and does not write them.
    if not isinstance(self, np.ndarray) or self.flags.c_contiguous or 0 in self.strides:
        return np.zeros(self.shape, dtype)
    return np.zeros_like(self, dtype=dtype)


@cpu.kernel("ones_like")
def ones_like(self: Any, dtype: Any, memory_format: Any) -> Array:
    # Every backward pass begins with a one.
    plain = memory_format is None and type(self) is np.ndarray and dtype.kind in "fiu"
    if plain and (not self.ndim or self.flags.c_contiguous):
        return new_ones(self.shape, dtype)
    new = laid_out(self.shape, dtype, memory_format, self)
    fill(new, 1)
    return new


@cpu.kernel("full_like")
def full_like(self: Any, fill_value: Any, dtype: Any, memory_format: Any) -> Array:
    new = laid_out(self.shape, dtype, memory_format, self)
    fill(new, fill_value)
    return new
