"""Kernels that rearrange: views, joining and copies in another order.

Where the backend has views, these kernels return views; where not, they return copies and the core tracks
views.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt.backends.array_api.kernel_builder import KernelBuilder
from tt.core.library import errors

__all__ = ["add_kernels"]


def add_kernels(builder: KernelBuilder) -> None:
    """Add the kernels of this family."""
    _views(builder)
    _parts(builder)
    _complex_parts(builder)
    _pairs(builder)
    _joining(builder)


# --- the same elements in another shape ------------------------------------------------------------------------


def _views(builder: KernelBuilder) -> None:
    xp = builder.xp
    builder.kernel("alias", lambda self: self)
    builder.kernel("detach", lambda self: self)
    builder.kernel("view", lambda self, size: xp.reshape(self, tuple(size)))

    @builder.kernel("permute")
    def permute(self: Any, dims: Sequence[int]) -> Any:
        axes = builder.axes(dims, self.ndim) if len(dims) else ()
        return xp.permute_dims(self, axes)

    @builder.kernel("transpose")
    def transpose(self: Any, dim0: int, dim1: int) -> Any:
        first, second = builder.axis(dim0, self.ndim), builder.axis(dim1, self.ndim)
        order = list(range(self.ndim))
        if order:
            order[first], order[second] = second, first
        return xp.permute_dims(self, tuple(order))

    @builder.kernel("t")
    def t(self: Any) -> Any:
        if self.ndim > 2:
            raise ValueError("t() takes at most two dimensions")
        return xp.permute_dims(self, tuple(reversed(range(self.ndim))))

    @builder.kernel("expand")
    def expand(self: Any, size: Sequence[int]) -> Any:
        return xp.broadcast_to(self, expanded_shape(self.shape, size))

    @builder.kernel("squeeze")
    def squeeze(self: Any) -> Any:
        return xp.squeeze(self, axis=tuple(i for i, size in enumerate(self.shape) if size == 1))

    @builder.kernel("squeeze.dim")
    def squeeze_dim(self: Any, dim: Sequence[int]) -> Any:
        dims = [dim] if isinstance(dim, int) else dim
        axes = builder.axes(dims, self.ndim) if len(dims) else ()
        return xp.squeeze(self, axis=tuple(axis for axis in axes if self.shape[axis] == 1))

    @builder.kernel("unsqueeze")
    def unsqueeze(self: Any, dim: int) -> Any:
        return xp.expand_dims(self, axis=builder.axis(dim, self.ndim + 1))

    @builder.kernel("as_strided", needs="take")
    def as_strided(self: Any, size: Sequence[int], stride: Sequence[int], storage_offset: int | None) -> Any:
        positions = strided_positions(builder, size, stride, storage_offset or 0, builder.product(self.shape))
        return xp.reshape(xp.take(xp.reshape(self, (-1,)), positions, axis=0), tuple(size))


def expanded_shape(shape: Sequence[int], size: Sequence[int]) -> tuple[int, ...]:
    """Return the size of `expand` with the sizes of the tensor instead of -1."""
    missing = len(size) - len(shape)
    if missing < 0 or any(s == -1 and i < missing for i, s in enumerate(size)):
        raise ValueError("expand() to fewer dimensions, or -1 for a new one")
    return tuple(shape[i - missing] if s == -1 else s for i, s in enumerate(size))


def strided_positions(
    builder: KernelBuilder, size: Sequence[int], stride: Sequence[int], offset: int, extent: int
) -> Any:
    """Return the positions in the flat content that sizes and strides address, in row-major order."""
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if 0 not in size and (offset < 0 or last >= extent):
        raise errors.ShapeError(
            f"as_strided(): sizes {list(size)}, strides {list(stride)} and storage offset {offset} reach {last + 1} "
            f"elements into a memory of {extent}"
        )
    index = builder.xp.full((1,), offset, dtype=builder.xp.int64)
    for n, step in zip(size, stride, strict=True):
        index = builder.xp.reshape(builder.xp.expand_dims(index, axis=1) + builder.arange(n) * step, (-1,))
    return index


# --- parts -----------------------------------------------------------------------------------------------------


def _parts(builder: KernelBuilder) -> None:
    def at(self: Any, axis: int, part: Any) -> Any:
        return self[(slice(None),) * axis + (part, ...)]

    @builder.kernel("select")
    def select(self: Any, dim: int, index: int) -> Any:
        axis = builder.axis(dim, self.ndim)
        size = self.shape[axis] if self.ndim else 0
        if not -size <= index < size:
            raise IndexError("index out of range")
        return at(self, axis, index)

    @builder.kernel("slice")
    def slice_(self: Any, dim: int, start: int | None, end: int | None, step: int) -> Any:
        if step <= 0 or not self.ndim:
            raise ValueError(
                "a slice without a positive step, or of no dimension, which the shape rule refuses"
            )
        axis = builder.axis(dim, self.ndim)
        first, stop, _ = slice(start, end).indices(self.shape[axis])
        return at(self, axis, slice(first, max(first, stop), step))

    def pieces(self: Any, sizes: Sequence[int], axis: int) -> list[Any]:
        found, start = [], 0
        for size in sizes:
            found.append(at(self, axis, slice(start, start + size)))
            start += size
        return found

    @builder.kernel("split")
    def split(self: Any, split_size: int, dim: int) -> list[Any]:
        axis = builder.axis(dim, self.ndim)
        size = self.shape[axis]
        if split_size >= 2**63:
            raise OverflowError("a size is an integer of 64 bits")
        if split_size < 0 or (split_size == 0 and size):
            raise ValueError("split size")
        count = max(-(-size // split_size), 1) if split_size else 1
        return pieces(self, [split_size] * (count - 1) + [size - split_size * (count - 1)], axis)

    @builder.kernel("split.sizes")
    def split_sizes(self: Any, split_size: Sequence[int], dim: int) -> list[Any]:
        axis = builder.axis(dim, self.ndim)
        if any(size < 0 for size in split_size) or sum(split_size) != self.shape[axis]:
            raise ValueError("split sizes")
        return pieces(self, split_size, axis)

    @builder.kernel("unbind")
    def unbind(self: Any, dim: int) -> list[Any]:
        axis = builder.axis(dim, self.ndim)
        return [at(self, axis, index) for index in range(self.shape[axis])]


def _complex_parts(builder: KernelBuilder) -> None:
    xp = builder.xp
    builder.kernel(
        "real",
        lambda self: xp.real(self) if builder.is_kind(self, "complex floating") else self,
        half="native",
    )
    builder.kernel("imag", lambda self: xp.imag(self), dtypes="complex")


# --- joining and rearranged copies -----------------------------------------------------------------------------


def _joining(builder: KernelBuilder) -> None:
    xp = builder.xp

    @builder.kernel("cat", half="native")
    def cat(tensors: Sequence[Any], dim: int) -> Any:
        # A vector without elements joins anything, for compatibility.
        kept = [t for t in tensors if tuple(t.shape) != (0,)]
        if not kept:
            kept, dim = list(tensors[:1]), 0
        if not kept or any(not t.ndim for t in kept):
            raise ValueError("cat() of nothing or of numbers")
        return xp.concat(kept, axis=builder.axis(dim, kept[0].ndim))

    @builder.kernel("flip", half="native")
    def flip(self: Any, dims: Sequence[int]) -> Any:
        if not len(dims) or not self.ndim:
            builder.axes(dims, self.ndim)
            return builder.copy(self)
        return builder.copy(xp.flip(self, axis=builder.axes(dims, self.ndim)))

    @builder.kernel("resize", half="native")
    def resize(self: Any, size: Sequence[int]) -> Any:
        if any(n < 0 for n in size):
            raise ValueError("a size is negative")
        flat, count = xp.reshape(self, (-1,)), builder.product(size)
        missing = count - builder.product(self.shape)
        if missing > 0:
            flat = xp.concat([flat, xp.zeros((missing,), dtype=self.dtype)], axis=0)
        return xp.reshape(flat[:count], tuple(size))

    @builder.kernel("repeat", needs="tile", half="native")
    def repeat(self: Any, repeats: Sequence[int]) -> Any:
        if len(repeats) < self.ndim or any(n < 0 for n in repeats):
            raise ValueError("repeat() fewer times than there are dimensions, or less than never")
        return xp.tile(self, tuple(repeats))

    @builder.kernel("roll", half="native", check=True)
    def roll(self: Any, shifts: Sequence[int], dims: Sequence[int]) -> Any:
        return xp.roll(self, tuple(shifts), axis=tuple(dims)) if dims else xp.roll(self, shifts[0])

    builder.kernel("tril", lambda self, diagonal: xp.tril(self, k=diagonal), half="native", check=True)
    builder.kernel("triu", lambda self, diagonal: xp.triu(self, k=diagonal), half="native", check=True)


def _pairs(builder: KernelBuilder) -> None:
    xp = builder.xp
    builder.kernel(
        "view_as_real", lambda self: xp.stack([xp.real(self), xp.imag(self)], axis=-1), dtypes="complex"
    )

    @builder.kernel("view_as_complex", dtypes=["float32", "float64"])
    def view_as_complex(self: Any) -> Any:
        if not self.ndim or self.shape[-1] != 2:
            raise errors.ShapeError("view_as_complex(): Tensor must have a last dimension of size 2")
        wide = xp.astype(self, xp.complex128 if self.dtype == xp.float64 else xp.complex64)
        return wide[..., 0] + wide[..., 1] * 1j
