"""Shape rules of views of parts of a tensor."""

from __future__ import annotations

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
        raise IndexValueError(f"{op}(): the tensor has no dimension to take something of")
    at = wrap_dim(op, dim, self.ndim)
    size = self.shape[at]
    if not -size <= index < size:
        raise IndexValueError(
            f"{op}(): index {index} is out of range in dimension {at} of a tensor of shape {list(self.shape)}"
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
        raise IndexValueError(f"{op}(): the tensor has no dimension to take something of")
    at = wrap_dim(op, dim, self.ndim)
    if step <= 0:
        raise ShapeError(
            f"{op}(): the step is {step}, and only positive ones are possible\n  try: flip() for the reverse order"
        )
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
        raise ShapeError(
            f"{op}(): a diagonal runs through two dimensions, and {dim1} and {dim2} are the same"
        )
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
        raise ShapeError(f"{op}(): the size of a window is {size}, and cannot be negative")
    if size > have:
        raise ShapeError(f"{op}(): a window of {size} does not fit in dimension {at}, whose size is {have}")
    if step <= 0:
        raise ShapeError(f"{op}(): the step from window to window is {step}, and must be positive")
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
            f"{op}(): {len(size)} sizes and {len(stride)} strides; each dimension needs one of both"
        )
    shape = check_size(op, size)
    if any(value < 0 for value in stride):
        raise ShapeError(f"{op}(): the strides {list(stride)} are not possible: a stride cannot be negative")
    offset = self.offset if storage_offset is None else storage_offset
    if offset < 0:
        raise ShapeError(f"{op}(): the storage offset {offset} lies before the memory")
    extent = getattr(self, "extent", None)
    needed = required_extent(shape, stride, offset)
    if extent is not None and needed > extent:
        itemsize = self.dtype.itemsize
        raise ShapeError(
            f"{op}(): sizes {list(shape)}, strides {list(stride)} and storage offset {offset} reach "
            f"{needed * itemsize} bytes into a memory of {extent * itemsize}"
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
        raise IndexValueError(f"{op}(): dimension {dim} does not exist: the tensor has none")
    at = wrap_dim(op, dim, self.ndim)
    return [select(self, at, index, op=op) for index in range(self.shape[at])]


@rule("split")
def split(self: Described, split_size: Any, dim: int = 0, *, op: str) -> list[Result]:
    """Parts of equal size, the last one smaller, or parts of given sizes."""
    if isinstance(split_size, (list, tuple)):
        return _split_in_sizes(self, split_size, dim, op=op)
    if not self.ndim:
        raise ShapeError(f"{op}(): the tensor has no dimension to split")
    if split_size < 0:
        raise ShapeError(f"{op}(): the size of the pieces is {split_size}, and cannot be negative")
    at = wrap_dim(op, dim, self.ndim)
    size = self.shape[at]
    if split_size == 0:
        if size:
            raise ShapeError(f"{op}(): dimension {at} has size {size} and cannot be split into pieces of 0")
        return [slice_rule(self, at, op=op)]
    starts = range(0, max(size, 1), split_size)
    return [slice_rule(self, at, start, start + split_size, op=op) for start in starts]


def _split_in_sizes(self: Described, split_sizes: Sequence[int], dim: int = 0, *, op: str) -> list[Result]:
    """Parts of given sizes."""
    if not self.ndim:
        raise ShapeError(f"{op}(): the tensor has no dimension to split")
    at = wrap_dim(op, dim, self.ndim)
    if any(size < 0 for size in split_sizes):
        raise ShapeError(f"{op}(): the sizes {list(split_sizes)} hold a negative one")
    if sum(split_sizes) != self.shape[at]:
        raise ShapeError(
            f"{op}(): the sizes {list(split_sizes)} add up to {sum(split_sizes)}, and dimension {at} has size "
            f"{self.shape[at]}"
        )
    parts, start = [], 0
    for size in split_sizes:
        parts.append(slice_rule(self, at, start, start + size, op=op))
        start += size
    return parts
