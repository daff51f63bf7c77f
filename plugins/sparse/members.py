"""The members of sparse tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt.core.library import Tensor, errors, handle_of, ops, overridable
from tt.plugins.sparse.layouts import COMPRESSED, HANDLES, LAYOUTS, stored

__all__ = [
    "_indices",
    "_nnz",
    "_values",
    "ccol_indices",
    "coalesce",
    "col_indices",
    "crow_indices",
    "dense_dim",
    "indices",
    "is_coalesced",
    "nnz",
    "resize_as_sparse_",
    "row_indices",
    "sparse_dim",
    "sparse_mask",
    "sparse_resize_",
    "sparse_resize_and_clear_",
    "values",
]

_ROWS = tuple(name for name in COMPRESSED if HANDLES[name].rows)
_COLUMNS = tuple(name for name in COMPRESSED if not HANDLES[name].rows)


def _expect(self: Tensor, member: str, layouts: Sequence[str]) -> None:
    """Refuse a tensor of another layout."""
    if self.layout.name not in layouts:
        expected = " or ".join(f"tt.{name}" for name in layouts)
        to = "to_sparse" if layouts[0] == "sparse_coo" else f"to_{layouts[0]}"
        article = "the layout" if len(layouts) == 1 else "a layout"
        raise errors.LayoutError(
            f"{member}() expected a tensor of {article} {expected}, but got {self.layout}\n  try: x.{to}().{member}()"
        )


def _own_handle(self: Tensor, member: str) -> Any:
    """Return the handle of a sparse tensor that no transform has wrapped."""
    handle = handle_of(self)
    if not isinstance(handle, tuple(HANDLES.values())):
        raise errors.UnsupportedError(
            f"{member}() of a tensor that a transform has wrapped: each example has stored elements of its own\n"
            "  try: to_dense(), or the call outside of the transform"
        )
    return handle


def _expect_coalesced(self: Tensor, member: str) -> None:
    if not stored(self).coalesced:
        raise errors.LayoutError(
            f"{member} of a sparse tensor is defined once it is coalesced; call coalesce() first\n"
            f"  try: x.coalesce().{member}(), or x._{member}() for the stored elements"
        )


# --- kind ----------------------------------------------------------------------------------------------------


def is_coalesced(self: Tensor) -> bool:
    """Return whether the coordinates are unique and in row-major order.

    Examples
    --------
    >>> import tt
    >>> tt.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (3,)).is_coalesced()
    False
    """
    _expect(self, "is_coalesced", ("sparse_coo",))
    return bool(stored(self).coalesced)


def sparse_dim(self: Tensor) -> int:
    """Return the number of sparse dimensions; 0 for a strided tensor.

    Examples
    --------
    >>> import tt
    >>> tt.eye(3).to_sparse_csr().sparse_dim()
    2
    """
    return int(_own_handle(self, "sparse_dim").sparse_dim) if self.layout.name in LAYOUTS else 0


def dense_dim(self: Tensor) -> int:
    """Return the number of dense dimensions; all of them for a strided tensor.

    Examples
    --------
    >>> import tt
    >>> tt.ones(3, 4).to_sparse(1).dense_dim()
    1
    """
    return int(_own_handle(self, "dense_dim").dense_dim) if self.layout.name in LAYOUTS else self.ndim


def _nnz(self: Tensor) -> int:
    """Return the number of stored elements: of blocks in a layout with blocks, of one matrix of a batch.

    Raises
    ------
    LayoutError
        For a strided tensor.
    DataDependentError
        For a tensor without data whose number depends on data.
    """
    _expect(self, "_nnz", LAYOUTS)
    handle = _own_handle(self, "_nnz")
    if not handle.known:
        raise errors.DataDependentError("_nnz", "meta")
    return int(handle.nnz)


def nnz(self: Tensor) -> int:
    """Return the number of stored elements; the same as `_nnz`.

    Examples
    --------
    >>> import tt
    >>> tt.eye(3).to_sparse().nnz()
    3
    """
    return _nnz(self)


# --- its components ------------------------------------------------------------------------------------------------


def _indices(self: Tensor) -> Tensor:
    """Return the coordinates as they are stored, shape (sparse dimensions, stored elements)."""
    _expect(self, "_indices", ("sparse_coo",))
    return ops.sparse.indices(self)


def _values(self: Tensor) -> Tensor:
    """Return the values as they are stored."""
    _expect(self, "_values", LAYOUTS)
    return ops.sparse.values(self)


def indices(self: Tensor) -> Tensor:
    """Return the coordinates of a coalesced tensor, shape (sparse dimensions, elements).

    Raises
    ------
    LayoutError
        When the tensor is not of the layout sparse_coo or not coalesced.

    Examples
    --------
    >>> import tt
    >>> tt.tensor([[0, 7], [8, 0]]).to_sparse().indices()
    tensor([[0, 1],
            [1, 0]])
    """
    _expect(self, "indices", ("sparse_coo",))
    _expect_coalesced(self, "indices")
    return _indices(self)


def values(self: Tensor) -> Tensor:
    """Return the values of a coalesced tensor, or of one of a compressed layout.

    Raises
    ------
    LayoutError
        When the tensor is not sparse or not coalesced.

    Examples
    --------
    >>> import tt
    >>> tt.tensor([[0, 7], [8, 0]]).to_sparse().values()
    tensor([7, 8])
    """
    _expect(self, "values", LAYOUTS)
    if self.layout.name == "sparse_coo":
        _expect_coalesced(self, "values")
    return _values(self)


def crow_indices(self: Tensor) -> Tensor:
    """Return where each row (of blocks) begins, in the layouts sparse_csr and sparse_bsr.

    Examples
    --------
    >>> import tt
    >>> tt.tensor([[0, 7], [8, 9]]).to_sparse_csr().crow_indices()
    tensor([0, 1, 3])
    """
    _expect(self, "crow_indices", _ROWS)
    return ops.sparse.compressed_indices(self)


def col_indices(self: Tensor) -> Tensor:
    """Return the column (of blocks) of each element, in the layouts sparse_csr and sparse_bsr.

    Examples
    --------
    >>> import tt
    >>> tt.tensor([[0, 7], [8, 9]]).to_sparse_csr().col_indices()
    tensor([1, 0, 1])
    """
    _expect(self, "col_indices", _ROWS)
    return ops.sparse.plain_indices(self)


def ccol_indices(self: Tensor) -> Tensor:
    """Return where each column (of blocks) begins, in the layouts sparse_csc and sparse_bsc.

    Examples
    --------
    >>> import tt
    >>> tt.tensor([[0, 7], [8, 9]]).to_sparse_csc().ccol_indices()
    tensor([0, 1, 3])
    """
    _expect(self, "ccol_indices", _COLUMNS)
    return ops.sparse.compressed_indices(self)


def row_indices(self: Tensor) -> Tensor:
    """Return the row (of blocks) of each element, in the layouts sparse_csc and sparse_bsc.

    Examples
    --------
    >>> import tt
    >>> tt.tensor([[0, 7], [8, 9]]).to_sparse_csc().row_indices()
    tensor([1, 0, 1])
    """
    _expect(self, "row_indices", _COLUMNS)
    return ops.sparse.plain_indices(self)


def coalesce(self: Tensor) -> Tensor:
    """Return the tensor with unique coordinates in row-major order; itself if they are so already.

    Examples
    --------
    >>> import tt
    >>> tt.sparse_coo_tensor([[2, 0, 2]], [1.0, 2.0, 3.0], (3,)).coalesce().values()
    tensor([2., 4.])
    """
    _expect(self, "coalesce", ("sparse_coo",))
    if stored(self).coalesced:
        return self
    return ops.sparse.coalesce(self)


# --- patterns and sizes --------------------------------------------------------------------------------------------


@overridable
def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """Return the elements at the places that a sparse tensor stores, in the layout of that.

    Raises
    ------
    LayoutError
        When the mask is not sparse.
    ShapeError
        When it has another size.

    Examples
    --------
    >>> import tt
    >>> x = tt.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x.sparse_mask(tt.eye(2).to_sparse_csr()).values()
    tensor([1., 4.])
    """
    if mask.layout.name not in LAYOUTS:
        raise errors.LayoutError(
            f"sparse_mask() expected a mask of a sparse layout, but got {mask.layout}\n  try: mask.to_sparse()"
        )
    # Values are looked up by place, and a place that is stored twice would count twice.
    pattern = coalesce(mask) if mask.layout.name == "sparse_coo" else mask
    return ops.sparse.with_values(pattern, ops.sparse.values_at(self, pattern))


def sparse_resize_(self: Tensor, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Tensor:
    """Give a tensor of the layout sparse_coo other sizes; the elements that it stores stay.

    Raises
    ------
    ShapeError
        When a dimension would shrink, or another number of them be sparse, while elements are stored.

    Examples
    --------
    >>> import tt
    >>> tt.eye(2).to_sparse().sparse_resize_((3, 4), 2, 0).shape
    tt.Size([3, 4])
    """
    _expect(self, "sparse_resize_", ("sparse_coo",))
    return ops.sparse.resize_(self, size, sparse_dim, dense_dim)


def sparse_resize_and_clear_(self: Tensor, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Tensor:
    """Give a tensor of the layout sparse_coo other sizes and no elements.

    Examples
    --------
    >>> import tt
    >>> tt.eye(2).to_sparse().sparse_resize_and_clear_((3,), 1, 0)._nnz()
    0
    """
    _expect(self, "sparse_resize_and_clear_", ("sparse_coo",))
    return ops.sparse.clear_(self, size, sparse_dim, dense_dim)


@overridable
def resize_as_sparse_(self: Tensor, the_template: Tensor) -> Tensor:
    """Give a sparse tensor the size of another of the same layout.

    Examples
    --------
    >>> import tt
    >>> tt.eye(2).to_sparse().resize_as_sparse_(tt.eye(3).to_sparse()).shape
    tt.Size([3, 3])
    """
    _expect(self, "resize_as_sparse_", LAYOUTS)
    if the_template.layout is not self.layout:
        raise errors.LayoutError(
            f"resize_as_sparse_(): self is {self.layout}, and the template {the_template.layout}"
        )
    if self.layout.name == "sparse_coo":
        template = handle_of(the_template)
        return sparse_resize_(self, the_template.shape, template.sparse_dim, template.dense_dim)
    return self.resize_(tuple(the_template.shape))
