"""Shape rules of views of parts of a tensor."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from tt.core.errors import IndexValueError, ShapeError
from tt.core.shapes.geometry import Described, check_size, wrap_dim
from tt.core.shapes.registry import Result, RuleTable
from tt.core.shapes.shaping import view

rule = RuleTable()

Shape = tuple[int, ...]


# --- parts -----------------------------------------------------------------------------------------------------


@rule("select")
def select(self: Described, dim: int, index: int, *, op: str) -> Result:
    """One slice of a dimension, which disappears."""
    if not self.ndim:
        raise IndexValueError(f"{op}() cannot be applied to a 0-dim tensor.")
    at = wrap_dim(op, dim, self.ndim)
    size = self.shape[at]
    if not -size <= index < size:
        raise IndexValueError(
            f"{op}(): index {index} out of range for tensor of size {list(self.shape)} at dimension {at}"
        )
    offset = self.offset + (index % size) * self.strides[at]
    return view(
        self, self.shape[:at] + self.shape[at + 1 :], self.strides[:at] + self.strides[at + 1 :], offset
    )


@rule("slice")
def slice_rule(
    self: Described, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1, *, op: str
) -> Result:
    """A range of a dimension."""
    if not self.ndim:
        raise IndexValueError(f"{op}() cannot be applied to a 0-dim tensor.")
    at = wrap_dim(op, dim, self.ndim)
    if step <= 0:
        raise ShapeError(f"{op}(): slice step must be positive")
    size = self.shape[at]
    first = clip(0 if start is None else start, size)
    last = max(clip(size if end is None else end, size), first)
    shape, strides = list(self.shape), list(self.strides)
    shape[at] = (last - first + step - 1) // step
    strides[at] *= step
    return view(self, shape, strides, self.offset + first * self.strides[at])


def clip(index: int, size: int) -> int:
    """Return a slice bound, counted from the front and inside the dimension."""
    return min(max(index + size if index < 0 else index, 0), size)


@rule("narrow")
def narrow(self: Described, dim: int, start: Any, length: int, *, op: str) -> Result:
    """A range of a dimension that must be inside it."""
    if not self.ndim:
        raise ShapeError(f"{op}() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise ShapeError(f"{op}(): length must be non-negative.")
    at = wrap_dim(op, dim, self.ndim)
    size = self.shape[at]
    if not -size <= start <= size:
        raise IndexValueError(
            f"{op}(): start out of range (expected to be in range of [{-size}, {size}], but got {start})"
        )
    first = start + size if start < 0 else start
    if first + length > size:
        raise ShapeError(f"{op}(): start ({first}) + length ({length}) exceeds dimension size ({size}).")
    return slice_rule(self, at, first, first + length, op=op)


@rule("diagonal")
def diagonal(self: Described, offset: int = 0, dim1: int = 0, dim2: int = 1, *, op: str) -> Result:
    """A diagonal of two dimensions, as a new last dimension."""
    shape, strides, start = diagonal_geometry(op, self.shape, self.strides, offset, dim1, dim2)
    return view(self, shape, strides, self.offset + start)


def diagonal_geometry(
    op: str, shape: Shape, strides: Shape, offset: int, dim1: int, dim2: int
) -> tuple[Shape, Shape, int]:
    """Return shape, strides and first element of a diagonal."""
    ndim = len(shape)
    first, second = wrap_dim(op, dim1, ndim), wrap_dim(op, dim2, ndim)
    if first == second:
        raise ShapeError(f"{op}(): diagonal dimensions cannot be identical {dim1}, {dim2}")
    rows, columns = shape[first], shape[second]
    length = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    start = 0
    if length:
        start = offset * strides[second] if offset >= 0 else -offset * strides[first]
    rest = [i for i in range(ndim) if i not in (first, second)]
    return (
        (*(shape[i] for i in rest), length),
        (*(strides[i] for i in rest), strides[first] + strides[second]),
        start,
    )


@rule("unfold")
def unfold(self: Described, dimension: int, size: int, step: int, *, op: str) -> Result:
    """Overlapping windows along a dimension, as a new last dimension."""
    return view(self, *unfold_geometry(op, self.shape, self.strides, dimension, size, step))


def unfold_geometry(
    op: str, shape: Shape, strides: Shape, dimension: int, size: int, step: int
) -> tuple[Shape, Shape]:
    """Return shape and strides of the windows along a dimension."""
    at = wrap_dim(op, dimension, len(shape))
    have = shape[at] if shape else 1
    if size < 0:
        raise ShapeError(f"{op}(): size is {size} but must be >= 0")
    if size > have:
        raise ShapeError(f"{op}(): maximum size for tensor at dimension {at} is {have} but size is {size}")
    if step <= 0:
        raise ShapeError(f"{op}(): step is {step} but must be > 0")
    if not shape:
        return (size,), (1,)
    count = (have - size) // step + 1
    return (
        (*shape[:at], count, *shape[at + 1 :], size),
        (*strides[:at], strides[at] * step, *strides[at + 1 :], strides[at]),
    )


@rule("as_strided")
def as_strided(
    self: Described,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
    *,
    op: str,
) -> Result:
    """Any sizes and strides over the same memory."""
    if len(size) != len(stride):
        raise ShapeError(
            f"{op}(): mismatch in length of strides and shape: {len(stride)} strides, {len(size)} sizes"
        )
    shape = check_size(op, size)
    if any(value < 0 for value in stride):
        raise ShapeError(
            f"{op}(): Negative strides are not supported at the moment, got strides: {list(stride)}"
        )
    offset = self.offset if storage_offset is None else storage_offset
    if offset < 0:
        raise ShapeError(f"{op}(): Tensor: invalid storage offset {offset}")
    extent = getattr(self, "extent", None)
    needed = required_extent(shape, stride, offset)
    if extent is not None and needed > extent:
        itemsize = self.dtype.itemsize
        raise ShapeError(
            f"{op}(): sizes {list(shape)}, strides {list(stride)}, storage offset {offset}, and itemsize {itemsize} "
            f"requiring a storage size of {needed * itemsize} are out of bounds for storage of size "
            f"{extent * itemsize}"
        )
    return view(self, shape, stride, offset)


def required_extent(shape: Sequence[int], strides: Sequence[int], offset: int) -> int:
    """Return how many elements a memory must have to be read like this; nothing to read needs none."""
    if 0 in shape:
        return 0
    return offset + 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))


# --- several parts ---------------------------------------------------------------------------------------------


@rule("unbind")
def unbind(self: Described, dim: int = 0, *, op: str) -> list[Result]:
    """All slices of a dimension."""
    if not self.ndim:
        raise IndexValueError(f"{op}(): Dimension specified as {dim} but tensor has no dimensions")
    at = wrap_dim(op, dim, self.ndim)
    return [select(self, at, index, op=op) for index in range(self.shape[at])]


@rule("split")
def split(self: Described, split_size: Any, dim: int = 0, *, op: str) -> list[Result]:
    """Parts of equal size, the last one smaller, or parts of given sizes."""
    if isinstance(split_size, (list, tuple)):
        return split_with_sizes(self, split_size, dim, op=op)
    if not self.ndim:
        raise ShapeError(f"{op}() expects at least a 1-dimensional tensor")
    if split_size < 0:
        raise ShapeError(f"{op}() expects split_size be non-negative, but got split_size={split_size}")
    at = wrap_dim(op, dim, self.ndim)
    size = self.shape[at]
    if split_size == 0:
        if size:
            raise ShapeError(
                f"{op}() expects split_size be positive for a dimension that is not empty, but dimension {at} "
                f"has size {size}"
            )
        return [slice_rule(self, at, op=op)]
    starts = range(0, max(size, 1), split_size)
    return [slice_rule(self, at, start, start + split_size, op=op) for start in starts]


@rule("split_with_sizes")
def split_with_sizes(self: Described, split_sizes: Sequence[int], dim: int = 0, *, op: str) -> list[Result]:
    """Parts of given sizes."""
    if not self.ndim:
        raise ShapeError(f"{op}() expects at least a 1-dimensional tensor")
    at = wrap_dim(op, dim, self.ndim)
    if any(size < 0 for size in split_sizes):
        raise ShapeError(
            f"{op}() expects split_sizes have only non-negative entries, but got {list(split_sizes)}"
        )
    if sum(split_sizes) != self.shape[at]:
        raise ShapeError(
            f"{op}() expects split_sizes to sum exactly to {self.shape[at]} (input tensor's size at dimension {at}), "
            f"but got split_sizes={list(split_sizes)}"
        )
    parts, start = [], 0
    for size in split_sizes:
        parts.append(slice_rule(self, at, start, start + size, op=op))
        start += size
    return parts


@rule("chunk")
def chunk(self: Described, chunks: int, dim: int = 0, *, op: str) -> list[Result]:
    """So many parts at most, of equal size except the last."""
    if not self.ndim:
        raise ShapeError(f"{op}() expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise ShapeError(f"{op}() expects `chunks` to be greater than 0, got: {chunks}")
    at = wrap_dim(op, dim, self.ndim)
    size = self.shape[at]
    if not size:
        return split_with_sizes(self, [0] * chunks, at, op=op)
    return split(self, -(-size // chunks), at, op=op)


@rule("tensor_split")
def tensor_split(self: Described, indices_or_sections: Any, dim: int = 0, *, op: str) -> list[Result]:
    """So many parts of nearly equal size, or parts between indices."""
    if not self.ndim:
        raise ShapeError(f"{op}() expected at least a 1-dimensional tensor")
    at = wrap_dim(op, dim, self.ndim)
    size = self.shape[at]
    if isinstance(indices_or_sections, (list, tuple)):
        bounds = [0, *indices_or_sections, size]
        return [slice_rule(self, at, start, end, op=op) for start, end in itertools.pairwise(bounds)]
    if indices_or_sections <= 0:
        raise ShapeError(f"{op}() expected number of sections to be larger than 0, got {indices_or_sections}")
    least, more = divmod(size, indices_or_sections)
    return split_with_sizes(self, [least + (i < more) for i in range(indices_or_sections)], at, op=op)
