"""FisherSnedecor: quotients of sums of squares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

import tt
from tt.distributions import constraints
from tt.distributions.distribution import Distribution
from tt.distributions.gamma import Gamma
from tt.distributions.utils import broadcast_all

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The F-distribution, that of the quotient of two chi-squared numbers divided by their degrees of freedom.

    Parameters
    ----------
    df1, df2 : Tensor or float
        The degrees of freedom of numerator and denominator.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.FisherSnedecor(2.0, 4.0).mean
    tensor(2.)
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _batched = {"df1": 0, "df2": 0}

    def __init__(
        self, df1: float | tt.Tensor, df2: float | tt.Tensor, validate_args: bool | None = None
    ) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        # Half of a chi-squared number over its degrees of freedom; the halves cancel in the quotient.
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1, validate_args=False)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2, validate_args=False)
        super().__init__(self.df1.shape, validate_args=validate_args)

    def _copy_from(self, other: Self) -> None:
        self._gamma1 = other._gamma1.expand(self._batch_shape)
        self._gamma2 = other._gamma2.expand(self._batch_shape)

    @property
    def mean(self) -> tt.Tensor:
        exists = self.df2 > 2
        # The branch that is not taken must be finite, or its gradient makes nan of the other's.
        df2 = tt.where(exists, self.df2, 3.0)
        return tt.where(exists, df2 / (df2 - 2), math.nan)

    @property
    def mode(self) -> tt.Tensor:
        result = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return tt.where(self.df1 <= 2, math.nan, result)

    @property
    def variance(self) -> tt.Tensor:
        exists = self.df2 > 4
        df2 = tt.where(exists, self.df2, 5.0)
        result = 2 * df2.square() * (self.df1 + df2 - 2) / (self.df1 * (df2 - 2).square() * (df2 - 4))
        return tt.where(exists, result, math.nan)

    def rsample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        result = self._gamma1.rsample(sample_shape) / self._gamma2.rsample(sample_shape)
        # A sample of 0 would have an infinite log_prob.
        return result.clamp(min=tt.finfo(result.dtype).tiny)

    def log_prob(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        half1, half2, quotient = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        normalizer = (half1 + half2).lgamma() - half1.lgamma() - half2.lgamma()
        power = half1 * quotient.log() + (half1 - 1) * tt.log(value)
        return normalizer + power - (half1 + half2) * tt.log1p(quotient * value)
