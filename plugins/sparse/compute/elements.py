"""The stored elements of a tensor whatever its layout: where they are, and tensors made of them.

Note [Keys]
-----------
The *key* of a stored element (or block) is its row-major position in the order in which its layout stores elements:
of coordinates among the sparse dimensions, of compressed rows or columns with those first that are compressed.  The
keys of coalesced and of compressed tensors increase, so that patterns are united and intersected as sorted sequences.
"""

from __future__ import annotations

from math import prod
from typing import Any

from tt.core.library import Scalar, errors
from tt.plugins.sparse.compute.library import ArrayLibrary
from tt.plugins.sparse.layouts import Array, CompressedHandle, CooHandle, Handle

__all__ = [
    "add_into", "canonical", "coordinates", "elements", "gather", "keys", "lookup", "rebuilt", "same_pattern",
    "same_structure", "scaled",
]  # fmt: skip


def canonical(lib: ArrayLibrary, handle: Handle) -> Any:
    """Return a handle each of whose elements is stored once."""
    return lib.coalesce(handle) if isinstance(handle, CooHandle) else handle


def elements(handle: Handle) -> Any:
    """Return the values as an array of shape (stored elements, *blocksize, *dense)."""
    if isinstance(handle, CooHandle) or not handle.batch_ndim:
        return handle.values
    return handle.values.reshape(-1, *handle.values.shape[handle.batch_ndim + 1 :])


def _lines(handle: CompressedHandle) -> tuple[int, int, int]:
    """Return the number of matrices, and how many blocks they have along the compressed and the other dimension."""
    major, minor = handle.grid if handle.rows else handle.grid[::-1]
    return prod(handle.batch_shape), major, minor


def _majors(lib: ArrayLibrary, handle: CompressedHandle) -> Any:
    """Return the compressed row (or column) of each element, counted through all matrices of a batch."""
    count, major, _ = _lines(handle)
    lengths = lib.xp.diff(handle.compressed, axis=-1).reshape(-1)
    return lib.repeat(lib.xp.arange(count * major), lengths)


def keys(lib: ArrayLibrary, handle: Handle) -> Any:
    """Return the keys of the stored elements; see Note [Keys]."""
    if isinstance(handle, CooHandle):
        numbers = lib.xp.zeros(handle.nnz, lib.xp.int64)
        for size, row in zip(handle.shape, handle.indices, strict=False):
            numbers *= size
            numbers += row
        return numbers
    return _majors(lib, handle) * _lines(handle)[2] + handle.plain.reshape(-1)


def rebuilt(lib: ArrayLibrary, like: Handle, numbers: Array, values: Array) -> Any:
    """Return a tensor of the layout and shape of another from increasing keys and its elements."""
    xp = lib.xp
    if isinstance(like, CooHandle):
        indices = xp.empty((like.sparse_dim, len(numbers)), xp.int64)
        for dim in range(like.sparse_dim - 1, -1, -1):
            indices[dim] = numbers % max(like.shape[dim], 1)
            numbers = numbers // max(like.shape[dim], 1)
        return CooHandle(indices, values, like.shape, coalesced=True)
    count, major, minor = _lines(like)
    line, plain = numbers // max(minor, 1), numbers % max(minor, 1)
    lengths = xp.bincount(line, minlength=count * major).reshape(count, major)
    stored = lengths.sum(axis=1)
    if count > 1 and bool((stored != stored[0]).any()):
        raise errors.LayoutError(
            f"the matrices of the result store {int(stored.min())} to {int(stored.max())} elements; in a batch of the "
            f"layout tt.{like.layout} all store equally many\n  try: x.to_sparse(), of each operand"
        )
    compressed = xp.zeros((count, major + 1), like.compressed.dtype)
    compressed[:, 1:] = xp.cumsum(lengths, axis=1)
    batch, nnz = like.batch_shape, len(numbers) // max(count, 1)
    return type(like)(
        compressed.reshape(*batch, major + 1),
        plain.astype(like.plain.dtype).reshape(*batch, nnz),
        values.reshape(*batch, nnz, *values.shape[1:]),
        like.shape,
    )


