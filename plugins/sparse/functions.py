"""The functions of `tt.sparse`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt.core.library import Scalar, Tensor, dtype, errors, handle_of, ops, overridable

__all__ = [
    "addmm",
    "hspmm",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "smm",
    "softmax",
    "spsolve",
    "sspaddmm",
    "sum",
]


# --- products ----------------------------------------------------------------------------------------------------


def mm(mat1: Tensor, mat2: Tensor, reduce: str = "sum") -> Tensor:
    """Multiply two matrices at least one of which may be sparse.

    Unlike in `tt.mm`, the gradient of a sparse matrix is sparse: it has the pattern of the matrix.

    Parameters
    ----------
    mat1, mat2 : Tensor
        Matrices of any layouts.
    reduce : str
        "sum", "mean", "amax" or "amin": how the products of a row are reduced.  Other than sums need a matrix of the
        layout sparse_csr and a dense one; a mean divides by the number of elements that the row stores, and rows
        without elements give zeros.

    Returns
    -------
    Tensor
        Sparse if both are.

    Raises
    ------
    ShapeError
        When the matrices cannot be multiplied.
    LayoutError
        When `reduce` is not "sum" and the layouts are others.

    Examples
    --------
    >>> import tt
    >>> a = tt.tensor([[1.0, 2.0], [0.0, 3.0]]).to_sparse_csr()
    >>> tt.sparse.mm(a, tt.ones(2, 1))
    tensor([[3.],
            [3.]])
    >>> tt.sparse.mm(a, tt.ones(2, 1), reduce="amax")
    tensor([[2.],
            [3.]])
    """
    _matrices("mm", mat1, mat2)
    if reduce == "sum":
        return ops.sparse.mm(mat1, mat2)
    if (mat1.layout.name, mat2.layout.name) != ("sparse_csr", "strided"):
        raise errors.LayoutError(
            f"mm(): reduce={reduce!r} is for a matrix of the layout tt.sparse_csr and a dense one, not for "
            f"{mat1.layout} and {mat2.layout}\n  try: mat1.to_sparse_csr()"
        )
    return ops.sparse.mm_reduce(mat1, mat2, reduce)[0]


def _matrices(op: str, *tensors: Tensor) -> None:
    for number, tensor in enumerate(tensors, 1):
        if tensor.ndim != 2:
            raise errors.ShapeError(f"{op}(): mat{number} must be a matrix, but has {tensor.ndim} dimensions")


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Scalar = 1.0, alpha: Scalar = 1.0) -> Tensor:
    """Return beta * mat + alpha * (mat1 @ mat2); the gradient of a sparse mat1 is sparse.

    Examples
    --------
    >>> import tt
    >>> tt.sparse.addmm(tt.ones(2, 1), tt.eye(2).to_sparse(), tt.ones(2, 1), beta=2.0)
    tensor([[3.],
            [3.]])
    """
    _matrices("addmm", mat1, mat2)
    product = ops.sparse.mm(mat1, mat2)
    product = product if alpha == 1 else product * alpha
    # With a factor of 0 `mat` is not read at all: NaN in it must not reach the result.
    return product if beta == 0 else (mat if beta == 1 else mat * beta) + product


def sampled_addmm(
    input: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: Scalar = 1.0,
    alpha: Scalar = 1.0,
    out: Tensor | None = None,
) -> Tensor:
    """Return beta * input + alpha * (mat1 @ mat2) where a sparse `input` stores elements.

    Only those elements of the product are computed.

    Parameters
    ----------
    input : Tensor
        A sparse matrix, or a batch of them.
    mat1, mat2 : Tensor
        Dense matrices, or batches of them.
    beta, alpha : number
        Factors.
    out : Tensor, optional
        Gets the result.

    Raises
    ------
    LayoutError
        When `input` is dense.
    ShapeError
        When the product does not have the size of `input`.

    Examples
    --------
    >>> import tt
    >>> pattern = tt.eye(2).to_sparse_csr()
    >>> tt.sparse.sampled_addmm(pattern, tt.ones(2, 3), tt.ones(3, 2), beta=0.0).values()
    tensor([3., 3.])
    """
    if input.layout.name == "strided":
        raise errors.LayoutError(
            "sampled_addmm(): Expected input to have a sparse layout, which says where the product is computed, but "
            "got tt.strided\n  try: input.to_sparse_csr()"
        )
    # A place that is stored twice would get the product twice.
    pattern = ops.sparse.coalesce(input) if input.layout.name == "sparse_coo" else input
    result = ops.sparse.sampled_mm(pattern, mat1, mat2)
    handle: Any = handle_of(result)
    if handle.known and (alpha != 1 or beta != 0):  # for a meta tensor only size and layout are known
        values = ops.sparse.values(result) if alpha == 1 else ops.sparse.values(result) * alpha
        if beta != 0:
            own = ops.sparse.values(pattern)
            values = values + (own if beta == 1 else own * beta)
        result = ops.sparse.with_values(result, values)
    return result if out is None else out.copy_(result)


@overridable
def smm(input: Tensor, mat: Tensor) -> Tensor:
    """Multiply a sparse matrix by a dense one; the result is sparse.

    Examples
    --------
    >>> import tt
    >>> tt.smm(tt.eye(2).to_sparse(), tt.ones(2, 1)).layout
    tt.sparse_coo
    """
    return ops.sparse.to_layout(_sparse_dense("smm", input, mat), "sparse_coo")


@overridable
def sspaddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
    """Return beta * input + alpha * (mat1 @ mat2) of sparse matrices `input` and `mat1` and a dense one; it is sparse.

    Examples
    --------
    >>> import tt
    >>> one = tt.eye(2).to_sparse()
    >>> tt.sspaddmm(one, one, tt.ones(2, 2)).to_dense()
    tensor([[2., 1.],
            [1., 2.]])
    """
    if input.layout.name != "sparse_coo":
        raise errors.LayoutError(f"sspaddmm(): input must have the layout tt.sparse_coo, not {input.layout}")
    product = ops.sparse.to_layout(_sparse_dense("sspaddmm", mat1, mat2), "sparse_coo")
    return input * beta + product * alpha


@overridable
def hspmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """Multiply a sparse matrix by a dense one; the result stores whole rows: one dimension is sparse, one dense.

    Examples
    --------
    >>> import tt
    >>> tt.hspmm(tt.eye(2).to_sparse(), tt.ones(2, 3)).dense_dim()
    1
    """
    product = _sparse_dense("hspmm", mat1, mat2)
    return ops.sparse.to_layout(product, "sparse_coo", sparse_dim=1)


def _sparse_dense(op: str, sparse: Tensor, dense: Tensor) -> Tensor:
    if sparse.layout.name == "strided" or dense.layout.name != "strided":
        raise errors.LayoutError(
            f"{op}(): expected a sparse and a dense matrix, but got {sparse.layout} and {dense.layout}"
        )
    return mm(sparse, dense)


def spsolve(input: Tensor, other: Tensor, *, left: bool = True) -> Tensor:
    """Solve input @ x = other (or x @ input = other) with a square sparse matrix `input`.

    Parameters
    ----------
    input : Tensor
        A square matrix of any sparse layout.
    other : Tensor
        A dense vector or matrix.
    left : bool
        Whether the matrix is on the left.

    Raises
    ------
    LinAlgError
        When the matrix is singular.

    Examples
    --------
    >>> import tt
    >>> tt.sparse.spsolve(tt.tensor([[2.0, 0.0], [1.0, 4.0]]).to_sparse_csr(), tt.tensor([2.0, 9.0]))
    tensor([1., 2.])
    """
    return ops.sparse.spsolve(input, other, left)


# --- reductions --------------------------------------------------------------------------------------------------


def sum(input: Tensor, dim: int | Sequence[int] | None = None, dtype: dtype | None = None) -> Tensor:
    """Add the elements of a sparse tensor, all or along dimensions.

    The gradient is sparse: it has elements where `input` stores some.

    Parameters
    ----------
    input : Tensor
        A sparse tensor; along dimensions one of the layout sparse_coo.
    dim : int or sequence of int, optional
        Along which dimensions; by default all.
    dtype : dtype, optional
        In what to add.

    Returns
    -------
    Tensor
        Dense if no sparse dimension is left.

    Examples
    --------
    >>> import tt
    >>> a = tt.tensor([[1.0, 2.0], [0.0, 4.0]]).to_sparse()
    >>> tt.sparse.sum(a)
    tensor(7.)
    >>> tt.sparse.sum(a, 0).to_dense()
    tensor([1., 6.])
    """
    if dim is not None:
        return ops.sum.dim(input, dim, dtype=dtype)
    once = ops.sparse.coalesce(input) if input.layout.name == "sparse_coo" else input
    return ops.sum(ops.sparse.values(once), dtype=dtype)


def softmax(input: Tensor, dim: int, *, dtype: dtype | None = None) -> Tensor:
    """Normalise a sparse tensor along a dimension; elements that are not stored count as minus infinity.

    Examples
    --------
    >>> import tt
    >>> tt.sparse.softmax(tt.tensor([[3.0, 3.0], [0.0, 1.0]]).to_sparse(), 1).to_dense()
    tensor([[0.5000, 0.5000],
            [0.0000, 1.0000]])
    """
    return ops.sparse.softmax(_in_dtype(input, dtype), dim, False)


def log_softmax(input: Tensor, dim: int, *, dtype: dtype | None = None) -> Tensor:
    """Return the logarithm of `softmax`, where elements are stored.

    Examples
    --------
    >>> import tt
    >>> tt.sparse.log_softmax(tt.tensor([[3.0, 3.0], [0.0, 1.0]]).to_sparse(), 1).values()
    tensor([-0.6931, -0.6931,  0.0000])
    """
    return ops.sparse.softmax(_in_dtype(input, dtype), dim, True)


def _in_dtype(input: Tensor, dtype: dtype | None) -> Tensor:
    return input if dtype is None else input.to(dtype)
