"""The members of sparse tensors."""

from __future__ import annotations

from typing import Any

from tt.core.library import Tensor, errors, ops

__all__ = [
    "_indices",
    "_nnz",
    "_values",
    "coalesce",
    "dense_dim",
    "indices",
    "is_coalesced",
    "sparse_dim",
    "to_dense",
    "to_sparse",
    "values",
]


def _handle(self: Tensor, member: str) -> Any:
    """Return the handle of a sparse tensor, or refuse."""
    if self.layout.name != "sparse_coo":
        raise errors.LayoutError(
            f"{member}() expected a tensor of the layout tt.sparse_coo, but got {self.layout}\n"
            f"  try: x.to_sparse().{member}()"
        )
    return self.handle


def _coalesced(self: Tensor, member: str) -> Any:
    handle = _handle(self, member)
    if not handle.coalesced:
        raise errors.LayoutError(
            f"{member} of a sparse tensor is defined once it is coalesced; call coalesce() first"
        )
    return handle


def is_coalesced(self: Tensor) -> bool:
    """Return whether the coordinates are unique and in row-major order.

    Examples
    --------
    >>> import tt
    >>> tt.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (3,)).is_coalesced()
    False
    """
    return bool(_handle(self, "is_coalesced").coalesced)


def sparse_dim(self: Tensor) -> int:
    """Return the number of sparse dimensions; 0 for a strided tensor."""
    return self.handle.sparse_dim if self.layout.name == "sparse_coo" else 0


def dense_dim(self: Tensor) -> int:
    """Return the number of dense dimensions."""
    return self.ndim - sparse_dim(self)


def _nnz(self: Tensor) -> int:
    """Return the number of stored elements."""
    return int(_handle(self, "_nnz").nnz)


def _indices(self: Tensor) -> Tensor:
    """Return a copy of the coordinates as they are stored, shape (sparse dimensions, stored elements)."""
    _handle(self, "_indices")
    found: Tensor = ops.sparse.indices(self)
    return found


def _values(self: Tensor) -> Tensor:
    """Return a copy of the values as they are stored, shape (stored elements, dense dimensions ...)."""
    _handle(self, "_values")
    found: Tensor = ops.sparse.values(self)
    return found


def indices(self: Tensor) -> Tensor:
    """Return a copy of the coordinates of a coalesced tensor.

    Raises
    ------
    LayoutError
        When the tensor is not sparse or not coalesced.

    Examples
    --------
    >>> import tt
    >>> tt.tensor([[0, 7], [8, 0]]).to_sparse().indices()
    tensor([[0, 1],
            [1, 0]])
    """
    _coalesced(self, "indices")
    return _indices(self)


def values(self: Tensor) -> Tensor:
    """Return a copy of the values of a coalesced tensor.

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
    _coalesced(self, "values")
    return _values(self)


def coalesce(self: Tensor) -> Tensor:
    """Return the tensor with unique coordinates in row-major order; itself if they are so already.

    Examples
    --------
    >>> import tt
    >>> tt.sparse_coo_tensor([[2, 0, 2]], [1.0, 2.0, 3.0], (3,)).coalesce().values()
    tensor([2., 4.])
    """
    if _handle(self, "coalesce").coalesced:
        return self
    found: Tensor = ops.sparse.coalesce(self)
    return found


def to_dense(self: Tensor) -> Tensor:
    """Return the tensor in the strided layout; itself if it is strided already.

    Examples
    --------
    >>> import tt
    >>> tt.sparse_coo_tensor([[0, 2]], [1.0, 2.0], (3,)).to_dense()
    tensor([1., 0., 2.])
    """
    if self.layout.name == "strided":
        return self
    found: Tensor = ops.sparse.to_dense(self)
    return found


def to_sparse(self: Tensor) -> Tensor:
    """Return the tensor in the layout sparse_coo; itself if it is sparse already.

    Examples
    --------
    >>> import tt
    >>> tt.eye(3).to_sparse()._nnz()
    3
    """
    if self.layout.name == "sparse_coo":
        return self
    found: Tensor = ops.sparse.to_sparse(self)
    return found
