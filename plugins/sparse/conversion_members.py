"""The members of tensors that convert between layouts."""

from __future__ import annotations

from collections.abc import Sequence

from tt.core.library import Tensor, dtype, errors, layout, ops

__all__ = [
    "to_dense",
    "to_sparse",
    "to_sparse_bsc",
    "to_sparse_bsr",
    "to_sparse_coo",
    "to_sparse_csc",
    "to_sparse_csr",
]


def to_dense(self: Tensor, dtype: dtype | None = None, *, masked_grad: bool | None = None) -> Tensor:
    """Return the tensor in the strided layout; itself if it is strided already.

    Parameters
    ----------
    dtype : dtype, optional
        Of the result; by default the same.
    masked_grad : bool, optional
        With False, the gradient is not restricted to the elements that the tensor stores.

    Examples
    --------
    >>> import tt
    >>> tt.sparse_coo_tensor([[0, 2]], [1.0, 2.0], (3,)).to_dense()
    tensor([1., 0., 2.])
    """
    result = self if self.layout.name == "strided" else ops.sparse.to_dense(self, masked_grad)
    return result if dtype is None else result.to(dtype)


def to_sparse(
    self: Tensor,
    sparse_dim: int | None = None,
    *,
    layout: layout | str | None = None,
    blocksize: Sequence[int] | int | None = None,
    dense_dim: int | None = None,
) -> Tensor:
    """Return the tensor in a sparse layout; itself if it is in this one already.

    Parameters
    ----------
    sparse_dim : int, optional
        How many leading dimensions are sparse, in the layout sparse_coo; by default all.
    layout : layout, optional
        By default sparse_coo.
    blocksize : int or sequence of two int, optional
        Of the blocks, for the layouts sparse_bsr and sparse_bsc.
    dense_dim : int, optional
        How many trailing dimensions are dense; by default none.

    Raises
    ------
    LayoutError, ShapeError
        When the tensor cannot be converted in this way.

    Examples
    --------
    >>> import tt
    >>> tt.eye(3).to_sparse()._nnz()
    3
    >>> tt.eye(4).to_sparse(layout=tt.sparse_bsr, blocksize=(2, 2))._nnz()
    2
    """
    name = "sparse_coo" if layout is None else layout
    if type(name) is not str:
        name = str(getattr(name, "name", name))
    name = name.removeprefix("tt.")
    if name == "strided" and self.layout.name != "strided":
        raise errors.LayoutError("to_sparse(): tt.strided is not a sparse layout\n  try: x.to_dense()")
    if layout is not None and sparse_dim is not None:
        raise errors.ArgumentError("to_sparse", "takes sparse_dim or layout, not both")
    if name == self.layout.name and sparse_dim is None and dense_dim is None and blocksize is None:
        return self
    if isinstance(blocksize, int):
        blocksize = (blocksize, blocksize)
    return ops.sparse.to_layout(self, name, sparse_dim, blocksize, dense_dim)


def to_sparse_coo(self: Tensor) -> Tensor:
    """Return the tensor in the layout sparse_coo.

    Examples
    --------
    >>> import tt
    >>> tt.eye(2).to_sparse_csr().to_sparse_coo().indices()
    tensor([[0, 1],
            [0, 1]])
    """
    return to_sparse(self)


def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """Return the tensor in the layout sparse_csr; `dense_dim` trailing dimensions of a strided tensor stay dense.

    Examples
    --------
    >>> import tt
    >>> tt.eye(2).to_sparse_csr().crow_indices()
    tensor([0, 1, 2])
    """
    return to_sparse(self, layout="sparse_csr", dense_dim=dense_dim)


def to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """Return the tensor in the layout sparse_csc; `dense_dim` trailing dimensions of a strided tensor stay dense.

    Examples
    --------
    >>> import tt
    >>> tt.eye(2).to_sparse_csc().ccol_indices()
    tensor([0, 1, 2])
    """
    return to_sparse(self, layout="sparse_csc", dense_dim=dense_dim)


def to_sparse_bsr(self: Tensor, blocksize: Sequence[int] | int, dense_dim: int | None = None) -> Tensor:
    """Return the tensor in the layout sparse_bsr; `dense_dim` trailing dimensions of a strided tensor stay dense.

    Examples
    --------
    >>> import tt
    >>> tt.eye(4).to_sparse_bsr((2, 2)).values().shape
    tt.Size([2, 2, 2])
    """
    return to_sparse(self, layout="sparse_bsr", blocksize=blocksize, dense_dim=dense_dim)


def to_sparse_bsc(self: Tensor, blocksize: Sequence[int] | int, dense_dim: int | None = None) -> Tensor:
    """Return the tensor in the layout sparse_bsc; `dense_dim` trailing dimensions of a strided tensor stay dense.

    Examples
    --------
    >>> import tt
    >>> tt.eye(4).to_sparse_bsc((2, 1)).values().shape
    tt.Size([4, 2, 1])
    """
    return to_sparse(self, layout="sparse_bsc", blocksize=blocksize, dense_dim=dense_dim)
