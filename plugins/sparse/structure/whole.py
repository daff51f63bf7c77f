"""Comparing sparse tensors; diagonals; sizes of coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt.core.library import Tensor, errors, handle_of, ops, to_dtype
from tt.plugins.sparse.parts import component, components, coo_tensor

__all__ = ["allclose", "equal", "resize_", "resize_and_clear_", "spdiags"]


# --- comparing -----------------------------------------------------------------------------------------------------


def _coordinates(self: Tensor) -> Tensor:
    return self.to_sparse().coalesce()


def equal(self: Tensor, other: Tensor) -> bool:
    """Return whether two sparse tensors have the same size and the same elements; stored zeros are zeros."""
    if tuple(self.shape) != tuple(other.shape):
        return False
    left, right = _aligned(self, other)
    return bool(ops.equal(left, right))


def allclose(self: Tensor, other: Tensor, rtol: float, atol: float, equal_nan: bool) -> bool:
    """Return whether the elements of two sparse tensors are close, those that only one of them stores among them."""
    if tuple(self.shape) != tuple(other.shape):
        raise errors.ShapeError(
            f"allclose(): the sizes {list(self.shape)} and {list(other.shape)} of sparse tensors are not broadcast"
        )
    left, right = _aligned(self, other)
    return bool(ops.allclose(left, right, rtol, atol, equal_nan))


def _aligned(self: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    """Return the values of two tensors at the places that either of them stores."""
    left, right = _coordinates(self), _coordinates(other)
    (indices, values), (other_places, other_values) = components(left), components(right)
    if indices.shape[0] != other_places.shape[0]:
        raise errors.ShapeError(
            f"the tensors have {indices.shape[0]} and {other_places.shape[0]} sparse dimensions, which cannot be "
            "compared"
        )
    if tuple(indices.shape) == tuple(other_places.shape) and bool(ops.equal(indices, other_places)):
        return values, other_values
    both = ops.cat([indices, other_places], 1)
    result = []
    # The same coordinates, coalesced twice: once with the values of one tensor and zeros, once the other way
    # round.
    for first, second in ((values, ops.zeros_like(other_values)), (ops.zeros_like(values), other_values)):
        whole = coo_tensor(both, ops.cat([first, second.to(first.dtype)]), self.shape)
        result.append(component(handle_of(ops.sparse.coalesce(whole)).values, self.device))
    return result[0], result[1]


# --- diagonals -----------------------------------------------------------------------------------------------------


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Sequence[int], layout: Any = None) -> Tensor:
    """Return a sparse matrix with the rows of a matrix along its diagonals.

    Parameters
    ----------
    diagonals : Tensor
        Of shape (diagonals, elements); a single diagonal may be a vector.  An element is in the column that it has in
        its row.
    offsets : Tensor
        Which diagonal each row is: 0 the main one, positive ones above it.
    shape : sequence of two int
        Of the matrix.
    layout : layout, optional
        By default sparse_coo.

    Raises
    ------
    ShapeError, DtypeError, ValueRangeError
        When the arguments do not fit together, or a diagonal is given twice.

    Examples
    --------
    >>> import tt
    >>> tt.sparse.spdiags(tt.tensor([[1, 2, 3], [4, 5, 6]]), tt.tensor([0, -1]), (3, 3)).to_dense()
    tensor([[1, 0, 0],
            [4, 2, 0],
            [0, 5, 3]])
    """
    rows = ops.unsqueeze(diagonals, 0) if diagonals.ndim == 1 else diagonals
    which = ops.reshape(offsets, (-1,)) if offsets.ndim == 0 else offsets
    if rows.ndim != 2:
        raise errors.ShapeError("spdiags(): Diagonals must be vector or matrix")
    if len(shape) != 2:
        raise errors.ShapeError(f"spdiags(): Output shape must be 2d, but got {list(shape)}")
    if which.ndim != 1:
        raise errors.ShapeError("spdiags(): Offsets must be scalar or vector")
    if which.dtype.name != "int64":
        raise errors.DtypeError(f"spdiags(): Offset Tensor must have dtype Long but got {which.dtype}")
    if which.shape[0] != rows.shape[0]:
        raise errors.ShapeError(
            f"spdiags(): Number of diagonals ({rows.shape[0]}) does not match the number of offsets ({which.shape[0]})"
        )
    numbers = which.tolist()
    if len(set(numbers)) != len(numbers):
        twice = next(n for n in numbers if numbers.count(n) > 1)
        raise errors.ValueRangeError(f"spdiags(): Offset tensor contains duplicate values: {twice}")
    height, width = int(shape[0]), int(shape[1])
    indices, values = [], []
    for row, offset in zip(ops.unbind(rows, 0), numbers, strict=True):
        if not -height < offset < width and height and width:
            raise errors.ValueRangeError(
                f"spdiags(): offset {offset} lies outside of a matrix of {height} rows and {width} columns"
            )
        first, last = max(offset, 0), min(width, height + offset, row.shape[0])
        columns = ops.arange(first, max(first, last), device=rows.device)
        indices.append(ops.stack([columns - offset, columns]))
        values.append(row[first : max(first, last)])
    if not indices:
        indices, values = [ops.zeros((2, 0), dtype=to_dtype("int64"), device=rows.device)], [rows.reshape(-1)]
    result = ops.sparse.coo(ops.cat(indices, 1), ops.cat(values), (height, width), False)
    return result if layout is None else result.to_sparse(layout=layout)


# --- other sizes ---------------------------------------------------------------------------------------------------


def _check_sizes(what: str, size: Sequence[int], sparse_dim: int, dense_dim: int) -> tuple[int, ...]:
    sizes = tuple(int(n) for n in size)
    if len(sizes) != sparse_dim + dense_dim:
        raise errors.ShapeError(
            f"{what}: number of dimensions must be sparse_dim ({sparse_dim}) + dense_dim ({dense_dim}), but got size "
            f"{list(sizes)}"
        )
    return sizes


def resize_(self: Tensor, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Tensor:
    """Give a tensor other sizes; elements that it stores stay where they are."""
    what = "sparse_resize_()"
    sizes = _check_sizes(what, size, sparse_dim, dense_dim)
    handle = handle_of(self)
    if handle.nnz == 0:
        return resize_and_clear_(self, sizes, sparse_dim, dense_dim)
    for kind, own, requested in (
        ("sparse", handle.sparse_dim, sparse_dim),
        ("dense", handle.dense_dim, dense_dim),
    ):
        if own != requested:
            raise errors.ShapeError(
                f"{what}: changing the number of {kind} dimensions (from {own} to {requested}) on a non-empty sparse "
                "tensor "
                "is not supported\n  try: sparse_resize_and_clear_(), or a new tensor of its indices and values"
            )
    for kind, part in (("sparse", slice(0, sparse_dim)), ("dense", slice(sparse_dim, None))):
        if any(new < old for new, old in zip(sizes[part], self.shape[part], strict=True)):
            raise errors.ShapeError(
                f"{what}: shrinking the size of {kind} dimensions (from {list(self.shape[part])} to "
                f"{list(sizes[part])}) "
                "on a non-empty sparse tensor is not supported\n"
                "  try: sparse_resize_and_clear_(), or x[...] for a part"
            )
    indices, values = components(self)
    if sizes[sparse_dim:] != tuple(values.shape[1:]):
        wide = ops.zeros((handle.nnz, *sizes[sparse_dim:]), dtype=values.dtype, device=values.device)
        inner = wide
        for dim, length in enumerate(values.shape[1:]):
            inner = ops.slice(inner, dim + 1, 0, length)
        ops.copy_(inner, values)
        values = wide
    handle.assign(handle_of(coo_tensor(indices, values, sizes, handle.coalesced, handle.known)))
    return self


def resize_and_clear_(self: Tensor, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Tensor:
    """Give a tensor other sizes and no elements."""
    sizes = _check_sizes("sparse_resize_and_clear_()", size, sparse_dim, dense_dim)
    indices = ops.zeros((sparse_dim, 0), dtype=to_dtype("int64"), device=self.device)
    values = ops.empty((0, *sizes[sparse_dim:]), dtype=self.dtype, device=self.device)
    handle_of(self).assign(handle_of(coo_tensor(indices, values, sizes, coalesced=True)))
    return self
