"""Kernels that rearrange: views of NumPy arrays, and joining."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, Final

import numpy as np

from tt.backends.array_api.namespace import ORDERS
from tt.backends.array_api.shaping import expanded_shape
from tt.backends.cpu.backend import (
    Array,
    element_strides,
    empty_view,
    extent,
    new_array,
    owner_of,
)
from tt.core.library import (
    KernelTable,
    Scalar,
    contiguous_strides,
    errors,
    fitted_number,
    from_numpy_dtype,
    view_strides,
)

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu", by="NumPy")


def _view_of_nothing(self: Array, shape: Sequence[int], strides: Sequence[int], first: int = 0) -> Array:
    """Return a view without elements, whose geometry NumPy would not keep: strides and first in elements."""
    return empty_view(self, shape, [step * self.itemsize for step in strides], first * self.itemsize)


def _with_strides(self: Array, strides: Sequence[int]) -> Array:
    """Return a view of the same elements, whose dimensions of one element have other strides, in elements."""
    # As bytes, because stride_tricks does not take all of ml_dtypes' dtypes.
    flat = self.view(f"V{self.itemsize}")
    steps = [step * self.itemsize for step in strides]
    return np.lib.stride_tricks.as_strided(flat, self.shape, steps).view(self.dtype)


# --- the same elements in another shape ------------------------------------------------------------------------


@cpu.kernel("view")
def view(self: Array, size: Sequence[int]) -> Array:
    for n in size:
        if n < -1:
            # After a kernel raises, the shape rule runs and raises the error that users see.
            raise ValueError("negative size")  # NumPy takes any; the shape rule explains it
    if not self.size:
        shape = self.reshape(size).shape
        steps: Sequence[int] = element_strides(self) if shape == self.shape else contiguous_strides(shape)
        return _view_of_nothing(self, shape, steps)
    if self.flags.c_contiguous and 1 not in self.shape:
        return self.reshape(size)  # half of the time of what follows
    result = self.reshape(size, copy=False)  # raises where a copy would be needed
    if 1 not in result.shape:
        return result
    # NumPy chooses the strides of dimensions of one element by itself.
    strides = view_strides(self.shape, element_strides(self), result.shape)
    return result if strides is None else _with_strides(result, strides)


@cpu.kernel("view.dtype")
def view_dtype(self: Array, dtype: np.dtype[Any]) -> Array:
    if not self.ndim and dtype.itemsize != self.itemsize:
        raise errors.ShapeError(
            "view(): a number cannot be read as a dtype of another size\n  try: .unsqueeze(0)"
        )
    result: Array = self.view(dtype)
    if not self.size and dtype.itemsize != self.itemsize:
        # NumPy does not check the strides of an array without elements; PyTorch does.
        *before, last = element_strides(self)
        if last != 1:
            raise ValueError("elements that do not follow one another")
        result = empty_view(
            self, result.shape, [*(step * self.itemsize for step in before), dtype.itemsize], 0, dtype
        )
    if dtype.itemsize > self.itemsize:
        # NumPy's flag is not enough: complex numbers are aligned where their parts are.
        steps = (distance(self, owner_of(self)), *result.strides)
        if any(step % dtype.itemsize for step in steps):
            raise errors.ShapeError(
                f"view(): the storage offset and the strides must be multiples of {dtype.itemsize} bytes to read "
                f"{self.dtype} as {dtype}"
            )
    return result


@cpu.kernel("transpose")
def transpose(self: Array, dim0: int, dim1: int) -> Array:
    if not self.size:
        dims = list(range(self.ndim))
        dims[dim0], dims[dim1] = dims[dim1], dims[dim0]
        return permute(self, dims)
    return self.swapaxes(dim0, dim1) if self.ndim else _number(self, dim0, dim1)


def _number(self: Array, *dims: int) -> Array:
    """Return a view of a number, which has the dimensions 0 and -1 only."""
    if any(dim not in (0, -1) for dim in dims):
        raise IndexError("a dimension that a number does not have")
    return self.view()


@cpu.kernel("permute")
def permute(self: Array, dims: Sequence[int]) -> Array:
    permuted = self.transpose(tuple(dims))
    if self.size:
        return permuted
    steps = element_strides(self)
    return _view_of_nothing(self, permuted.shape, [steps[dim] for dim in dims])


@cpu.kernel("t")
def t(self: Array) -> Array:
    if self.ndim > 2:
        raise ValueError("t() takes at most two dimensions")
    return self.T if self.size else permute(self, range(self.ndim)[::-1])


@cpu.kernel("expand")
def expand(self: Array, size: Sequence[int]) -> Array:
    shape = expanded_shape(self.shape, size)
    if 1 in shape or 0 in shape:
        # NumPy would give a stride of zero to dimensions that do not repeat.
        return as_strided(self, shape, _expanded_strides(self, shape), None)
    expanded = np.broadcast_to(self, shape)
    # NumPy protects the result, in which elements may coincide; a tensor may be written where they do not.
    if self.flags.writeable:
        expanded.flags.writeable = True
    return expanded


def _expanded_strides(self: Array, shape: Sequence[int]) -> list[int]:
    new = len(shape) - self.ndim
    strides = []
    for size, target, step in zip(self.shape, shape[new:], element_strides(self), strict=True):
        if size not in (1, target) or target < 0:
            raise ValueError("expand() of a dimension that does not repeat")
        strides.append(step if size == target else 0)
    # As in PyTorch, a new dimension of size 1 has the stride of a row-major layout, not 0.
    for size in reversed(shape[:new]):
        behind = shape[len(shape) - len(strides)] * strides[0] if strides else 0
        strides.insert(0, behind if size == 1 else 0)
    return strides


@cpu.kernel("as_strided")
def as_strided(self: Array, size: Sequence[int], stride: Sequence[int], storage_offset: int | None) -> Array:
    owner = owner_of(self)
    nbytes = extent(owner)
    start = distance(self, owner) if storage_offset is None else storage_offset * self.itemsize
    if len(size) != len(stride) or any(n < 0 for n in size) or any(step < 0 for step in stride) or start < 0:
        raise ValueError("as_strided() of other sizes and strides")
    last = start + sum((n - 1) * step for n, step in zip(size, stride, strict=True)) * self.itemsize
    if 0 not in size and last + self.itemsize > nbytes:
        raise errors.ShapeError(
            f"as_strided(): sizes {list(size)}, strides {list(stride)} and storage offset {start // self.itemsize} "
            f"reach {last + self.itemsize} bytes into a memory of {nbytes}"
        )
    strides = tuple(step * self.itemsize for step in stride)
    # np.ndarray takes a contiguous buffer only, so the owner is turned to the order of its memory.
    flat = row_major(owner)
    if not flat.flags.c_contiguous:
        # Memory of another library in which there are gaps.  Read as bytes, because stride_tricks does not take all of
        # ml_dtypes' dtypes.
        flat = np.lib.stride_tricks.as_strided(
            owner.view(f"V{owner.itemsize}"), (nbytes // owner.itemsize,), (owner.itemsize,)
        )
    # np.ndarray refuses an offset behind its buffer, where a view without elements may begin.
    if start > nbytes:
        return empty_view(flat, size, strides, start, self.dtype)
    return np.ndarray(tuple(size), self.dtype, flat, start, strides)


def row_major(owner: Array) -> Array:
    """Return an owner with its dimensions in the order in which they are in memory."""
    if owner.flags.c_contiguous:
        return owner
    return owner.transpose(sorted(range(owner.ndim), key=lambda d: -owner.strides[d]))


def distance(array: Array, owner: Array) -> int:
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
    if self.size and self.flags.c_contiguous and 1 not in self.shape:  # the stride of a size of 1 may be any
        return self.reshape(shape)
    # NumPy would give the new dimension a stride of zero.
    strides = element_strides(self)
    step = self.shape[axis] * strides[axis] if axis < self.ndim else 1
    return as_strided(self, shape, (*strides[:axis], step, *strides[axis:]), None)


# --- parts -----------------------------------------------------------------------------------------------------

_LONGEST_STEP: Final = sys.maxsize // 64
"""The stride of a slice with a longer step is that of its array: at most one element is in it."""


@cpu.kernel("select")
def select(self: Array, dim: int, index: int) -> Array:
    ndim = self.ndim
    result: Array
    if not self.size:
        return _part_of_nothing(self, dim, index)
    if dim == 0 and ndim:
        result = self[index, ...]  # nearly all
        return result
    if not -ndim <= dim < ndim:
        raise IndexError("select() along a dimension that is not there")
    result = self[(slice(None),) * (dim % ndim) + (index, ...)]
    return result


def _part_of_nothing(self: Array, dim: int, index: int) -> Array:
    shape, steps = list(self.shape), list(element_strides(self))
    size, step = shape.pop(dim), steps.pop(dim)
    if not -size <= index < size:
        raise IndexError("an index out of range")
    return _view_of_nothing(self, shape, steps, index % size * step)


@cpu.kernel("slice")
def slice_(self: Array, dim: int, start: int | None, end: int | None, step: int) -> Array:
    ndim = self.ndim
    if step <= 0 or not -ndim <= dim < ndim:
        raise ValueError("a slice without a positive step, or of a dimension that is not there")
    result: Array
    if dim == 0:
        result = self[start:end:step]
    elif dim == 1:
        result = self[:, start:end:step]
    else:
        result = self[(slice(None),) * (dim % ndim) + (slice(start, end, step),)]
    if result.size:
        return result
    # NumPy lets a slice without elements begin with its array and have its strides; what is resized begins here.
    begin = slice(start, end, step).indices(self.shape[dim])[0]
    strides = list(element_strides(self))
    first = begin * strides[dim]
    if step <= _LONGEST_STEP:
        strides[dim] *= step
    return _view_of_nothing(self, result.shape, strides, first)


@cpu.kernel("diagonal")
def diagonal(self: Array, offset: int, dim1: int, dim2: int) -> Array:
    if not (-self.ndim <= dim1 < self.ndim and -self.ndim <= dim2 < self.ndim):
        raise IndexError("diagonal() of dimensions that are not there")
    result = self.diagonal(offset, dim1, dim2)
    if not result.size:
        steps = element_strides(self)
        first, second = dim1 % self.ndim, dim2 % self.ndim
        start = offset * steps[second] if offset >= 0 else -offset * steps[first]
        rest = [steps[i] for i in range(self.ndim) if i not in (first, second)]
        return _view_of_nothing(
            self, result.shape, (*rest, steps[first] + steps[second]), start if result.shape[-1] else 0
        )
    if self.flags.writeable:
        result.flags.writeable = True  # NumPy protects it for programs that expect a copy
    return result


@cpu.kernel("unfold")
def unfold(self: Array, dimension: int, size: int, step: int) -> Array:
    if not self.ndim:
        if dimension not in (0, -1) or size not in (0, 1) or step <= 0:
            raise ValueError("unfold() of a number")
        return self.reshape(1)[:size]
    at = dimension + self.ndim if dimension < 0 else dimension
    have = self.shape[at]
    if at < 0 or not 0 <= size <= have or step <= 0:
        raise ValueError("unfold() beyond a dimension")
    strides = element_strides(self)
    # The windows overlap: the new last dimension has the stride of the old one.
    return as_strided(
        self,
        (*self.shape[:at], (have - size) // step + 1, *self.shape[at + 1 :], size),
        (*strides[:at], strides[at] * step, *strides[at + 1 :], strides[at]),
        None,
    )


@cpu.kernel("split")
def split(self: Array, split_size: int, dim: int) -> list[Array]:
    size = self.shape[dim]
    if split_size < 0 or (split_size == 0 and size):
        raise ValueError("split() into such pieces")
    return [slice_(self, dim, at, at + split_size, 1) for at in range(0, max(size, 1), max(split_size, 1))]


@cpu.kernel("split.sizes")
def split_sizes(self: Array, split_size: Sequence[int], dim: int) -> list[Array]:
    if any(size < 0 for size in split_size) or sum(split_size) != self.shape[dim]:
        raise ValueError("split() into other sizes")
    starts = accumulate(split_size, initial=0)
    return [slice_(self, dim, at, at + size, 1) for at, size in zip(starts, split_size, strict=False)]


@cpu.kernel("unbind")
def unbind(self: Array, dim: int) -> list[Array]:
    return [select(self, dim, index) for index in range(self.shape[dim])]


# --- joining and rearranged copies -----------------------------------------------------------------------------


@cpu.kernel("cat", half="native")
def cat(tensors: Sequence[Array], dim: int) -> Array:
    try:
        # np.concatenate keeps column-major order if all its arguments have it.
        return np.ascontiguousarray(np.concatenate(tensors, dim))
    except ValueError:
        # A vector without elements joins anything, for compatibility.
        joined = [t for t in tensors if t.shape != (0,)]
        if len(joined) == len(tensors):
            raise
        if not joined:
            joined, dim = list(tensors), 0
    return np.ascontiguousarray(np.concatenate(joined, dim))


# Not faster than the composite, whose view gives dimensions of one element other strides than a row-major result has.
@cpu.kernel("repeat", half="native")
def repeat(self: Array, repeats: Sequence[int]) -> Array:
    new = len(repeats) - self.ndim
    if new < 0 or min(repeats, default=0) < 0:
        raise ValueError("repeat() fewer times than there are dimensions, or less than never")
    shape = (1,) * new + self.shape
    # Each dimension is cut in two, the repeats before the elements, so that one broadcast copy writes all.
    result = np.empty([n for pair in zip(repeats, shape, strict=True) for n in pair], self.dtype)
    result[...] = self.reshape([n for size in shape for n in (1, size)])
    return result.reshape([count * size for count, size in zip(repeats, shape, strict=True)])


@cpu.kernel("roll", half="native", check=True)
def roll(self: Array, shifts: Sequence[int], dims: Sequence[int]) -> Array:
    return np.ascontiguousarray(np.roll(self, shifts, tuple(dims) or None)) if self.ndim else self.copy()


@cpu.kernel("diag_embed", half="native", check=True)
def diag_embed(self: Array, offset: int, dim1: int, dim2: int) -> Array:
    ndim, size = self.ndim + 1, self.shape[-1] + abs(offset)
    first, second = dim1 % ndim, dim2 % ndim
    rest = iter(self.shape[:-1])
    result = np.zeros([size if i in (first, second) else next(rest) for i in range(ndim)], self.dtype)
    diagonal(result, offset, first, second)[...] = self
    return result


@cpu.kernel("constant_pad_nd", half="native", check=True)
def constant_pad_nd(self: Array, pad: Sequence[int], value: Scalar) -> Array:
    if isinstance(value, complex) and self.dtype.kind not in "cW":
        raise errors.DtypeError(
            f"constant_pad_nd(): {value} cannot be converted to {self.dtype} without loss"
        )
    missing = self.ndim - len(pad) // 2
    before, after = (0,) * missing + tuple(pad[-2::-2]), (0,) * missing + tuple(pad[::-2])
    inner = self[
        tuple(slice(max(-b, 0), n - max(-a, 0)) for b, a, n in zip(before, after, self.shape, strict=True))
    ]
    if max(pad, default=0) <= 0:
        # With nothing to add this is a plain copy, which keeps the strides, as PyTorch's clone does.
        return inner.copy(order="K")
    sizes = [n + max(b, 0) + max(a, 0) for b, a, n in zip(before, after, inner.shape, strict=True)]
    result = np.empty(sizes, self.dtype)
    result[...] = fitted_number(value, from_numpy_dtype(self.dtype))
    result[tuple(slice(max(b, 0), max(b, 0) + n) for b, n in zip(before, inner.shape, strict=True))] = inner
    return result


PLACES: Final[dict[str, Callable[[Array, int], Array]]] = {
    # The inner absolute value mirrors at the first element, the outer one at the last.
    "reflect": lambda at, n: n - 1 - np.abs(n - 1 - np.abs(at)),
    "replicate": lambda at, n: np.clip(at, 0, n - 1),
    "circular": lambda at, n: at % n,
}
"""Mode -> which of n elements stands at places that count from the first of them."""


@cpu.kernel("_pad_places", half="native", check=True)
def pad_places(self: Array, pad: Sequence[int], mode: str) -> Array:
    for number in range(len(pad) // 2):
        axis = self.ndim - 1 - number
        n, before, after = self.shape[axis], pad[2 * number], pad[2 * number + 1]
        self = self.take(PLACES[mode](np.arange(-before, n + after), n), axis) if before or after else self
    return self.copy(order="C")


@cpu.kernel("tril", half="native")
def tril(self: Array, diagonal: int) -> Array:
    if self.ndim < 2:
        raise ValueError("tril() takes matrices")
    return np.ascontiguousarray(np.tril(self, int(np.int64(diagonal))))


@cpu.kernel("triu", half="native")
def triu(self: Array, diagonal: int) -> Array:
    if self.ndim < 2:
        raise ValueError("triu() takes matrices")
    return np.ascontiguousarray(np.triu(self, int(np.int64(diagonal))))


@cpu.kernel("resize")
def resize(self: Array, size: Sequence[int]) -> Array:
    """Return the elements that lie in the memory from the first one on, in another shape."""
    shape = tuple(size)
    return self if shape == self.shape else _resized(self, shape, contiguous_strides(shape))


@cpu.kernel("resize")
def resize_in_format(self: Array, size: Sequence[int], memory_format: str | None) -> Array:
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
    # Rounded up: the offset of the first element need not be a multiple of an element.
    new = new_array((-(-needed // self.itemsize),), self.dtype)
    if room:
        new.view(np.uint8)[:room] = np.ndarray((room,), np.uint8, flat)
    return np.ndarray(shape, self.dtype, new, start, tuple(step * self.itemsize for step in strides))


@cpu.kernel("real", half="native")
def real(self: Array) -> Array:
    if self.dtype.kind != "c":
        return self
    return self.real if self.size else _numbers_of_nothing(self, 0)


@cpu.kernel("imag", dtypes="complex")
def imag(self: Array) -> Array:
    return self.imag if self.size else _numbers_of_nothing(self, self.itemsize // 2)


@cpu.kernel("view_as_real", dtypes="complex")
def view_as_real(self: Array) -> Array:
    if not self.size:
        return _numbers_of_nothing(self, 0, 2)
    return self[..., np.newaxis].view(self.real.dtype)


# --- the parts of complex numbers of four bytes --------------------------------------------------------------


# complex32 is a pair of float16 to NumPy, without .real and .imag: the parts are read at their bytes.
@cpu.kernel("real", dtypes="complex32")
def real_complex32(self: Array) -> Array:
    return self.getfield(np.float16, 0)


@cpu.kernel("imag", dtypes="complex32")
def imag_complex32(self: Array) -> Array:
    return self.getfield(np.float16, 2)


def _numbers_of_nothing(self: Array, start: int, *parts: int) -> Array:
    """Return a view of complex numbers without elements as real ones, which NumPy's would not lay out."""
    steps = [step * self.itemsize for step in element_strides(self)]
    return empty_view(
        self, (*self.shape, *parts), [*steps, *(self.itemsize // 2 for _ in parts)], start, self.real.dtype
    )


@cpu.kernel("view_as_complex", dtypes=["float32", "float64"])
def view_as_complex(self: Array) -> Array:
    pair, steps = np.dtype(np.complex128 if self.itemsize == 8 else np.complex64), element_strides(self)
    if not self.ndim or self.shape[-1] != 2 or steps[-1] != 1:
        raise ValueError("the last dimension has no pairs")
    start = self.__array_interface__["data"][0] - owner_of(self).__array_interface__["data"][0]
    if start % pair.itemsize or any(step % 2 for step in steps[:-1]):
        raise ValueError("the pairs do not lie where complex numbers could")
    if not self.size:
        return empty_view(self, self.shape[:-1], [step * self.itemsize for step in steps[:-1]], 0, pair)
    return self.view(pair)[..., 0]
