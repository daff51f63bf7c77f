"""Sums over dimensions, and normalisation along one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tt.core.library import errors
from tt.plugins.sparse.compute.elements import canonical, coordinates, elements, keys, lookup, rebuilt
from tt.plugins.sparse.compute.library import ArrayLibrary
from tt.plugins.sparse.layouts import Array, CompressedHandle, CooHandle, CsrHandle, Handle

__all__ = ["fiber_sum", "normal_dims", "softmax", "spread", "sum_dims", "sum_matrix", "sum_values"]


def normal_dims(dim: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """Return the dims of a reduction, counted from the front; None and an empty list mean all.

    Raises
    ------
    DimensionError
        When one is out of range.
    ShapeError
        When one is named twice.
    """
    requested = [dim] if isinstance(dim, int) else list(dim or range(ndim))
    dims = []
    for one in requested:
        if not -ndim <= one < max(ndim, 1):
            raise errors.DimensionError("sum", one, ndim)
        dims.append(one % max(ndim, 1))
    if len(set(dims)) < len(dims):
        raise errors.ShapeError(f"sum(): a dim appears multiple times in the list of dims {requested}")
    return tuple(sorted(dims)) if ndim else ()


# --- sums --------------------------------------------------------------------------------------------------------


def sum_values(lib: ArrayLibrary, self: Handle, dtype: np.dtype[Any] | None) -> Any:
    """Add everything that is stored."""
    return self.values.sum(dtype=dtype)


def sum_dims(lib: ArrayLibrary, self: CooHandle, dim: Sequence[int] | None, keepdim: bool) -> Any:
    """Add elements along dimensions: an array where no sparse dimension is left, else coordinates."""
    dims = normal_dims(dim, self.ndim)
    sparse = [d for d in dims if d < self.sparse_dim]
    dense = tuple(d - self.sparse_dim + 1 for d in dims if d >= self.sparse_dim)
    # In the dtype of the values: NumPy adds small integers in int64.
    values = self.values.sum(axis=dense, keepdims=keepdim, dtype=self.values.dtype) if dense else self.values
    if len(sparse) == self.sparse_dim:
        result = values.sum(axis=0, dtype=values.dtype)
        return result.reshape((1,) * self.sparse_dim + result.shape) if keepdim else result
    shape = tuple(1 if d in dims else n for d, n in enumerate(self.shape) if keepdim or d not in dims)
    if not sparse:
        return CooHandle(self.indices, values, shape, self.coalesced)
    if keepdim:
        indices = lib.xp.array(self.indices)
        indices[lib.xp.asarray(sparse)] = 0
    else:
        indices = self.indices[lib.xp.asarray([d for d in range(self.sparse_dim) if d not in sparse])]
    return lib.coalesce(CooHandle(indices, values, shape))


# --- softmax -----------------------------------------------------------------------------------------------------


def _fibers(lib: ArrayLibrary, handle: Handle, dim: int) -> tuple[Any, Any]:
    """Return an order in which elements that differ only in one sparse dimension are neighbours, and their starts."""
    xp = lib.xp
    where = coordinates(lib, handle)
    group = xp.zeros(where[0].shape if where else (1,), xp.int64)
    for d, index in enumerate(where):
        if d != dim:
            group = group * handle.shape[d] + index
    group = xp.broadcast_to(group, xp.broadcast_shapes(*(i.shape for i in where))).reshape(-1)
    # Stable, so that elements of a fiber keep the order of their positions.
    order = xp.argsort(group, kind="stable")
    group = group[order]
    first = xp.ones(len(group), bool)
    first[1:] = group[1:] != group[:-1]
    return order, xp.flatnonzero(first)


def _flat(handle: Handle) -> Any:
    """Return the values as an array of shape (stored numbers, *dense)."""
    values = elements(handle)
    blocks = 2 if isinstance(handle, CompressedHandle) and handle.blocked else 0
    return values.reshape(-1, *values.shape[1 + blocks :])


def softmax(lib: ArrayLibrary, self: Handle, dim: int, logarithm: bool) -> Any:
    """Normalise stored elements along a dimension; others count as minus infinity."""
    xp = lib.xp
    handle = canonical(lib, self)
    dim = _one_dim(dim, handle.ndim)
    values = _flat(handle)
    if dim >= handle.ndim - handle.dense_dim:
        axis = dim - (handle.ndim - handle.dense_dim) + 1
        shifted = values - values.max(axis=axis, keepdims=True) if values.size else values
        total = xp.exp(shifted).sum(axis=axis, keepdims=True)
        result = shifted - xp.log(total) if logarithm else xp.exp(shifted) / total
        return handle.with_values(result.reshape(handle.values.shape))
    if not len(values):
        return handle.with_values(values.reshape(handle.values.shape))
    order, starts = _fibers(lib, handle, dim)
    lengths = xp.diff(xp.concatenate([starts, xp.asarray([len(order)])]))
    sorted_ = values[order]
    largest = lib.reduce_runs("maximum", sorted_, starts)
    # A fiber of infinities has no finite largest element, and their difference is NaN.
    largest = xp.where(xp.isfinite(largest), largest, xp.zeros_like(largest))
    shifted = sorted_ - lib.repeat_rows(largest, lengths)
    powers = xp.exp(shifted)
    total = lib.repeat_rows(lib.reduce_runs("add", powers, starts), lengths)
    result = xp.empty_like(values)
    result[order] = shifted - xp.log(total) if logarithm else powers / total
    return handle.with_values(result.reshape(handle.values.shape))


def fiber_sum(lib: ArrayLibrary, self: Handle, dim: int) -> Any:
    """Replace each element by the sum of the elements along a dimension; the pattern is kept."""
    xp = lib.xp
    handle = canonical(lib, self)
    dim = _one_dim(dim, handle.ndim)
    values = _flat(handle)
    if dim >= handle.ndim - handle.dense_dim:
        axis = dim - (handle.ndim - handle.dense_dim) + 1
        total = xp.broadcast_to(values.sum(axis=axis, keepdims=True), values.shape)
    elif not len(values):
        total = values
    else:
        order, starts = _fibers(lib, handle, dim)
        lengths = xp.diff(xp.concatenate([starts, xp.asarray([len(order)])]))
        total = xp.empty_like(values)
        total[order] = lib.repeat_rows(lib.reduce_runs("add", values[order], starts), lengths)
    return handle.with_values(xp.ascontiguousarray(total).reshape(handle.values.shape))


def spread(
    lib: ArrayLibrary, self: Array | Handle, like: Handle, dim: Sequence[int] | None, keepdim: bool
) -> Any:
    """Give each stored element of `like` the element of `self` to which a sum over dimensions adds it."""
    xp = lib.xp
    dims = normal_dims(dim, like.ndim)
    ends = like.ndim - like.dense_dim
    where = [i for d, i in enumerate(coordinates(lib, like)) if keepdim or d not in dims]
    if keepdim:
        where = [xp.zeros_like(i) if d in dims else i for d, i in enumerate(where)]
    if isinstance(self, CooHandle | CompressedHandle):
        source = canonical(lib, self)
        if not isinstance(source, CooHandle):
            source = lib.convert(source, "sparse_coo")
        # For its keys alone, so it has no values.
        asked = CooHandle(xp.stack(where), source.values[:0], source.shape, known=False)
        spread_out = lookup(lib, source, keys(lib, asked))
    else:
        spread_out = self[tuple(where)] if where else xp.broadcast_to(self, (like.nnz, *self.shape))
    if not keepdim:
        for d in dims:
            if d >= ends:
                spread_out = xp.expand_dims(spread_out, d - ends + 1)
    return like.with_values(xp.ascontiguousarray(xp.broadcast_to(spread_out, like.values.shape)))


def _one_dim(dim: int, ndim: int) -> int:
    if not -ndim <= dim < ndim:
        raise errors.DimensionError("softmax", dim, ndim)
    return dim % ndim


# --- rows and columns of a matrix --------------------------------------------------------------------------------


def sum_matrix(lib: ArrayLibrary, self: CsrHandle, dim: Sequence[int] | None, keepdim: bool) -> Any:
    """Add the rows, the columns or all of a CSR matrix; the summed dimension is kept with size one."""
    xp, dims = lib.xp, normal_dims(dim, 2)
    if not keepdim:
        raise errors.LayoutError("sum(): a CSR matrix stays a matrix\n  try: keepdim=True")
    rows, columns = self.shape
    row, column = coordinates(lib, self)
    values = elements(self)
    shape = (1 if 0 in dims else rows, 1 if 1 in dims else columns)
    numbers = (xp.zeros_like(row) if 0 in dims else row) * shape[1] + (0 if 1 in dims else column)
    order = xp.argsort(numbers, kind="stable")
    numbers, values = numbers[order], values[order]
    first = xp.ones(len(numbers), bool)
    first[1:] = numbers[1:] != numbers[:-1]
    starts = xp.flatnonzero(first)
    if len(starts):
        numbers, values = numbers[starts], lib.reduce_runs("add", values, starts)
    like = type(self)(xp.zeros(shape[0] + 1, self.compressed.dtype), self.plain[:0], self.values[:0], shape)
    return rebuilt(lib, like, numbers, values)
