"""Kernels that rearrange: views, joining and copies in another order.

Where the backend has views, these kernels return views; where not, they return copies and the core tracks
views.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt.backends.array_api.namespace import Namespace
from tt.backends.array_api.table import NamespaceTable
from tt.core.library import errors

__all__ = ["expanded_shape", "table"]

table = NamespaceTable()


# --- the same elements in another shape ------------------------------------------------------------------------


table.kernel("alias", lambda xp, self: self)
table.kernel("detach", lambda xp, self: self)
table.kernel("view", lambda xp, self, size: xp.reshape(self, tuple(size)))


@table.kernel("permute")
def permute(xp: Namespace, self: Any, dims: Sequence[int]) -> Any:
    axes = xp.axes(dims, self.ndim) if len(dims) else ()
    return xp.permute_dims(self, axes)


@table.kernel("transpose")
def transpose(xp: Namespace, self: Any, dim0: int, dim1: int) -> Any:
    first, second = xp.axis(dim0, self.ndim), xp.axis(dim1, self.ndim)
    order = list(range(self.ndim))
    if order:
        order[first], order[second] = second, first
    return xp.permute_dims(self, tuple(order))


@table.kernel("t")
def t(xp: Namespace, self: Any) -> Any:
    if self.ndim > 2:
        raise ValueError("t() takes at most two dimensions")
    return xp.permute_dims(self, tuple(reversed(range(self.ndim))))


@table.kernel("expand")
def expand(xp: Namespace, self: Any, size: Sequence[int]) -> Any:
    return xp.broadcast_to(self, expanded_shape(self.shape, size))


@table.kernel("squeeze")
def squeeze(xp: Namespace, self: Any) -> Any:
    return xp.squeeze(self, axis=tuple(i for i, size in enumerate(self.shape) if size == 1))


@table.kernel("squeeze.dim")
def squeeze_dim(xp: Namespace, self: Any, dim: Sequence[int]) -> Any:
    dims = [dim] if isinstance(dim, int) else dim
    axes = xp.axes(dims, self.ndim) if len(dims) else ()
    return xp.squeeze(self, axis=tuple(axis for axis in axes if self.shape[axis] == 1))


@table.kernel("unsqueeze")
def unsqueeze(xp: Namespace, self: Any, dim: int) -> Any:
    return xp.expand_dims(self, axis=xp.axis(dim, self.ndim + 1))


@table.kernel("as_strided", needs="take")
def as_strided(
    xp: Namespace, self: Any, size: Sequence[int], stride: Sequence[int], storage_offset: int | None
) -> Any:
    positions = strided_positions(xp, size, stride, storage_offset or 0, xp.product(self.shape))
    return xp.reshape(xp.take(xp.reshape(self, (-1,)), positions, axis=0), tuple(size))


def expanded_shape(shape: Sequence[int], size: Sequence[int]) -> tuple[int, ...]:
    """Return the size of `expand` with the sizes of the tensor instead of -1."""
    missing = len(size) - len(shape)
    if missing < 0 or any(s == -1 and i < missing for i, s in enumerate(size)):
        raise ValueError("expand() to fewer dimensions, or -1 for a new one")
    return tuple(shape[i - missing] if s == -1 else s for i, s in enumerate(size))


def strided_positions(
    xp: Namespace, size: Sequence[int], stride: Sequence[int], offset: int, extent: int
) -> Any:
    """Return the positions in the flat content that sizes and strides address, in row-major order."""
    # The standard has no strides: the positions of all elements are computed, and taken from the flat
    # array.
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if 0 not in size and (offset < 0 or last >= extent):
        raise errors.ShapeError(
            f"as_strided(): sizes {list(size)}, strides {list(stride)} and storage offset {offset} reach {last + 1} "
            f"elements into a memory of {extent}"
        )
    index = xp.full((1,), offset, dtype=xp.int64)
    for n, step in zip(size, stride, strict=True):
        index = xp.reshape(xp.expand_dims(index, axis=1) + xp.positions(n) * step, (-1,))
    return index


# --- parts -----------------------------------------------------------------------------------------------------


def at(self: Any, axis: int, part: Any) -> Any:
    """Return the part of an array at an index or a slice of one dimension."""
    return self[(slice(None),) * axis + (part, ...)]


@table.kernel("select")
def select(xp: Namespace, self: Any, dim: int, index: int) -> Any:
    axis = xp.axis(dim, self.ndim)
    size = self.shape[axis] if self.ndim else 0
    if not -size <= index < size:
        raise IndexError("index out of range")
    return at(self, axis, index)


@table.kernel("slice")
def slice_(xp: Namespace, self: Any, dim: int, start: int | None, end: int | None, step: int) -> Any:
    if step <= 0 or not self.ndim:
        raise ValueError("a slice without a positive step, or of no dimension, which the shape rule refuses")
    axis = xp.axis(dim, self.ndim)
    first, stop, _ = slice(start, end).indices(self.shape[axis])
    return at(self, axis, slice(first, max(first, stop), step))


def pieces(self: Any, sizes: Sequence[int], axis: int) -> list[Any]:
    """Return the parts that have these sizes along one dimension, one behind the other."""
    parts, start = [], 0
    for size in sizes:
        parts.append(at(self, axis, slice(start, start + size)))
        start += size
    return parts


@table.kernel("split")
def split(xp: Namespace, self: Any, split_size: int, dim: int) -> list[Any]:
    axis = xp.axis(dim, self.ndim)
    size = self.shape[axis]
    # Slices would cut a larger number silently.
    if split_size >= 2**63:
        raise OverflowError("a size is an integer of 64 bits")
    if split_size < 0 or (split_size == 0 and size):
        raise ValueError("split size")
    count = max(-(-size // split_size), 1) if split_size else 1
    return pieces(self, [split_size] * (count - 1) + [size - split_size * (count - 1)], axis)


@table.kernel("split.sizes")
def split_sizes(xp: Namespace, self: Any, split_size: Sequence[int], dim: int) -> list[Any]:
    axis = xp.axis(dim, self.ndim)
    if any(size < 0 for size in split_size) or sum(split_size) != self.shape[axis]:
        raise ValueError("split sizes")
    return pieces(self, split_size, axis)


@table.kernel("unbind")
def unbind(xp: Namespace, self: Any, dim: int) -> list[Any]:
    axis = xp.axis(dim, self.ndim)
    return [at(self, axis, index) for index in range(self.shape[axis])]


table.kernel(
    "real",
    lambda xp, self: xp.real(self) if xp.is_kind(self, "complex floating") else self,
    half="native",
)
table.kernel("imag", lambda xp, self: xp.imag(self), dtypes="complex")


# --- joining and rearranged copies -----------------------------------------------------------------------------


@table.kernel("cat", half="native")
def cat(xp: Namespace, tensors: Sequence[Any], dim: int) -> Any:
    # A vector without elements joins anything, for compatibility.
    kept = [t for t in tensors if tuple(t.shape) != (0,)]
    if not kept:
        kept, dim = list(tensors[:1]), 0
    if not kept or any(not t.ndim for t in kept):
        raise ValueError("cat() of nothing or of numbers")
    return xp.concat(kept, axis=xp.axis(dim, kept[0].ndim))


@table.kernel("flip", half="native")
def flip(xp: Namespace, self: Any, dims: Sequence[int]) -> Any:
    if not len(dims) or not self.ndim:
        xp.axes(dims, self.ndim)
        return xp.copy(self)
    # Some libraries flip by a view, but the operator promises memory of its own.
    return xp.copy(xp.flip(self, axis=xp.axes(dims, self.ndim)))


@table.kernel("resize", half="native")
def resize(xp: Namespace, self: Any, size: Sequence[int]) -> Any:
    if any(n < 0 for n in size):
        raise ValueError("a size is negative")
    flat, count = xp.reshape(self, (-1,)), xp.product(size)
    missing = count - xp.product(self.shape)
    if missing > 0:
        # PyTorch leaves new elements undefined, so zeros will do.
        flat = xp.concat([flat, xp.zeros((missing,), dtype=self.dtype)], axis=0)
    return xp.reshape(flat[:count], tuple(size))


@table.kernel("repeat", needs="tile", half="native")
def repeat(xp: Namespace, self: Any, repeats: Sequence[int]) -> Any:
    if len(repeats) < self.ndim or any(n < 0 for n in repeats):
        raise ValueError("repeat() fewer times than there are dimensions, or less than never")
    return xp.tile(self, tuple(repeats))


@table.kernel("roll", half="native", check=True)
def roll(xp: Namespace, self: Any, shifts: Sequence[int], dims: Sequence[int]) -> Any:
    return xp.roll(self, tuple(shifts), axis=tuple(dims)) if dims else xp.roll(self, shifts[0])


table.kernel("tril", lambda xp, self, diagonal: xp.tril(self, k=diagonal), half="native", check=True)
table.kernel("triu", lambda xp, self, diagonal: xp.triu(self, k=diagonal), half="native", check=True)


table.kernel(
    "view_as_real", lambda xp, self: xp.stack([xp.real(self), xp.imag(self)], axis=-1), dtypes="complex"
)


@table.kernel("view_as_complex", dtypes=["float32", "float64"])
def view_as_complex(xp: Namespace, self: Any) -> Any:
    if not self.ndim or self.shape[-1] != 2:
        raise errors.ShapeError("view_as_complex(): Tensor must have a last dimension of size 2")
    wide = xp.astype(self, xp.complex128 if self.dtype == xp.float64 else xp.complex64)
    return wide[..., 0] + wide[..., 1] * 1j