def coordinates(lib: ArrayLibrary, handle: Handle) -> tuple[Any, ...]:
    """Return the index of each element in all dimensions but the dense ones, of the shape (elements, *blocksize)."""
    if isinstance(handle, CooHandle):
        return tuple(handle.indices)
    xp = lib.xp
    _, major, _ = _lines(handle)
    line, other = _majors(lib, handle), handle.plain.reshape(-1)
    batch: tuple[Any, ...] = ()
    if handle.batch_ndim:
        number, line = line // max(major, 1), line % max(major, 1)
        batch = tuple(xp.unravel_index(number, handle.batch_shape))
    row, column = (line, other) if handle.rows else (other, line)
    if handle.blocked:
        high, wide = handle.blocksize
        row = row[:, None, None] * high + xp.arange(high)[:, None]
        column = column[:, None, None] * wide + xp.arange(wide)
        batch = tuple(b[:, None, None] for b in batch)
    return (*batch, row, column)


def same_pattern(first: Any, second: Any) -> bool:
    """Return whether two tensors of one layout hold the same index arrays, not only equal ones."""
    if type(first) is not type(second):
        return False
    if isinstance(first, CooHandle):
        return (
            first.indices is second.indices
            and first.shape[: first.sparse_dim] == second.shape[: first.sparse_dim]
        )
    return first.plain is second.plain and first.compressed is second.compressed


def same_structure(first: Any, second: Any) -> bool:
    """Return whether the keys of two tensors mean the same places: layout, sparse dimensions and blocks agree."""
    if type(first) is not type(second) or first.sparse_dim != second.sparse_dim:
        return False
    if isinstance(first, CooHandle):
        return bool(first.shape[: first.sparse_dim] == second.shape[: second.sparse_dim])
    same_blocks: bool = (first.grid, first.blocksize) == (second.grid, second.blocksize)
    return same_blocks and bool(first.batch_shape == second.batch_shape)


def lookup(lib: ArrayLibrary, source: Handle, wanted: Array) -> Any:
    """Return the elements of a canonical tensor at some keys, zeros where it stores none."""
    xp = lib.xp
    values = elements(source)
    if not len(values):
        return xp.zeros((len(wanted), *values.shape[1:]), values.dtype)
    own = keys(lib, source)
    at = xp.searchsorted(own, wanted)
    # Keys beyond the last one are found behind it, where nothing can be read.
    at = xp.minimum(at, len(own) - 1)
    values_there = values[at]
    values_there[own[at] != wanted] = 0
    return values_there


def gather(lib: ArrayLibrary, source: Any, mask: Handle) -> Any:
    """Return the elements of an array or a sparse tensor where another tensor stores some, in the shape of its values.

    Equal coordinates of a mask that is not coalesced all get the whole element.
    """
    if not isinstance(source, CooHandle | CompressedHandle):
        return source[coordinates(lib, mask)].reshape(*_places(mask), *source.shape[_sparse_ndim(mask) :])
    if same_pattern(source, mask):
        return source.values
    source = canonical(lib, source)
    if not same_structure(source, mask):
        blocks = mask.blocksize if isinstance(mask, CompressedHandle) and mask.blocked else None
        source = lib.convert(source, mask.layout, blocks)
        if not same_structure(source, mask):
            raise errors.ShapeError(
                f"a tensor with {source.sparse_dim} sparse dimensions has no elements of its own where one of size "
                f"{list(mask.shape)} with {mask.sparse_dim} stores some\n  try: x.to_dense()"
            )
    return lookup(lib, source, keys(lib, mask)).reshape(*_places(mask), *source.shape[_sparse_ndim(source) :])


def _sparse_ndim(handle: Handle) -> int:
    return handle.ndim - handle.dense_dim


def _places(handle: Handle) -> tuple[int, ...]:
    """Return the shape of the values without dense dimensions."""
    return tuple(handle.values.shape[: len(handle.values.shape) - handle.dense_dim])


def scaled(values: Array, factor: Any) -> Any:
    """Return values times a number, in their dtype."""
    if factor == 1:
        return values
    if values.dtype.kind == "u" and factor < 0:  # which the dtype does not have: it wraps around
        return scaled(-values, -factor)
    return (values * factor).astype(values.dtype, copy=False)


def add_into(lib: ArrayLibrary, dense: Array, handle: Handle, factor: Scalar = 1) -> Any:
    """Add a sparse tensor, times a number, to an array of its shape, in place; return the array."""
    where = coordinates(lib, handle)
    values = scaled(elements(handle), factor)
    if not where:  # no sparse dimension: each element is a whole tensor
        dense += values.sum(axis=0, dtype=dense.dtype)
    # An indexed `+=` would count only one of several equal coordinates.
    elif isinstance(handle, CooHandle) and not handle.coalesced:
        lib.add_at(dense, where, values)
    else:
        dense[where] += values
    return dense
