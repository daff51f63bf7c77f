"""Composites that copy a tensor in another arrangement."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import DimensionCountError, ShapeError, UnsupportedError
from tt.core.shapes.geometry import wrap_dims
from tt.core.types.dtype import float64
from tt.operators.helpers import alone, check_integers, check_shapes, expect_strided, number

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

composites: Final = CompositeTable()
composite = composites.composite

# --- triangles -------------------------------------------------------------------------------------------------


def _triangle(op: str, self: Tensor, diagonal: int) -> Tensor:
    """Return the tensor with zeros outside of one of its triangles."""
    check_shapes(op, self, diagonal)
    rows, columns = (ops.arange.default(n, device=self.device) for n in tuple(self.shape)[-2:])
    offset = ops.sub(columns, ops.unsqueeze(rows, 1))
    inside = ops.le(offset, diagonal) if op == "tril" else ops.ge(offset, diagonal)
    return ops.where.default(inside, self, number(0, self)).contiguous()


composite("tril", lambda self, diagonal: _triangle("tril", self, diagonal))
composite("triu", lambda self, diagonal: _triangle("triu", self, diagonal))


# --- repetition ------------------------------------------------------------------------------------------------


@composite("repeat")
def repeat(self: Tensor, repeats: Sequence[int]) -> Tensor:
    check_shapes("repeat", self, repeats)
    shape = (1,) * (len(repeats) - self.ndim) + tuple(self.shape)
    # Each dimension gets another in front of it, along which it repeats.
    apart = [n for size in shape for n in (1, size)]
    wide = [n for count, size in zip(repeats, shape, strict=True) for n in (count, size)]
    whole = ops.expand(ops.reshape(self, tuple(apart)), tuple(wide))
    copied = ops.clone(whole, memory_format="contiguous_format")
    return ops.view.default(copied, tuple(n * size for n, size in zip(repeats, shape, strict=True)))


composite("tile", lambda self, dims: ops.repeat(self, (*(1,) * (self.ndim - len(dims)), *dims)))

# --- another order ---------------------------------------------------------------------------------------------


@composite("fliplr")
def fliplr(self: Tensor) -> Tensor:
    if self.ndim < 2:
        raise DimensionCountError(f"fliplr(): the tensor has {self.ndim} dimensions, and columns need two")
    return ops.flip(self, (1,))


@composite("flipud")
def flipud(self: Tensor) -> Tensor:
    if not self.ndim:
        raise ShapeError("flipud(): the tensor has no dimension, and so no rows")
    return ops.flip(self, (0,))


@composite("roll")
def roll(self: Tensor, shifts: Sequence[int], dims: Sequence[int]) -> Tensor:
    check_shapes("roll", self, shifts, dims)
    if not dims:
        return ops.view.default(roll(ops.reshape(self, (self.numel(),)), shifts, (0,)), tuple(self.shape))
    rolled = ops.clone(self, memory_format="contiguous_format")
    for shift, dim in zip(shifts, dims, strict=True):
        size = rolled.shape[dim]
        # A shift to the right by n begins with the n-th element from the end.
        start = -shift % size if size else 0
        if start:
            rolled = ops.cat(
                [ops.slice(rolled, dim, start, None, 1), ops.slice(rolled, dim, 0, start, 1)], dim
            )
    return rolled


@composite("rot90")
def rot90(self: Tensor, k: int, dims: Sequence[int]) -> Tensor:
    check_integers("rot90", self, k, dims)
    if len(dims) != 2 or self.ndim < 2:
        raise ShapeError(
            f"rot90(): two dimensions span the plane that is rotated; dims names {len(dims)}, and the tensor has "
            f"{self.ndim}"
        )
    first, second = wrap_dims("rot90", dims, self.ndim)
    if k % 4 == 0:
        return ops.clone(self, memory_format="contiguous_format")
    if k % 4 == 2:
        return ops.flip(self, (first, second))
    return alone(ops.transpose(ops.flip(self, (second if k % 4 == 1 else first,)), first, second))


@composite("pixel_shuffle")
def pixel_shuffle(self: Tensor, upscale_factor: int) -> Tensor:
    r = upscale_factor
    batch, channels, height, width = _pixels("pixel_shuffle", "upscale_factor", self, r)
    if channels % (r * r):
        raise ShapeError(
            f"pixel_shuffle(): {channels} channels cannot be spread over squares of {r} by {r} pixels"
        )
    groups = channels // (r * r)
    apart = ops.reshape(self, (prod(batch), groups, r, r, height, width))
    mixed = ops.clone(ops.permute(apart, (0, 1, 4, 2, 5, 3)), memory_format="contiguous_format")
    return ops.reshape(mixed, (*batch, groups, height * r, width * r))


@composite("pixel_unshuffle")
def pixel_unshuffle(self: Tensor, downscale_factor: int) -> Tensor:
    r = downscale_factor
    batch, channels, height, width = _pixels("pixel_unshuffle", "downscale_factor", self, r)
    for what, size, dim in (("height", height, -2), ("width", width, -1)):
        if size % r:
            raise ShapeError(
                f"pixel_unshuffle(): the {what} {size} (dimension {dim}) is not a multiple of {r}"
            )
    apart = ops.reshape(self, (prod(batch), channels, height // r, r, width // r, r))
    mixed = ops.clone(ops.permute(apart, (0, 1, 3, 5, 2, 4)), memory_format="contiguous_format")
    return ops.reshape(mixed, (*batch, channels * r * r, height // r, width // r))


@composite("channel_shuffle")
def channel_shuffle(self: Tensor, groups: int) -> Tensor:
    if self.ndim < 3:
        raise DimensionCountError(
            f"channel_shuffle(): expected an input of at least 3 dimensions, got {self.ndim}"
        )
    check_integers("channel_shuffle", self, groups)
    if groups < 1:
        raise ShapeError(f"channel_shuffle(): groups must be positive, got {groups}")
    batch, channels, *rest = self.shape
    if channels % groups:
        raise ShapeError(f"channel_shuffle(): {channels} channels cannot be divided into {groups} groups")
    apart = ops.reshape(self, (batch, groups, channels // groups, prod(rest)))
    mixed = ops.clone(ops.transpose(apart, 1, 2), memory_format="contiguous_format")
    return ops.reshape(mixed, tuple(self.shape))


composite("native_channel_shuffle", channel_shuffle)


def _pixels(op: str, name: str, self: Tensor, factor: int) -> tuple[tuple[int, ...], int, int, int]:
    if self.ndim < 3:
        raise DimensionCountError(
            f"{op}(): needs channels, height and width, and the tensor has {self.ndim} dimensions"
        )
    if factor <= 0:
        raise ShapeError(f"{op}(): {name} is {factor}, and must be positive")
    *batch, channels, height, width = self.shape
    return tuple(batch), channels, height, width


# --- diagonals -------------------------------------------------------------------------------------------------


@composite("diag")
def diag(self: Tensor, diagonal: int) -> Tensor:
    if self.ndim == 1:
        return ops.diag_embed(self, diagonal)
    if self.ndim != 2:
        raise DimensionCountError(
            f"diag(): takes a vector or a matrix, and the tensor has {self.ndim} dimensions\n"
            f"  try: diagonal() or diag_embed()"
        )
    return ops.clone(ops.diagonal(self, diagonal, 0, 1))


composite("diagflat", lambda self, offset: ops.diag_embed(ops.reshape(self, (self.numel(),)), offset))


@composite("diag_embed")
def diag_embed(self: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    check_shapes("diag_embed", self, offset, dim1, dim2)
    ndim, size = self.ndim + 1, self.shape[-1] + abs(offset)
    first, second = dim1 % ndim, dim2 % ndim
    rest = iter(self.shape[:-1])
    whole = ops.new_zeros(self, tuple(size if i in (first, second) else next(rest) for i in range(ndim)))
    ops.diagonal(whole, offset, first, second).copy_(self)
    return whole


# --- one part replaced -----------------------------------------------------------------------------------------


def _replaced(op: str, view: Any, *args: Any) -> Tensor:
    """Return a copy of the first argument in which a part is replaced by the second."""
    check_shapes(op, *args)
    self, src, *where = args
    expect_strided(op, self, src)
    whole = ops.clone(self)
    view(whole, *where).copy_(src)
    return whole


composite("diagonal_scatter", lambda *args: _replaced("diagonal_scatter", ops.diagonal, *args))
composite("select_scatter", lambda *args: _replaced("select_scatter", ops.select, *args))
composite("slice_scatter", lambda *args: _replaced("slice_scatter", ops.slice, *args))


@composite("as_strided_scatter")
def as_strided_scatter(
    self: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None
) -> Tensor:
    check_shapes("as_strided_scatter", self, src, size, stride, storage_offset)
    start = self.storage_offset() if storage_offset is None else storage_offset
    # The whole memory is copied, as the part may reach beyond self.
    flat = ops.as_strided(self, (self.untyped_storage().nbytes() // self.dtype.itemsize,), (1,), 0)
    flat = ops.clone(flat)
    ops.as_strided(flat, size, stride, start).copy_(src)
    return ops.as_strided(flat, tuple(self.shape), self.stride(), self.storage_offset())


# --- padding ---------------------------------------------------------------------------------------------------


@composite("constant_pad_nd")
def constant_pad_nd(self: Tensor, pad: Sequence[int], value: Any) -> Tensor:
    check_shapes("constant_pad_nd", self, pad, value)
    before, after = pad[::2], pad[1::2]
    inner = self
    for index, counts in enumerate(zip(before, after, strict=True)):
        dim = self.ndim - 1 - index
        if min(counts) < 0:  # taken away
            inner = ops.slice(inner, dim, max(-counts[0], 0), self.shape[dim] - max(-counts[1], 0), 1)
    if max(pad, default=0) <= 0:
        return ops.clone(inner)
    expect_strided("constant_pad_nd", self)
    shape = list(inner.shape)
    for index, counts in enumerate(zip(before, after, strict=True)):
        shape[self.ndim - 1 - index] += max(counts[0], 0) + max(counts[1], 0)
    whole = ops.new_full(self, tuple(shape), value)
    middle = whole
    for index, count in enumerate(before):
        dim = self.ndim - 1 - index
        middle = ops.slice(middle, dim, max(count, 0), max(count, 0) + inner.shape[dim], 1)
    middle.copy_(inner)
    return whole


@composite("pad")
def pad(self: Tensor, pad: Sequence[int], mode: str, value: float | None) -> Tensor:
    if len(pad) % 2:
        raise ShapeError(
            f"pad(): pad holds two counts for each dimension, before and after it, and {len(pad)} is odd"
        )
    if 2 * self.ndim < len(pad):
        raise ShapeError(
            f"pad(): pad holds counts for {len(pad) // 2} dimensions, and the tensor has {self.ndim}"
        )
    if mode == "constant":
        return ops.constant_pad_nd(self, pad, 0 if value is None else value)
    if mode not in _PLACES:
        raise UnsupportedError(f"pad(): unknown mode {mode!r}\n  there are: constant, {', '.join(_PLACES)}")
    if value:
        raise ShapeError(f"pad(): mode {mode!r} takes its elements from the tensor, no value")
    dims = len(pad) // 2
    if dims not in (1, 2, 3) or self.ndim - dims not in (1, 2):
        raise UnsupportedError(
            f"pad(): mode {mode!r} pads the last one, two or three dimensions of a tensor that has one or two more, "
            f"not {dims} of {self.ndim}"
        )
    return _pad_by_places(self, pad, mode)


# For each mode, which of n elements is read where `at` counts from the first of them.
_PLACES: Final = {
    "reflect": lambda at, n: ops.rsub(ops.abs(ops.rsub(ops.abs(at), n - 1)), n - 1),
    "replicate": lambda at, n: ops.clamp(at, 0, n - 1),
    "circular": lambda at, n: ops.remainder(at, n),
}


def _pad_by_places(self: Tensor, pad: Sequence[int], mode: str) -> Tensor:
    batch = 1 if self.ndim - len(pad) // 2 == 2 else 0
    if mode != "circular" and 0 in self.shape[batch:]:
        raise ShapeError(
            f"pad(): mode {mode!r} needs elements in every dimension except the batch: {list(self.shape)}"
        )
    for index in range(len(pad) // 2):
        _check_padding(mode, self, self.ndim - 1 - index, pad[2 * index], pad[2 * index + 1])
    if mode == "circular" and min(pad) < 0:  # the remaining part wraps around, not the removed one
        self = ops.constant_pad_nd(self, [min(count, 0) for count in pad], 0)
        pad = [max(count, 0) for count in pad]
    return ops._pad_places(self, pad, mode)


@composite("_pad_places")
def pad_places(self: Tensor, pad: Sequence[int], mode: str) -> Tensor:
    check_shapes("_pad_places", self, pad, mode)
    for index in range(len(pad) // 2):
        before, after = pad[2 * index], pad[2 * index + 1]
        dim = self.ndim - 1 - index
        if before or after:
            at = ops.arange.start(-before, self.shape[dim] + after, device=self.device)
            positions = _PLACES[mode](at, self.shape[dim])
            if self.dtype.is_floating_point:
                ones = ops.ones((1, positions.numel()), dtype=float64, device=self.device)
                self = ops._weighted_taps(self, ops.unsqueeze(positions, 0), ones, dim)
            else:
                self = ops.index_select(self, dim, positions)
    return ops.contiguous(self)


def _check_padding(mode: str, self: Tensor, dim: int, before: int, after: int) -> None:
    size = self.shape[dim]
    problem = f"padding ({before}, {after}) at dimension {dim} of input {list(self.shape)}"
    if mode == "reflect" and max(before, after) >= max(size, 1):
        raise ShapeError(f"pad(): a reflection is at most one shorter than the dimension: {problem}")
    if mode == "circular" and max(before, after) > size:
        raise ShapeError(f"pad(): mode 'circular' goes around once at most: {problem}")
    left = size + min(before, 0) + min(after, 0) if mode == "circular" else size + before + after
    if left < (0 if mode == "circular" and max(before, after) <= 0 else 1):
        raise ShapeError(f"pad(): nothing would be left: {problem}")
