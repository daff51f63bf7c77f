"""Normalizations along a dimension, in which the elements where a mask is False take no part.

The results at these places are undefined.
"""

from __future__ import annotations

from math import inf

import tt
from tt.masked.masks import converted, filled
from tt.masked.reductions import norm

__all__ = ["log_softmax", "logaddexp", "normalize", "softmax", "softmin"]


def softmax(
    input: tt.Tensor, dim: int, *, dtype: tt.dtype | None = None, mask: tt.Tensor | None = None
) -> tt.Tensor:
    """Return the softmax along a dimension, of the elements where the mask is True.

    Examples
    --------
    >>> import tt
    >>> tt.masked.softmax(tt.tensor([1.0, 5.0, 1.0]), 0, mask=tt.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    x = filled("masked.softmax", converted(input, dtype), mask, -inf)
    return tt.softmax(x, dim, dtype=x.dtype)


def log_softmax(
    input: tt.Tensor, dim: int, *, dtype: tt.dtype | None = None, mask: tt.Tensor | None = None
) -> tt.Tensor:
    """Return the logarithm of the softmax along a dimension, of the elements where the mask is True.

    Examples
    --------
    >>> import tt
    >>> tt.masked.log_softmax(tt.tensor([1.0, 5.0, 1.0]), 0, mask=tt.tensor([True, False, True]))
    tensor([-0.6931,    -inf, -0.6931])
    """
    x = filled("masked.log_softmax", converted(input, dtype), mask, -inf)
    return tt.log_softmax(x, dim, dtype=x.dtype)


def softmin(
    input: tt.Tensor, dim: int, *, dtype: tt.dtype | None = None, mask: tt.Tensor | None = None
) -> tt.Tensor:
    """Return the softmax of the negative elements along a dimension, of those where the mask is True.

    Examples
    --------
    >>> import tt
    >>> tt.masked.softmin(tt.tensor([1.0, 5.0, 1.0]), 0, mask=tt.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    x = filled("masked.softmin", converted(input, dtype), mask, inf)
    return tt.softmax(-x, dim, dtype=x.dtype)


def normalize(
    input: tt.Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: tt.dtype | None = None,
    mask: tt.Tensor | None = None,
) -> tt.Tensor:
    """Divide by the norm of order ord along a dimension, of the elements where the mask is True.

    Examples
    --------
    >>> import tt
    >>> tt.masked.normalize(tt.tensor([3.0, 9.0, 4.0]), 2, 0, mask=tt.tensor([True, False, True]))
    tensor([0.6000, 0.0000, 0.8000])
    """
    x = converted(input, dtype)
    size = norm(x, ord, dim, keepdim=True, mask=mask)
    return tt.div(filled("masked.normalize", x, mask, 0), tt.clamp(size, min=eps))


def logaddexp(
    input: tt.Tensor,
    other: tt.Tensor,
    *,
    dtype: tt.dtype | None = None,
    input_mask: tt.Tensor | None = None,
    other_mask: tt.Tensor | None = None,
) -> tt.Tensor:
    """Return the logarithm of the sum of two exponentials, of those whose mask is True.

    Examples
    --------
    >>> import tt
    >>> tt.masked.logaddexp(tt.zeros(2), tt.zeros(2), other_mask=tt.tensor([True, False]))
    tensor([0.6931, 0.0000])
    """
    x = filled("masked.logaddexp", converted(input, dtype), input_mask, -inf)
    y = filled("masked.logaddexp", converted(other, dtype), other_mask, -inf)
    return tt.logaddexp(x, y)
