"""Functions of `tt` that drop elements and channels, as their layers do."""

from __future__ import annotations

import tt
from tt._compat.checks import require_tensor
from tt.errors import ShapeError, ValueRangeError

__all__ = ["alpha_dropout_", "dropout_", "feature_alpha_dropout_", "feature_dropout", "feature_dropout_"]


def dropout_(input: tt.Tensor, p: float, train: bool) -> tt.Tensor:
    """Set elements to zero with probability p and scale the others, in place.

    Examples
    --------
    >>> import tt
    >>> tt.dropout_(tt.ones(3), 0.5, False)
    tensor([1., 1., 1.])
    """
    return tt.nn.functional.dropout(input, p, train, inplace=True)


def alpha_dropout_(input: tt.Tensor, p: float, train: bool) -> tt.Tensor:
    """Drop elements with probability p so that mean and variance stay, in place.

    Examples
    --------
    >>> import tt
    >>> tt.alpha_dropout_(tt.ones(3), 0.5, False)
    tensor([1., 1., 1.])
    """
    return tt.nn.functional.alpha_dropout(input, p, train, inplace=True)


def feature_alpha_dropout_(input: tt.Tensor, p: float, train: bool) -> tt.Tensor:
    """Drop whole channels with probability p so that mean and variance stay, in place.

    Examples
    --------
    >>> import tt
    >>> tt.feature_alpha_dropout_(tt.ones(1, 2, 1), 0.5, False).shape
    tt.Size([1, 2, 1])
    """
    return tt.nn.functional.feature_alpha_dropout(input, p, train, inplace=True)


def feature_dropout(input: tt.Tensor, p: float, train: bool) -> tt.Tensor:
    """Set whole channels, the second dimension, to zero with probability p, and scale the others.

    Examples
    --------
    >>> import tt
    >>> tt.feature_dropout(tt.ones(1, 2, 1), 0.5, False).shape
    tt.Size([1, 2, 1])
    """
    return tt.mul(input, _channels(input, p)) if _drops(input, p, train) else input


def feature_dropout_(input: tt.Tensor, p: float, train: bool) -> tt.Tensor:
    """Set whole channels to zero with probability p and scale the others, in place.

    Examples
    --------
    >>> import tt
    >>> tt.feature_dropout_(tt.ones(1, 2, 1), 1.0, True).sum()
    tensor(0.)
    """
    return input.mul_(_channels(input, p)) if _drops(input, p, train) else input


def _drops(input: tt.Tensor, p: float, train: bool) -> bool:
    require_tensor("feature_dropout", input)
    if not 0.0 <= p <= 1.0:
        raise ValueRangeError(f"dropout probability has to be between 0 and 1, but got {p}")
    if input.ndim < 2:
        raise ShapeError(
            f"feature dropout requires at least 2 dimensions in the input, which has the shape {list(input.shape)}"
        )
    return bool(train) and p > 0.0 and input.numel() > 0


def _channels(input: tt.Tensor, p: float) -> tt.Tensor:
    """Return a factor for each channel: 0, or 1 / (1 - p)."""
    noise = tt.empty((*input.shape[:2], *(1,) * (input.ndim - 2)), dtype=input.dtype, device=input.device)
    if p == 1.0:
        return noise.zero_()
    return noise.bernoulli_(1.0 - p).div_(1.0 - p)
