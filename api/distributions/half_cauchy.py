"""HalfCauchy: absolute values of Cauchy numbers."""

from __future__ import annotations

import math

import tt
from tt.distributions._folded import Folded
from tt.distributions.cauchy import Cauchy
from tt.distributions.transforms import AbsTransform

__all__ = ["HalfCauchy"]


class HalfCauchy(Folded):
    """The distribution of the absolute value of a Cauchy number with median 0.

    Parameters
    ----------
    scale : Tensor or float
        The width of the Cauchy distribution; the median.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.HalfCauchy(1.0).cdf(tt.tensor(1.0))
    tensor(0.5000)
    """

    def __init__(self, scale: float | tt.Tensor, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def mean(self) -> tt.Tensor:
        return tt.full_like(self.scale, math.inf)

    @property
    def variance(self) -> tt.Tensor:
        return tt.full_like(self.scale, math.inf)
