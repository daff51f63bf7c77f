"""Views: kernels that change the description of memory and never touch the memory.

They run without CuPy, cost no call into it, and build no array.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

import numpy as np

from tt.backends.array_api.shaping import expanded_shape
from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.layouts import axis_of
from tt.core.library import KernelTable, errors, view_strides

__all__ = ["cuda"]

cuda: Final = KernelTable(device="cuda")
Handle = StridedHandle


# --- the same elements in another shape ------------------------------------------------------------------------

cuda.kernel("alias", lambda self: self.view(self.shape, self.strides), half="native", takes=("self",))
cuda.kernel("detach", lambda self: self.view(self.shape, self.strides), half="native", takes=("self",))


@cuda.kernel("view", half="native")
def view(self: Handle, size: Sequence[int]) -> Handle:
    shape = list(size)
    if -1 in shape:
        # With the -1 in it, the product of the known sizes has the opposite sign.
        known = -prod(shape)
        if shape.count(-1) > 1 or known <= 0 or prod(self.shape) % known:
            raise ValueError("view() of another size")
        shape[shape.index(-1)] = prod(self.shape) // known
    if any(n < 0 for n in shape) or prod(shape) != prod(self.shape):
        raise ValueError("view() of another size")
    strides = view_strides(self.shape, self.strides, shape)
    if strides is None:
        raise ValueError("view() of memory that a shape does not fit")
    return self.view(shape, strides)


@cuda.kernel("permute", half="native")
def permute(self: Handle, dims: Sequence[int]) -> Handle:
    axes = [axis_of(d, self.ndim) for d in dims]
    if len(axes) != self.ndim or len(set(axes)) < len(axes):
        raise ValueError("permute() of other dimensions")
    return self.view([self.shape[d] for d in axes], [self.strides[d] for d in axes])


@cuda.kernel("transpose", half="native")
def transpose(self: Handle, dim0: int, dim1: int) -> Handle:
    first, second = axis_of(dim0, self.ndim), axis_of(dim1, self.ndim)
    order = list(range(self.ndim))
    if order:
        order[first], order[second] = second, first
    return self.view([self.shape[d] for d in order], [self.strides[d] for d in order])


@cuda.kernel("t", half="native")
def t(self: Handle) -> Handle:
    if self.ndim > 2:
        raise ValueError("t() takes at most two dimensions")
    return self.view(self.shape[::-1], self.strides[::-1])


@cuda.kernel("expand", half="native")
def expand(self: Handle, size: Sequence[int]) -> Handle:
    shape = expanded_shape(self.shape, size)
    new = len(shape) - self.ndim
    strides: list[int] = []
    for have, target, step in zip(self.shape, shape[new:], self.strides, strict=True):
        if have not in (1, target):
            raise ValueError("expand() of a dimension that does not repeat")
        strides.append(step if have == target else 0)
    for target in reversed(shape[:new]):
        # A new dimension of size 1 gets the stride that a row-major tensor has, as PyTorch gives it.
        behind = shape[len(shape) - len(strides)] * strides[0] if strides else 0
        strides.insert(0, behind if target == 1 else 0)
    return self.view(shape, strides)


def _without(self: Handle, axes: set[int]) -> Handle:
    kept = [d for d in range(self.ndim) if d not in axes or self.shape[d] != 1]
    return self.view([self.shape[d] for d in kept], [self.strides[d] for d in kept])


cuda.kernel("squeeze", lambda self: _without(self, set(range(self.ndim))), half="native", takes=("self",))


@cuda.kernel("squeeze.dim", half="native")
def squeeze_dim(self: Handle, dim: Sequence[int]) -> Handle:
    axes = [axis_of(d, self.ndim) for d in ([dim] if isinstance(dim, int) else dim)]
    if len(set(axes)) < len(axes):
        raise IndexError("a dimension is repeated")
    return _without(self, set(axes))


@cuda.kernel("unsqueeze", half="native")
def unsqueeze(self: Handle, dim: int) -> Handle:
    axis = axis_of(dim, self.ndim + 1)
    # The stride of a row-major layout, as in PyTorch, although it is never taken.
    step = self.shape[axis] * self.strides[axis] if axis < self.ndim else 1
    return self.view(
        (*self.shape[:axis], 1, *self.shape[axis:]), (*self.strides[:axis], step, *self.strides[axis:])
    )


@cuda.kernel("as_strided", half="native")
def as_strided(
    self: Handle, size: Sequence[int], stride: Sequence[int], storage_offset: int | None
) -> Handle:
    if any(n < 0 for n in size) or any(step < 0 for step in stride):
        raise ValueError("as_strided() of other sizes and strides")
    return self.view(tuple(size), tuple(stride), storage_offset)


# --- parts -----------------------------------------------------------------------------------------------------


def _part(self: Handle, axis: int, start: int, size: int, step: int = 1) -> Handle:
    shape, strides = list(self.shape), list(self.strides)
    shape[axis], strides[axis] = size, strides[axis] * step
    # The stride of the whole, not of the part: `start` counts elements before the step.
    offset = self.offset + start * self.strides[axis]
    return self.view(shape, strides, offset)


@cuda.kernel("select", half="native")
def select(self: Handle, dim: int, index: int) -> Handle:
    axis = axis_of(dim, self.ndim)
    size = self.shape[axis] if self.ndim else 0
    if not -size <= index < size:
        raise IndexError("index out of range")
    # A negative index counts from the end.
    offset = self.offset + index % size * self.strides[axis]
    return self.view(
        self.shape[:axis] + self.shape[axis + 1 :], self.strides[:axis] + self.strides[axis + 1 :], offset
    )


@cuda.kernel("slice", half="native")
def slice_(self: Handle, dim: int, start: int | None, end: int | None, step: int) -> Handle:
    if step <= 0 or not self.ndim:
        raise ValueError("a slice without a positive step, or of no dimension")
    axis = axis_of(dim, self.ndim)
    first, stop, _ = slice(start, end).indices(self.shape[axis])
    return _part(self, axis, first, -(-max(stop - first, 0) // step), step)


def _pieces(self: Handle, sizes: Sequence[int], axis: int) -> list[Handle]:
    pieces, start = [], 0
    for size in sizes:
        pieces.append(_part(self, axis, start, size))
        start += size
    return pieces


@cuda.kernel("split", half="native")
def split(self: Handle, split_size: int, dim: int) -> list[Handle]:
    axis = axis_of(dim, self.ndim)
    size = self.shape[axis]
    if split_size < 0 or (split_size == 0 and size):
        raise ValueError("split size")
    count = max(-(-size // split_size), 1) if split_size else 1
    return _pieces(self, [split_size] * (count - 1) + [size - split_size * (count - 1)], axis)


@cuda.kernel("split.sizes", half="native")
def split_sizes(self: Handle, split_size: Sequence[int], dim: int) -> list[Handle]:
    axis = axis_of(dim, self.ndim)
    if any(size < 0 for size in split_size) or sum(split_size) != self.shape[axis]:
        raise ValueError("split sizes")
    return _pieces(self, split_size, axis)


@cuda.kernel("unbind", half="native")
def unbind(self: Handle, dim: int) -> list[Handle]:
    axis = axis_of(dim, self.ndim)
    return [select(self, axis, index) for index in range(self.shape[axis])]


@cuda.kernel("diagonal", half="native")
def diagonal(self: Handle, offset: int, dim1: int, dim2: int) -> Handle:
    first, second = axis_of(dim1, self.ndim), axis_of(dim2, self.ndim)
    if first == second:
        raise ValueError("a diagonal of one dimension")
    down, right = max(-offset, 0), max(offset, 0)
    size = max(min(self.shape[first] - down, self.shape[second] - right), 0)
    # Without elements the start may lie behind the memory, so the view stays where it was.
    start = down * self.strides[first] + right * self.strides[second] if size else 0
    kept = [d for d in range(self.ndim) if d not in (first, second)]
    return self.view(
        (*(self.shape[d] for d in kept), size),
        (*(self.strides[d] for d in kept), self.strides[first] + self.strides[second]),
        self.offset + start,
    )


@cuda.kernel("unfold", half="native")
def unfold(self: Handle, dimension: int, size: int, step: int) -> Handle:
    axis = axis_of(dimension, self.ndim)
    # PyTorch takes a number as a vector of one element here.
    shape, strides = (self.shape, self.strides) if self.ndim else ((1,), (1,))
    if not 0 <= size <= shape[axis] or step <= 0:
        raise ValueError("unfold() beyond a dimension")
    if not self.ndim:
        return self.view((size,), (1,))
    count = (shape[axis] - size) // step + 1
    return self.view(
        (*shape[:axis], count, *shape[axis + 1 :], size),
        (*strides[:axis], strides[axis] * step, *strides[axis + 1 :], strides[axis]),
    )


# --- the same bytes in another dtype ---------------------------------------------------------------------------


def _read_as(
    self: Handle, dtype: np.dtype[Any], shape: Sequence[int], strides: Sequence[int], offset: int
) -> Handle:
    # Sizes, strides and offset count elements, so the caller has converted them to those of the new dtype.
    return StridedHandle(self.memory, self.owner, shape, strides, offset, dtype)


@cuda.kernel("view.dtype", half="native")
def view_dtype(self: Handle, dtype: np.dtype[Any]) -> Handle:
    dtype = np.dtype(dtype)
    have, target = self.dtype.itemsize, dtype.itemsize
    if have == target:
        return _read_as(self, dtype, self.shape, self.strides, self.offset)
    if not self.ndim:
        raise errors.ShapeError(
            "view(): a number cannot be read as a dtype of another size\n  try: .unsqueeze(0)"
        )
    if self.strides[-1] != 1 and self.shape[-1] > 1:
        raise ValueError("the last dimension has gaps")
    *before, last = self.shape
    if have > target:
        times = have // target
        return _read_as(
            self,
            dtype,
            (*before, last * times),
            (*(s * times for s in self.strides[:-1]), 1),
            self.offset * times,
        )
    times = target // have
    # An element of the wider dtype begins at a multiple of its own size.
    if last % times or self.offset % times or any(s % times for s in self.strides[:-1]):
        raise ValueError("the elements do not fit")
    return _read_as(
        self,
        dtype,
        (*before, last // times),
        (*(s // times for s in self.strides[:-1]), 1),
        self.offset // times,
    )


def _halves(self: Handle) -> Any:
    return np.dtype(np.float32 if self.dtype == np.complex64 else np.float64)


@cuda.kernel("view_as_real", dtypes="complex")
def view_as_real(self: Handle) -> Handle:
    return _read_as(
        self, _halves(self), (*self.shape, 2), (*(2 * s for s in self.strides), 1), 2 * self.offset
    )


@cuda.kernel("view_as_complex", dtypes=("float32", "float64"))
def view_as_complex(self: Handle) -> Handle:
    if not self.ndim or self.shape[-1] != 2 or self.strides[-1] != 1:
        raise ValueError("no pairs that lie together")
    if self.offset % 2 or any(s % 2 for s in self.strides[:-1]):
        raise ValueError("pairs that do not lie at multiples of their size")
    dtype = np.dtype(np.complex64 if self.dtype == np.float32 else np.complex128)
    return _read_as(self, dtype, self.shape[:-1], [s // 2 for s in self.strides[:-1]], self.offset // 2)


@cuda.kernel("real", half="native")
def real(self: Handle) -> Handle:
    if self.dtype.kind != "c":
        return self
    return _read_as(self, _halves(self), self.shape, [2 * s for s in self.strides], 2 * self.offset)


@cuda.kernel("imag", dtypes="complex")
def imag(self: Handle) -> Handle:
    return _read_as(self, _halves(self), self.shape, [2 * s for s in self.strides], 2 * self.offset + 1)
