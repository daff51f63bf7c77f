"""Reductions and scans of the elements that a mask selects.

Each takes the arguments of the function of the same name in tt, and `mask`, a tensor of bools that broadcasts to the
input: where it is False, the element does not count. Where no element counts, the result is undefined.

`sum`, `prod`, `amax`, `amin` and `mean` take tensors of the layouts sparse_coo and sparse_csr, too; their results are
sparse, with elements where some counted. An element that is not stored is a zero, which counts where the mask is True.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, nan

import tt
from tt.masked.masks import converted, filled, given_mask, is_sparse, largest, smallest

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "logsumexp", "mean", "median", "norm", "prod", "std",
    "sum", "var",
]  # fmt: skip

Dims = int | tuple[int, ...] | None


def _all(input: tt.Tensor, dim: Dims) -> tuple[int, ...]:
    if dim is None:
        return tuple(range(input.ndim))
    return (dim,) if isinstance(dim, int) else tuple(dim)


def _integral(dtype: tt.dtype) -> bool:
    return not (dtype.is_floating_point or dtype.is_complex)


def _of_sparse(
    name: str,
    reduce: Callable[..., tt.Tensor],
    input: tt.Tensor,
    dim: Dims,
    keepdim: bool,
    dtype: tt.dtype | None,
    mask: tt.Tensor | None,
) -> tt.Tensor:
    """Reduce the elements of a sparse tensor that a mask selects, which may be many that are not stored."""
    if input.layout not in (tt.sparse_coo, tt.sparse_csr):
        raise tt.errors.ValueRangeError(
            f"masked.{name}() expects strided, sparse_coo or sparse_csr tensor (got {input.layout} tensor)\n"
            "  try: x.to_dense()"
        )
    if mask is None:
        raise tt.errors.ValueRangeError(
            f"masked.{name}() expects explicit mask for {input.layout} tensor input: it says whether elements that are "
            "not stored count"
        )
    if input.layout is tt.sparse_csr and not keepdim:
        raise tt.errors.LayoutError(
            f"masked.{name}(): reduction operations on CSR tensors with keepdim=False is unsupported: the result would "
            "not be a matrix\n  try: keepdim=True"
        )
    dense = input.to_dense()
    where = given_mask(f"masked.{name}", dense, mask)
    result = reduce(dense, dim, keepdim=keepdim, dtype=dtype, mask=where)
    counted = where.any(_all(where, dim), keepdim=keepdim) if where.ndim else where
    sparse = result.sparse_mask(counted.to_sparse())
    return sparse if input.layout is tt.sparse_coo else sparse.to_sparse_csr()


def sum(
    input: tt.Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: tt.dtype | None = None,
    mask: tt.Tensor | None = None,
) -> tt.Tensor:
    """Return the sum of the elements along dimensions where the mask is True.

    Examples
    --------
    >>> import tt
    >>> tt.masked.sum(tt.tensor([1.0, 5.0, 2.0]), mask=tt.tensor([True, False, True]))
    tensor(3.)
    """
    if is_sparse(input) and mask is not None:
        return _of_sparse("sum", sum, input, dim, keepdim, dtype, mask)
    x = converted(input, dtype)
    x = x if mask is None else filled("masked.sum", x, mask, 0)
    return tt.sum(x, _all(x, dim), keepdim, dtype=own_dtype(x)) if x.ndim else tt.sum(x, dtype=own_dtype(x))


def own_dtype(x: tt.Tensor) -> tt.dtype | None:
    """Return the dtype of the results: named, it holds in autocast, too; None for integers, which add as int64."""
    return x.dtype if x.is_floating_point() or x.is_complex() else None


def _distinct(name: str, ndim: int, dims: Sequence[int]) -> list[int]:
    """Return dimensions counted from the front, all of them for none."""
    result = [d + ndim * (d < 0) for d in dims] or list(range(ndim))
    for requested, d in zip(dims, result, strict=False):
        if not 0 <= d < ndim:
            raise tt.errors.DimensionError(name, requested, ndim)
    if len(set(result)) < len(result):
        raise tt.errors.ValueRangeError(f"{name}(): a dimension appears more than once in {list(dims)}")
    return result


def prod(
    input: tt.Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: tt.dtype | None = None,
    mask: tt.Tensor | None = None,
) -> tt.Tensor:
    """Return the product of the elements along dimensions where the mask is True.

    Examples
    --------
    >>> import tt
    >>> tt.masked.prod(tt.tensor([1.0, 5.0, 2.0]), mask=tt.tensor([True, False, True]))
    tensor(2.)
    """
    if is_sparse(input):
        return _of_sparse("prod", prod, input, dim, keepdim, dtype, mask)
    x = filled("masked.prod", converted(input, dtype), mask, 1)
    if dtype is None and _integral(x.dtype):
        x = x.to(tt.int64)
    if not x.ndim:
        return tt.clone(x) if dim is None else tt.prod(x, 0, keepdim)
    result: tt.Tensor = x
    # From the last dimension, so that the numbers of the others stay right.
    for d in sorted(_distinct("masked.prod", x.ndim, _all(x, dim)), reverse=True):
        result = tt.prod(result, d, keepdim)
    return result


def amax(
    input: tt.Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: tt.dtype | None = None,
    mask: tt.Tensor | None = None,
) -> tt.Tensor:
    """Return the largest element along dimensions where the mask is True.

    Examples
    --------
    >>> import tt
    >>> tt.masked.amax(tt.tensor([1.0, 5.0, 2.0]), mask=tt.tensor([True, False, True]))
    tensor(2.)
    """
    if is_sparse(input):
        return _of_sparse("amax", amax, input, dim, keepdim, dtype, mask)
    x = converted(input, dtype)
    x = filled("masked.amax", x, mask, smallest(x.dtype))
    return tt.amax(x, _all(x, dim), keepdim) if x.ndim else x.clone()


def amin(
    input: tt.Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: tt.dtype | None = None,
    mask: tt.Tensor | None = None,
) -> tt.Tensor:
    """Return the smallest element along dimensions where the mask is True.

    Examples
    --------
    >>> import tt
    >>> tt.masked.amin(tt.tensor([1.0, 5.0, 2.0]), mask=tt.tensor([True, False, True]))
    tensor(1.)
    """
    if is_sparse(input):
        return _of_sparse("amin", amin, input, dim, keepdim, dtype, mask)
    x = converted(input, dtype)
    x = filled("masked.amin", x, mask, largest(x.dtype))
    return tt.amin(x, _all(x, dim), keepdim) if x.ndim else x.clone()


def argmax(
    input: tt.Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: tt.dtype | None = None,
    mask: tt.Tensor | None = None,
) -> tt.Tensor:
    """Return the index of the largest element where the mask is True, along a dimension or of all.

    Examples
    --------
    >>> import tt
    >>> tt.masked.argmax(tt.tensor([1.0, 5.0, 2.0]), mask=tt.tensor([True, False, True]))
    tensor(2)
    """
    x = converted(input, dtype)
    return tt.argmax(filled("masked.argmax", x, mask, smallest(x.dtype)), dim, keepdim)


def argmin(
    input: tt.Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: tt.dtype | None = None,
    mask: tt.Tensor | None = None,
) -> tt.Tensor:
    """Return the index of the smallest element where the mask is True, along a dimension or of all.

    Examples
    --------
    >>> import tt
    >>> tt.masked.argmin(tt.tensor([1.0, 5.0, 2.0]), mask=tt.tensor([True, False, True]))
    tensor(0)
    """
    x = converted(input, dtype)
    return tt.argmin(filled("masked.argmin", x, mask, largest(x.dtype)), dim, keepdim)


def cumsum(
    input: tt.Tensor, dim: int, *, dtype: tt.dtype | None = None, mask: tt.Tensor | None = None
) -> tt.Tensor:
    """Return the sums of the elements so far along a dimension, of those where the mask is True.

    Examples
    --------
    >>> import tt
    >>> tt.masked.cumsum(tt.tensor([1.0, 5.0, 2.0]), 0, mask=tt.tensor([True, False, True]))
    tensor([1., 1., 3.])
    """
    x = filled("masked.cumsum", converted(input, dtype), mask, 0)
    return tt.cumsum(x, dim, dtype=own_dtype(x))


def cumprod(
    input: tt.Tensor, dim: int, *, dtype: tt.dtype | None = None, mask: tt.Tensor | None = None
) -> tt.Tensor:
    """Return the products of the elements so far along a dimension, of those where the mask is True.

    Examples
    --------
    >>> import tt
    >>> tt.masked.cumprod(tt.tensor([1.0, 5.0, 2.0]), 0, mask=tt.tensor([True, False, True]))
    tensor([1., 1., 2.])
    """
    x = filled("masked.cumprod", converted(input, dtype), mask, 1)
    return tt.cumprod(x, dim, dtype=own_dtype(x))


def mean(
    input: tt.Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: tt.dtype | None = None,
    mask: tt.Tensor | None = None,
) -> tt.Tensor:
    """Return the mean of the elements along dimensions where the mask is True.

    Examples
    --------
    >>> import tt
    >>> tt.masked.mean(tt.tensor([1.0, 5.0, 2.0]), mask=tt.tensor([True, False, True]))
    tensor(1.5000)
    """
    if is_sparse(input):
        return _of_sparse("mean", mean, input, dim, keepdim, dtype, mask)
    x = converted(input, dtype)
    count = sum(given_mask("masked.mean", x, mask), dim, keepdim=keepdim)
    # The mean of the elements that count; 0 / 0 is nan where none does.
    return sum(x, dim, keepdim=keepdim, mask=mask) / count


def median(
    input: tt.Tensor,
    dim: int = -1,
    *,
    keepdim: bool = False,
    dtype: tt.dtype | None = None,
    mask: tt.Tensor | None = None,
) -> tt.Tensor:
    """Return the median along a dimension of the elements where the mask is True.

    Examples
    --------
    >>> import tt
    >>> tt.masked.median(tt.tensor([1.0, 5.0, 2.0]), mask=tt.tensor([True, False, True]))
    tensor(1.)
    """
    x = converted(input, dtype)
    where = given_mask("masked.median", x, mask)
    if not x.dtype.is_floating_point and not bool(where.all()):
        raise tt.errors.ValueRangeError("masked.median(): a mask of integers must be True everywhere")
    # `nanmedian` leaves out what is nan, and integers have no such value.
    x = filled("masked.median", x, mask, nan) if x.dtype.is_floating_point else x
    return tt.nanmedian(x, dim, keepdim).values


def logsumexp(
    input: tt.Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: tt.dtype | None = None,
    mask: tt.Tensor | None = None,
) -> tt.Tensor:
    """Return the logarithm of the sum of the exponentials along dimensions where the mask is True.

    Examples
    --------
    >>> import tt
    >>> tt.masked.logsumexp(tt.tensor([1.0, 5.0, 2.0]), mask=tt.tensor([True, False, True]))
    tensor(2.3133)
    """
    x = converted(input, dtype)
    result_dtype = x.dtype
    if _integral(x.dtype):
        x = x.to(tt.get_default_dtype())
    x = filled("masked.logsumexp", x, mask, -inf)
    return tt.logsumexp(x, _all(x, dim), keepdim).to(result_dtype)


def norm(
    input: tt.Tensor,
    ord: float | None = 2.0,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: tt.dtype | None = None,
    mask: tt.Tensor | None = None,
) -> tt.Tensor:
    """Return the norm of order ord along dimensions, of the elements where the mask is True.

    Examples
    --------
    >>> import tt
    >>> tt.masked.norm(tt.tensor([1.0, 5.0, 2.0]), mask=tt.tensor([True, False, True]))
    tensor(2.2361)
    """
    x = converted(input, dtype)
    order = 2.0 if ord is None else ord
    # 0 changes no norm of positive order, and inf none of negative order: inf ** order is 0.  Integers, which
    # `vector_norm` refuses, have no inf.
    x = filled("masked.norm", x, mask, inf if order < 0 and not _integral(x.dtype) else 0)
    return tt.linalg.vector_norm(x, order, _all(x, dim), keepdim, dtype=own_dtype(x))


def var(
    input: tt.Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: tt.dtype | None = None,
    mask: tt.Tensor | None = None,
) -> tt.Tensor:
    """Return the variance of the elements along dimensions where the mask is True.

    Examples
    --------
    >>> import tt
    >>> tt.masked.var(tt.tensor([1.0, 5.0, 2.0]), mask=tt.tensor([True, False, True]))
    tensor(0.5000)
    """
    if unbiased is not None and correction is not None:
        raise tt.errors.ValueRangeError("masked.var(): give unbiased or correction, not both")
    less = float(unbiased) if unbiased is not None else 1.0 if correction is None else float(correction)
    x = converted(input, dtype)
    if _integral(x.dtype):
        x = x.to(tt.get_default_dtype())
    # Two passes: the difference of the mean square and the squared mean would cancel.
    count = sum(given_mask("masked.var", x, mask), dim, keepdim=True)
    distance = tt.abs(x - sum(x, dim, keepdim=True, mask=mask) / count)
    total = sum(distance * distance, dim, keepdim=keepdim, mask=mask)
    variance = total / tt.clamp((count if keepdim else count.reshape(total.shape)) - less, min=0)
    return variance.to(x.dtype)  # also of complex numbers


def std(
    input: tt.Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: tt.dtype | None = None,
    mask: tt.Tensor | None = None,
) -> tt.Tensor:
    """Return the standard deviation of the elements along dimensions where the mask is True.

    Examples
    --------
    >>> import tt
    >>> tt.masked.std(tt.tensor([1.0, 5.0, 2.0]), mask=tt.tensor([True, False, True]))
    tensor(0.7071)
    """
    return tt.sqrt(var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask))
