"""Norms of `tt` that `tt.linalg` has under other names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tt
from tt._compat.checks import require_tensor
from tt.errors import DimensionError, LayoutError, ShapeError, ValueRangeError
from tt.library import overridable, warn_user

__all__ = ["frobenius_norm", "native_norm", "norm_except_dim", "nuclear_norm"]


@overridable
def norm_except_dim(v: tt.Tensor, pow: int = 2, dim: int = 0) -> tt.Tensor:
    """Return the norm over all dimensions except one, which are kept; -1 means over all.

    Examples
    --------
    >>> import tt
    >>> tt.norm_except_dim(tt.ones(2, 4))
    tensor([[2.],
            [2.]])
    """
    require_tensor("norm_except_dim", v, "v")
    if dim == -1:
        return tt.linalg.vector_norm(v, pow)
    if not -v.ndim <= dim < v.ndim:
        raise DimensionError("norm_except_dim", dim, v.ndim)
    axis = dim % v.ndim
    return tt.linalg.vector_norm(v, pow, [d for d in range(v.ndim) if d != axis] or None, keepdim=v.ndim > 1)


def frobenius_norm(
    input: tt.Tensor, dim: int | Sequence[int], keepdim: bool = False, *, out: tt.Tensor | None = None
) -> tt.Tensor:
    """Return the roots of the sums of squares over at most two dimensions.

    Parameters
    ----------
    input : Tensor
        Of a floating point or complex dtype.
    dim : int or sequence of int
        The dimensions; none of them: all.
    keepdim : bool
        Whether they stay, with size 1.
    out : Tensor, optional
        Where the result goes.

    Raises
    ------
    ShapeError
        For more than two dimensions.

    Examples
    --------
    >>> import tt
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     tt.frobenius_norm(tt.tensor([[3.0, 4.0], [6.0, 8.0]]), 1)
    tensor([ 5., 10.])
    """
    warn_user("frobenius_norm() is deprecated: use tt.linalg.vector_norm")
    dims = [dim] if isinstance(dim, int) else list(dim)
    if len(dims) > 2:
        raise ShapeError(
            f"frobenius_norm(): takes at most 2 dimensions, got {len(dims)}\n  try: tt.linalg.vector_norm"
        )
    return tt.linalg.vector_norm(input, 2, dims or None, keepdim, out=out)


def nuclear_norm(
    input: tt.Tensor,
    dim: Any = None,
    keepdim: bool = False,
    *,
    out: tt.Tensor | None = None,
) -> tt.Tensor:
    """Return the sums of the singular values of matrices.

    Parameters
    ----------
    input : Tensor
        Matrices of a floating point or complex dtype, of shape (..., m, n).
    dim : sequence of two int, optional
        The dimensions of the matrices, by default the last two; `nuclear_norm(input, True)` is keepdim.
    keepdim : bool
        Whether they stay, with size 1.
    out : Tensor, optional
        Where the result goes.

    Raises
    ------
    ShapeError
        If the input is not a matrix.

    Examples
    --------
    >>> import tt
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     tt.nuclear_norm(tt.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(7.)
    """
    warn_user("nuclear_norm() is deprecated: use tt.linalg.matrix_norm(A, 'nuc')")
    # PyTorch has an overload without dim, whose second argument by position is keepdim.
    if isinstance(dim, bool):
        dim, keepdim = None, dim
    return tt.linalg.matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim, out=out)


@overridable
def native_norm(
    input: tt.Tensor,
    p: float | None = 2,
    dim: Sequence[int] = (),
    keepdim: bool = False,
    dtype: tt.dtype | None = None,
) -> tt.Tensor:
    """Return the norm of all elements of a sparse tensor.

    Parameters
    ----------
    input : Tensor
        Of the layout sparse_coo.
    p : float, optional
        The order of the norm; None: 2.
    dim : sequence of int
        Empty, or all dimensions.
    keepdim, dtype
        False and None: the norm is a number of the dtype of the tensor.

    Raises
    ------
    LayoutError
        If the tensor is not sparse.
    ValueRangeError
        For some of the dimensions, for `keepdim` and `dtype`.

    Examples
    --------
    >>> import tt
    >>> tt.native_norm(tt.tensor([[3.0, 0.0], [0.0, 4.0]]).to_sparse())
    tensor(5.)
    """
    if input.layout != tt.sparse_coo:
        raise LayoutError(
            f"native_norm(): takes tensors of the layout sparse_coo, not {input.layout}\n"
            "  try: tt.linalg.vector_norm"
        )
    if keepdim or dtype is not None:
        raise ValueRangeError("native_norm(): keepdim=True and dtype are not supported")
    if len({d % input.ndim for d in dim}) not in (0, input.ndim):
        raise ValueRangeError(
            "native_norm(): only full reductions are supported: dim is empty or has all dimensions"
        )
    # As in PyTorch, over the stored values only: zeros that are not stored add nothing to a sum of powers.
    return tt.linalg.vector_norm(input.coalesce().values(), 2 if p is None else p)
