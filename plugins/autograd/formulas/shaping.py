"""Formulas of operators that change the shape, most of them views.  g is the gradient of the result."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tt.core.library import KEYS, Tensor, ops, to_dtype
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()

TRANSFORM = KEYS.bit("layer", "transform")

# --- the same elements in another shape ------------------------------------------------------------------------

d.of("view", self=lambda g, self_shape: ops.reshape(g, self_shape))
d.of("unsqueeze", self=lambda g, dim: ops.squeeze.dim(g, dim))
d.of("squeeze", self=lambda g, self_shape: ops.reshape(g, self_shape))
d.of("squeeze.dim", self=lambda g, self_shape: ops.reshape(g, self_shape))

# --- another order ---------------------------------------------------------------------------------------------


def inverse(dims: Sequence[int]) -> list[int]:
    """Return the permutation that undoes another."""
    dims = [dim % len(dims) for dim in dims]
    return [dims.index(position) for position in range(len(dims))]


d.of("t", self=lambda g: ops.t(g))
d.of("transpose", self=lambda g, dim0, dim1: ops.transpose(g, dim0, dim1))
d.of("permute", self=lambda g, dims: ops.permute(g, inverse(dims)))
d.of("flip", self=lambda g, dims: ops.flip(g, dims))

d.of("roll", self=lambda g, shifts, dims: ops.roll(g, [-shift for shift in shifts], dims))

# --- repetition: the engine sums what was broadcast ------------------------------------------------------------

d.of("expand", self=lambda g: g)


def repeat_self(g: Tensor, self_shape: Sequence[int], repeats: Sequence[int]) -> Tensor:
    """Add up the gradients of the copies."""
    shape = (1,) * (len(repeats) - len(self_shape)) + tuple(self_shape)
    if 0 in repeats or not repeats:
        return g if not repeats else ops.new_zeros(g, self_shape)
    # A dim of copies before each dim of the tensor.
    apart = ops.reshape(g, [n for pair in zip(repeats, shape, strict=True) for n in pair])
    return ops.reshape(ops.sum.dim(apart, tuple(range(0, 2 * len(repeats), 2))), self_shape)


d.of("repeat", self=repeat_self)

# --- parts -----------------------------------------------------------------------------------------------------


def placed(g: Tensor, shape: Sequence[int], view: Any, scatter: Any, *where: Any) -> Any:
    """Return zeros of a shape with g in the place where a view looks."""
    if g._keys & TRANSFORM:  # zeros that are the same for all examples are not changed by what differs
        return scatter(ops.zeros(tuple(shape), dtype=g.dtype, device=g.device), g, *where)
    whole = ops.new_zeros(g, shape)
    # In place: a scatter operator would copy the zeros first.
    view(whole, *where).copy_(g)
    return whole


def select_self(g: Tensor, self_shape: Sequence[int], dim: int, index: int) -> Any:
    """Put g back into zeros."""
    return placed(g, self_shape, ops.select, ops.select_scatter, dim, index)


def slice_self(g: Tensor, self_shape: Sequence[int], dim: int, start: Any, end: Any, step: int) -> Any:
    """Put g back into zeros."""
    return placed(g, self_shape, ops.slice, ops.slice_scatter, dim, start, end, step)


def parts(gs: Sequence[Any], sizes: Sequence[int], shape: Sequence[int], dim: int) -> Tensor:
    """Join the gradients of parts along a dim, with zeros where a part was not used."""
    known = next(g for g in gs if g is not None)

    def zeros(size: int) -> Any:
        return ops.new_zeros(known, [size if i == dim % len(shape) else n for i, n in enumerate(shape)])

    return ops.cat([zeros(size) if g is None else g for g, size in zip(gs, sizes, strict=True)], dim)


def split_sizes(length: int, size: int) -> list[int]:
    """Return the lengths of the parts that `split` makes."""
    return [min(size, length - start) for start in range(0, length, max(size, 1))] or [0]


def unbind_self(gs: Sequence[Any], dim: int) -> Tensor:
    """Stack the gradients, with zeros where a part was not used."""
    known = next(g for g in gs if g is not None)
    return ops.stack([ops.zeros_like(known) if g is None else g for g in gs], dim)


d.of("select", self=select_self)
d.of("slice", self=slice_self)
d.of("split", self=lambda gs, self_shape, split_size, dim:
     parts(gs, split_sizes(self_shape[dim], split_size), self_shape, dim))  # fmt: skip
d.of("split.sizes", self=lambda gs, self_shape, split_size, dim: parts(gs, split_size, self_shape, dim))
d.of("unbind", self=unbind_self)

# --- diagonals and windows -------------------------------------------------------------------------------------


def diagonal_self(g: Tensor, self_shape: Sequence[int], offset: int, dim1: int, dim2: int) -> Any:
    """Put g back into zeros."""
    return placed(g, self_shape, ops.diagonal, ops.diagonal_scatter, offset, dim1, dim2)


def unfold_self(g: Tensor, self_shape: Sequence[int], dimension: int, size: int, step: int) -> Tensor:
    """Add the windows up where they lie."""
    if not self_shape:
        return ops.sum(g)
    dim = dimension % len(self_shape)
    windows = (self_shape[dim] - size) // step + 1
    starts = ops.unsqueeze(ops.arange.start_step(0, windows * step, step, device=g.device), 1)
    positions = ops.reshape(starts + ops.arange(size, device=g.device), (-1 if size else 0,))
    laid_out = ops.movedim(g, -1, dim + 1)
    shape = (*self_shape[:dim], windows * size, *self_shape[dim + 1 :])
    return ops.index_add(ops.new_zeros(g, self_shape), dim, positions, ops.reshape(laid_out, shape))


d.of("diagonal", self=diagonal_self)
d.of("unfold", self=unfold_self)
d.of("diag_embed", self=lambda g, offset, dim1, dim2: ops.diagonal(g, offset, dim1, dim2))
# For each mode, which of n elements is read where `at` counts from the first of them.
PADDED_PLACES: dict[str, Callable[[Any, int], Any]] = {
    "reflect": lambda at, n: n - 1 - ops.abs(n - 1 - ops.abs(at)),
    "replicate": lambda at, n: ops.clamp(at, 0, n - 1),
    "circular": lambda at, n: ops.remainder(at, n),
}


def pad_places_self(g: Tensor, self_shape: Sequence[int], pad: Sequence[int], mode: str) -> Tensor:
    """Add the elements up where they came from, dimension by dimension."""
    for i in range(len(pad) // 2):
        before, after, dim = pad[2 * i], pad[2 * i + 1], len(self_shape) - 1 - i
        if not before and not after:
            continue
        size = self_shape[dim]
        at = PADDED_PLACES[mode](ops.arange.start(-before, size + after, device=g.device), size)
        # One kernel spreads all elements along the dim; complex numbers are not among its dtypes.
        if g.dtype.is_floating_point:
            ones = ops.ones((1, size + before + after), dtype=to_dtype("float64"), device=g.device)
            g = ops._spread_taps(g, ops.unsqueeze(at, 0), ones, dim, size)
        else:
            shape = (*g.shape[:dim], size, *g.shape[dim + 1 :])
            g = ops.index_add(ops.new_zeros(g, shape), dim, at, g)
    return g


d.of("_pad_places", self=pad_places_self)
# Negative padding cuts off what was added.
d.of("constant_pad_nd", self=lambda g, pad: ops.constant_pad_nd(g, [-count for count in pad], 0))

# --- one part replaced: nothing of self is left there, and src is nowhere else --------------------------------------

d.of("diagonal_scatter",
     self=lambda g, src_shape, offset, dim1, dim2:
         ops.diagonal_scatter(g, ops.new_zeros(g, src_shape), offset, dim1, dim2),
     src=lambda g, offset, dim1, dim2: ops.diagonal(g, offset, dim1, dim2))  # fmt: skip
d.of("select_scatter",
     self=lambda g, src_shape, dim, index: ops.select_scatter(g, ops.new_zeros(g, src_shape), dim, index),
     src=lambda g, dim, index: ops.select(g, dim, index))  # fmt: skip
d.of("slice_scatter",
     self=lambda g, src_shape, dim, start, end, step:
         ops.slice_scatter(g, ops.new_zeros(g, src_shape), dim, start, end, step),
     src=lambda g, dim, start, end, step: ops.slice(g, dim, start, end, step))  # fmt: skip


def as_strided_scatter_self(
    g: Tensor, self_shape: Sequence[int], self_strides: Sequence[int], self_offset: int, src_shape: Sequence[int],
    size: Sequence[int], stride: Sequence[int], storage_offset: int | None,
) -> Tensor:  # fmt: skip
    """Keep g where src was not written."""
    start = self_offset if storage_offset is None else storage_offset
    reach = max(_extent(size, stride, start), _extent(self_shape, self_strides, self_offset))
    flat = ops.as_strided(ops.new_ones(g, (reach,)), self_shape, self_strides, self_offset)
    kept = ops.as_strided_scatter(flat, ops.new_zeros(g, src_shape), size, stride, start)
    return ops.where(ops.ne(kept, 0), g, 0)


def as_strided_scatter_src(
    g: Tensor, self_shape: Sequence[int], self_strides: Sequence[int], self_offset: int,
    size: Sequence[int], stride: Sequence[int], storage_offset: int | None,
) -> Tensor:  # fmt: skip
    """Read g with the geometry of src, in memory laid out as that of self."""
    start = self_offset if storage_offset is None else storage_offset
    reach = max(_extent(size, stride, start), _extent(self_shape, self_strides, self_offset))
    flat = ops.new_zeros(g, (reach,))
    if math.prod(self_shape):
        flat = ops.index_put(flat, [_places(g, self_shape, self_strides, self_offset)], g, False)
    return ops.index(flat, [_places(g, size, stride, start)]) if math.prod(size) else ops.new_zeros(g, size)


d.of("as_strided_scatter", self=as_strided_scatter_self, src=as_strided_scatter_src)

# --- strides ---------------------------------------------------------------------------------------------------


def as_strided_self(
    g: Tensor, self_shape: Sequence[int], self_strides: Sequence[int], self_offset: int,
    size: Sequence[int], stride: Sequence[int], storage_offset: int | None,
) -> Tensor:  # fmt: skip
    """Add g up in a copy of the storage, then read it with the geometry of self.

    Elements of self that are at the same place share the gradient evenly, as each of them is one of several names of
    one number.
    """
    start = self_offset if storage_offset is None else storage_offset
    # The gradient's memory begins at the lowest place that either geometry reaches.
    low = min(start, self_offset)
    reach = max(_extent(size, stride, start), _extent(self_shape, self_strides, self_offset)) - low
    flat = ops.new_zeros(g, (reach,))
    if g.numel():
        flat = ops.index_put(flat, [_places(g, size, stride, start - low)], g, True)
    mine = _places(g, self_shape, self_strides, self_offset - low)
    if _overlaps(self_shape, self_strides):
        whole = to_dtype("int64")
        ones = ops.new_ones(g, self_shape, dtype=whole)
        count = ops.index_put(ops.new_zeros(g, (reach,), dtype=whole), [mine], ones, True)
        flat = flat / ops.clamp(count, 1)
    return ops.index(flat, [mine]) if math.prod(self_shape) else ops.new_zeros(g, self_shape)


def _extent(size: Sequence[int], stride: Sequence[int], offset: int) -> int:
    """Return the end of a geometry in memory, in elements."""
    return (
        offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) + 1 if 0 not in size else offset
    )


def _overlaps(size: Sequence[int], stride: Sequence[int]) -> bool:
    """Return whether two positions may be at one place."""
    reach = 1
    # By strides: positions differ for sure if each stride passes all that the smaller ones reach.
    for s, n in sorted((s, n) for s, n in zip(stride, size, strict=True) if n > 1):
        if s < reach:
            return True
        reach = s * (n - 1) + reach
    return False


def _places(like: Tensor, size: Sequence[int], stride: Sequence[int], offset: int) -> Tensor:
    """Return the position in memory of each element of a geometry."""
    positions = ops.full((), offset, dtype=to_dtype("int64"), device=like.device)
    for n, s in zip(size, stride, strict=True):
        positions = ops.unsqueeze(positions, -1) + ops.arange(n, device=like.device) * s
    return positions


d.of("as_strided", self=as_strided_self)

# --- triangles -------------------------------------------------------------------------------------------------

d.of("tril", self=lambda g, diagonal: ops.tril(g, diagonal))
d.of("triu", self=lambda g, diagonal: ops.triu(g, diagonal))


def cat_tensors(g: Tensor, tensors_shape: Sequence[Sequence[int]], dim: int) -> list[Any]:
    """Cut g into the parts that were joined; one-dimensional empty tensors fit anywhere and get nothing."""
    parts: list[Any] = []
    start = 0
    if all(tuple(shape) == (0,) for shape in tensors_shape):
        dim = 0  # the operator takes any
    for shape in tensors_shape:
        if tuple(shape) == (0,) and g.ndim != 1:
            parts.append(None)
            continue
        parts.append(ops.narrow(g, dim, start, shape[dim]))
        start += shape[dim]
    return parts


d.of("cat", tensors=cat_tensors)


d.of("real", self=lambda g: g)


d.of("imag", self=lambda g, self_dtype: g * 1j if self_dtype.is_complex else g)


d.of("alias", self=lambda g: g)


# A gradient that is contiguous may still begin at an odd place, or have odd strides where a size is 1: a copy has not.
d.of("view_as_real", self=lambda g: ops.view_as_complex(ops.clone(g, memory_format="contiguous_format")))


d.of("view_as_complex", self=lambda g: ops.view_as_real(g))
