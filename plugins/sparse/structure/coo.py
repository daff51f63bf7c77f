"""Shaping, indexing and joining tensors of the layout sparse_coo.

Index arrays of a result are made by operators of strided tensors, so these kernels serve every device.  Where a result
stores only some elements, their number depends on data; without data it stays unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tt.core.library import Tensor, as_tensor, errors, handle_of, ops, promote_types, to_dtype
from tt.plugins.sparse.convert import Conversion
from tt.plugins.sparse.meta import unknown
from tt.plugins.sparse.parts import as_tensor_of, components, coo_tensor, has_data, sparse_handle

__all__ = [
    "cat",
    "flat_places",
    "flip",
    "index",
    "index_select",
    "permute",
    "reshape",
    "select",
    "slice_",
    "squeeze",
    "squeeze_dim",
    "t",
    "transpose",
    "unsqueeze",
    "wrap_dim",
    "wrap_dims",
]


def wrap_dim(what: str, dim: int, ndim: int) -> int:
    """Return a dimension counted from the front."""
    if not -max(ndim, 1) <= dim < max(ndim, 1):
        raise errors.DimensionError(what, dim, ndim)
    return dim % max(ndim, 1)


def wrap_dims(what: str, dims: Sequence[int], ndim: int) -> list[int]:
    """Return distinct dimensions counted from the front, in order."""
    wrapped = [wrap_dim(what, dim, ndim) for dim in dims]
    if len({*wrapped}) < len(wrapped):
        twice = next(dim for dim in wrapped if wrapped.count(dim) > 1)
        raise errors.ShapeError(f"{what}(): dimension {twice} is named twice")
    return sorted(wrapped)


def _unknown(self: Tensor, shape: Sequence[int], sparse_dim: int) -> Tensor:
    conversion = Conversion("sparse_coo", sparse_dim, None, len(shape) - sparse_dim)
    return as_tensor_of(unknown(conversion, tuple(shape), self.dtype), self.device)


def _sparse_dim(self: Tensor) -> int:
    handle: Any = sparse_handle(self)
    return int(handle.sparse_dim)


def _picked(
    self: Tensor, keep: Tensor, rows: Sequence[Tensor], shape: Sequence[int], coalesced: bool | None = None
) -> Tensor:
    """Return the elements at some positions, with their own index rows."""
    values = ops.index_select(components(self)[1], 0, keep)
    indices = (
        ops.stack(list(rows)) if rows else ops.zeros((0, keep.shape[0]), dtype=keep.dtype, device=keep.device)
    )
    return coo_tensor(indices, values, shape, handle_of(self).coalesced if coalesced is None else coalesced)


# --- order of dimensions -------------------------------------------------------------------------------------------


def permute(self: Tensor, dims: Sequence[int]) -> Tensor:
    ndim, sparse = self.ndim, _sparse_dim(self)
    order = [wrap_dim("permute", int(d), ndim) for d in dims]
    if sorted(order) != list(range(ndim)):
        raise errors.ShapeError(
            f"permute(): {list(dims)} are not the {ndim} dimensions of the tensor, each once"
        )
    if any(d >= sparse for d in order[:sparse]):
        raise errors.LayoutError(
            "permute(): transpositions between sparse and dense dimensions are not allowed: the first "
            f"{sparse} dimensions are sparse, and {list(dims)} mixes them with the others\n  try: x.to_dense()"
        )
    indices, values = components(self)
    kept = order[:sparse] == list(range(sparse))
    if not kept:
        # A transposed matrix is the usual case, and a flip is one operation.
        backwards = order[:sparse] == list(range(sparse))[::-1]
        rows = order[:sparse]
        indices = ops.flip(indices, (0,)) if backwards else ops.stack([indices[d] for d in rows])
    if order[sparse:] != list(range(sparse, ndim)):
        values = ops.permute(values, (0, *(d - sparse + 1 for d in order[sparse:])))
    shape = [self.shape[d] for d in order]
    # Another order of the sparse dimensions is another order of the elements.
    return coo_tensor(indices, values, shape, handle_of(self).coalesced and kept, handle_of(self).known)


def transpose(self: Tensor, dim0: int, dim1: int) -> Tensor:
    first, second = wrap_dim("transpose", dim0, self.ndim), wrap_dim("transpose", dim1, self.ndim)
    order = list(range(self.ndim))
    if not order or first == second:
        return ops.alias(self)
    if (first < _sparse_dim(self)) != (second < _sparse_dim(self)):
        raise errors.LayoutError(
            f"transpose(): transposed dimensions must both be sparse or both be dense. Got sparse_dim: "
            f"{_sparse_dim(self)}, d0: {first}, d1: {second}\n  try: x.to_dense()"
        )
    order[first], order[second] = order[second], order[first]
    return permute(self, order)


def t(self: Tensor) -> Tensor:
    if self.ndim > 2:
        raise errors.ShapeError(
            f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but self has {self.ndim}\n"
            "  try: x.mT"
        )
    return transpose(self, 0, 1) if self.ndim == 2 else self


# --- more or fewer dimensions --------------------------------------------------------------------------------------


def unsqueeze(self: Tensor, dim: int) -> Tensor:
    sparse = _sparse_dim(self)
    at = wrap_dim("unsqueeze", dim, self.ndim + 1)
    indices, values = components(self)
    shape = (*self.shape[:at], 1, *self.shape[at:])
    if at <= sparse:
        row = ops.zeros((1, indices.shape[1]), dtype=indices.dtype, device=indices.device)
        indices = ops.cat([indices[:at], row, indices[at:]])
    else:
        values = ops.unsqueeze(values, at - sparse + 1)
    return coo_tensor(indices, values, shape, handle_of(self).coalesced, handle_of(self).known)


def squeeze_dim(self: Tensor, dim: Sequence[int]) -> Tensor:
    gone = [d for d in wrap_dims("squeeze", dim, self.ndim) if self.ndim and self.shape[d] == 1]
    if not gone:
        return ops.alias(self)
    sparse = _sparse_dim(self)
    indices, values = components(self)
    rows = [d for d in range(sparse) if d not in gone]
    indices = ops.stack([indices[d] for d in rows]) if rows else indices[:0]
    dense = [d - sparse + 1 for d in gone if d >= sparse]
    if dense:
        values = ops.squeeze(values, dense)
    shape = [n for d, n in enumerate(self.shape) if d not in gone]
    return coo_tensor(indices, values, shape, handle_of(self).coalesced, handle_of(self).known)


def squeeze(self: Tensor) -> Tensor:
    return squeeze_dim(self, range(self.ndim))


def flat_places(indices: Tensor, sizes: Sequence[int]) -> Tensor:
    """Return the row-major position of each coordinate."""
    numbers = ops.zeros((indices.shape[1],), dtype=indices.dtype, device=indices.device)
    for dim, size in enumerate(sizes):
        numbers = numbers * size + indices[dim]
    return numbers


def reshape(self: Tensor, shape: Sequence[int]) -> Tensor:
    """Give the sparse dimensions other sizes; the dense ones stay."""
    sparse = _sparse_dim(self)
    whole, dense = tuple(self.shape)[:sparse], tuple(self.shape)[sparse:]
    sizes = [int(n) for n in shape]
    if sizes.count(-1) == 1:
        rest = prod(n for n in sizes if n != -1)
        sizes[sizes.index(-1)] = self.numel() // rest if rest else 0
    front = sizes[: len(sizes) - len(dense)]
    if prod(sizes) != self.numel() or any(n < 0 for n in sizes):
        raise errors.ShapeError(
            f"reshape(): shape {list(shape)} is invalid for a tensor of size {list(self.shape)}"
        )
    if tuple(sizes[len(front) :]) != dense or prod(front) != prod(whole):
        raise errors.LayoutError(
            f"reshape(): a sparse tensor of size {list(self.shape)} keeps its dense dimensions {list(dense)}, and "
            f"{list(shape)} does not\n  try: x.to_dense().reshape(...)"
        )
    indices, values = components(self)
    # Row-major positions keep their meaning, and their order, in the other shape.
    flat = flat_places(indices, whole)
    rows: list[Any] = []
    for size in reversed(front[1:]):
        rows.insert(0, ops.remainder(flat, max(size, 1)))
        flat = ops.floor_divide(flat, max(size, 1))
    if front:
        rows.insert(0, flat)
    result = ops.stack(rows) if rows else indices[:0]
    return coo_tensor(result, values, sizes, handle_of(self).coalesced, handle_of(self).known)


def flip(self: Tensor, dims: Sequence[int]) -> Tensor:
    sparse = _sparse_dim(self)
    flipped = wrap_dims("flip", dims, self.ndim)
    indices, values = components(self)
    rows = [self.shape[d] - 1 - indices[d] if d in flipped else indices[d] for d in range(sparse)]
    dense = [d - sparse + 1 for d in flipped if d >= sparse]
    if dense:
        values = ops.flip(values, dense)
    moved = any(d < sparse for d in flipped)
    result = ops.stack(rows) if moved else indices
    return coo_tensor(
        result, values, self.shape, handle_of(self).coalesced and not moved, handle_of(self).known
    )


# --- parts ---------------------------------------------------------------------------------------------------------


def select(self: Tensor, dim: int, index: int) -> Tensor:
    if not self.ndim:
        raise errors.ShapeError("select() cannot be applied to a 0-dim tensor.")
    at, sparse = wrap_dim("select", dim, self.ndim), _sparse_dim(self)
    size = self.shape[at]
    if not -size <= index < size:
        raise errors.IndexValueError(
            f"select(): index {index} is out of bounds for dimension {at} with size {size}"
        )
    index %= size
    indices, values = components(self)
    shape = (*self.shape[:at], *self.shape[at + 1 :])
    if at >= sparse:
        values = ops.select(values, at - sparse + 1, index)
        return coo_tensor(indices, values, shape, handle_of(self).coalesced, handle_of(self).known)
    if not has_data(self):
        if sparse == 1:
            return ops.empty(shape, dtype=self.dtype, device=self.device)
        return _unknown(self, shape, sparse - 1)
    keep = _true(indices[at] == index)
    if sparse == 1:  # nothing sparse is left: PyTorch returns the sum of the values
        picked = ops.index_select(values, 0, keep)
        return ops.sum(picked, 0, dtype=self.dtype)
    rows = [ops.index_select(indices[d], 0, keep) for d in range(sparse) if d != at]
    return _picked(self, keep, rows, shape)


def _true(mask: Tensor) -> Tensor:
    """Return the positions where a one-dimensional mask is true."""
    return ops.squeeze(ops.nonzero(mask), [1])


def _bounds(size: int, start: int | None, end: int | None) -> tuple[int, int]:
    first, last, _ = slice(start, end, 1).indices(size)
    return first, max(first, last)


def slice_(self: Tensor, dim: int, start: int | None, end: int | None, step: int) -> Tensor:
    if not self.ndim:
        raise errors.ShapeError("slice() cannot be applied to a 0-dim tensor.")
    if step <= 0:
        raise errors.ValueRangeError("slice(): step must be greater than zero")
    at, sparse = wrap_dim("slice", dim, self.ndim), _sparse_dim(self)
    first, last = _bounds(self.shape[at], start, end)
    shape = (*self.shape[:at], -(-(last - first) // step), *self.shape[at + 1 :])
    if (first, last, step) == (0, self.shape[at], 1):
        return ops.alias(self)
    indices, values = components(self)
    if at >= sparse:
        values = ops.slice(values, at - sparse + 1, first, last, step)
        return coo_tensor(indices, values, shape, handle_of(self).coalesced, handle_of(self).known)
    if not has_data(self):
        return _unknown(self, shape, sparse)
    row = indices[at]
    if at == 0 and step == 1 and handle_of(self).coalesced:  # sorted: the elements are together
        ends = ops.searchsorted(row, as_tensor([first, last], dtype=row.dtype, device=row.device)).tolist()
        part = indices[:, ends[0] : ends[1]]
        rows = [part[0] - first if first else part[0], *(part[d] for d in range(1, sparse))]
        return coo_tensor(ops.stack(rows), values[ends[0] : ends[1]], shape, coalesced=True)
    inside = (row >= first) & (row < last)
    if step > 1:
        inside = inside & (ops.remainder(row - first, step) == 0)
    keep = _true(inside)
    rows = [ops.index_select(indices[d], 0, keep) for d in range(sparse)]
    rows[at] = ops.floor_divide(rows[at] - first, step) if step > 1 else rows[at] - first
    return _picked(self, keep, rows, shape)


def index_select(self: Tensor, dim: int, index: Tensor) -> Tensor:
    if not self.ndim:
        raise errors.ShapeError(
            "index_select(): a sparse tensor without dimensions has no places\n  try: x.to_dense()"
        )
    at, sparse = wrap_dim("index_select", dim, self.ndim), _sparse_dim(self)
    if index.ndim > 1:
        raise errors.ShapeError("index_select(): Index is supposed to be a vector")
    if index.dtype.name not in ("int32", "int64"):
        raise errors.DtypeError(
            f"index_select(): Expected dtype int32 or int64 for index, but got {index.dtype}"
        )
    size, numbers = self.shape[at], ops.reshape(index, (-1,)).to(to_dtype("int64"))
    indices, values = components(self)
    shape = (*self.shape[:at], numbers.shape[0], *self.shape[at + 1 :])
    if at >= sparse:
        values = ops.index_select(values, at - sparse + 1, numbers)
        return coo_tensor(indices, values, shape, handle_of(self).coalesced, handle_of(self).known)
    if not has_data(self):
        return _unknown(self, shape, sparse)
    _refuse_outside(numbers, size)
    numbers = ops.where(ops.lt(numbers, 0), ops.add(numbers, size), numbers)
    # The elements of each position in order, and where each position begins.
    row = indices[at]
    order = None if at == 0 and handle_of(self).coalesced else ops.argsort(row, stable=True)
    ordered = row if order is None else ops.index_select(row, 0, order)
    begins = ops.searchsorted(ordered, numbers)
    counts = ops.searchsorted(ordered, numbers, right=True) - begins
    number = ops.repeat_interleave(ops.arange(numbers.shape[0], device=row.device), counts)
    # How far the elements of a number lie from its copies in the result, which follow each other.
    shifts = begins - (ops.cumsum(counts, 0) - counts)
    keep = ops.arange(number.shape[0], device=row.device) + ops.index_select(shifts, 0, number)
    if order is not None:
        keep = ops.index_select(order, 0, keep)
    rows = [number if d == at else ops.index_select(indices[d], 0, keep) for d in range(sparse)]
    return _picked(self, keep, rows, shape, handle_of(self).coalesced and at == 0)


def _refuse_outside(index: Tensor, size: int) -> None:
    if index.numel():
        low, high = int(ops.amin(index)), int(ops.amax(index))
        if low < -size or high >= size:
            bad = low if low < -size else high
            raise errors.IndexValueError(
                f"index_select(): index {bad} is out of bounds for a dimension of size {size}"
            )


def index(self: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """Take the places of one vector of integers or booleans; anything else would have to be dense."""
    used = [(dim, item) for dim, item in enumerate(indices) if item is not None]
    if len(used) != 1 or used[0][1].ndim != 1:
        raise errors.LayoutError(
            f"index(): a tensor of the layout {self.layout} is indexed by one vector of integers or booleans, not by "
            f"{len(used)} tensors of {[item.ndim for _, item in used]} dimensions\n"
            "  try: x.to_dense()[...], or x.sparse_mask(mask)"
        )
    dim, item = used[0]
    size = self.shape[dim]
    if item.dtype.name == "bool":
        if item.shape[0] != size:
            raise errors.IndexValueError(
                f"The shape of the mask [{item.shape[0]}] at index 0 does not match the shape of the indexed tensor "
                f"{list(self.shape)} at index {dim}"
            )
        return ops.index_select(self, dim, _true(item))
    result = item.to(to_dtype("int64"))
    return ops.index_select(self, dim, ops.where(result < 0, result + size, result))


# --- joining -------------------------------------------------------------------------------------------------------


def cat(tensors: Sequence[Tensor], dim: int) -> Tensor:
    if not tensors:
        raise errors.ShapeError("cat(): expected a non-empty list of Tensors")
    first = tensors[0]
    at, sparse = wrap_dim("cat", dim, first.ndim), _sparse_dim(first)
    for number, tensor in enumerate(tensors):
        if tensor.ndim != first.ndim or _sparse_dim(tensor) != sparse:
            raise errors.ShapeError(
                "cat(): all tensors must have the same number of sparse and dense dimensions: tensor 0 has "
                f"{sparse} and "
                f"{first.ndim - sparse}, tensor {number} has {_sparse_dim(tensor)} and "
                f"{tensor.ndim - _sparse_dim(tensor)}"
            )
        other = (*tensor.shape[:at], first.shape[at], *tensor.shape[at + 1 :])
        if tuple(other) != tuple(first.shape):
            raise errors.ShapeError(
                f"cat(): all tensors must have the same size except in dimension {at}: tensor 0 has "
                f"{list(first.shape)}, tensor {number} has {list(tensor.shape)}"
            )
    dtype = first.dtype
    for tensor in tensors[1:]:
        dtype = promote_types(dtype, tensor.dtype)
    parts = [components(tensor) for tensor in tensors]
    values = [v.to(dtype) for _, v in parts]
    shape = (*first.shape[:at], sum(t.shape[at] for t in tensors), *first.shape[at + 1 :])
    begin, shifted = 0, []
    for (indices, _), tensor in zip(parts, tensors, strict=True):
        if at < sparse and begin:
            moved = indices[at : at + 1] + begin
            indices = ops.cat([indices[:at], moved, indices[at + 1 :]])
        shifted.append(indices)
        begin += tensor.shape[at]
    # Slices of several tensors may have equal coordinates; with zeros around them their sum is the joined
    # slice.
    if at >= sparse:
        values = _padded(values, at - sparse + 1, shape[at])
    # Along the first dimension all coordinates of a tensor come before those of the next; along others they mix.
    coalesced = at == 0 and sparse > 0 and all(handle_of(t).coalesced for t in tensors)
    known = all(handle_of(t).known for t in tensors)
    return coo_tensor(ops.cat(shifted, 1), ops.cat(values), shape, coalesced or len(tensors) == 1, known)


def _padded(values: Sequence[Tensor], dim: int, size: int) -> list[Any]:
    """Return values that are one after the other along a dense dimension, each with zeros around it."""
    padded, before = [], 0
    for part in values:
        after = size - before - part.shape[dim]
        around = [
            ops.zeros((*part.shape[:dim], n, *part.shape[dim + 1 :]), dtype=part.dtype, device=part.device)
            for n in (before, after)
        ]
        padded.append(ops.cat([around[0], part, around[1]], dim))
        before += part.shape[dim]
    return padded
